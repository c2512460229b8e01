"""What Kueue counts of a gang in each domain of a Topology: CPUs, memory, extended resources and pods, no devices.

With the gate KueueDRADeviceFeasibility, it counts only nodes that can allocate the devices of one pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import COUNTS, Says, VerdictRow
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import DEVICE_CHECK, DEVICE_TAINTS, NODE_LEAVES, kueue_gate, kueue_title
from dra_lab.model.release import CountedRules, KubernetesRelease, gates_of
from dra_lab.model.topologies import KUEUE, ResourceFlavor, Topology
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.identical_nodes import node_states
from dra_lab.scheduler.kueue.assignment import HOSTNAME, KueueAssignment, KueueFlavor, KueuePodSet, kueue_assignments
from dra_lab.scheduler.kueue.counted import leads
from dra_lab.scheduler.kueue.quota_verdict import level_key

Path = tuple[str, ...]
_NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class TopologyCounts(Struct, frozen=True):
    """What Kueue counts.

    `pods` is how many pods fit in each domain of the level that the gang requires, by the values of the Topology's
    labels down to that level; {} if several groups share the domains. `chosen` is the domain of that level that Kueue
    would choose; () if there is no such level.
    """

    row: VerdictRow
    pods: Mapping[Path, int] = {}
    chosen: Path = ()


def topology_counts(
    cluster: Cluster,
    gang: Workload,
    hierarchies: Sequence[Hierarchy],
    flavors: Sequence[str],
    requests: Mapping[str, Mapping[str, QuantityText]],
    checked: Mapping[str, frozenset[str]] | None = None,
) -> TopologyCounts:
    """Return what Kueue counts of a gang over the nodes of a ResourceFlavor, with the version of Kueue that it assumes.

    `flavors` are the names of those of the queue, the one that Kueue would take first; () if not known. `requests` are
    those of a pod of each group of its node, by the name of the workload. `checked` are the nodes that Kueue's check of
    devices leaves, by group; None if it makes no check.
    """
    found = _counts(cluster, gang, hierarchies, flavors, requests, checked)
    gates = (DEVICE_CHECK, *((DEVICE_TAINTS,) if checked is not None else ()))
    note = f"{kueue_title(cluster.queues, *gates)} is assumed."
    return replace(found, row=replace(found.row, notes=(*found.row.notes, note)))


def nodes_with_devices(cluster: Cluster, claims: Sequence[ResourceClaim], release: KubernetesRelease) -> frozenset[str]:
    """Return the nodes that Kueue's check of devices leaves: first fit allocates the claims of one pod there.

    The check ignores taints of devices without the gate KueueDRAIntegrationDeviceTaints, and DeviceTaintRules before
    Kubernetes 1.37. A node on which the search does not end in our time counts as one that has the devices.

    Source: kubernetes-sigs/kueue v0.20, dynamic_resource_allocation.md, "Topology-Aware Scheduling with DRA".
    """
    gates = gates_of(release)
    if not kueue_gate(cluster.queues, DEVICE_TAINTS):
        gates = replace(gates, device_taints=False, taint_rules=CountedRules.NONE)
    elif not release.is_at_least("1.37"):
        gates = replace(gates, taint_rules=CountedRules.NONE)
    found: set[str] = set()
    for nodes in node_states(cluster, release).groups(claims):
        if first_fit(cluster, nodes[0], claims, release, gates=gates).status in _HAVE:
            found.update(nodes)
    return frozenset(found)


_HAVE = (FirstFitStatus.ALLOCATED, FirstFitStatus.STOPPED)


def _counts(
    cluster: Cluster,
    gang: Workload,
    hierarchies: Sequence[Hierarchy],
    flavors: Sequence[str],
    requests: Mapping[str, Mapping[str, QuantityText]],
    checked: Mapping[str, frozenset[str]] | None,
) -> TopologyCounts:
    flavor, why = _flavor(cluster, flavors)
    if flavor is None:
        return TopologyCounts(why)
    if checked is not None and leads(gang):
        text = "Whether Kueue checks the devices of a leader is not known here, so its counts are not either."
        return TopologyCounts(VerdictRow(COUNTS, Says.UNKNOWN, text))
    if not any(node.status.allocatable for node in cluster.nodes):
        text = "The nodes do not say what they can allocate, so what Kueue counts is not known."
        return TopologyCounts(VerdictRow(COUNTS, Says.UNKNOWN, text))
    sets = [
        _pod_set(gang, group, hierarchies, requests.get(group.name, {}), checked.get(group.name) if checked else None)
        for group in gang.pods
    ]
    assigned = kueue_assignments(flavor, cluster.nodes, cluster.pods, sets)
    refused = next((one for one in assigned if one.message), None)
    if refused is not None:
        return TopologyCounts(VerdictRow(COUNTS, Says.NO, f"Kueue does not admit the gang: {refused.message}."))
    if not all(requests.get(group.name) for group in gang.pods):
        text = "CPU and memory of the pods are not known, so what Kueue counts is not known either."
        return TopologyCounts(VerdictRow(COUNTS, Says.UNKNOWN, text))
    note = "Pods without claims are not in the snapshot; what they request was not counted."
    key = level_key(gang.level or gang.pods[0].level, gang.hierarchy, hierarchies)
    pods = assigned[0].headroom if len(gang.pods) == 1 and key in flavor.levels else {}
    chosen = _chosen(cluster, flavor.levels, key, assigned)
    where = f" in {'/'.join(chosen)}" if chosen else ""
    text = f"Kueue counts enough{where} (Topology {flavor.topology})."
    return TopologyCounts(VerdictRow(COUNTS, Says.YES, text, (note,)), pods, chosen)


def _chosen(cluster: Cluster, levels: Sequence[str], key: str, assigned: Sequence[KueueAssignment]) -> Path:
    """Return the domain in which all chosen nodes are; () if they are in several."""
    if key not in levels:
        return ()
    depth = levels.index(key) + 1
    hosts = {
        node.metadata.labels.get(HOSTNAME): tuple(node.metadata.labels.get(level, "") for level in levels)
        for node in cluster.nodes
    }
    paths = set()
    for one in assigned:
        for path, _ in one.pods:
            whole = path if len(path) == len(levels) else hosts.get(path[-1], ())
            paths.add(whole[:depth])
    return paths.pop() if len(paths) == 1 else ()


def _flavor(cluster: Cluster, flavors: Sequence[str]) -> tuple[KueueFlavor | None, VerdictRow]:
    """Return the nodes and levels in which Kueue counts, or why it does not or is not known to."""

    def row(says: Says, text: str) -> tuple[None, VerdictRow]:
        return None, VerdictRow(COUNTS, says, text)

    known = {one.name: one for one in cluster.topologies if isinstance(one, ResourceFlavor)}
    topologies = {one.name: one for one in cluster.topologies if isinstance(one, Topology) and one.group == KUEUE}
    if not flavors and len(topologies) != 1:
        which = "no Topology" if not topologies else "several Topologies"
        return row(Says.UNKNOWN, f"The snapshot has {which} of Kueue, and no queue says which one counts.")
    names = [name for name in flavors if name in known] if flavors else [""]
    if not names:
        return row(Says.UNKNOWN, f"The ResourceFlavor {flavors[0]} is not in this snapshot.")
    own = known.get(names[0])
    if own is not None and not own.spec.topology_name:
        return row(Says.NOT_COUNTED, f"The ResourceFlavor {own.name} has no Topology, so Kueue counts no domains.")
    topology = topologies.get(own.spec.topology_name) if own is not None else next(iter(topologies.values()))
    if topology is None:
        return row(Says.UNKNOWN, f"The Topology of the ResourceFlavor {names[0]} is not in this snapshot.")
    closed = (node.name for node in cluster.nodes if any(t.get("key") in _NOT_READY for t in node.spec.taints))
    labels = own.spec.node_labels if own is not None else {}
    tolerations = own.spec.tolerations if own is not None else ()
    leaves = kueue_gate(cluster.queues, NODE_LEAVES)
    found = KueueFlavor(topology.labels, topology.name, labels, tolerations, frozenset(closed), leaves)
    return found, VerdictRow(COUNTS, Says.UNKNOWN, "")


def _pod_set(
    gang: Workload,
    group: PodGroup,
    hierarchies: Sequence[Hierarchy],
    requests: Mapping[str, QuantityText],
    nodes: frozenset[str] | None,
) -> KueuePodSet:
    required = group.level or gang.level
    preferred = "" if required else group.prefer_level or gang.prefer_level
    return KueuePodSet(
        name=group.name,
        count=group.count,
        requests=requests,
        required=level_key(required, gang.hierarchy, hierarchies),
        preferred=level_key(preferred, gang.hierarchy, hierarchies),
        slices=tuple((level_key(level, gang.hierarchy, hierarchies), size) for size, level in group.slices),
        group=gang.name if leads(gang) else "",
        nodes=nodes,
    )
