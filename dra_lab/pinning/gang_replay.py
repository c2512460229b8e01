"""Whether kube-scheduler's PodGroup loop or Kueue finds a place for a gang, replayed from their sources.

Both place pods one after the other without going back. Whether a pod fits on a node is what first fit says there. Which
node gets the next pod is decided by scores of other plugins that are not known here; where that matters, the verdict
is "maybe".

Source: kubernetes 1.36.2, pkg/scheduler/schedule_one_podgroup.go; kubernetes-sigs/kueue v0.19.2, see
`scheduler.kueue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import HOST, Gang, GangGroup
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation
from dra_lab.scheduler.kueue.assignment import HOSTNAME, KueueAssignment, KueueFlavor, KueuePodSet, kueue_assignments
from dra_lab.scheduler.kueue.domain_choice import KueueStep
from dra_lab.scheduler.kueue.places import KueueGates


class GangVerdict(StrEnum):
    """Whether a scheduler finds a place: it does, it may (the order or a score decides), it does not."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


class DomainReplay(Struct, frozen=True):
    """What happens in one domain.

    Args:
        domain: The value of the node label, or the path that Kueue writes.
        least: The pods that get a place in any order.
        most: The pods that get a place in the best order, as far as it is known.
        wanted: The pods without which the gang does not start there.
    """

    domain: str
    least: int
    most: int
    wanted: int


class GangReplay(Struct, frozen=True):
    """What a scheduler does with a gang.

    Args:
        scheduler: Its name and version.
        verdict: Whether it finds a place for the gang.
        sentence: Why, in a sentence.
        domains: What happens in each domain that it tries.
        steps: The steps of its choice of domains, as far as it has such.

    Example:
        >>> from dra_lab import Gang, GangGroup, KubernetesRelease, Workload, load_cluster, read_sketch
        >>> from dra_lab import replay_pod_group
        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=3)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")
        >>> found = replay_pod_group(load_cluster("sample:two-sockets"), gang, None, KubernetesRelease("1.36"))
        >>> found.verdict.value, [row.most for row in found.domains]
        ('no', [2, 1])
    """

    scheduler: str
    verdict: GangVerdict
    sentence: str
    domains: tuple[DomainReplay, ...] = ()
    steps: tuple[KueueStep, ...] = ()


def replay_pod_group(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    *,
    budget: PinBudget | None = None,
) -> GangReplay:
    """Return whether kube-scheduler's PodGroup loop finds a place for a gang.

    There is one placement for each value of the node label of the required level; nodes without the label are left
    out, and equal values of different parents are one placement. In each, the pods are placed one after the other. The
    group starts where as many pods as its minimum have a place.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang.
        hierarchy: The hierarchy of its required level; None if it has none.
        release: The release of Kubernetes.
        budget: When to stop; None: without an end.

    Returns:
        The verdict with what happens in each domain.

    Example:
        >>> from dra_lab import Gang, GangGroup, KubernetesRelease, Workload, load_cluster, read_sketch
        >>> from dra_lab import replay_pod_group
        >>> pair = Gang("pair", [GangGroup(Workload("worker", read_sketch("sample:two-sockets/lesson"), 2))])
        >>> found = replay_pod_group(load_cluster("sample:two-sockets"), pair, None, KubernetesRelease("1.36"))
        >>> found.verdict.value, found.sentence
        ('yes', 'it finds a place in all nodes')
    """
    name = f"kube-scheduler {release.version} (PodGroup)"
    key = _key(gang.required, hierarchy)
    if gang.required and not key:
        return GangReplay(
            name, GangVerdict.MAYBE, f"the level {gang.required!r} has no node label, which a PodGroup needs"
        )
    fills = _Fills(cluster, gang.groups, release, budget)
    placements: dict[str, list[str]] = {}
    for node in cluster.nodes:
        value = node.metadata.labels.get(key, "") if key else "all nodes"
        if value and not node.spec.unschedulable:
            placements.setdefault(value, []).append(node.name)
    rows = tuple(fills.domain(value, names, gang.least) for value, names in sorted(placements.items()))
    return _verdict(name, rows, gang)


