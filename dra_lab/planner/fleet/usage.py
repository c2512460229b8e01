"""The most of one kind of devices that pods side by side use of a place: at least, at most."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import gcd

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_copy import ByCopy, by_copy
from dra_lab.planner.fleet.by_option import ByOption, by_option
from dra_lab.planner.fleet.first_plan import FirstPlan, first_plan
from dra_lab.planner.fleet.most import Bounds, as_place, solved
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.shapes import PodShape
from dra_lab.planner.fleet.shared_devices import SharedModel
from dra_lab.planner.fleet.site_bounds import Amounts, Known, known_sites
from dra_lab.planner.fleet.sites import Site, devices_of, seen_together, whole_site
from dra_lab.planner.fleet.state_model import StateModel
from dra_lab.planner.fleet.tree_fill import devices_of_units, pools_of_units
from dra_lab.planner.fleet.tree_numbers import TreeNumbers, units_inside
from dra_lab.planner.fleet.tree_states import NumaState, free_on
from dra_lab.planner.fleet.tree_table import TreeTable
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression
from dra_lab.planner.states.node_state import common_unit

NAMED = ("gpu", "nic", "cpu")
"""The kinds that keep their name; all others are one, "other"."""


def kind_of(problem: AllocationProblem, number: int) -> str:
    """Return the kind of a group's devices, as answers name it."""
    kind = problem.groups[number].kind
    return kind if kind in NAMED else "other"


def amount_of(problem: AllocationProblem, ask: int, number: int, kind: str, key: str) -> Fraction:
    """Return what one device of a group counts of a kind when an ask takes it: CPUs in CPUs (`key`), others as one."""
    if kind_of(problem, number) != kind or problem.asks[ask].admin_access:
        return Fraction()
    return dict(dict(problem.groups[number].uses)[ask]).get(key, Fraction()) if key else Fraction(1)


def cpu_key(problem: AllocationProblem, number: int) -> str:
    """Return the capacity that a shared CPU device is counted by, "" for a device that counts as one.

    It is the first by name of those that some claim asks for.
    """
    group = problem.groups[number]
    if not group.shareable or group.kind != "cpu":
        return ""
    requested = {key for ask in problem.asks for key in ask.capacity}
    return min((key for _, uses in group.uses for key, _ in uses if key in requested), default="")


def is_additive(problem: AllocationProblem, kind: str) -> bool:
    """Say whether pods use of a kind what each uses by itself: no shared device counts once for several of them."""
    return not any(
        group.shareable and kind_of(problem, number) == kind and not cpu_key(problem, number)
        for number, group in enumerate(problem.groups)
    )


@dataclass
class UsagePlace:
    """A site as one model has it; its ways are listed once for all kinds."""

    fleet: FleetProblem
    site: Site
    solver: str
    budget: Budget

    @cached_property
    def one(self) -> Site:
        """Return the site as one place."""
        return as_place(self.site)

    @cached_property
    def ways(self) -> ByOption | None:
        """Return the model of every way of the pods, None where these cannot be listed."""
        return by_option(self.one, (), self.budget)

    def most_used(self, kind: str, free: int) -> Bounds:
        """Return what pods use of a kind, of which so much is `free`.

        If ways of pods cannot be listed, or a shared device counts once for several pods, the model has as many pods as
        could use all that is free. If that is too large, or time is over, nothing is known.
        """
        if self.budget.reached:
            return 0, free
        problem = self.one.problem
        shared_nodes: ByOption | ByCopy | None = self.ways if is_additive(problem, kind) else None
        shared_nodes = shared_nodes or by_copy(self.one, _wanted(self.one, kind, free), (), self.budget)
        if shared_nodes is None:
            return 0, free
        lp = pulp.LpProblem("used", pulp.LpMinimize)
        model = shared_nodes.model(lp, 0, self.fleet.demand)
        amounts = _amounts_in(model, shared_nodes.site.problem, problem, kind, lp)
        unit = common_unit(amounts.values()) or Fraction(1)
        value_of = {variable: int(amount / unit) for variable, amount in amounts.items()}
        least, most = solved(model, lp, value_of, int(free / unit), self.solver, self.budget)
        return int(least * unit), int(most * unit)


def _amounts_in(
    model: SharedModel, problem: AllocationProblem, whole: AllocationProblem, kind: str, lp: Expression
) -> dict[Expression, Fraction]:
    """Return what variables of a model count of a kind; `whole` is the problem in which devices are as published."""
    keys = {device: cpu_key(whole, at) for at, group in enumerate(whole.groups) for device in group.devices}
    amounts: dict[Expression, Fraction] = {}
    once: dict[int, list[Expression]] = {}
    for ask, group, variable, count in model.taken:
        key = keys[problem.groups[group].devices[0]]
        amount = amount_of(problem, ask, group, kind, key)
        if amount and problem.groups[group].shareable and not key:
            once.setdefault(group, []).append(variable)
        elif amount:
            amounts[variable] = amounts.get(variable, Fraction()) + count * amount
    for group, variables in once.items():
        seen = lp.add_variable(f"seen_{group}", 0, 1, pulp.LpInteger)
        lp.addConstraint(seen <= pulp.lpSum(variables))
        amounts[seen] = Fraction(1)
    return amounts


