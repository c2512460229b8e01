"""The most of one kind of devices that pods use: the plan in which a pod without a place counts what it would use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil

from dra_lab.model.goals import UNPLACED
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import PodsModel, most_of_parts, size_of
from dra_lab.planner.fleet.question import FleetProblem, FleetQuestion, Work
from dra_lab.planner.fleet.search import Solution, search
from dra_lab.planner.fleet.sites import PodsOnNode, Site, devices_of, seen_together, sites_of
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.milp import minimise_exactly
from dra_lab.planner.node.variables import Expression, pulp
from dra_lab.planner.places.shapes import COUNTED_KINDS
from dra_lab.planner.states.node_state import common_unit

Bounds = tuple[Fraction, Fraction]
"""At least, at most."""


_Nodes = tuple[str, ...]
"""A node, or nodes that share devices."""

_Uses = list[list[set[Fraction]]]
"""What each request of each pod may use of a kind, by all ways on all hardware."""


@dataclass
class Usage:
    """Finds what pods of a fleet use of each place, of which so much is `free` of each kind.

    A plan in which pods are worth the same is made once, with more pods than can use what is free on any node.
    """

    fleet: FleetProblem
    free: Mapping[str, Mapping[_Nodes, int]]
    solver: str
    budget: Budget
    _plans: dict[tuple[int, ...], tuple[Solution, int]] = field(default_factory=dict)

    @cached_property
    def _uses(self) -> Mapping[str, _Uses]:
        scan = self.fleet.scan
        problems = [layout.problem for layout in scan.layouts.values()]
        problems += [scan.problem(equal.nodes[0]) for equal in scan.classes]
        return {kind: _uses_of(self.fleet, problems, kind) for kind in self.free}

    @cached_property
    def _wanted(self) -> tuple[int, ...]:
        """Return how many pods of each workload could use all that is free of a kind on any node."""
        wanted = [0] * len(self.fleet.pods)
        for kind, uses in self._uses.items():
            most = max(self.free[kind].values(), default=0)
            for pod, rows in enumerate(uses):
                some = [amount for row in rows for amount in row if amount]
                wanted[pod] = max(wanted[pod], ceil(most / min(some)) if some else 0)
        return tuple(wanted)

    def of_kind(self, kind: str) -> dict[_Nodes, Bounds]:
        """Return what pods use of a kind on each place: devices, or CPUs by the capacity that claims request.

        A place that plans leave open is solved as a model with all the pods that could use what is free there.
        """
        late = self.budget.reached
        if late and (not self._plans or _in_units(self._worths(kind)[1])[0] not in self._plans):
            return {nodes: (Fraction(), Fraction(amount)) for nodes, amount in self.free[kind].items()}
        least, most = self._worths(kind)
        # What no plan exceeds if each pod uses as much as any way does.
        used, bound = self._planned(kind, most)
        if not late and least != most and _total(used) < bound:
            used = max(used, self._planned(kind, least)[0], key=_total)
        missing = bound - _total(used)
        bounds = {}
        for nodes, amount in self.free[kind].items():
            mine = sum((used.get(node, Fraction()) for node in nodes), Fraction())
            bounds[nodes] = min(mine, Fraction(amount)), min(mine + missing, Fraction(amount))
        bounds |= dict(self._solved(kind, bounds))
        return bounds

    def _worths(self, kind: str) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return the least and the most that a pod of each workload uses of a kind."""
        rows = [[sorted(row) or [Fraction()] for row in rows] for rows in self._uses[kind]]
        least, most = (tuple(sum((row[at] for row in mine), Fraction()) for mine in rows) for at in (0, -1))
        return least, most

    def _planned(self, kind: str, worth: tuple[Fraction, ...]) -> tuple[dict[str, Fraction], Fraction]:
        """Return what pods use on each node in the plan in which each counts its worth, and what no plan exceeds."""
        worths, unit = _in_units(worth)
        if worths not in self._plans:
            each = [number if value else 0 for number, value in zip(self._wanted, worths, strict=True)]
            pods = tuple(
                replace(pod, workload=replace(pod.workload, replicas=replicas))
                for pod, replicas in zip(self.fleet.pods, each, strict=True)
            )
            different = len({_in_units(one)[0] for kind in self.free for one in self._worths(kind)})
            question = FleetQuestion(replace(self.fleet, pods=pods), (UNPLACED,), on_each=True, worth=worths)
            work = Work(question, self.budget.part(1 / (different - len(self._plans))), self.solver)
            wanted = sum(count * value for count, value in zip(work.question.demand, worths, strict=True))
            answer = search(work)
            least = next((goal.bound or 0 for goal in answer.answer.goals), 0)
            self._plans[worths] = answer, wanted - least
        found, bound = self._plans[worths]
        return self._used(kind, found.by_node), bound * unit

    def _used(self, kind: str, by_node: Iterable[PodsOnNode]) -> dict[str, Fraction]:
        """Return what pods use on each node; a shared device that is not counted by capacity counts once."""
        used, once = defaultdict[str, Fraction](Fraction), set[DeviceID]()
        for on_node in by_node:
            site = on_node.site
            problem = site.problem if site.state is None else self.fleet.scan.layouts[site.state.layout].problem
            for _, node, takes in on_node.parts():
                for (ask, number, devices), often in Counter(take for mine in takes for take in mine).items():
                    amount = amount_of(problem, ask, number, kind)
                    if amount and is_once(problem, number):
                        mine = set(devices_of(self.fleet, site, on_node.node)[number][:devices]) - once
                        once |= mine
                        used[node] += len(mine)
                    else:
                        used[node] += amount * devices * often
        return used

    def _solved(self, kind: str, known: Mapping[_Nodes, Bounds]) -> Iterator[tuple[_Nodes, Bounds]]:
        """Yield what models say of the places that are open.

        Case that needs them: of 31 GPUs that only an alternative for all devices uses, plans find 0 to 31.
        """
        left, budget = {nodes for nodes, (least, most) in known.items() if least < most}, self.budget
        for site in sites_of(self.fleet) if left and not budget.reached else ():
            mine = left.intersection(site.nodes or [(node,) for node in site.members])
            if not mine or budget.reached:
                continue
            place = seen_together(self.fleet, site, budget) if site.nodes else site
            used = self._most_used(kind, place, max(known[nodes][1] for nodes in mine)) if place else None
            if used is not None:
                yield from ((at, (max(known[at][0], used[0]), min(known[at][1], used[1]))) for at in mine)

    def _most_used(self, kind: str, place: Site, most: Fraction) -> Bounds | None:
        """Return what the pods use that could use so much; None if their model is too large, or time is over."""
        problem = place.problem
        using = {ask for at, group in enumerate(problem.groups) if kind_of(problem, at) == kind for ask in group.asks}
        wanted = [0] * len(self.fleet.pods)
        for part in place.parts:
            if using & set(range(*part.asks)):
                wanted[part.pod] = int(most)
        each = most_of_parts(place, wanted)
        if size_of(problem, place.parts, each) > self.budget.sizes.variables:
            return None
        model = PodsModel(problem, place.parts, each, (), absent=True)
        amounts = _amounts_in(kind, model, problem)
        unit = common_unit(amounts.values()) or Fraction(1)
        if not amounts:
            return Fraction(), Fraction()
        used = pulp.LpAffineExpression({variable: -int(amount / unit) for variable, amount in amounts.items()})
        outcome = minimise_exactly(model.model, used, self.solver, self.budget)
        least = -(outcome.value or 0) * unit
        return least, most if outcome.bound is None else min(most, -outcome.bound * unit)


