"""Check a plan against the rules of DRA and of gangs, whatever it places; no code of the planner is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.cel.matching import Matching
from dra_lab.findings import Finding, sort_findings
from dra_lab.index.documented_classes import known_classes
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import NodeFit
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.placement import PlacedPod, PlacedReplica, SharedClaim
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, pod_drawing
from dra_lab.model.workload import HOSTS, PodGroup, Workload
from tests.oracle.referee_devices import InUse, NodeDevices, broken
from tests.oracle.referee_pods import PodRules


def check_plan(
    cluster: Cluster, plan: Plan, release: KubernetesRelease, hierarchies: Sequence[Hierarchy] = ()
) -> tuple[Finding, ...]:
    """Return every rule of DRA and of gangs that a plan breaks, as errors.

    Each pod keeps the rules of `PodRules` while the devices of all other pods are in use, so that their order does not
    matter. The devices of kube-scheduler's first fits for one pod keep the same rules, but for links. Pods are on open
    nodes of the cluster, no more are placed than wanted, and the node classes cover every node once. Each gang is in
    one domain of its level, has its minimum and whole slices, and sees its shared claims. Values, bounds and proofs of
    the goals are not checked, nor which nodes a pod may run on.

    Args:
        cluster: The cluster of the plan, with the device classes of the plan.
        plan: The plan.
        release: The Kubernetes release of the plan.
        hierarchies: The hierarchies that have the levels of gangs.
    """
    found = [*_numbers(cluster, plan), *_node_classes(cluster, plan)]
    levels = _Levels(cluster, hierarchies)
    gangs = {gang.name: gang for gang in plan.gangs}
    for placed in plan.placed_gangs:
        found += _gang(gangs[placed.workload], placed, levels)
    if not found:
        found += _devices(cluster, plan, plan.with_devices, release)
        for title, fit in (("first fit", plan.first_fit), ("first fit of counts", plan.first_fit_plain)):
            if fit is not None and plan.node_classes and fit.placements:
                pod = changed(plan.pods[0], devices=fit.placements)
                broken_rules = _devices(cluster, plan, [pod], release, links=False)
                found += [replace(finding, subject=f"{title}: {finding.subject}") for finding in broken_rules]
    return sort_findings(found)


def _numbers(cluster: Cluster, plan: Plan) -> Iterator[Finding]:
    """Each pod has a workload, an open node of the cluster and its own number, and no more exist than wanted."""
    used = {one.node for one in plan.with_devices}
    for node in sorted(used - cluster.node_by_name.keys()):
        yield broken("node", node, "the cluster has no such node")
    for node in sorted((used & cluster.cordoned) - (plan.admitted or frozenset())):
        yield broken("node", node, "the node is cordoned, and the plan has a pod there")
    wanted = {workload.name: workload.replicas for workload in plan.workloads}
    known = plan.claims_of
    for pod, times in Counter((pod.workload, pod.group, pod.replica, pod.number) for pod in plan.pods).items():
        name, group, replica, _ = pod
        if (name, group) not in known:
            yield broken("workload", name, f"the plan has no such workload or group {group}".rstrip())
        elif times > 1 or not 0 <= replica < wanted[name]:
            yield broken("replicas", name, f"replica {replica} is there {times} times, {wanted[name]} are wanted")
    if plan.fits != bool(plan.pods) and any(any(claims) for claims in known.values()):
        yield broken("status", plan.status, f"{len(plan.pods)} replicas are placed")
    missing = sum(wanted.values()) - sum(plan.placed.values())
    if plan.pods and plan.objective == "nodes" and missing:
        yield broken("replicas", "nodes", f"{missing} replicas are not placed, but all were asked for")


def _node_classes(cluster: Cluster, plan: Plan) -> Iterator[Finding]:
    """The node of one pod is among the best, and the node classes cover every node once."""
    if not plan.node_classes:
        return
    if Counter(node for equal in plan.node_classes for node in equal.members) != Counter(cluster.node_names):
        yield broken("nodes", cluster.name, "its node classes do not cover every node once")
    best = {node for equal in plan.node_classes if equal.verdict is NodeFit.BEST for node in equal.members}
    if plan.fits and plan.node not in best:
        yield broken("nodes", plan.node, "the node of the plan is not among the best ones")


def _devices(
    cluster: Cluster,
    plan: Plan,
    placed: Sequence[PlacedPod | SharedClaim],
    release: KubernetesRelease,
    *,
    links: bool = True,
) -> Iterator[Finding]:
    """The devices of each pod keep the rules with those of all others in use."""
    release = cluster.target_release(release)
    matching, in_use = Matching(cluster, release, known_classes(cluster)), InUse(cluster, release)
    nodes = {name: NodeDevices(cluster, name, matching, release) for name in {one.node for one in placed}}
    drawings = {key: pod_drawing("pod", claims) for key, claims in plan.claims_of.items()}
    pods: list[tuple[str, PodRules]] = []
    for one in placed:
        group = f"{one.group}/shared" if isinstance(one, SharedClaim) else one.group
        drawing = plan.drawn or drawings[one.workload, group]
        pods.append((one.name, PodRules(nodes[one.node], in_use, drawing, one.devices)))
        pods[-1][1].hold()
    for subject, pod in pods:
        pod.hold(-1)
        if not pod.placements and pod.sketch.requests:
            yield broken("served", subject, "it has no devices")
        for finding in pod.findings(plan.allocated_claims, links=links):
            yield replace(finding, subject=f"{subject}: {finding.subject}")
        pod.hold()


# ---------------------------------------------------------------- gangs


class _Levels:
    """Which nodes are in one domain of a level, and which see a claim that pods share."""

    def __init__(self, cluster: Cluster, hierarchies: Iterable[Hierarchy]) -> None:
        self.cluster, self.hierarchies = cluster, hierarchies

    def domains(self, gang: Workload, level: str) -> Mapping[str, tuple[str, ...]]:
        """Return the domain of each node in a level; nodes that are in none are not there."""
        if level in HOSTS:
            return {name: (name,) for name in self.cluster.node_names}
        for hierarchy in self.hierarchies:
            names = [name for known in hierarchy.levels for name in (known.name.casefold(), known.key)]
            if gang.hierarchy in ("", hierarchy.name) and (level.casefold() in names or level in names):
                return {node: domain.path for domain in hierarchy.at(level) for node in domain.nodes}
        return {}

    def outside(self, gang: Workload, level: str, name: str, nodes: set[str]) -> Iterator[Finding]:
        """Yield that nodes are not in one domain of a level that is required."""
        domains = self.domains(gang, level) if level else dict.fromkeys(nodes, ())
        if not nodes <= domains.keys() or len({domains[node] for node in nodes}) > 1:
            yield broken("level", name, f"its pods are not in one domain of {level}")

    def unseen(
        self, name: str, claims: Sequence[ClaimSketch], held: Sequence[SharedClaim], nodes: set[str]
    ) -> Iterator[Finding]:
        """Yield that pods do not see the devices of the claim that they share: those of their node or a network."""
        if len(held) != bool(claims) or not all(self._see(nodes, shared) for shared in held):
            yield broken("shared", name, "its pods share claims and do not see their devices")

    def _see(self, nodes: set[str], shared: SharedClaim) -> bool:
        if nodes <= {shared.node}:
            return True
        pools = [pool for node in nodes for pool in gather_pools(self.cluster, node)]
        seen = Counter(one.id for pool in pools for one in pool.devices if one.on_node)
        return all(seen[placement.device] == len(nodes) for placement in shared.devices)


def _gang(gang: Workload, placed: PlacedReplica, levels: _Levels) -> Iterator[Finding]:
    """Yield what one placed gang breaks."""
    name = f"{placed.workload}/{placed.replica}"
    yield from levels.outside(gang, gang.level, name, set(placed.nodes))
    held = [one for one in placed.shared if not one.group]
    yield from levels.unseen(name, gang.shared_claims, held, set(placed.nodes))
    for group in gang.pods:
        pods = [pod for pod in placed.pods if pod.group == group.name]
        held = [one for one in placed.shared if one.group == group.name]
        nodes = {pod.node for pod in pods}
        yield from _group(gang, group, f"{name}/{group.name}", pods, levels)
        yield from levels.unseen(f"{name}/{group.name}", group.shared_claims, held, nodes)


def _group(gang: Workload, group: PodGroup, name: str, pods: Sequence[PlacedPod], levels: _Levels) -> Iterator[Finding]:
    """Yield what one group of a placed gang breaks."""
    if not group.least <= len(pods) <= group.count:
        yield broken("minimum", name, f"{len(pods)} pods, {group.least} to {group.count} are wanted")
    yield from levels.outside(gang, group.level, name, {pod.node for pod in pods})
    for size, level in group.slices:
        domains = levels.domains(gang, level)
        counted = Counter(domains.get(pod.node) for pod in pods)
        if None in counted or any(count % size for count in counted.values()):
            yield broken("slices", name, f"its pods are not in slices of {size} in {level}")
