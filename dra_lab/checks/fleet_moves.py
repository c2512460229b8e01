"""Places that a fleet plan overlooks: one more replica, or a better sum, found by placing a few of its pods again.

What is found is a plan that keeps every rule, so that it refutes a bound for certain. What is not found proves nothing:
at most MOST_MOVED kinds of replicas are moved, each to at most MOST_MOVED nodes, one or two at a time. A plan that is
better only if three or more pods are placed again together is not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from msgspec.structs import replace as changed

from dra_lab.checks.fleet_pods import FleetPods, drawn
from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.checks.plan_bounds import Judge, PlacedPods, against, better, least_values
from dra_lab.checks.plan_devices import all_devices
from dra_lab.checks.plan_fits import MOST_NODES, fits_for_certain, is_simple
from dra_lab.checks.plan_places import goal_values
from dra_lab.checks.plans import keeps_all
from dra_lab.findings import Finding
from dra_lab.model.fleet import NODES, UNPLACED, Replica, Workload
from dra_lab.model.plan import GoalValue, Plan, PlanStatus
from dra_lab.model.sketch import asks

MOST_MOVED = 6
"""Replicas for which a better place is searched, and nodes to which each is moved."""


def more_fit(pods: FleetPods) -> Iterator[Finding]:
    """A plan that says that no more fit has no node on which one more replica can be placed.

    With `objective` "nodes" it says that not all fit together, which is held for one workload on nodes of their own.
    """
    plan = pods.plan
    none_at_all = plan.status is PlanStatus.INFEASIBLE
    missing = plan.goal(UNPLACED)
    if not none_at_all and (missing is None or not missing.bound):
        return
    if none_at_all and plan.objective == "nodes":
        yield from _all_fit(pods)
        return
    proven = none_at_all or (missing is not None and missing.proven)
    for workload in plan.workloads if proven else ():
        if plan.placed[workload.name] == workload.replicas:
            continue
        text = _one_more(pods, workload) or _exchanged(pods, workload)
        if text:
            yield broken("room", workload.name, f"the plan says that no more fit, but {text}")
            return
    if missing is not None and len(plan.workloads) == 1 and not _looks_in(pods):
        yield from _placed_again(pods, plan.workloads[0], missing.bound or 0)


def _one_more(pods: FleetPods, workload: Workload) -> str:
    """Return on which node one more replica fits beside the plan, "" if that was not found."""
    more = Replica(workload.name, pods.plan.placed[workload.name], "", ())
    for number, node in enumerate(pods.open_nodes[:MOST_NODES]):
        one = Plan(PlanStatus.FEASIBLE, drawn(workload), node=node)
        counted = not _looks_in(pods) and fits_for_certain(AuditedPlan(pods.around(node), one, pods.release))
        if counted or (number < MOST_MOVED and _placed(pods, changed(more, node=node)) is not None):
            return f"one more does on {node}"
    return ""


def _all_fit(pods: FleetPods) -> Iterator[Finding]:
    """Place all replicas of the only workload, which do not fit as the plan says."""
    (workload, *others) = pods.plan.workloads
    if not others and not pods.cluster.network_slices and not _looks_in(pods):
        text = _refuted(pods, workload, workload.replicas)
        if text:
            yield broken("room", workload.name, f"the plan says that not all fit, but {text}")


def _placed_again(pods: FleetPods, workload: Workload, bound: int) -> Iterator[Finding]:
    """Place all replicas of the only workload again, node by node: a greedy that places more refutes the bound."""
    if not pods.cluster.network_slices:
        enough = workload.replicas - bound
        text = _refuted(pods, workload, enough + 1) if bound > 0 else ""
        if text:
            yield broken("room", workload.name, f"the plan says that no more than {enough} fit, but {text}")


def _refuted(pods: FleetPods, workload: Workload, wanted: int) -> str:
    """Return that this number of replicas can be placed on nodes of their own, "" if that was not found."""
    found = 0
    for node in pods.open_nodes[:MOST_NODES]:
        held = AuditedPlan(pods.part(node), Plan(PlanStatus.FEASIBLE, drawn(workload), node=node), pods.release)
        found += fits_for_certain(held, wanted - found)
        if found >= wanted:
            return f"counting places {found}; the last one on {node}"
    return ""


def _looks_in(pods: FleetPods) -> bool:
    """Say whether a pod needs counters that others leave while it looks at devices (docs/semantics.md 3.10.7)."""
    requests = (r for workload in pods.plan.workloads for claim in workload.claims for r in claim.requests)
    return any(ask.admin_access for request in requests for ask in asks(request))


def _exchanged(pods: FleetPods, workload: Workload) -> str:
    """Return that one more replica fits if another one moves, "" if that was not found."""
    for replica in _kinds(pods):
        without = pods.having([other for other in pods.plan.replicas if other is not replica])
        more = Replica(workload.name, pods.plan.placed[workload.name], replica.node, ())
        found = _placed(without, more)
        if found is None:
            continue
        with_replica = without.having((*without.plan.replicas, found))
        for node in _nodes(pods, replica):
            if _placed(with_replica, changed(replica, node=node)) is not None:
                moved = "" if node == replica.node else f" once {replica.workload}/{replica.number} is on {node}"
                return f"one more does on {replica.node}{moved}"
    return ""


def better_sums(pods: FleetPods, nics: Mapping[str, bool]) -> Iterator[Finding]:
    """No replica can be moved, on its node or to another one, so that a sum is below what is proven of it."""
    if not any(goal.bound for goal in pods.plan.goals if goal.goal != UNPLACED):
        return
    for replica in _kinds(pods):
        without = pods.having([other for other in pods.plan.replicas if other is not replica])
        for node in _nodes(pods, replica):
            text = _moved(pods, without, replica, node, nics=nics[replica.workload])
            if text:
                yield broken("bound", f"{replica.workload}/{replica.number}", f"on {node}: {text}")
                return


def _moved(pods: FleetPods, without: FleetPods, replica: Replica, node: str, *, nics: bool) -> str:
    """Return which bound is refuted if one replica, which is not in `without`, is placed on a node, "" for none."""
    own = {goal.goal: goal.value for goal in replica.goals}
    nodes = len({*without.on_node, node}) - len(pods.on_node)

    def judge(values: Mapping[str, int]) -> str:
        change = {name: values[name] - own[name] for name in own if name in values} | {UNPLACED: 0, NODES: nodes}
        goals = pods.plan.goals
        return against(goals, {goal.goal: goal.value + change[goal.goal] for goal in goals if goal.goal in change})

    least_goals = None if nodes < 0 else own
    found = _placed(without, changed(replica, node=node), judge, nics=nics, least_goals=least_goals)
    return judge({goal.goal: goal.value for goal in found.goals}) if found is not None else ""


def _placed(
    pods: FleetPods,
    replica: Replica,
    judge: Judge = lambda _: "it fits",
    *,
    nics: bool | None = None,
    least_goals: Mapping[str, int] | None = None,
) -> Replica | None:
    """Return a replica with devices of its node, the first to which `judge` objects while all pods keep every rule.

    None if none was found, or if no allocation there can have a value below `least_goals`.
    """
    workload = pods.workloads[replica.workload]
    alone = pods.part(replica.node)
    one = Plan(PlanStatus.FEASIBLE, drawn(workload), node=replica.node)
    held = AuditedPlan(pods.around(replica.node), one, pods.release, nics)
    if not _is_tried(held, replace(held, cluster=alone)):
        return None
    options = PlacedPods(held)
    found: list[Replica] = []
    if least_goals is not None:
        least = least_values(options)
        if not any(least.get(name, value) < value for name, value in least_goals.items()):
            return None

    def allowed(taken: AuditedPlan) -> bool:
        if not keeps_all(taken):
            return False
        values = tuple(GoalValue(name, value) for name, value in goal_values(taken).items())
        placed = changed(replica, placements=taken.plan.placements, goals=values)
        kept = pods.having((*pods.plan.replicas, placed)).keep(replica.node)
        if kept:
            found.append(placed)
        return kept

    better(options, judge, allowed)
    return found[0] if found else None


def _is_tried(held: AuditedPlan, alone: AuditedPlan) -> bool:
    """Say whether a replica may be placed beside others here; `alone` is the same without them.

    Up to 1.36, All leaves out shared devices of which too little is left. A plan counts on no order of arrival, so that
    the replica takes what All means without the others, or is not tried.
    """
    every = [ask for ask in held.asks.values() if ask.all_devices]
    return is_simple(held) and all(set(all_devices(held, ask)) == set(all_devices(alone, ask)) for ask in every)


def _kinds(pods: FleetPods) -> Iterator[Replica]:
    """Yield one replica of each workload on each node, as many as are moved."""
    kinds = {(replica.node, replica.workload): replica for replica in pods.plan.replicas}
    return islice(kinds.values(), MOST_MOVED)


def _nodes(pods: FleetPods, replica: Replica) -> Iterator[str]:
    """Yield the nodes on which a replica is tried, its own first, then those that are in use."""
    others = [node for node in (*pods.on_node, *pods.open_nodes) if node != replica.node]
    yield replica.node
    yield from islice(dict.fromkeys(others), MOST_MOVED)
