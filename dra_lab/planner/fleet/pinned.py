"""Fleets with pods that must run on a node: these first, the others around them, and what is proven of the whole."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import NODES, UNPLACED, GoalValue
from dra_lab.model.placement import PlacedPod
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Question, Workload
from dra_lab.planner.budget import Progress
from dra_lab.planner.fleet.after import cluster_after
from dra_lab.planner.fleet.plan_fleet import plan_fleet

Pins = Mapping[str, Mapping[str, int]]
"""How many pods of a workload must run on a node: by the workload's name, then by the node's."""


def plan_pinned(
    cluster: Cluster,
    workloads: Sequence[Workload],
    pins: Pins,
    *,
    release: KubernetesRelease | str | None = None,
    goals: Sequence[str] = (),
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
) -> Plan:
    """Return where the replicas of workloads go if some of them must run on given nodes.

    Args:
        cluster: The cluster to plan on.
        workloads: What is wanted.
        pins: Pods that must run on a node. A pinned pod that does not fit there has no place.
        release: The target release; that of the cluster without one.
        goals: Goals that come first, as in `plan_fleet`.
        time_limit: Seconds for all steps together.
        progress: Is called with each step.
        cancel: Ends the work with the best plan so far if it is set.

    Returns:
        A plan. Pinned pods get the best devices of their node, and the others are planned around them. The plan without
        pins bounds each goal, because every plan with pins is also one without: what reaches that bound is proven.

    Raises:
        InputError: as `plan_fleet` does.
    """
    target = cluster.target_release(release)
    ends = None if time_limit is None else time.monotonic() + time_limit

    def plan(on: Cluster, wanted: Sequence[Workload], before: Plan | None) -> Plan:
        left = None if ends is None else max(0.0, ends - time.monotonic())
        common = {"release": target, "goals": goals, "progress": progress, "cancel": cancel}
        return plan_fleet(cluster_after(on, before, target), wanted, time_limit=left, first_fit=False, **common)  # type: ignore[arg-type]

    on_nodes = {w.name: {node: n for node, n in pins.get(w.name, {}).items() if n} for w in workloads}
    if not any(on_nodes.values()):
        return plan(cluster, workloads, None)
    whole = Plan(PlanStatus.EMPTY, Question(tuple(workloads), cluster.name, str(target), goals=tuple(goals)))
    lost: list[Shortfall] = []
    for node in sorted({node for nodes in on_nodes.values() for node in nodes}):
        here = [replace(w, replicas=on_nodes[w.name].get(node, 0)) for w in workloads]
        found = None
        if node in cluster.node_by_name:
            # Devices that several nodes see are still there.
            slices = (*cluster.slices_by_node.get(node, ()), *cluster.network_slices)
            found = plan(cluster.with_objects(slices=slices, nodes=(cluster.node_by_name[node],)), here, whole)
        lost += _not_there(here, found, node)
        whole = _joined(whole, found) if found is not None else whole
    others = [replace(w, replicas=w.replicas - sum(on_nodes[w.name].values())) for w in workloads]
    rest = plan(cluster, others, whole)
    whole = _joined(whole, rest)
    free = plan(cluster, workloads, None)
    placed = Counter((replica.workload, replica.node) for replica in free.pods)
    kept = all(placed[name, node] >= count for name, nodes in on_nodes.items() for node, count in nodes.items())
    if free.pods and kept:
        return free
    return _bounded(replace(whole, findings=free.findings, shortfalls=(*lost, *rest.shortfalls)), free)


def _not_there(wanted: Sequence[Workload], found: Plan | None, node: str) -> Iterator[Shortfall]:
    """Yield why pods that are pinned to a node have no place there."""
    placed: Mapping[str, int] = found.placed if found is not None else {}
    for workload in wanted:
        missing = workload.replicas - placed.get(workload.name, 0)
        if missing:
            pods = f"{missing:,} {'pod' if missing == 1 else 'pods'} of {workload.name}"
            why = (
                "do not fit there beside the other pods" if missing > 1 else "does not fit there beside the other pods"
            )
            why = why if found is not None else "this node is not in the cluster"
            text = f"{pods} pinned to {node}: {why}"
            yield Shortfall("pin", workload.name, text, node=node, advice="Remove the pin, or choose another node.")


def _joined(first: Plan, more: Plan) -> Plan:
    """Return the plan with the replicas of both, numbered on; of the goals only the values."""
    counted = Counter(replica.workload for replica in first.pods)
    added: list[PlacedPod] = []
    for replica in more.pods:
        added.append(changed(replica, replica=counted[replica.workload]))
        counted[replica.workload] += 1
    pods = (*first.pods, *added)
    status = PlanStatus.FEASIBLE if pods else PlanStatus.STOPPED
    joined = replace(first, status=status, pods=pods, seconds=first.seconds + more.seconds)
    return replace(joined, goals=tuple(_sums(joined, first, more)))


def _sums(plan: Plan, *parts: Plan) -> Iterator[GoalValue]:
    """Yield the value of each goal over all replicas of a plan, in the order of its parts."""
    known = {goal.goal: goal for part in parts for goal in part.goals}
    wanted = sum(workload.replicas for workload in plan.workloads)
    counts = {UNPLACED: wanted - len(plan.pods), NODES: len(plan.nodes)}
    for name in known:
        mine = [goal for part in parts for goal in part.goals if goal.goal == name]
        value = counts.get(name, sum(goal.value for goal in mine))
        yield GoalValue(name, value, unknown=sum(goal.unknown for goal in mine), of=sum(goal.of for goal in mine))


def _bounded(plan: Plan, free: Plan) -> Plan:
    """Return the plan with the bounds of the plan without pins: a goal has one while all before it are proven."""
    if not plan.pods and free.status is PlanStatus.INFEASIBLE:
        return replace(free, shortfalls=(*plan.shortfalls, *free.shortfalls))
    least = {goal.goal: goal for goal in free.goals}
    goals: list[GoalValue] = []
    known = True
    for goal in plan.goals:
        found = least.get(goal.goal)
        bound = found.bound if known and found is not None else None
        goals.append(replace(goal, bound=bound, proven=bound is not None and bound == goal.value))
        # a bound holds for plans that have the proven values in all goals before it
        known = goals[-1].proven and found is not None and found.proven
    proven = bool(plan.pods) and all(goal.proven for goal in goals)
    return replace(plan, status=PlanStatus.OPTIMAL if proven else plan.status, goals=tuple(goals))
