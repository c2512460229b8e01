"""Clusters that are not there yet: more nodes like one, without some nodes, with nothing in use."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.placement import Placement
from dra_lab.model.running import Move, RunningPod
from dra_lab.model.running_pods import running_pods
from dra_lab.model.slices import ResourceSlice

HOSTNAME = "kubernetes.io/hostname"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
"""The taint of a cordoned node."""


def with_more_nodes(cluster: Cluster, *, like: str, count: int) -> Cluster:
    """Return the cluster with more nodes that have the hardware, labels and taints of one node, and nothing in use.

    A copy of a cordoned node is not cordoned.
    The names of the new nodes are the host name of `like` with "-new-1", "-new-2", ... Slices with `nodeName` are
    copied with their pools. Devices that several nodes see are not copied; a new node sees them if its labels say so.
    Attributes are those of the original, addresses and UUIDs too.

    Args:
        cluster: The cluster to start from; it does not change.
        like: The name of the node to copy.
        count: How many nodes to add, 0 or more.

    Returns:
        The larger cluster. Its findings say what cannot be copied.

    Raises:
        NodeError: The cluster does not have the node `like`.
        InputError: `count` is below 0.

    Example:
        >>> from dra_lab import load_cluster, with_more_nodes
        >>> with_more_nodes(load_cluster("sample:two-sockets"), like="lab-1", count=2).node_names
        ('lab-1', 'lab-1-new-1', 'lab-1-new-2', 'lab-2')
    """
    _known(cluster, [like])
    if count < 0:
        raise InputError(f"{count} more nodes: give 0 or more, and use `without_nodes` to remove nodes")
    names = _new_names(cluster, like, count)
    original = cluster.node_by_name[like]
    pools = {(s.spec.driver, s.spec.pool.name) for s in cluster.slices}
    own = cluster.slices_by_node.get(like, ())
    slices = [made for name in names for made in copied_slices(own, like, name, pools)]
    return cluster.with_objects(
        nodes=(*cluster.nodes, *(_node(original, name) for name in names)),
        slices=(*cluster.slices, *slices),
        name=f"{cluster.name} + {count} × {like}".strip(" +"),
        findings=(*cluster.findings, *(_not_copied(cluster, like) if count else ())),
    )


def without_nodes(cluster: Cluster, nodes: Collection[str]) -> Cluster:
    """Return the cluster without some nodes and their own slices; the pods that run there leave.

    Pods that hold devices and leave are planned again before anything else by every question about the cluster: see
    `Plan.moves`. Pods of DaemonSets stay out of it. The claims of pods that leave are gone, unless a pod elsewhere
    uses them too.

    Args:
        cluster: The cluster to start from; it does not change.
        nodes: The names of the nodes to remove.

    Returns:
        The smaller cluster.

    Raises:
        NodeError: The cluster does not have one of these nodes.

    Example:
        >>> from dra_lab import load_cluster, without_nodes
        >>> without_nodes(load_cluster("sample:two-sockets"), ["lab-2"]).node_names
        ('lab-1',)
    """
    _known(cluster, nodes)
    gone = {(s.spec.driver, s.spec.pool.name) for s in cluster.slices if s.spec.node_name in nodes}
    kept = {(s.spec.driver, s.spec.pool.name) for s in cluster.slices if s.spec.node_name not in nodes}
    lost = gone - kept
    pods = [pod for pod in running_pods(cluster) if pod.node in nodes]
    freed = freed_claims(cluster, pods)
    return cluster.with_objects(
        nodes=tuple(node for node in cluster.nodes if node.name not in nodes),
        slices=tuple(s for s in cluster.slices if not s.spec.node_name or s.spec.node_name not in nodes),
        claims=tuple(
            claim
            for claim in cluster.claims
            if claim.status.allocation is None
            or (
                id(claim) not in freed
                and not any((r.driver, r.pool) in lost for r in claim.status.allocation.devices.results)
            )
        ),
        pods=tuple(pod for pod in cluster.pods if pod.spec.node_name not in nodes or not pod.spec.node_name),
        leaving=(*cluster.leaving, *(pod for pod in pods if pod.owner[0] not in ("DaemonSet", "Node"))),
        name=f"{cluster.name} without {', '.join(sorted(nodes))}" if nodes else cluster.name,
    )


def freed_claims(cluster: Cluster, leaving: Iterable[RunningPod]) -> frozenset[int]:
    """Return the identities of the claims that no running pod uses once some pods leave."""
    users = Counter(id(claim) for pod in running_pods(cluster) for _, claim in pod.claims)
    gone = Counter(id(claim) for pod in leaving for _, claim in pod.claims)
    return frozenset(claim for claim, count in gone.items() if count == users[claim])


def with_moved_pod(cluster: Cluster, name: str, devices: Sequence[tuple[str, DeviceID]]) -> Cluster:
    """Return the cluster in which a running pod, or one that leaves its node, holds other devices; see its `moves`.

    `name` is `namespace/name`, and `devices` has the request and the device of each, as many as it holds now.
    Raises InputError for another pod, or another number of devices.
    """
    every = (*cluster.leaving, *running_pods(cluster))
    pod = next((one for one in every if one.name == name), None)
    if pod is None:
        raise InputError(f"no running pod {name!r} holds devices{did_you_mean(name, [one.name for one in every])}")
    leaves = any(one is pod for one in cluster.leaving)
    made = _moved_claims(pod, devices)
    slices = cluster.slices_by_pool.get((devices[0][1].driver, devices[0][1].pool), ())
    node = next((one.spec.node_name for one in slices if one.spec.node_name), "") or pod.node
    placements = tuple(Placement(request, device) for request, device in devices)
    move = Move(name, pod.node, node, pod.devices, placements, drained=leaves)
    there = replace(pod.pod, spec=replace(pod.pod.spec, node_name=node))
    # a claim that several pods share is there as soon as the first of them is
    known = {claim.metadata.key for claim in cluster.claims}
    return cluster.with_objects(
        claims=(
            *(made.get(claim.metadata.key, claim) for claim in cluster.claims),
            *(claim for key, claim in made.items() if key not in known),
        ),
        pods=(
            *(there if one is pod.pod else one for one in cluster.pods),
            *((there,) if leaves and pod.known else ()),
        ),
        leaving=tuple(one for one in cluster.leaving if one is not pod),
        moves=(*cluster.moves, move),
        name=f"{cluster.name} with {name} moved",
    )


def _moved_claims(pod: RunningPod, devices: Sequence[tuple[str, DeviceID]]) -> Mapping[tuple[str, str], ResourceClaim]:
    """Return the claims of a pod with other devices, by namespace and name."""
    left, made = list(devices), {}
    for _, claim in pod.claims:
        allocation = claim.status.allocation
        results = []
        for result in allocation.devices.results if allocation is not None else ():
            own = split_request(result.request)[0]
            found = next((one for one in left if split_request(one[0])[0] == own), None)
            if found is None and not result.admin_access:
                raise InputError(f"{pod.name} holds {len(pod.devices)} devices, and {len(devices)} others were given")
            if found is not None:
                left.remove(found)
            results.append(result if found is None else replace(result, request=found[0], **found[1]._asdict()))
        if allocation is not None:
            there = replace(allocation, devices=replace(allocation.devices, results=tuple(results)), node_selector=None)
            made[claim.metadata.key] = replace(claim, status=replace(claim.status, allocation=there))
    return made


def when_idle(cluster: Cluster) -> Cluster:
    """Return the cluster as if no claim held a device.

    Args:
        cluster: The cluster to start from; it does not change.

    Returns:
        The cluster without allocated claims. All claims count as read, and its findings contain none about claims.

    Example:
        >>> from dra_lab import frame, load_cluster, when_idle
        >>> cluster = load_cluster("sample:two-sockets")
        >>> [sorted(set(frame(one).state)) for one in (cluster, when_idle(cluster))]
        [['free', 'in use', 'shared'], ['free']]
    """
    claims = tuple(claim for claim in cluster.claims if claim.status.allocation is None)
    findings = tuple(finding for finding in cluster.findings if not finding.rule.startswith("claims-"))
    name = f"{cluster.name}, nothing in use"
    return cluster.with_objects(
        claims=claims, claims_known=True, findings=findings, name=name, leaving=(), moves=(), waiting=()
    )


def uncordoned(cluster: Cluster, nodes: Collection[str]) -> Cluster:
    """Return the cluster in which some nodes are not cordoned; itself if none was. Raises NodeError."""
    _known(cluster, nodes)
    opened = cluster.cordoned.intersection(nodes)
    if not opened:
        return cluster
    return cluster.with_objects(nodes=tuple(_opened(node) if node.name in opened else node for node in cluster.nodes))


def _opened(node: Node) -> Node:
    taints = tuple(taint for taint in node.spec.taints if taint.get("key") != UNSCHEDULABLE)
    return replace(node, spec=replace(node.spec, unschedulable=False, taints=taints))


def _known(cluster: Cluster, nodes: Collection[str]) -> None:
    for name in nodes:
        cluster.node_named(name)


def _new_names(cluster: Cluster, like: str, count: int) -> tuple[str, ...]:
    """Return names that no node has, the number before the domain where the name has one."""
    host, dot, domain = like.partition(".")
    made: list[str] = []
    number, digits = 0, len(str(count))
    while len(made) < count:
        number += 1
        name = f"{host}-new-{number:0{digits}d}{dot}{domain}"
        if name not in cluster.node_by_name:
            made.append(name)
    return tuple(made)


def _node(original: Node, name: str) -> Node:
    labels = {**original.metadata.labels, HOSTNAME: name}
    metadata = ObjectMeta(name=name, labels=labels, annotations=original.metadata.annotations)
    return replace(_opened(original), metadata=metadata)


def copied_slices(
    slices: Iterable[ResourceSlice], like: str, name: str, pools: set[tuple[str, str]]
) -> Iterator[ResourceSlice]:
    """Yield the slices of a new node; a pool is renamed, so that its devices are others than the original's."""
    renamed: dict[tuple[str, str], str] = {}
    for slice_ in slices:
        spec = slice_.spec
        key = (spec.driver, spec.pool.name)
        if key not in renamed:
            renamed[key] = _pool_name(spec.driver, spec.pool.name, like, name, pools)
            pools.add((spec.driver, renamed[key]))
        metadata = ObjectMeta(name=f"{slice_.name}-{name}", labels=slice_.metadata.labels)
        pool = replace(spec.pool, name=renamed[key])
        yield replace(slice_, metadata=metadata, spec=replace(spec, pool=pool, node_name=name))


