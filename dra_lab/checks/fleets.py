"""Check the pods of a fleet against the rules of DRA, each with the devices of all other pods in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.cel.matching import Matching
from dra_lab.checks.node_view import InUse, NodeView, broken
from dra_lab.checks.plans import PodRules
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.names import MARK
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload


def check_fleet(cluster: Cluster, plan: FleetPlan, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return every rule of DRA that the pods of a fleet break, as errors.

    Each pod keeps the rules of `check_plan` while the devices of all other pods are in use, so that their order does
    not matter. The replicas exist, no more are placed than wanted, and none is on a cordoned node. Values, bounds and
    proofs of the goals are not checked, nor which nodes a pod may run on, nor `first_fit`, `regrets` and `start`.

    Args:
        cluster: The cluster of the plan, with the device classes of the plan.
        plan: The plan of the fleet.
        release: The Kubernetes release of the plan.
    """
    found = list(_numbers(cluster, plan))
    return sort_findings(found or list(_devices(cluster, plan, cluster.target_release(release))))


def drawn(workload: Workload) -> ClaimSketch:
    """Return the claims of a pod as one drawing, with requests `claim:request` if there are several claims."""
    if len(workload.claims) == 1:
        return workload.claims[0]
    requests, links = [], []
    for claim in workload.claims:
        requests += [changed(request, name=f"{claim.name}{MARK}{request.name}") for request in claim.requests]
        for link in claim.links:
            ends = tuple(f"{claim.name}{MARK}{name}" for name in link.requests)
            links.append(changed(link, name=f"{claim.name}{MARK}{link.name}", requests=ends))
    return ClaimSketch(workload.name, tuple(requests), tuple(links))


def _numbers(cluster: Cluster, plan: FleetPlan) -> Iterator[Finding]:
    """Each replica has a workload, an open node of the cluster and its own number, and no more exist than wanted."""
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
    if bool(plan.replicas) != (plan.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)):
        yield broken("status", plan.status, f"{len(plan.replicas)} replicas are placed")
    missing = sum(wanted.values()) - len(plan.replicas)
    if plan.replicas and plan.objective == "nodes" and missing:
        yield broken("replicas", "nodes", f"{missing} replicas are not placed, but all were asked for")


def _devices(cluster: Cluster, plan: FleetPlan, release: KubernetesRelease) -> Iterator[Finding]:
    matching, in_use = Matching(cluster, release), InUse(cluster)
    sketches = {workload.name: drawn(workload) for workload in plan.workloads}
    views = {name: NodeView(cluster, name, matching, release) for name in plan.on_node}
    pods = [(one, PodRules(views[one.node], in_use, sketches[one.workload], one.placements)) for one in plan.replicas]
    for _, pod in pods:
        pod.hold()
    for replica, pod in pods:
        pod.hold(-1)
        subject = f"{replica.workload}/{replica.number}"
        if not pod.placements and pod.sketch.requests:
            yield broken("served", subject, "it has no devices")
        for finding in pod.findings():
            yield replace(finding, subject=f"{subject}: {finding.subject}")
        pod.hold()
