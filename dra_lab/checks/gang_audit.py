"""Check a plan for gangs against the rules: levels, minimum, slices and devices; no code of the planner is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dra_lab.checks.fleets import check_fleet
from dra_lab.checks.node_view import broken
from dra_lab.findings import Finding, sort_findings
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.placement import PlacedPod, PlacedReplica, SharedClaim
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import HOSTS, PodGroup, Workload


def check_gangs(
    cluster: Cluster, plan: Plan, hierarchies: Sequence[Hierarchy], release: KubernetesRelease
) -> tuple[Finding, ...]:
    """Return every rule that a plan for gangs breaks, as errors.

    Each gang is in one domain of its level, has its minimum and whole slices, and sees its shared claims. The devices
    of all pods keep the rules of `check_fleet`. Values, bounds and
    proofs of the goals are not checked.

    Args:
        cluster: The cluster of the plan, with the device classes of the plan.
        plan: The plan of the gangs.
        hierarchies: The hierarchies that have the levels of the gangs.
        release: The Kubernetes release of the plan.
    """
    audit = _Audit(cluster, plan, hierarchies)
    found = [finding for placed in plan.placed_gangs for finding in audit.gang(placed)]
    found += audit.numbers()
    if not found:
        found += check_fleet(cluster, plan, release)
    return sort_findings(found)


class _Audit:
    def __init__(self, cluster: Cluster, plan: Plan, hierarchies: Sequence[Hierarchy]) -> None:
        self.cluster, self.plan = cluster, plan
        self.hierarchies = {hierarchy.name: hierarchy for hierarchy in hierarchies}
        self.gangs = {gang.name: gang for gang in plan.gangs}

    def domains(self, gang: Workload, level: str) -> Mapping[str, tuple[str, ...]]:
        """Return the domain of each node at a level; nodes that are in none are not there."""
        if not level:
            return dict.fromkeys(self.cluster.node_names, ())
        if level in HOSTS:
            return {name: (name,) for name in self.cluster.node_names}
        for hierarchy in self.hierarchies.values():
            names = [name for known in hierarchy.levels for name in (known.name.casefold(), known.key)]
            if gang.hierarchy in ("", hierarchy.name) and (level.casefold() in names or level in names):
                return {node: domain.path for domain in hierarchy.at(level) for node in domain.nodes}
        return {}

    # ------------------------------------------------------------------ rules

    def numbers(self) -> Iterator[Finding]:
        """No more gangs and pods are placed than wanted, none on a cordoned node, and each has its own number."""
        for key, times in Counter((placed.workload, placed.replica) for placed in self.plan.placed_gangs).items():
            if key[0] not in self.gangs or times > 1 or not 0 <= key[1] < self.gangs[key[0]].replicas:
                yield broken("gang", key[0], f"gang {key[1]} is there {times} times")
        closed = {node.name for node in self.cluster.nodes if node.spec.unschedulable}
        for one in self.plan.with_devices:
            if one.node in closed:
                yield broken("node", one.node, "the node is cordoned, and the plan has a pod there")

    def gang(self, placed: PlacedReplica) -> Iterator[Finding]:
        """Yield what one placed gang breaks."""
        gang = self.gangs.get(placed.workload)
        if gang is None:
            return
        name = f"{placed.workload}/{placed.replica}"
        nodes = {replica.node for replica in placed.pods}
        if not self.are_inside(gang, gang.level, nodes):
            yield broken("level", name, f"its pods are not in one domain of {gang.level}")
        held = [one for one in placed.shared if not one.group]
        if len(held) != bool(gang.shared_claims) or not all(self.see(nodes, one) for one in held):
            yield broken("shared", name, "its pods share claims and do not see their devices")
        for group in gang.pods:
            mine = [pod for pod in placed.pods if pod.group == group.name]
            yield from self.group(gang, group, name, mine)
            held = [one for one in placed.shared if one.group == group.name]
            if len(held) != bool(group.shared_claims) or not all(self.see({p.node for p in mine}, o) for o in held):
                where = f"{name}/{group.name}"
                yield broken("shared", where, "its pods share claims and do not see their devices")

    def group(self, gang: Workload, group: PodGroup, name: str, pods: Sequence[PlacedPod]) -> Iterator[Finding]:
        """Yield what one group of a placed gang breaks."""
        where = f"{name}/{group.name}"
        if not group.least <= len(pods) <= group.count:
            yield broken("minimum", where, f"{len(pods)} pods, {group.least} to {group.count} are wanted")
        if not self.are_inside(gang, group.level, {replica.node for replica in pods}):
            yield broken("level", where, f"its pods are not in one domain of {group.level}")
        for size, level in group.slices:
            domains = self.domains(gang, level)
            counted = Counter(domains.get(replica.node) for replica in pods)
            if None in counted or any(count % size for count in counted.values()):
                yield broken("slices", where, f"its pods are not in slices of {size} in {level}")

    def see(self, nodes: set[str], shared: SharedClaim) -> bool:
        """Say whether nodes see all devices of a shared claim: those of its own node, or of a network."""
        if nodes <= {shared.node}:
            return True
        pools = [pool for node in nodes for pool in gather_pools(self.cluster, node)]
        seen = Counter(one.id for pool in pools for one in pool.devices if one.on_node)
        return all(seen[placement.device] == len(nodes) for placement in shared.devices)

    def are_inside(self, gang: Workload, level: str, nodes: set[str]) -> bool:
        """Say whether nodes are in one domain of a level."""
        domains = self.domains(gang, level)
        return not level or (nodes <= domains.keys() and len({domains[node] for node in nodes}) <= 1)
