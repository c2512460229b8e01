"""Whether kube-scheduler's PodGroup loop or Kueue finds a place for a gang, replayed from their sources.

Both place pods one after the other without going back. Whether a pod fits on a node is what first fit says there. Which
node gets the next pod is decided by scores of other plugins that are not known here; where that matters, the verdict
is "maybe".

Source: kubernetes 1.36.2, pkg/scheduler/schedule_one_podgroup.go; kubernetes-sigs/kueue v0.19.2, see
`scheduler.kueue`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_replay import DomainReplay, GangReplay, GangVerdict
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import HOSTS, PodGroup, Workload
from dra_lab.pinning.gang_fills import GangFills
from dra_lab.pinning.node_amounts import Requests
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.scheduler.kueue.assignment import HOSTNAME, KueueAssignment, KueueFlavor, KueuePodSet, kueue_assignments

KUEUE = "Kueue 0.19"

SHARED = "claims that pods share are not replayed"


def replay_pod_group(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy | None,
    release: KubernetesRelease,
    *,
    requests: Requests | None = None,
    budget: PinBudget | None = None,
) -> GangReplay:
    """Return whether kube-scheduler's PodGroup loop finds a place for a gang.

    There is one placement for each value of the node label of the required level; nodes without the label are left
    out, and equal values of different parents are one placement. In each, the pods are placed one after the other: by
    priority, then by the time of their first attempt. A pod without a node is passed over. The group starts where as
    many pods as its minimum have a place, whatever groups of the gang they are of.

    Args:
        cluster: The nodes and what is in use.
        gang: The gang.
        hierarchy: The hierarchy of its required level; None if it has none.
        release: The release of Kubernetes.
        requests: What a pod of each group requests of its node, by the name of the workload. Without, nodes count
            devices only.
        budget: When to stop; None: without an end.

    Returns:
        The verdict with what happens in each domain.

    Example:
        >>> from dra_lab import KubernetesRelease, PodGroup, Workload, load_cluster, read_sketch
        >>> from dra_lab.pinning.replay_gang import replay_pod_group

        All workers start together or not at all.

        >>> pair = Workload("pair", [PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)])

        The order of the pods does not matter here.

        >>> found = replay_pod_group(load_cluster("sample:two-sockets"), pair, None, KubernetesRelease("1.36"))
        >>> found.verdict.value, found.sentence
        ('yes', 'it finds a place in all nodes')
    """
    name = pod_group_name(release)
    unknown = pod_group_unknown(gang, hierarchy, release)
    if unknown:
        return GangReplay(name, GangVerdict.MAYBE, unknown, gang=gang.name)
    key = level_key(gang.level, hierarchy)
    fills = GangFills(cluster, gang.pods, release, budget, requests)
    placements = placements_of(cluster, key)
    rows = tuple(fills.domain(value, names, gang.least) for value, names in placements.items())
    return _verdict(name, rows, gang)


def pod_group_name(release: KubernetesRelease) -> str:
    """Return the name and version of kube-scheduler's PodGroup loop, and the gate that 1.36 needs for whole gangs."""
    gate = "" if release.is_at_least("1.37") else ", GangScheduling on"
    return f"kube-scheduler {release.version}" + (f" (PodGroup{gate})" if release.is_at_least("1.36") else "")


def pod_group_unknown(gang: Workload, hierarchy: Hierarchy | None, release: KubernetesRelease) -> str:
    """Return why kube-scheduler's choice for a gang is unknown, "" if it is known."""
    if gang.every_shared_claim:
        return SHARED
    if not release.is_at_least("1.36"):
        return f"Kubernetes {release.version} has no PodGroup with a level; it starts the pods one by one"
    if gang.level and not level_key(gang.level, hierarchy):
        return f"the level {gang.level!r} has no node label, which a PodGroup needs"
    return ""


def placements_of(cluster: Cluster, key: str) -> dict[str, list[str]]:
    """Return the placements of a PodGroup: for each value of a node label the nodes that take pods, sorted.

    Without a key there is one placement, all nodes: those of which only slices are known, too.
    """
    if not key:
        return {"all nodes": sorted(cluster.open_nodes)}
    placements: dict[str, list[str]] = {}
    for node in cluster.nodes:
        value = node.metadata.labels.get(key, "")
        if value:
            placements.setdefault(value, []).extend([] if node.name in cluster.cordoned else [node.name])
    return dict(sorted(placements.items()))


