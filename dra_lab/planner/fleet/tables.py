"""Tables of sites that are no trees of places: a model decides each number of replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts, PodLimits, pod_limits
from dra_lab.planner.fleet.fleet_work import FleetWork
from dra_lab.planner.fleet.pack import Packed, Takes, Values, device_goals, named, pack
from dra_lab.planner.fleet.sites import Site

AnyTable = Any
"""A SiteTable or a PlaceTable."""


@dataclass
class SiteTable:
    """What is known of one site.

    `packed` holds each combination of numbers that was looked at; one that is not there, and that counting allows, is
    not known to be impossible. `vectors` are all that counting allows (None: too many to list).
    """

    site: Site
    demand: Sequence[int]
    order: tuple[str, ...]
    solver: str
    vectors: list[Counts] | None = None
    packed: dict[Counts, Packed] = field(default_factory=dict)
    _barred: list[Counts] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Note the values of no pods."""
        nothing = (0,) * len(self.order)
        self.packed[self.site.zero] = Packed(nothing, nothing)

    @cached_property
    def limits(self) -> PodLimits:
        """Return what counting says of the site."""
        return pod_limits(self.site, self.demand)

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way undercuts, None where the numbers are impossible."""
        known = self.packed.get(counts)
        if known is not None:
            return known.lower
        return self._summed(counts) if not self.is_barred(counts) and self.limits.may_hold(counts) else None

    def _summed(self, counts: Counts) -> Values | None:
        """Return the sum of what the replicas cost alone, or with one less: no packing costs less than its parts."""
        best: Values | None = None
        whole = [0] * len(self.order)
        for at, count in enumerate(counts):
            if not count:
                continue
            single = self.packed.get(_one(counts, at))
            if single is not None and single.lower is None:
                return None
            if single is None or single.lower is None:
                continue
            whole = [a + count * b for a, b in zip(whole, single.lower, strict=True)]
            rest = self.packed.get(_less(counts, at))
            if rest is not None and rest.lower is not None:
                found = tuple(a + b for a, b in zip(rest.lower, single.lower, strict=True))
                best = found if best is None else max(best, found)
        return tuple(whole) if best is None else max(best, tuple(whole))

    @property
    def whole(self) -> Site:
        """Return the site whose nodes the members are."""
        return self.site

    @property
    def caps(self) -> Counts:
        """Return the most replicas of each part."""
        return self.limits.caps

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        caps = ((_one(self.limits.caps, at), cap) for at, cap in enumerate(self.limits.caps))
        return (*caps, *self.limits.whole)

    def is_barred(self, counts: Counts) -> bool:
        """Say whether the numbers contain some that are known to be impossible."""
        return any(all(a >= b for a, b in zip(counts, barred, strict=True)) for barred in self._barred)

    def learn(self, counts: Counts, found: Packed) -> None:
        """Keep what was found out."""
        self.packed[counts] = found
        if found.lower is None:
            self._barred.append(counts)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find the best way for some numbers of replicas, or what a limit leaves of it; never worse than before."""
        lower, before = self.lower(counts), self.found().get(counts)
        if lower is None:
            return Packed(None)
        if lower == before or budget.reached:
            return Packed(lower, before)
        given = self.site.problem, self.site.parts, counts, self.order, budget
        found = pack(*given, solver=self.solver, lower=lower)
        found = replace(found, takes=named(self.site, found.takes))
        if found.lower is None and before is not None:
            raise SolverError("the solver finds no way where one is known; try the solver CBC")
        if before is not None and (found.upper is None or before <= found.upper):
            found = Packed(found.lower, before, self.packed[counts].takes)
        self.learn(counts, found)
        return found

    def decide_growing(self, budget: Budget) -> None:
        """Decide growing numbers of replicas, workload after workload, so that a plan is known before time is over."""
        counts = self.site.zero
        for at, cap in enumerate(min(cap, budget.sizes.node_pods) for cap in self.caps):
            step = 1
            while step and not budget.reached:
                more = tuple(count + step * (at == other) for other, count in enumerate(counts))
                if more[at] <= cap and self.decide(more, budget).upper is not None:
                    counts, step = more, step * 2
                else:
                    step //= 2

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        return {counts: packed.upper for counts, packed in self.packed.items() if packed.upper is not None}

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        if self.vectors is None:
            return None
        rows = ((counts, self.lower(counts)) for counts in self.vectors)
        return {counts: lower for counts, lower in rows if lower is not None}

    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, values each of which no way of a replica undercuts; None where none can stand."""
        found: list[Values | None] = []
        for at, cap in enumerate(self.limits.caps):
            lower = self.lower(_one(self.site.zero, at)) if cap else None
            # If goals are compared one after the other, only the first one's floor is true whatever the others are.
            found.append(None if lower is None else (*lower[:1], *(0 for _ in lower[1:])))
        return tuple(found)

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers, in the groups that plans name."""
        return self.packed[counts].takes

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        known = self.packed.get(counts)
        return known is None or not known.exact

    @property
    def may_be_closed(self) -> bool:
        """Say whether it takes a look at all numbers to say whether everything is known exactly; else it is not."""
        return self.vectors is not None

    @property
    def closed(self) -> bool:
        """Say whether everything that counting allows is known exactly."""
        return self.may_be_closed and not any(
            self.is_open(counts) and not self.is_barred(counts) for counts in self.vectors or ()
        )