def _wanted(place: Site, kind: str, free: int) -> tuple[int, ...]:
    """Return how many pods of each workload could use all that is free of a kind; none of those that use nothing."""
    problem, wanted = place.problem, dict.fromkeys(part.pod for part in place.parts)
    using = {ask for at, group in enumerate(problem.groups) if kind_of(problem, at) == kind for ask in group.asks}
    for part in place.parts:
        wanted[part.pod] = free if wanted[part.pod] or using & set(range(*part.asks)) else 0
    return tuple(wanted[pod] or 0 for pod in sorted(wanted))


def used_together(
    fleet: FleetProblem, site: Site, free: Mapping[str, int], solver: str, budget: Budget
) -> dict[str, Bounds]:
    """Return what pods use of each kind on nodes that share devices, of which so much is `free` in all.

    One model says it for all of them. If that is too large, or time ends, the result is what first plans use. The bound
    is what each node would use if no other node took any.
    """
    first = budget.part(budget.shares.first)
    seen = seen_together(fleet, site, first)
    place = None if seen is None else UsagePlace(fleet, seen, solver, first)
    found = {k: (0, amount) if place is None else place.most_used(k, amount) for k, amount in free.items()}
    left = [kind for kind, (least, most) in found.items() if least < most]
    plans = _first_plans(fleet, site, max(free.values()), budget) if left else []
    for kind in left:
        budget.report_step("patterns", f"looking at {kind} on {len(site.all_nodes)} nodes that share devices")
        least, bound = found[kind]
        least = max(least, *(_used_in(fleet, plan, kind) for plan in plans))
        if least < bound:
            alone = [UsagePlace(fleet, whole_site(fleet, node), solver, budget) for node in site.all_nodes]
            used = [place.most_used(kind, free[kind]) for place in alone]
            least = max(least, *(mine for mine, _ in used))
            bound = min(bound, sum(most for _, most in used))
        found[kind] = min(least, bound), bound
    return found


def _first_plans(fleet: FleetProblem, site: Site, most: int, budget: Budget) -> list[FirstPlan]:
    """Return first plans with up to `most` pods: of all workloads, and of each alone."""
    each = {tuple(most * (pod == only) for pod in range(len(fleet.pods))) for only in range(len(fleet.pods))}
    return [first_plan(fleet, [site], (), wanted, budget) for wanted in sorted({*each, (most,) * len(fleet.pods)})]


def _used_in(fleet: FleetProblem, plan: FirstPlan, kind: str) -> int:
    """Return what the pods of a first plan use of a kind; a shared device that counts as one counts once."""
    amount, once = Fraction(), set[DeviceID]()
    for on_node in plan.by_node:
        problem = on_node.site.problem
        takes = [take for mine in on_node.takes for take in mine]
        keys = {number: cpu_key(problem, number) for number in {group for _, group, _ in takes}}
        for ask, number, count in takes:
            mine = amount_of(problem, ask, number, kind, keys[number])
            if mine and problem.groups[number].shareable and not keys[number]:
                once.update(devices_of(fleet, on_node.site, on_node.node)[number][:1])
            else:
                amount += count * mine
    return int(amount) + len(once)


def amounts_of(kind: str) -> Amounts:
    """Return what devices count of a kind, as `known_sites` asks for it."""

    def amounts(problem: AllocationProblem) -> Mapping[tuple[int, int], Fraction] | None:
        if not is_additive(problem, kind):
            return None
        return {
            (ask, number): amount_of(problem, ask, number, kind, cpu_key(problem, number))
            for number, group in enumerate(problem.groups)
            for ask in group.asks
        }

    return amounts


def used_of_kinds(
    fleet: FleetProblem,
    sites: Sequence[Site],
    trees: Sequence[TreeTable] | None,
    free: Sequence[Mapping[str, int]],
    solver: str,
    budget: Budget,
) -> list[dict[str, Bounds]]:
    """Return for each site, and its tree if all are trees, what pods use of each kind, of which so much is `free`.

    States that first fit and counting leave open are solved, the widest gap first.
    """
    budget.report_step("patterns", f"looking at what pods use on {len(sites):,} different nodes")
    found: list[dict[str, Known]] = [{} for _ in sites]
    solve: list[tuple[Known, Callable[[], Bounds]]] = []
    places = [UsagePlace(fleet, site, solver, budget) for site in sites]
    for kind in sorted({kind for row in free for kind, amount in row.items() if amount}):
        most = max(row.get(kind, 0) for row in free)
        uses = None if trees is None else tree_uses(trees, kind)
        knowns = known_sites(fleet, sites, most, budget, amounts_of(kind)) if uses is None else []
        for at, (site, row) in enumerate(zip(sites, free, strict=True)):
            most_here = row.get(kind, 0)
            if uses is None:
                known = knowns[at]
            else:
                # Once time is over, nothing may be used, or all that is free.
                known = Known(site, *((0, most_here) if budget.reached else uses[at].bounds))
            known.learn(0, most_here)
            found[at][kind] = known
            if uses is not None:
                solve.append((known, partial(uses[at].solved, solver, budget)))
            else:
                solve.append((known, partial(places[at].most_used, kind, most_here)))
    solve.sort(key=lambda row: -row[0].gap)
    for number, (known, solved_now) in enumerate(solve):
        if not known.gap or budget.reached:
            break
        if budget.due:
            budget.report_step("patterns", f"looked at what pods use on {number:,} parts of {len(sites):,} node states")
        known.learn(*solved_now())
    return [{kind: (min(k.least, k.most), k.most) for kind, k in row.items()} for row in found]