def replay_kueue(
    cluster: Cluster,
    gang: Workload,
    hierarchy: Hierarchy,
    release: KubernetesRelease,
    *,
    requests: Requests | None = None,
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
        budget: When to stop; None: without an end.

    Returns:
        The verdict and the nodes that were chosen.

    Example:
        >>> from dra_lab import KubernetesRelease, PodGroup, Workload, hierarchies, load_cluster, read_sketch
        >>> from dra_lab.pinning.replay_gang import replay_kueue
        >>> cluster = load_cluster("sample:h100-pod")
        >>> worker = PodGroup("worker", read_sketch("sample:h100-pod/eight-pairs"), count=3)

        The pods must be below one leaf switch.

        >>> gang, switches = Workload("train", [worker], level="leaf switch"), hierarchies(cluster)[0]
        >>> cpus = {"worker": {"cpu": "128"}}

        Kueue counts CPUs and no devices of claims.

        >>> found = replay_kueue(cluster, gang, switches, KubernetesRelease("1.36"), requests=cpus)
        >>> found.verdict.value, [(row.domain, row.most, row.wanted) for row in found.domains]
        ('no', [('h100-01', 0, 1), ('h100-02', 0, 1), ('h100-03', 1, 1)])
    """
    unknown = kueue_unknown(cluster, gang, hierarchy)
    if unknown:
        return GangReplay(KUEUE, GangVerdict.MAYBE, unknown, gang=gang.name)
    sets = pod_sets(gang, hierarchy, requests)
    assigned = kueue_assignments(flavor_of(hierarchy), cluster.nodes, cluster.pods, sets)
    refused = next((one for one in assigned if one.message), None)
    if refused is not None:
        sentence = f"Kueue does not admit it: {refused.message}"
        return GangReplay(KUEUE, GangVerdict.NO, sentence, gang=gang.name)
    rows = _on_hosts(cluster, gang, assigned, GangFills(cluster, gang.pods, release, budget))
    found = GangReplay(KUEUE, GangVerdict.NO, "", rows, gang.name)
    waiting = [row for row in rows if row.most < row.wanted]
    if waiting:
        first = waiting[0]
        sentence = (
            f"Kueue's counts admit it, but on {first.domain} the claims of {first.most} of {first.wanted} pods "
            "can be met; the others wait there"
        )
        return replace(found, sentence=sentence)
    if any(row.least < row.wanted for row in rows):
        sentence = "the order of the pods decides whether the claims can be met"
        return replace(found, verdict=GangVerdict.MAYBE, sentence=sentence)
    return replace(found, verdict=GangVerdict.YES, sentence="Kueue chooses nodes on which all claims can be met")


def kueue_unknown(cluster: Cluster, gang: Workload, hierarchy: Hierarchy) -> str:
    """Return why Kueue's choice for a gang is unknown, "" if it is known."""
    if gang.every_shared_claim:
        return f"{SHARED}; Kueue refuses pods that name a ResourceClaim"
    if not all(level.key for level in hierarchy.levels):
        return f"a level of {hierarchy.name!r} has no node label, which Kueue needs"
    if not any(node.status.allocatable for node in cluster.nodes):
        return "the nodes do not say what they can allocate, so Kueue's counts are unknown"
    return ""


def flavor_of(hierarchy: Hierarchy) -> KueueFlavor:
    """Return a ResourceFlavor with all nodes under a Topology that ends with the host."""
    keys = tuple(level.key for level in hierarchy.levels)
    return KueueFlavor(keys if HOSTNAME in keys else (*keys, HOSTNAME), hierarchy.name)


def pod_sets(gang: Workload, hierarchy: Hierarchy, requests: Requests | None) -> list[KueuePodSet]:
    """Return the pod sets of a gang, one for each group."""
    known = requests or {}
    return [_pod_set(gang, group, hierarchy, known.get(group.name, {})) for group in gang.pods]


def _verdict(name: str, rows: tuple[DomainReplay, ...], gang: Workload) -> GangReplay:
    wanted = gang.least
    sure = [row.domain for row in rows if row.least >= wanted]
    if sure:
        some = ", ".join(sure[:3]) + (f" and {len(sure) - 3} more" if len(sure) > 3 else "")
        which = sure[0] if len(sure) == 1 else f"one of {len(sure)} domains (scores and chance decide): {some}"
        return GangReplay(name, GangVerdict.YES, f"it finds a place in {which}", rows, gang.name)
    best = max(rows, key=lambda row: row.most, default=None)
    if best is None:
        sentence = f"no node has the label of the level {gang.level!r}"
        return GangReplay(name, GangVerdict.NO, sentence, rows, gang.name)
    if best.most < wanted:
        sentence = f"first fit places at most {best.most} of {wanted} pods, in {best.domain}"
        return GangReplay(name, GangVerdict.NO, sentence, rows, gang.name)
    sentence = "the order of the pods and the nodes that scores choose decide whether every pod finds devices"
    return GangReplay(name, GangVerdict.MAYBE, sentence, rows, gang.name)


def level_key(level: str, hierarchy: Hierarchy | None) -> str:
    """Return the node label of a level; "" without a level, or if no label names it."""
    if level in HOSTS:
        return HOSTNAME
    return hierarchy.levels[hierarchy.level_index(level)].key if level and hierarchy is not None else ""


def _pod_set(
    gang: Workload, group: PodGroup, hierarchy: Hierarchy, requests: Mapping[str, str | int | float]
) -> KueuePodSet:
    leading = len(gang.pods) == 2 and any(one.leader for one in gang.pods)
    return KueuePodSet(
        name=group.name,
        count=group.count,
        requests=requests,
        required=level_key(group.level or gang.level, hierarchy),
        preferred="" if group.level or gang.level else level_key(group.prefer_level or gang.prefer_level, hierarchy),
        slices=tuple((level_key(level, hierarchy), size) for size, level in group.slices),
        group=gang.name if leading else "",
    )


def _on_hosts(
    cluster: Cluster, gang: Workload, assigned: Sequence[KueueAssignment], fills: GangFills
) -> tuple[DomainReplay, ...]:
    """Return for each host that Kueue chose how many of its pods get their claims."""
    names = {node.metadata.labels.get(HOSTNAME, node.name): node.name for node in cluster.nodes}
    number = {group.name: index for index, group in enumerate(gang.pods)}
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
