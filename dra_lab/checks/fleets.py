"""Hold a plan for a fleet against the rules of DRA: each pod with all the others, without the solver's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from dra_lab.checks.fleet_moves import better_sums, more_fit
from dra_lab.checks.fleet_pods import FleetPods, drawn
from dra_lab.checks.plan_audit import broken
from dra_lab.checks.plan_places import asks_for_nics
from dra_lab.checks.plan_proofs import check_proofs
from dra_lab.checks.plans import check_plan
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, FleetPlan
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease


def check_fleet(cluster: Cluster, plan: FleetPlan, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return every rule that a fleet's pods break, as errors.

    Every pod is checked with `check_plan` with the devices of all other pods of the plan in use, so that their order
    does not matter. Numbers of replicas, sums of the goals, bounds and status follow. If the plan says that no more
    replicas fit, none may be placed beside it, also if another one moves, nor more of them by beginning again. No
    replica may be moved so that a sum is below its bound. The cluster is to be the one that was planned on, with the
    device classes of the plan. No pod is on a cordoned node.

    It does not see a bound that only a plan with several other places refutes (`fleet_moves` has the limits). It knows
    neither which other nodes a pod may run on, nor whether `first_fit`, `regrets` and `start` are right.
    """
    release = cluster.target_release(release)
    found = list(_numbers(plan, cluster))
    if not found:
        found.extend(_status(plan))
        found.extend(_sums(plan))
        nics = {w.name: asks_for_nics(cluster, release, drawn(w)) for w in plan.workloads}
        pods = FleetPods(cluster, plan, release)
        for node in pods.on_node:
            found.extend(_on_node(pods, node, nics))
        found.extend(more_fit(pods))
        if not found:
            found.extend(better_sums(pods, nics))
    return sort_findings(found)


def _numbers(plan: FleetPlan, cluster: Cluster) -> Iterator[Finding]:
    """Each replica has a workload, a node of the cluster and a number of its own, and no more are there than wanted."""
    for node in sorted(plan.on_node.keys() - cluster.node_by_name.keys()):
        yield broken("node", node, "the cluster has no such node")
    for node in sorted(plan.on_node.keys() & cluster.cordoned):
        yield broken("node", node, "the node is cordoned, and the plan has a pod there")
    wanted = {workload.name: workload.replicas for workload in plan.workloads}
    for (name, number), times in Counter((r.workload, r.number) for r in plan.replicas).items():
        if name not in wanted:
            yield broken("workload", name, "the plan has no such workload")
        elif times > 1 or not 0 <= number < wanted[name]:
            yield broken("replicas", name, f"replica {number} is there {times} times, {wanted[name]} are wanted")


def _status(plan: FleetPlan) -> Iterator[Finding]:
    """A plan says that it is proven only where every goal is."""
    yield from check_proofs(plan.goals, proven=plan.status is PlanStatus.OPTIMAL)
    if plan.status is PlanStatus.OPTIMAL and not plan.goals:
        yield broken("status", plan.status, "the plan is called proven without a goal")
    if bool(plan.replicas) != (plan.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)):
        yield broken("status", plan.status, f"{len(plan.replicas)} replicas are placed")
    missing = sum(workload.replicas for workload in plan.workloads) - len(plan.replicas)
    if plan.replicas and plan.objective == "nodes" and missing:
        yield broken("replicas", "nodes", f"{missing} replicas are not placed, but all were asked for")


def _sums(plan: FleetPlan) -> Iterator[Finding]:
    """The goals are the sums over the replicas; what has no place and the nodes used are counted."""
    wanted = sum(workload.replicas for workload in plan.workloads)
    names = {goal.goal for goal in plan.goals}
    for name in sorted({goal.goal for replica in plan.replicas for goal in replica.goals} - names) if names else ():
        yield broken("goal", name, "its replicas have it, and the plan does not say it")
    for goal in plan.goals if plan.replicas else ():
        have = sum(value.value for replica in plan.replicas for value in replica.goals if value.goal == goal.goal)
        have = {UNPLACED: wanted - len(plan.replicas), NODES: len(plan.nodes)}.get(goal.goal, have)
        if have != goal.value:
            yield broken("goal", goal.goal, f"the plan says {goal.value}, its replicas have {have}")


def _on_node(pods: FleetPods, node: str, nics: Mapping[str, bool]) -> Iterator[Finding]:
    """Hold the pods of one node against the rules, each with the others in use."""
    for replica, held in pods.held(node):
        if not replica.placements and pods.workloads[replica.workload].claims:
            yield broken("served", replica.workload, f"replica {replica.number} has no devices")
        for finding in check_plan(held.cluster, held.plan, pods.release, asks_for_nics=nics[replica.workload]):
            yield replace(finding, subject=f"{replica.workload}/{replica.number}: {finding.subject}")
