"""Gangs whose pods all use the same values of an attribute, such as rails: the best set of values, with its proof."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice, product
from typing import NamedTuple

from msgspec.structs import replace as changed

from dra_lab.model.claims import RequestPart, selected
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.placement import SameValues
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.planner.budget import Progress
from dra_lab.planner.gangs.plan_gangs import plan_gangs
from dra_lab.planner.rail_values import Bound, BoundAsk, Values, bounds_of, domains_of, sets_of
from dra_lab.sketch.cel_text import is_one_of, read_of
from dra_lab.sketch.links import listed

MOST_PLANS = 200
"""More sets of values are not planned."""

_FIRST = 0.3
"""The share of the time for the plan without `same`."""

_AT_ONCE = 5
"""A plan gets this part of the time that is left, or more if fewer plans are to be made."""

Chosen = tuple[Values, ...]
"""A set of values for each attribute."""


class AllDifferent(NamedTuple):
    """Requests of a claim of a group whose devices all have different values of the attribute of this number."""

    attribute: int
    group: str
    claim: int
    requests: tuple[str, ...]


@dataclass(frozen=True)
class RailReplicas:
    """Replicas of a workload that use the same set of values of each attribute."""

    chosen: Chosen
    replicas: int
    apart: frozenset[AllDifferent] = frozenset()


Parts = Mapping[str, Sequence[RailReplicas]]
"""What is decided, by workload."""


@dataclass
class _Search:
    """What is planned: the workloads in their order, what each binds, and the parts of those that are decided."""

    cluster: Cluster
    release: KubernetesRelease
    workloads: Sequence[Workload]
    bounds: Mapping[str, list[Bound]]
    plan_with: Callable[[Sequence[Workload], float], Plan]
    parts: dict[str, list[RailReplicas]]
    deadline: float | None
    cancel: threading.Event | None

    def late(self) -> bool:
        """Say whether it is time to stop."""
        cancelled = self.cancel is not None and self.cancel.is_set()
        return cancelled or (self.deadline is not None and time.monotonic() >= self.deadline)

    def plan(self, parts: Parts, left: int) -> Plan:
        """Return the plan with parts of workloads, of `left` plans that are still to make."""
        wanted = [one for workload in self.workloads for one in _split(workload, self, parts)]
        return self.plan_with(wanted, 1 / max(1, min(left, _AT_ONCE)))


def plan_same(
    cluster: Cluster,
    workloads: Sequence[Workload],
    *,
    release: KubernetesRelease | str | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Plan:
    """Return the plan of workloads of which some have `same`; arguments and errors are those of `plan_gangs`.

    Every set of values that counting allows is planned until one is as good as the plan without `same`. The workloads
    of the plan have selectors that fix the values. Replicas that use other values are a workload of their own.
    """
    began = time.monotonic()
    target = cluster.target_release(release)
    deadline = None if time_limit is None else began + time_limit

    def plan_with(wanted: Sequence[Workload], share: float) -> Plan:
        limit = None if deadline is None else max(0.05, share * (deadline - time.monotonic()))
        return plan_gangs(
            cluster, wanted, release=target, time_limit=limit, progress=progress, cancel=cancel, solver=solver
        )

    open_ = [replace(one, same=()) for one in workloads]
    free = plan_with(open_, _FIRST)
    if free.status in (PlanStatus.EMPTY, PlanStatus.NOT_CHECKED):
        return free
    bounds = {one.name: bounds_of(cluster, one, target) for one in workloads if one.same}
    search = _Search(cluster, target, open_, bounds, plan_with, {}, deadline, cancel)
    mine = sorted((one for one in open_ if one.name in bounds and one.replicas), key=lambda one: -one.priority)
    if not mine:
        return free
    plan, depth = free, 0
    for workload in mine:
        plan, depth = _choose(search, workload, free)
    alone = sum(one.replicas for one in mine) == 1
    found = _with_proofs(plan, free, depth if alone else 0)
    found = replace(found, shortfalls=(*found.shortfalls, *_shortfalls(found, free, search)))
    return replace(found, same=tuple(_same(found, search)), seconds=time.monotonic() - began)


# ---------------------------------------------------------------- the sets of one workload


def _choose(search: _Search, workload: Workload, free: Plan) -> tuple[Plan, int]:
    """Decide the sets of a workload, and return the plan and how many of its goals trying every set proves."""
    parts: list[RailReplicas] = []
    plan, depth = free, 0
    while True:
        done = sum(part.replicas for part in parts)
        plan, part, depth = _best_set(search, workload, parts, workload.replicas - done, free)
        placed = plan.placed[_name(workload, len(parts), search.workloads)]
        parts.append(part)
        search.parts[workload.name] = parts
        if not placed or done + placed >= workload.replicas or search.late():
            return plan, depth
        # The others may use another set.
        parts[-1] = replace(part, replicas=placed)


def _best_set(
    search: _Search, workload: Workload, parts: Sequence[RailReplicas], replicas: int, free: Plan
) -> tuple[Plan, RailReplicas, int]:
    """Return the best plan with one set more for the other replicas, that set, and how many goals are proven best."""
    candidates, complete = _candidates(search, workload)
    best: tuple[tuple[int, ...], Plan, RailReplicas] | None = None
    limits: list[tuple[tuple[int, ...], int]] = []
    for number, chosen in enumerate(candidates):
        if best is not None and (search.late() or best[0] <= _values(free)):
            complete = False
            break
        always, more = _apart(search, workload, chosen)
        for apart in dict.fromkeys((always, always | more)):
            part = RailReplicas(chosen, replicas, apart)
            tried = {**search.parts, workload.name: [*parts, part]}
            plan = search.plan(tried, len(candidates) - number)
            if apart == always:
                limits.append((_values(plan), _proven(plan)))
            if _is_exact(plan, search, tried):
                if best is None or _values(plan) < best[0]:
                    best = _values(plan), plan, part
                break
    if best is None:
        # Without any value the replicas have no place, and the plan counts them.
        part = RailReplicas(((),) * len(search.bounds[workload.name]), replicas)
        return search.plan({**search.parts, workload.name: [*parts, part]}, 1), part, 0
    depth = min(_settled(values, sure, best[0]) for values, sure in limits)
    return best[1], best[2], depth if complete else 0


def _candidates(search: _Search, workload: Workload) -> tuple[list[Chosen], bool]:
    """Return the sets of values to plan, those with the most devices first, and whether no other set is possible."""
    domains = domains_of(search.cluster, workload)
    found = [sets_of(workload, bound, domains) for bound in search.bounds[workload.name]]
    candidates = list(islice(product(*(sets for sets, _ in found)), MOST_PLANS + 1))
    complete = all(whole for _, whole in found) and len(candidates) <= MOST_PLANS
    return candidates[:MOST_PLANS], complete


def _apart(
    search: _Search, workload: Workload, chosen: Chosen
) -> tuple[frozenset[AllDifferent], frozenset[AllDifferent]]:
    """Return the requests whose devices have different values in any case, and those for which that is a try.

    It makes pods use all values of a set where a node has several devices of one value.
    """
    always, more = set(), set()
    for number, (bound, values) in enumerate(zip(search.bounds[workload.name], chosen, strict=True)):
        if len(values) < 2 or not bound.repeated or not search.release.enabled("DRAConsumableCapacity"):
            continue
        for group in bound.groups(workload):
            mine = [one for one in bound.asks if one.group == group]
            claims = {one.claim for one in mine}
            if bound.per_pod(group) == len(values) and len(claims) == 1:
                always.add(AllDifferent(number, group, mine[0].claim, tuple(one.ask.reference for one in mine)))
            for one in mine:
                if one.ask.count == len(values):
                    more.add(AllDifferent(number, group, one.claim, (one.ask.reference,)))
    return frozenset(always), frozenset(more)


def _is_exact(plan: Plan, search: _Search, parts: Parts) -> bool:
    """Say whether every pod that is bound uses exactly the values of its part."""
    wanted = {
        _name(workload, at, search.workloads): (workload, part)
        for workload in search.workloads
        for at, part in enumerate(parts.get(workload.name, ()))
    }
    for pod in plan.pods:
        if pod.workload not in wanted:
            continue
        workload, part = wanted[pod.workload]
        for bound, values in zip(search.bounds[workload.name], part.chosen, strict=True):
            used = {bound.values_of[one.device] for one in pod.devices if one.device in bound.values_of}
            if bound.per_pod(pod.group) and used != {*values}:
                return False
    return True


# ---------------------------------------------------------------- the workloads with their selectors


def _name(workload: Workload, part: int, every: Sequence[Workload]) -> str:
    """Return the name of a part of a workload: the first one has the name of the workload."""
    if not part:
        return workload.name
    taken = {one.name for one in every}
    free = (name for number in count(2) if (name := f"{workload.name}-{number}") not in taken)
    return next(islice(free, part - 1, None))


def _split(workload: Workload, search: _Search, parts: Parts) -> Iterator[Workload]:
    """Yield a workload as it is, or each of its parts with the selectors that fix its values."""
    if workload.name not in parts:
        yield workload
    for at, part in enumerate(parts.get(workload.name, ())):
        groups = tuple(_fixed(group, search.bounds[workload.name], part) for group in workload.pods)
        yield replace(workload, name=_name(workload, at, search.workloads), pods=groups, replicas=part.replicas)


def _fixed(group: PodGroup, bounds: Sequence[Bound], part: RailReplicas) -> PodGroup:
    claims = list(group.claims)
    for number, (bound, values) in enumerate(zip(bounds, part.chosen, strict=True)):
        for one in (one for one in bound.asks if one.group == group.name):
            claims[one.claim] = _selected(claims[one.claim], one, bound.attribute, values)
        for link in (link for link in part.apart if (link.attribute, link.group) == (number, group.name)):
            claim = claims[link.claim]
            name = f"same-{len(claim.links) + 1}"
            distinct = Link(name=name, requests=link.requests, where=bound.attribute, how=How.APART)
            claims[link.claim] = changed(claim, links=(*claim.links, distinct))
    return replace(group, claims=tuple(claims))


def _selected(claim: ClaimSketch, one: BoundAsk, attribute: str, values: Values) -> ClaimSketch:
    """Return a claim of which a request takes only devices with some values."""
    read, there = read_of(attribute, "")
    text = is_one_of(read, values) if values else f"{read} in []"
    more = f"{there} && {text}" if one.lacking else text

    def with_selector(reference: str, part: RequestPart) -> RequestPart:
        return selected(part, more) if reference == one.ask.reference else part

    return changed(claim, requests=tuple(request.with_parts(with_selector) for request in claim.requests))


def _same(plan: Plan, search: _Search) -> Iterator[SameValues]:
    """Yield the values that each replica with a place uses."""
    for workload in search.workloads:
        for at, part in enumerate(search.parts.get(workload.name, ())):
            name = _name(workload, at, search.workloads)
            for replica in sorted({pod.replica for pod in plan.pods if pod.workload == name}):
                for bound, values in zip(search.bounds[workload.name], part.chosen, strict=True):
                    yield SameValues(name, replica, bound.attribute, values, bound.inferred)


def _shortfalls(plan: Plan, free: Plan, search: _Search) -> Iterator[Shortfall]:
    """Yield the workloads of which more replicas would fit without `same`."""
    for workload in search.workloads:
        parts = search.parts.get(workload.name, ())
        placed = sum(plan.placed[_name(workload, at, search.workloads)] for at in range(len(parts)))
        if parts and placed < free.placed[workload.name]:
            names = listed(bound.attribute for bound in search.bounds[workload.name])
            message = (
                f"all pods of a replica of {workload.name} must use the same values of {names}; without this "
                f"{free.placed[workload.name]:,} of {workload.replicas:,} fit"
            )
            if plan.status is PlanStatus.STOPPED:
                message += ", and not every way to use the same values was tried"
            advice = "Free devices with the same values on more nodes, or ask for fewer devices per pod."
            yield Shortfall("same", workload.name, message, advice=advice)


# ---------------------------------------------------------------- what is proven


def _values(plan: Plan) -> tuple[int, ...]:
    return tuple(goal.value for goal in plan.goals)


def _proven(plan: Plan) -> int:
    """Return how many goals of a plan are proven, from the first on."""
    return next((at for at, goal in enumerate(plan.goals) if not goal.proven), len(plan.goals))


def _settled(values: tuple[int, ...], sure: int, best: tuple[int, ...]) -> int:
    """Return up to which goal no plan with a set is better than the best plan; `sure` goals of the set are proven."""
    for at, (value, mine) in enumerate(zip(values, best, strict=True)):
        if at >= sure or value < mine:
            return at
        if value > mine:
            break
    return len(best)


def _with_proofs(plan: Plan, free: Plan, depth: int) -> Plan:
    """Return a plan with what is proven of it: `depth` goals by trying all sets, others by the plan without `same`."""
    goals: list[GoalValue] = []
    equal = True
    for at, (goal, other) in enumerate(zip(plan.goals, free.goals, strict=True)):
        bound = other.bound if equal else None
        proven = at < depth or (equal and bound == goal.value and all(one.proven for one in goals))
        goals.append(replace(goal, bound=goal.value if proven else bound, proven=proven))
        equal = equal and goal.value == other.value
    sure = all(goal.proven for goal in goals)
    status = PlanStatus.OPTIMAL if sure else PlanStatus.FEASIBLE
    if not plan.pods:
        status = PlanStatus.INFEASIBLE if sure else PlanStatus.STOPPED
    return replace(plan, status=status, goals=tuple(goals))