def _in_units(worth: tuple[Fraction, ...]) -> tuple[tuple[int, ...], Fraction]:
    """Return amounts as whole numbers of a unit."""
    unit = common_unit(worth) or Fraction(1)
    return tuple(int(amount / unit) for amount in worth), unit


def _uses_of(fleet: FleetProblem, problems: Iterable[AllocationProblem], kind: str) -> _Uses:
    found: _Uses = [[set() for _ in range(*pod.requests)] for pod in fleet.pods]
    for problem in problems:
        uses = defaultdict[int, set[Fraction]](set)
        for number, group in enumerate(problem.groups):
            for ask in set(group.asks) - problem.impossible:
                uses[ask].add(problem.need(ask) * amount_of(problem, ask, number, kind))
        for pod, rows in zip(fleet.pods, found, strict=True):
            for row, asks in zip(rows, problem.requests[slice(*pod.requests)], strict=True):
                row.update(*(uses[ask] for ask in asks))
    return found


def _amounts_in(kind: str, model: PodsModel, problem: AllocationProblem) -> dict[Expression, Fraction]:
    """Return what variables of a model count of a kind."""
    amounts: dict[Expression, Fraction] = {}
    once: dict[int, list[Expression]] = {}
    for _, ask, group, variable in model.taken:
        amount = amount_of(problem, ask, group, kind)
        if amount and is_once(problem, group):
            once.setdefault(group, []).append(variable)
        elif amount:
            amounts[variable] = amounts.get(variable, Fraction()) + amount
    for variables in once.values():
        seen = model.model.integer("once", 1)
        model.model.require(seen <= pulp.lpSum(variables))
        amounts[seen] = Fraction(1)
    return amounts


def kind_of(problem: AllocationProblem, number: int) -> str:
    """Return the kind of a group's devices, as answers name it."""
    kind = problem.groups[number].kind
    return kind if kind in COUNTED_KINDS else "other"


def amount_of(problem: AllocationProblem, ask: int, number: int, kind: str) -> Fraction:
    """Return what one device of a group counts of a kind when an ask takes it: CPUs in CPUs, others as one."""
    if kind_of(problem, number) != kind or problem.asks[ask].admin_access:
        return Fraction()
    key = _cpu_key(problem, number)
    return dict(dict(problem.groups[number].uses)[ask]).get(key, Fraction()) if key else Fraction(1)


def is_once(problem: AllocationProblem, number: int) -> bool:
    """Say whether a device of a group counts once for all pods that share it."""
    return problem.groups[number].shareable and not _cpu_key(problem, number)


def _cpu_key(problem: AllocationProblem, number: int) -> str:
    """Return the capacity that a shared CPU device is counted by, "" for a device that counts as one.

    It is the first by name of those that some claim asks for.
    """
    group = problem.groups[number]
    if not group.shareable or group.kind != "cpu":
        return ""
    requested = {key for ask in problem.asks for key in ask.capacity}
    return min((key for _, uses in group.uses for key, _ in uses if key in requested), default="")


def _total(used: Mapping[str, Fraction]) -> Fraction:
    return sum(used.values(), Fraction())