def tree_uses(trees: Sequence[TreeTable], kind: str) -> list[TreeUse] | None:
    """Return what pods use of a kind on trees; None if a shared device counts once for several pods."""
    tree = trees[0].tree
    requested = {key for problem in tree.problems.values() for ask in problem.asks for key in ask.capacity}
    if kind == "cpu" and not requested.issuperset(filter(None, tree.kinds.key)):
        return None
    of_root = {"gpu": tree.kinds.gpu, "nic": tree.kinds.nic}.get(kind, frozenset())
    of_pool = dict(enumerate(tree.units if kind == "cpu" else ()))
    memo: dict[Hashable, TreeUse] = {}
    value_of = {
        (pod, at): sum(devices_of_units(shape, shape.need)[number] for number in of_root)
        + sum(pools_of_units(shape, shape.need)[number] * unit for number, unit in of_pool.items())
        for pod, shapes in enumerate(tree.shapes)
        for at, shape in enumerate(shapes)
    }
    unit = common_unit(map(Fraction, value_of.values())) or Fraction(1)
    in_units = {key: int(amount / unit) for key, amount in value_of.items()}
    found = []
    for table in trees:
        key = id(table.numbers)
        if key not in memo:
            memo[key] = TreeUse(table.numbers, in_units, unit)
        found.append(memo[key])
    return found


@dataclass
class TreeUse:
    """Use of devices by pods on one tree: `value_of` is the value of one pod of each (workload, shape), in a `unit`."""

    numbers: TreeNumbers
    value_of: Mapping[tuple[int, int], int]
    unit: Fraction
    known: Bounds | None = None

    @cached_property
    def bounds(self) -> Bounds:
        """Return what the pods that were placed use, and what counting allows."""
        low, high = self._bounds
        return int(low * self.unit), int(high * self.unit)

    @cached_property
    def _bounds(self) -> Bounds:
        chains = {id(chain): chain for chain, _ in self.numbers.chains.values()}
        least = max(sum(self.value_of[one.pod, one.shape] for one in chain) for chain in chains.values())
        return least, max(least, self._counted())

    def _counted(self) -> int:
        shapes = [
            (shape, self.value_of[pod, at])
            for pod, mine in enumerate(self.numbers.fill.tree.shapes)
            for at, shape in enumerate(mine)
            if self.value_of[pod, at]
        ]
        if not shapes:
            return 0
        if all(shape.one_numa for shape, _ in shapes):
            return sum(largest_value((numa,), shapes) for numa in self.numbers.state)
        return largest_value(self.numbers.state, shapes)

    def solved(self, solver: str, budget: Budget) -> Bounds:
        """Return what the model of the tree says; nodes with the same tree ask it once."""
        if self.known is None:
            low, high = self._bounds
            model = StateModel(self.numbers.fill, self.numbers.state, self.numbers.most, at_most=True)
            low, high, _ = model.most(low, solver, budget, self.value_of, high)
            self.known = int(low * self.unit), int(high * self.unit)
        return self.known


def largest_value(numas: Sequence[NumaState], shapes: Sequence[tuple[PodShape, int]]) -> int:
    """Return the largest value of pods of some shapes, each with the value of one, on some NUMA nodes together.

    What all of them take of, devices of a kind, an amount of a pool or units of one kind, bounds them by the best rate.
    """
    each = [(devices_of_units(shape, shape.need), pools_of_units(shape, shape.need)) for shape, _ in shapes]
    needs = [(*devices, *pools) for devices, pools in each]
    devices, pools = free_on(numas, *map(len, each[0]))
    rows = [(amount, [need[kind] for need in needs]) for kind, amount in enumerate((*devices, *pools))]
    for unit in {(unit.root, unit.pool): unit for shape, _ in shapes for unit in shape.units}.values():
        counts = [
            sum(other.count for other in shape.units if (other.root, other.pool) == (unit.root, unit.pool))
            for shape, _ in shapes
        ]
        rows.append((sum(units_inside(unit, numa) for numa in numas), counts))
    found = [
        amount * max(Fraction(value, need) for (_, value), need in zip(shapes, mine, strict=True))
        for amount, mine in rows
        if all(mine)
    ]
    # Shapes that have nothing in common, or NUMA nodes that are none: each shape by itself.
    most = [min(amount // mine[at] for amount, mine in rows if mine[at]) for at in range(len(shapes))]
    found.append(Fraction(sum(count * value for count, (_, value) in zip(most, shapes, strict=True))))
    step = gcd(*(value for _, value in shapes))
    return int(min(found)) // step * step