def replay_kueue(
    cluster: Cluster,
    gang: Gang,
    hierarchy: Hierarchy,
    release: KubernetesRelease,
    *,
    requests: Mapping[str, Mapping[str, str | int | float]] | None = None,
    gates: KueueGates = KueueGates(),  # noqa: B008 (a frozen value)
    budget: PinBudget | None = None,
) -> GangReplay:
    """Return which domains Kueue chooses for a gang, and whether its claims can be met there.

    Kueue counts CPUs, memory, extended resources and pods, and no devices of claims. Its choice is final: the pods
    wait there if their claims cannot be met.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang.
        hierarchy: The levels of the Topology.
        release: The release of Kubernetes.
        requests: What a pod of each group requests of its node, by the name of the workload.
        gates: The feature gates of Kueue.
        budget: When to stop; None: without an end.

    Returns:
        The verdict, the domains that were chosen and the steps of the choice.

    Example:
        >>> from dra_lab import Gang, GangGroup, KubernetesRelease, Workload, hierarchies, load_cluster, read_sketch
        >>> from dra_lab import replay_kueue
        >>> cluster = load_cluster("sample:h100-pod")
        >>> worker = Workload("worker", read_sketch("sample:h100-pod/eight-pairs"), replicas=3)
        >>> gang, switches = Gang("train", [GangGroup(worker)], required="leaf switch"), hierarchies(cluster)[0]
        >>> cpus = {"worker": {"cpu": "128"}}
        >>> found = replay_kueue(cluster, gang, switches, KubernetesRelease("1.36"), requests=cpus)
        >>> found.verdict.value, [(row.domain, row.most, row.wanted) for row in found.domains]
        ('no', [('h100-01', 0, 1), ('h100-02', 0, 1), ('h100-03', 1, 1)])
    """
    name = "Kueue 0.19"
    keys = tuple(level.key for level in hierarchy.levels)
    if not all(keys):
        return GangReplay(
            name, GangVerdict.MAYBE, f"a level of {hierarchy.name!r} has no node label, which Kueue needs"
        )
    if not any(node.status.allocatable for node in cluster.nodes):
        return GangReplay(
            name, GangVerdict.MAYBE, "the nodes do not say what they can allocate, so Kueue's counts are unknown"
        )
    levels = keys if HOSTNAME in keys else (*keys, HOSTNAME)
    flavor = KueueFlavor(levels, hierarchy.name)
    sets = [_pod_set(gang, group, hierarchy, (requests or {}).get(group.workload.name, {})) for group in gang.groups]
    assigned = kueue_assignments(flavor, cluster.nodes, cluster.pods, sets, gates)
    steps = tuple(step for one in assigned for step in one.steps)
    refused = next((one for one in assigned if one.message), None)
    if refused is not None:
        return GangReplay(name, GangVerdict.NO, f"Kueue does not admit it: {refused.message}", (), steps)
    rows = _on_hosts(cluster, gang, assigned, _Fills(cluster, gang.groups, release, budget))
    waiting = [row for row in rows if row.most < row.wanted]
    if waiting:
        first = waiting[0]
        sentence = (
            f"Kueue admits it, but on {first.domain} the claims of {first.most} of {first.wanted} pods can be met; "
            "the others wait there"
        )
        return GangReplay(name, GangVerdict.NO, sentence, rows, steps)
    if any(row.least < row.wanted for row in rows):
        return GangReplay(
            name, GangVerdict.MAYBE, "the order of the pods decides whether the claims can be met", rows, steps
        )
    return GangReplay(name, GangVerdict.YES, "Kueue chooses nodes on which all claims can be met", rows, steps)


