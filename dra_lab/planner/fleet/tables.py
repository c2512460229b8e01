"""What each site can hold at what price: numbers of replicas with the least values known and the best found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts, Room, room_of
from dra_lab.planner.fleet.pack import Packed, Takes, Values, pack
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import Part
from dra_lab.planner.states.columns import columns_of
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable


class AnyTable(Protocol):
    """What the master asks of a site's table."""

    @property
    def site(self) -> Site:
        """Return the site."""

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""

    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, values each of which no way of a replica undercuts; None where none can stand."""

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers."""

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find the best way for some numbers, or what a limit leaves of it."""


@dataclass
class Table:
    """What is known of one site.

    `packed` holds each combination of numbers that was looked at; one that is not there, and that counting allows, is
    not known to be impossible. `vectors` are all that counting allows (None: too many to list). With a `stock` ways are
    found for many numbers before a solver is asked.
    """

    site: Site
    room: Room
    order: tuple[str, ...]
    solver: str
    vectors: list[Counts] | None
    stock: Stock | None = None
    packed: dict[Counts, Packed] = field(default_factory=dict)
    _barred: list[Counts] = field(default_factory=list)

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way undercuts, None where the numbers are impossible."""
        known = self.packed.get(counts)
        if known is not None:
            return known.lower
        if self.is_barred(counts) or not self.room.may_hold(counts):
            return None
        return self._summed(counts)

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
    def caps(self) -> Counts:
        """Return the most replicas of each part."""
        return self.room.caps

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        caps = ((_one(self.room.caps, at), cap) for at, cap in enumerate(self.room.caps))
        return (*caps, *self.room.whole)

    def is_barred(self, counts: Counts) -> bool:
        """Say whether the numbers contain some that are known to be impossible."""
        return any(all(a >= b for a, b in zip(counts, barred, strict=True)) for barred in self._barred)

    def learn(self, counts: Counts, found: Packed) -> None:
        """Keep what was found out."""
        self.packed[counts] = found
        if found.lower is None:
            self._barred.append(counts)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find the best way for some numbers of replicas, or what a limit leaves of it."""
        known = self.packed.get(counts)
        if known is not None and known.exact:
            return known
        lower = self.lower(counts)
        if lower is None:
            found = Packed(None)
        elif not any(counts):
            found = Packed(lower, lower)
        else:
            found = pack(
                self.site.problem,
                self.site.parts,
                counts,
                self.order,
                budget,
                solver=self.solver,
                lower=lower,
            )
            if known is not None and known.upper is not None and (found.upper is None or known.upper < found.upper):
                found = Packed(found.lower, known.upper, known.takes)
        self.learn(counts, found)
        return found

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
        for at, cap in enumerate(self.room.caps):
            lower = self.lower(_one(self.site.zero, at)) if cap else None
            # Of goals that are compared one after the other, the first alone holds whatever the others are.
            found.append(None if lower is None else (*lower[:1], *(0 for _ in lower[1:])))
        return tuple(found)

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers."""
        return named(self.site, self.packed[counts].takes)

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        known = self.packed.get(counts)
        return known is None or not known.exact

    @property
    def closed(self) -> bool:
        """Say whether everything that counting allows is known exactly."""
        return self.vectors is not None and all(
            self.is_barred(counts) or (counts in self.packed and self.packed[counts].exact) for counts in self.vectors
        )


def tables_of(
    sites: Sequence[Site], demand: Sequence[int], order: tuple[str, ...], solver: str, budget: Budget
) -> list[Table]:
    """Return a table for every site with what counting says, until a limit; `order` names the goals of devices."""
    tables: list[Table] = []
    sizes = budget.sizes
    for site in sites:
        if tables and budget.reached:
            break
        room = room_of(site, demand)
        vectors = room.vectors(sizes.numbers)
        many = site.homes or vectors is None or len(vectors) > sizes.decided
        stock = stock_of(site, order, sizes.pod_ways) if many else None
        table = Table(site, room, order, solver, vectors, stock)
        table.learn(site.zero, Packed((0,) * len(order), (0,) * len(order)))
        tables.append(table)
    return tables


def named(site: Site, takes: Takes) -> Takes:
    """Return takes of groups of a site's problem as takes of the groups that plans name (`Site.kept`)."""
    if site.state is None:
        return takes
    return tuple((number, ask, site.kept[group], count) for number, ask, group, count in takes)


def stock_of(site: Site, order: Sequence[str], most: int) -> Stock | None:
    """Return what a site has and every way of its pods, None where these cannot be listed or one has over `most`."""
    state = NodeState(-1, tuple(group.size for group in site.problem.groups))
    return _stocked(site.problem, site.parts, [state], order, most)


def stock_of_states(problem: AllocationProblem, sites: Sequence[Site], order: Sequence[str], most: int) -> Stock | None:
    """Return what sites with known states of one problem have, with every way of their pods; None as in `stock_of`."""
    states = [site.state for site in sites if site.state is not None]
    return _stocked(problem, sites[0].parts, states, order, most)


def _stocked(
    problem: AllocationProblem, parts: Sequence[Part], states: Sequence[NodeState], order: Sequence[str], most: int
) -> Stock | None:
    columns = [columns_of(problem, part, order, most) for part in parts] if is_listable(problem, parts) else [None]
    ways = [found for found in columns if found is not None]
    return Stock(problem, states, ways) if len(ways) == len(parts) else None


def way(stock: Stock, rows: Sequence[tuple[int, int]], at: Mapping[int, int] | None = None) -> tuple[Values, Takes]:
    """Return what pods with these (pod, column) of a stock are worth, and what they take.

    `at` is the position of each group of the stock in the problem of a site, None where these are the same.
    """
    columns = stock.columns
    takes = tuple(
        (number, ask, group if at is None else at[group], count)
        for number, (pod, column) in enumerate(sorted(rows))
        for (ask, group), count in zip(columns[pod].pairs, columns[pod].takes[column].tolist(), strict=True)
        if count
    )
    values = sum(columns[pod].values[column] for pod, column in rows)
    return tuple(int(value) for value in values), takes


def _one(counts: Counts, at: int) -> Counts:
    return tuple(int(position == at) for position in range(len(counts)))


def _less(counts: Counts, at: int) -> Counts:
    return tuple(count - (position == at) for position, count in enumerate(counts))
