"""What Kueue does with a gang: the nodes or domains that it chooses, and how many pods get their devices there.

Kueue counts CPUs, memory, extended resources and pods, and no devices of claims. With its gate
KueueDRADeviceFeasibility, a node must have the devices of one pod. Its choice is final: pods wait there if their claims
cannot be met. It chooses nodes if its Topology ends with the host name; else it chooses domains, and kube-scheduler the
nodes in them.

Source: kubernetes-sigs/kueue v0.20, see `scheduler.kueue`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import DomainReplay, GangChoice, GangReplay, GangVerdict
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.queues import ALTERNATIVES, DEVICE_CHECK, DEVICE_TAINTS, NODE_LEAVES, kueue_gate, kueue_title
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.topologies import KUEUE, Topology
from dra_lab.model.workload import HOSTS, PodGroup, Workload
from dra_lab.pinning.gang_fills import GangFills, Requests
from dra_lab.pinning.pin_budget import MOST_GANGS, PinBudget
from dra_lab.planner.gangs.gang_verdicts import checked_nodes
from dra_lab.scheduler.kueue.assignment import HOSTNAME, KueueAssignment, KueueFlavor, KueuePodSet, kueue_assignments
from dra_lab.scheduler.kueue.counted import gang_requests, leads, node_requests, refused_claims
from dra_lab.scheduler.kueue.quota_verdict import level_key

SHARED = "claims that pods share are not replayed"

Range = tuple[int, int]
"""At least and at most."""


def kueue_choice(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    requests: Requests | None,
    budget: PinBudget | None,
) -> GangChoice:
    """Return the verdict, how many gangs start, and where the claims of those that Kueue admits cannot be met.

    `hierarchy` is that of the required level of the gang; None if it has none. `requests` are those of a pod of each
    group of its node, by the name of the workload. The scheduler is named with the version and the gates that are
    assumed.
    """
    if hierarchy is None and gang.level in HOSTS:
        hierarchy = Hierarchy("nodes", (), ())
    levels = _levels(cluster, hierarchy) if hierarchy is not None else ()
    name = kueue_title(cluster.queues, *_gates(cluster, gang, levels))

    def known(verdict: GangVerdict, sentence: str) -> GangChoice:
        return GangChoice(GangReplay(name, verdict, sentence, gang=gang.name))

    refusals = refused_claims(cluster, gang, gang_requests(gang), release)
    if refused := next((one for one in refusals if one.rule != "kueue-shared-claim"), None):
        return known(GangVerdict.NO, f"{refused.message} ({refused.subject})")
    if hierarchy is None:
        return known(GangVerdict.MAYBE, "without a level, Kueue checks the quota and chooses no nodes")
    checked = checked_nodes(cluster, gang, release)
    if unknown := _unknown(cluster, gang, hierarchy, checks=checked is not None):
        return known(GangVerdict.MAYBE, unknown)
    flavor = KueueFlavor(levels, hierarchy.name, node_leaves=kueue_gate(cluster.queues, NODE_LEAVES))
    of_nodes = node_requests(cluster, gang, requests or {}, release)
    sets = [_pod_set(gang, group, hierarchy, of_nodes, checked or {}) for group in gang.pods]
    few = gang.replicas <= MOST_GANGS
    copies = list(sets)
    for number in range(1, gang.replicas if few else 1):
        copies += (
            replace(one, name=f"{one.name} {number}", group=one.group and f"{one.group} {number}") for one in sets
        )
    assigned = kueue_assignments(flavor, cluster.nodes, cluster.pods, copies)
    gangs = [assigned[at : at + len(sets)] for at in range(0, len(assigned), len(sets))]
    # where Kueue chooses nodes, it has counted what they have room for
    fills = GangFills(cluster, gang.pods, release, budget, None if levels[-1] == HOSTNAME else requests)
    admitted = _Admitted(cluster, gang, hierarchy, levels, fills)
    for mine in gangs:
        if len(mine) < len(sets) or any(one.message for one in mine):
            break
        admitted.add(mine)
    # with the check, what later gangs find free depends on when the pods of earlier ones get their devices
    started = (admitted.least, admitted.most) if few and (checked is None or gang.replicas == 1) else None
    return GangChoice(_replay(name, gangs[0] if gangs else (), admitted), started, tuple(admitted.trapped))


def _levels(cluster: Cluster, hierarchy: Hierarchy) -> tuple[str, ...]:
    """Return the levels of Kueue's Topology; one that dra-lab writes for a hierarchy ends with the host name."""
    source = hierarchy.levels[0].source if hierarchy.levels else ""
    own = [one for one in cluster.topologies if isinstance(one, Topology) and source == f"Kueue Topology {one.name}"]
    for one in own:
        if one.group == KUEUE and one.labels:
            return one.labels
    keys = tuple(level.key for level in hierarchy.levels)
    return keys if HOSTNAME in keys else (*keys, HOSTNAME)


def _gates(cluster: Cluster, gang: Workload, levels: Sequence[str]) -> Iterator[str]:
    """Yield the gates of Kueue on which its choice for a gang depends."""
    if any(request.first_available for _, request in gang_requests(gang)):
        yield ALTERNATIVES
    if levels:
        yield DEVICE_CHECK
        if kueue_gate(cluster.queues, DEVICE_CHECK):
            yield DEVICE_TAINTS
        if levels[-1] != HOSTNAME:
            yield NODE_LEAVES