def _pool_name(driver: str, pool: str, like: str, name: str, pools: Collection[tuple[str, str]]) -> str:
    made = pool.replace(like, name) if like in pool else f"{pool}-{name}"
    while (driver, made) in pools:
        made = f"{made}-new"
    return made


def _not_copied(cluster: Cluster, like: str) -> Iterator[Finding]:
    """Yield what of a node lies in slices that are not its own, or follows its devices by name."""
    selected = [s for s in cluster.network_slices if any(d.node_name == like for d in s.spec.devices or ())]
    for slice_ in selected:
        message = f"some of its devices belong to {like} alone, so the new nodes do not have them"
        yield _note(f"ResourceSlice/{slice_.name}", message, "Add them to the count yourself.")
    own: Mapping[str, Sequence[ResourceSlice]] = cluster.slices_by_node
    names = {slice_.spec.pool.name for slice_ in own.get(like, ())}
    for rule in cluster.taint_rules:
        wanted = rule.spec.device_selector
        if wanted is not None and wanted.pool in names:
            message = (
                f"it taints devices of {like} by the name of their pool, so the new nodes do not have these taints"
            )
            yield _note(f"DeviceTaintRule/{rule.metadata.name}", message, "")


def _note(subject: str, message: str, advice: str) -> Finding:
    return Finding("not-on-new-nodes", Severity.NOTE, subject, message, advice)


def part_of_cluster(cluster: Cluster, node: str) -> Cluster:
    """Return what matters for one node: it alone, the whole pools of the slices that it may see, and their holders."""
    if len(cluster.node_names) <= 2:
        return cluster
    seen = (*cluster.slices_by_node.get(node, ()), *cluster.network_slices)
    pools = dict.fromkeys((s.spec.driver, s.spec.pool.name) for s in seen)
    by_pool = _claims_by_pool(cluster)
    claims = {id(claim): claim for pool in pools for claim in by_pool.get(pool, {}).values()}
    return dataclasses.replace(
        cluster,
        slices=tuple(slice_ for pool in pools for slice_ in cluster.slices_by_pool[pool]),
        nodes=tuple(one for one in cluster.nodes if one.name == node),
        claims=tuple(claims.values()),
    )


@once_per_snapshot
def _claims_by_pool(cluster: Cluster) -> Mapping[tuple[str, str], Mapping[int, ResourceClaim]]:
    found: dict[tuple[str, str], dict[int, ResourceClaim]] = {}
    for claim in cluster.claims:
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            found.setdefault((result.driver, result.pool), {})[id(claim)] = claim
    return found