class _Fills:
    """How many pods of a gang first fit places on nodes, one after the other."""

    def __init__(
        self,
        cluster: Cluster,
        groups: Sequence[GangGroup],
        release: KubernetesRelease,
        budget: PinBudget | None,
    ) -> None:
        self.groups = groups
        pods = [pod_kind(cluster, release, group.workload.name, group.workload.claims) for group in groups]
        self.simulation = SchedulerSimulation(cluster, pods, release, budget=budget)
        self._known: dict[tuple[object, int, int], tuple[int, int]] = {}

    def on_node(self, node: str, number: int, wanted: int) -> tuple[int, int]:
        """Return how many pods of one group a node takes if no other pod comes: for certain, and at most."""
        key = (self.simulation.kind_of.get(node), number, wanted)
        if key[0] is None:
            return 0, 0
        if key not in self._known:
            history: History = ()
            taken = self.simulation.taken(node, history, number)
            while taken.status is FirstFitStatus.ALLOCATED and len(history) < wanted:
                history = (*history, (node if self.simulation.shared else "", number))
                if len(history) < wanted:
                    taken = self.simulation.taken(node, history, number)
            self._known[key] = (len(history), wanted if taken.unknown else len(history))
        return self._known[key]

    def domain(self, name: str, nodes: Sequence[str], wanted: int) -> DomainReplay:
        """Return what a domain takes of the gang: exact for pods that are alike on nodes that share no device."""
        least = most = 0
        for number, group in enumerate(self.groups):
            size = group.workload.replicas
            counts = [self.on_node(node, number, size) for node in nodes]
            least += min(size, sum(count[0] for count in counts))
            most += min(size, sum(count[1] for count in counts))
        alone = len(self.groups) == 1 and not self.simulation.shared
        return DomainReplay(name, least if alone else 0, most, wanted)


def _verdict(name: str, rows: tuple[DomainReplay, ...], gang: Gang) -> GangReplay:
    wanted = gang.least
    sure = [row.domain for row in rows if row.least >= wanted]
    if sure:
        which = sure[0] if len(sure) == 1 else f"one of {len(sure)} domains (scores and chance decide): {_named(sure)}"
        return GangReplay(name, GangVerdict.YES, f"it finds a place in {which}", rows)
    best = max(rows, key=lambda row: row.most, default=None)
    if best is None:
        return GangReplay(name, GangVerdict.NO, f"no node has the label of the level {gang.required!r}", rows)
    if best.most < wanted:
        sentence = f"first fit places at most {best.most} of {wanted} pods, in {best.domain}"
        return GangReplay(name, GangVerdict.NO, sentence, rows)
    sentence = "the order of the pods and the nodes that scores choose decide whether every pod finds devices"
    return GangReplay(name, GangVerdict.MAYBE, sentence, rows)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _key(level: str, hierarchy: Hierarchy | None) -> str:
    if level == HOST:
        return HOSTNAME
    return hierarchy.levels[hierarchy.level_index(level)].key if level and hierarchy is not None else ""


def _pod_set(
    gang: Gang, group: GangGroup, hierarchy: Hierarchy, requests: Mapping[str, str | int | float]
) -> KueuePodSet:
    leading = len(gang.groups) == 2 and any(one.leader for one in gang.groups)
    return KueuePodSet(
        name=group.workload.name,
        count=group.workload.replicas,
        requests=requests,
        required=_key(group.required or gang.required, hierarchy),
        preferred="" if group.required or gang.required else _key(group.preferred or gang.preferred, hierarchy),
        slices=tuple((_key(level, hierarchy), size) for size, level in group.slices),
        group=gang.name if leading else "",
    )


def _on_hosts(
    cluster: Cluster, gang: Gang, assigned: Sequence[KueueAssignment], fills: _Fills
) -> tuple[DomainReplay, ...]:
    """Return for each host that Kueue chose how many of its pods get their claims."""
    names = {node.metadata.labels.get(HOSTNAME, node.name): node.name for node in cluster.nodes}
    number = {group.workload.name: index for index, group in enumerate(gang.groups)}
    on_host: dict[str, list[tuple[int, int]]] = {}
    for one in assigned:
        for path, count in one.pods:
            on_host.setdefault(path[-1], []).append((number[one.pod_set], count))
    rows = []
    for host, sets in on_host.items():
        counts = [(*fills.on_node(names.get(host, host), group, count), count) for group, count in sets]
        wanted = sum(count for *_, count in counts)
        sure = len(counts) == 1 and not fills.simulation.shared
        rows.append(DomainReplay(host, counts[0][0] if sure else 0, sum(most for _, most, _ in counts), wanted))
    return tuple(rows)