def _unknown(cluster: Cluster, gang: Workload, hierarchy: Hierarchy, *, checks: bool) -> str:
    """Return why Kueue's choice for a gang is unknown, "" if it is known."""
    if checks and leads(gang):
        return "whether Kueue checks the devices of a leader is not known"
    if gang.every_shared_claim:
        return f"{SHARED}; Kueue refuses pods that name a ResourceClaim"
    if not all(level.key for level in hierarchy.levels):
        return f"a level of {hierarchy.name!r} has no node label, which Kueue needs"
    if not any(node.status.allocatable for node in cluster.nodes):
        return "the nodes do not say what they can allocate, so Kueue's counts are unknown"
    return ""


def _pod_set(
    gang: Workload,
    group: PodGroup,
    hierarchy: Hierarchy,
    requests: Requests,
    checked: Mapping[str, frozenset[str]],
) -> KueuePodSet:
    def key(level: str) -> str:
        return level_key(level, hierarchy.name, (hierarchy,))

    required = group.level or gang.level
    return KueuePodSet(
        name=group.name,
        count=group.count,
        requests=requests.get(group.name, {}),
        required=key(required),
        preferred="" if required else key(group.prefer_level or gang.prefer_level),
        slices=tuple((key(level), size) for size, level in group.slices),
        group=gang.name if leads(gang) else "",
        nodes=checked.get(group.name),
    )


def _replay(name: str, first: Sequence[KueueAssignment], admitted: _Admitted) -> GangReplay:
    found = GangReplay(name, GangVerdict.NO, "", gang=admitted.gang.name)
    refused = next((one for one in first if one.message), None)
    if refused is not None:
        return replace(found, sentence=f"Kueue does not admit it: {refused.message}")
    rows = admitted.rows(first)
    found = replace(found, domains=rows)
    waiting = [row for row in rows if row.most < row.wanted]
    if waiting:
        row = waiting[0]
        sentence = (
            f"Kueue's counts admit it, but {'on' if admitted.of_nodes else 'in'} {row.domain} the claims of {row.most} "
            f"of {row.wanted} pods can be met; the others wait there"
        )
        return replace(found, sentence=sentence)
    if any(row.least < row.wanted for row in rows):
        sentence = "the order of the pods decides whether the claims can be met"
        return replace(found, verdict=GangVerdict.MAYBE, sentence=sentence)
    sentence = f"Kueue chooses {'nodes on' if admitted.of_nodes else 'domains in'} which all claims can be met"
    return replace(found, verdict=GangVerdict.YES, sentence=sentence)


class _Admitted:
    """The gangs that Kueue admits one after the other: the devices of earlier ones are in use for the next."""

    def __init__(
        self, cluster: Cluster, gang: Workload, hierarchy: Hierarchy, levels: Sequence[str], fills: GangFills
    ) -> None:
        self.gang, self.hierarchy, self.fills = gang, hierarchy, fills
        self.of_nodes = levels[-1] == HOSTNAME
        self.nodes_of: dict[str, list[str]] = {}
        self.used: dict[str, Counter[int]] = {}
        self.least = self.most = 0
        self.trapped: dict[str, None] = {}
        for node in cluster.nodes:
            labels = {HOSTNAME: node.name, **node.metadata.labels}
            place = labels[HOSTNAME] if self.of_nodes else "/".join(labels.get(key, "") for key in levels)
            if node.name not in cluster.cordoned:
                self.nodes_of.setdefault(place, []).append(node.name)

    def rows(self, assigned: Sequence[KueueAssignment]) -> tuple[DomainReplay, ...]:
        """Return for each host, or domain, of the first gang how many of its pods get their claims."""
        at: dict[str, list[tuple[int, int]]] = {}
        for number, one in enumerate(assigned):
            for path, count in one.pods:
                at.setdefault("/".join(path), []).append((number, count))
        rows = []
        for place, sets in at.items():
            served = [self._taken(place, group, count) for group, count in sets]
            sure = len(sets) == 1 and not self.fills.simulation.shared
            most, wanted = sum(one[1] for one in served), sum(count for _, count in sets)
            rows.append(DomainReplay(place, served[0][0] if sure else 0, most, wanted))
        return tuple(rows)

    def add(self, assigned: Sequence[KueueAssignment]) -> None:
        """Add one gang; each group has its places with the pods there."""
        certain = possible = True
        for number, one in enumerate(assigned):
            least = most = 0
            for path, count in one.pods:
                served = self._served("/".join(path), number, count)
                least, most = least + served[0], most + served[1]
                if served[1] < count:
                    self.trapped["/".join(self._domain(path))] = None
            wanted = self.gang.pods[number].least
            certain, possible = certain and least >= wanted, possible and most >= wanted
        self.least, self.most = self.least + certain, self.most + possible

    def _taken(self, place: str, group: int, count: int) -> Range:
        """Return how many of some pods of one group a place takes: for certain, and at most."""
        counts = [self.fills.on_node(node, group, count) for node in self.nodes_of.get(place, [])]
        return min(count, sum(one[0] for one in counts)), min(count, sum(one[1] for one in counts))

    def _served(self, place: str, group: int, count: int) -> Range:
        here = self.used.setdefault(place, Counter())
        before = here[group]
        here[group] += count
        certain, possible = self._taken(place, group, before + count)
        alone = len(here) == 1 and not self.fills.simulation.shared
        return max(0, certain - before) if alone else 0, max(0, possible - before)

    def _domain(self, path: Sequence[str]) -> tuple[str, ...]:
        """Return the path of the domain of a place: of the required level, else of the innermost one."""
        level, tree = self.gang.level, self.hierarchy
        node = next(iter(self.nodes_of.get("/".join(path), [])), path[-1])
        if level in HOSTS:
            return (node,)
        whole = tree.path_of(node) if self.of_nodes else tuple(path)
        return whole[: tree.level_index(level) + 1] if level else whole
