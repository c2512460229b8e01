"""Check the pods of a fleet against the rules of DRA, each with the devices of all other pods in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.cel.matching import Matching
from dra_lab.checks.node_view import InUse, NodeView, broken
from dra_lab.checks.plans import PodRules
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import MARK
from dra_lab.model.placement import PlacedPod, SharedClaim
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch


def check_fleet(cluster: Cluster, plan: Plan, release: KubernetesRelease) -> tuple[Finding, ...]:
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


def drawn(claims: Sequence[ClaimSketch]) -> ClaimSketch:
    """Return the claims of a pod as one drawing, with requests `claim:request` if there are several claims."""
    if len(claims) == 1:
        return claims[0]
    requests, links = [], []
    for claim in claims:
        requests += [changed(request, name=f"{claim.name}{MARK}{request.name}") for request in claim.requests]
        for link in claim.links:
            ends = tuple(f"{claim.name}{MARK}{name}" for name in link.requests)
            links.append(changed(link, name=f"{claim.name}{MARK}{link.name}", requests=ends))
    return ClaimSketch("pod", tuple(requests), tuple(links))


def _numbers(cluster: Cluster, plan: Plan) -> Iterator[Finding]:
    """Each replica has a workload, an open node of the cluster and its own number, and no more exist than wanted."""
    for node in sorted(plan.on_node.keys() - cluster.node_by_name.keys()):
        yield broken("node", node, "the cluster has no such node")
    for node in sorted(plan.on_node.keys() & cluster.cordoned):
        yield broken("node", node, "the node is cordoned, and the plan has a pod there")
    wanted = {workload.name: workload.replicas for workload in plan.workloads}
    known = plan.claims_of
    for pod, times in Counter((pod.workload, pod.group, pod.replica, pod.number) for pod in plan.pods).items():
        name, group, replica, _ = pod
        if (name, group) not in known:
            yield broken("workload", name, f"the plan has no such workload or group {group}".rstrip())
        elif times > 1 or not 0 <= replica < wanted[name]:
            yield broken("replicas", name, f"replica {replica} is there {times} times, {wanted[name]} are wanted")
    if bool(plan.pods) != (plan.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)):
        yield broken("status", plan.status, f"{len(plan.pods)} replicas are placed")
    missing = sum(wanted.values()) - sum(plan.placed.values())
    if plan.pods and plan.objective == "nodes" and missing:
        yield broken("replicas", "nodes", f"{missing} replicas are not placed, but all were asked for")


def _devices(cluster: Cluster, plan: Plan, release: KubernetesRelease) -> Iterator[Finding]:
    matching, in_use = Matching(cluster, release), InUse(cluster)
    sketches = {name: drawn(claims) for name, claims in plan.claims_of.items()}
    placed: list[tuple[PlacedPod | SharedClaim, ClaimSketch]] = [
        (one, sketches[one.workload, one.group]) for one in plan.pods
    ]
    placed += [(one, sketches[one.workload, f"{one.group}/shared"]) for one in plan.shared]
    views = {node: NodeView(cluster, node, matching, release) for node in {one.node for one, _ in placed}}
    pods = [(one.name, PodRules(views[one.node], in_use, sketch, one.devices)) for one, sketch in placed]
    for _, pod in pods:
        pod.hold()
    for subject, pod in pods:
        pod.hold(-1)
        if not pod.placements and pod.sketch.requests:
            yield broken("served", subject, "it has no devices")
        for finding in pod.findings():
            yield replace(finding, subject=f"{subject}: {finding.subject}")
        pod.hold()