def site_tables(work: FleetWork, sites: Sequence[Site]) -> list[SiteTable]:
    """Return a table for each site, nothing decided; sites left at a limit have none."""
    tables: list[SiteTable] = []
    for site in sites:
        if tables and work.budget.reached:
            break
        table = SiteTable(site, work.fleet.demand, device_goals(work.order), work.solver)
        table.vectors = table.limits.vectors(work.budget.sizes.numbers)
        tables.append(table)
    return tables


def _plain(work: FleetWork, site: Site) -> SiteTable:
    """Return the table of a site whose ways are not listed."""
    table = SiteTable(site, work.fleet.demand, device_goals(work.order), work.solver)
    table.vectors = table.limits.vectors(work.budget.sizes.numbers)
    return table


def _filled(
    work: FleetWork,
    problem: AllocationProblem,
    sites: Sequence[Site],
    known: Sequence[NodeState],
    states: int,
    *,
    own: bool,
) -> list[SiteTable] | None:
    """Return the tables of states of one problem, filled at once; None where the ways of a pod cannot be listed."""
    parts, order, sizes = sites[0].parts, device_goals(work.order), work.budget.sizes
    stock = stock_of(problem, parts, known, order, sizes.pod_ways)
    if stock is None:
        return None
    whole = idle_site(problem, parts)
    vectors = pod_limits(whole, work.fleet.demand).vectors(most_vectors(states, sizes))
    made = partial(SiteTable, demand=work.fleet.demand, order=order, solver=work.solver, own=own)
    if vectors is not None:
        filled = StateFill.of(stock, vectors, rows_of(whole), order)
        filled.run(work.budget.part(work.budget.shares.step))
        tables = [
            made(site, vectors=vectors, stock=stock, number=number, filled=filled) for number, site in enumerate(sites)
        ]
    else:
        tables = []
        for number, site in enumerate(sites):
            if tables and work.budget.reached:
                stock = Stock(problem, known[:number], stock.columns)
                break
            tables.append(made(site, number=number))
            tables[-1].vectors = tables[-1].limits.vectors(min(sizes.numbers, sizes.numbers_in_turn // states))
        _fill_in_order(stock, tables, work.budget.part(work.budget.shares.step), states)
    work.budget.report_step("patterns", f"looked at {len(sites)} states of one kind of hardware")
    return tables


def _fill_in_order(stock: Stock, tables: Sequence[SiteTable], budget: Budget, states: int) -> None:
    """Keep the ways that pods find who come in different orders, each taking the best that is left.

    `tables` are those of the states of the stock, of `states` in the whole fleet. Every way is feasible; only that of
    one pod alone is claimed to be the best for its numbers: ways are listed best first, and all of them.
    """
    caps = np.array([table.caps for table in tables], np.int64)
    for table in tables:
        table.stock = stock
    for pod in range(caps.shape[1]):
        one = _one(tables[0].caps, pod)
        for table, column in zip(tables, stock.first(stock.left, pod).tolist(), strict=True):
            if column < 0:
                table.learn(one, Packed(None))
            elif table.caps[pod]:
                table.keep([(pod, column)], best=True)
    sizes = budget.sizes
    kept = max(2, min(sizes.kept, sizes.kept_in_all // max(1, states) // sizes.more_orders))
    most = max(sizes.orders, min(sizes.more_orders, sizes.ordered // max(1, states)))
    for order in orders_of(caps.max(axis=0).tolist(), most):
        if budget.reached:
            return
        for table, rows in zip(tables, in_order(stock, caps, order, budget), strict=True):
            step = max(1, len(rows) // kept)
            for end in {*range(step, len(rows), step), len(rows)} if rows else ():
                table.keep(rows[:end])


def is_listed(fleet: FleetProblem, sizes: Sizes) -> bool:
    """Say whether the ways of all pods on all kinds of hardware, and the numbers of pods, are few enough to list.

    Listed ways fill all states of one kind of hardware at once. That is faster than a tree for each state, by ten times
    for pods without links; it needs few kinds of hardware, and few ways on each.
    """
    layouts = {state.layout for state in fleet.survey.states.values()}
    if not 0 < len(layouts) <= sizes.layouts:
        return False
    ways, vectors = 0, most_vectors(len(set(fleet.survey.states.values())), sizes)
    for problem in (fleet.scan.layouts[number].problem for number in layouts):
        parts = parts_on(fleet, "")
        each = [number_of_ways(problem, part) for part in parts]
        ways += sum(each)
        if max(each) > sizes.pod_ways or ways > sizes.ways:
            return False
        limits = pod_limits(idle_site(problem, parts), fleet.demand)
        if limits.vectors(vectors) is None:
            return False
    return True


def named(site: Site, takes: Takes) -> Takes:
    """Return takes of groups of a site's problem as takes of the groups that plans name (`Site.kept`)."""
    if site.state is None:
        return takes
    return tuple(tuple((ask, site.kept[group], count) for ask, group, count in mine) for mine in takes)


def _one(counts: Counts, at: int) -> Counts:
    return tuple(int(position == at) for position in range(len(counts)))


def _less(counts: Counts, at: int) -> Counts:
    return tuple(count - (position == at) for position, count in enumerate(counts))
