"""Hold a plan for gangs against the rules: levels, minimum, slices and goals, without the planner's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dra_lab.checks.fleets import check_fleet
from dra_lab.checks.plan_audit import broken
from dra_lab.checks.plan_proofs import check_proofs
from dra_lab.findings import Finding, sort_findings
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, Replica
from dra_lab.model.gang import BEYOND, DOMAINS, GANGS, HOST, LEVELS, Gang, GangGroup, GangPlan, PlacedGang
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease


def check_gangs(
    cluster: Cluster, plan: GangPlan, hierarchies: Sequence[Hierarchy], release: KubernetesRelease
) -> tuple[Finding, ...]:
    """Return every rule that a plan for gangs breaks, as errors.

    The devices of all pods are checked with `check_fleet`, as if each group of each gang were a workload. It does not
    see whether a better plan exists.
    """
    audit = _Audit(cluster, plan, hierarchies)
    found = [finding for placed in plan.placed for finding in audit.gang(placed)]
    found += audit.numbers()
    if not found:
        found += check_fleet(cluster, plan.as_fleet(), release)
        found += audit.goals()
    return sort_findings(found)


HOSTS = (HOST, "hostname", "node", "kubernetes.io/hostname")


class _Audit:
    def __init__(self, cluster: Cluster, plan: GangPlan, hierarchies: Sequence[Hierarchy]) -> None:
        self.cluster, self.plan = cluster, plan
        self.hierarchies = {hierarchy.name: hierarchy for hierarchy in hierarchies}
        self.gangs = {gang.name: gang for gang in plan.gangs}

    def domains(self, gang: Gang, level: str) -> Mapping[str, tuple[str, ...]]:
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
        for key, times in Counter((placed.gang, placed.number) for placed in self.plan.placed).items():
            if key[0] not in self.gangs or times > 1 or not 0 <= key[1] < self.gangs[key[0]].replicas:
                yield broken("gang", key[0], f"gang {key[1]} is there {times} times")
        closed = {node.name for node in self.cluster.nodes if node.spec.unschedulable}
        for replica in self.pods():
            if replica.node in closed:
                yield broken("node", replica.node, "the node is cordoned, and the plan has a pod there")

    def gang(self, placed: PlacedGang) -> Iterator[Finding]:
        """Yield what one placed gang breaks."""
        gang = self.gangs.get(placed.gang)
        if gang is None:
            return
        name = f"{placed.gang}/{placed.number}"
        nodes = {replica.node for replica in placed.replicas}
        if not self.are_inside(gang, gang.required, nodes):
            yield broken("level", name, f"its pods are not in one domain of {gang.required}")
        held = [placed.shared] if placed.shared is not None else []
        if len(held) != bool(gang.shared_claims) or not all(self.see(nodes, one) for one in held):
            yield broken("shared", name, "its pods share claims and do not see their devices")
        for group in gang.groups:
            mine = [replica for replica in placed.replicas if replica.workload == group.workload.name]
            yield from self.group(gang, group, name, mine)
            held = [replica for replica in placed.group_shared if replica.workload == group.workload.name]
            if len(held) != bool(group.shared_claims) or not all(self.see({p.node for p in mine}, o) for o in held):
                where = f"{name}/{group.workload.name}"
                yield broken("shared", where, "its pods share claims and do not see their devices")

    def group(self, gang: Gang, group: GangGroup, name: str, pods: Sequence[Replica]) -> Iterator[Finding]:
        """Yield what one group of a placed gang breaks."""
        where = f"{name}/{group.workload.name}"
        if not group.least <= len(pods) <= group.workload.replicas:
            yield broken("minimum", where, f"{len(pods)} pods, {group.least} to {group.workload.replicas} are wanted")
        if not self.are_inside(gang, group.required, {replica.node for replica in pods}):
            yield broken("level", where, f"its pods are not in one domain of {group.required}")
        for size, level in group.slices:
            domains = self.domains(gang, level)
            counted = Counter(domains.get(replica.node) for replica in pods)
            if None in counted or any(count % size for count in counted.values()):
                yield broken("slices", where, f"its pods are not in slices of {size} in {level}")

    def see(self, nodes: set[str], shared: Replica) -> bool:
        """Say whether nodes see all devices of a shared claim: those of its own node, or of a network."""
        if nodes <= {shared.node}:
            return True
        pools = [pool for node in nodes for pool in gather_pools(self.cluster, node)]
        seen = Counter(one.id for pool in pools for one in pool.devices if one.on_node)
        return all(seen[placement.device] == len(nodes) for placement in shared.placements)

    def are_inside(self, gang: Gang, level: str, nodes: set[str]) -> bool:
        """Say whether nodes are in one domain of a level."""
        domains = self.domains(gang, level)
        return not level or (nodes <= domains.keys() and len({domains[node] for node in nodes}) <= 1)

    # ------------------------------------------------------------------ devices and goals

    def pods(self) -> Iterator[Replica]:
        """Yield all pods, those that stand for shared claims too."""
        yield from self.plan.replicas
        for placed in self.plan.placed:
            yield from (*placed.replicas, *placed.group_shared)
            if placed.shared is not None:
                yield placed.shared

    def goals(self) -> Iterator[Finding]:
        """The goals are counted again, and a plan says that it is proven only where every goal is."""
        plan = self.plan
        if plan.placed or plan.replicas:
            yield from check_proofs(plan.goals, proven=plan.status is PlanStatus.OPTIMAL)
        several = len({gang.priority for gang in plan.gangs} | ({0} if plan.workloads else set())) > 1
        for goal in plan.goals:
            name, _, number = goal.goal.partition(" ")
            mine = [gang for gang in plan.gangs if not several or not number or gang.priority == int(number)]
            have = self.value(name, mine)
            if have != goal.value:
                yield broken("goal", goal.goal, f"the plan says {goal.value}, its pods have {have}")

    def value(self, name: str, gangs: Sequence[Gang]) -> int:
        """Return the value of a goal, counted from the pods."""
        names = {gang.name for gang in gangs}
        mine = [placed for placed in self.plan.placed if placed.gang in names]
        if name == GANGS:
            return sum(gang.replicas for gang in gangs) - len(mine)
        if name == BEYOND:
            wanted = sum(gang.replicas * (gang.size - gang.least) for gang in gangs)
            return wanted - sum(len(placed.replicas) - self.gangs[placed.gang].least for placed in mine)
        if name == UNPLACED:
            return sum(workload.replicas for workload in self.plan.workloads) - len(self.plan.replicas)
        if name == LEVELS:
            return sum(self.preferred(placed) for placed in self.plan.placed)
        if name == DOMAINS:
            return len({self.used(placed) for placed in self.plan.placed} - {()})
        if name == NODES:
            return len({replica.node for replica in self.pods()})
        return sum(value.value for pod in self.pods() for value in pod.goals if value.goal == name)

    def preferred(self, placed: PlacedGang) -> int:
        """Return how many domains of preferred levels a gang and its groups use; nodes in none count as one domain."""
        gang = self.gangs[placed.gang]
        rows = [(gang.preferred, placed.replicas)]
        for group in gang.groups:
            pods = tuple(pod for pod in placed.replicas if pod.workload == group.workload.name)
            rows.append((group.preferred, pods))
        found = 0
        for level, pods in rows:
            domains = self.domains(gang, level)
            found += len({domains.get(pod.node) for pod in pods}) if level else 0
        return found

    def used(self, placed: PlacedGang) -> tuple[str, ...]:
        """Return the level and domain that a gang uses, () without a required level."""
        gang = self.gangs[placed.gang]
        shared = gang.shared_claims and placed.domain == (placed.replicas[0].node,)
        if shared or gang.required in HOSTS:
            return (HOST, *placed.domain)
        able = [name for name, one in self.hierarchies.items() if gang.hierarchy in ("", name) and _has(one, gang)]
        if not gang.shared_claims or placed.domain in self.domains(gang, gang.required).values():
            return (able[0], *placed.domain) if able else ()
        return (HOST, *placed.domain)  # nodes that see one device of a network


def _has(hierarchy: Hierarchy, gang: Gang) -> bool:
    level = gang.required
    return any(level and (level == one.key or level.casefold() == one.name.casefold()) for one in hierarchy.levels)
