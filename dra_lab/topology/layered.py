"""The cluster that the layers of a drawing make of a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceTaint
from dra_lab.model.layers import Layer, check_layer, moved_devices
from dra_lab.model.names import NUMA_NODE, DeviceID
from dra_lab.model.release import known_release
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.what_if import uncordoned, when_idle, with_more_nodes, with_moved_pod, without_nodes
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Locality

TAINT = DeviceTaint(key="dra-lab/what-if", effect="NoSchedule")
"""The taint of a device that a layer taints."""


def with_layers(cluster: Cluster, layers: Sequence[Layer]) -> Cluster:
    """Return the cluster with all changes, one after the other; the same cluster if there is none.

    Raises InputError, naming the layer, if a layer names a node, device or release that is not there.
    """
    for layer in layers:
        cluster = _applied(cluster, layer)
    return cluster


class Layered(NamedTuple):
    """A cluster with the layers that apply, and why each other layer does not, by its position.

    `notes` say what else is to be known of a layer that applies, by its position.
    """

    cluster: Cluster
    refused: Mapping[int, str]
    notes: Mapping[int, str]


def with_possible_layers(cluster: Cluster, layers: Sequence[Layer]) -> Layered:
    """Return the cluster with the layers that apply: after a new snapshot a layer may name a node that is gone."""
    refused: dict[int, str] = {}
    notes: dict[int, str] = {}
    for number, layer in enumerate(layers):
        before = len(cluster.findings)
        try:
            cluster = _applied(cluster, layer)
        except InputError as error:
            refused[number] = error.message
            continue
        if sentences := " ".join(f"{finding.message}." for finding in cluster.findings[before:]):
            notes[number] = sentences[0].upper() + sentences[1:]
    return Layered(cluster, refused, notes)


def _applied(cluster: Cluster, layer: Layer) -> Cluster:
    check_layer(layer)
    try:
        return _APPLY[layer.change](cluster, layer)
    except InputError as error:
        raise InputError(f"{layer.words}: {error.message}") from None


def _with_more(cluster: Cluster, layer: Layer) -> Cluster:
    if not layer.beside:
        return with_more_nodes(cluster, like=layer.subject, count=layer.count)
    from dra_lab.topology.new_nodes import with_nodes_near  # only new nodes with a place need it

    return with_nodes_near(cluster, layer.subject, layer.count, layer.beside, layer.hierarchy, layer.level)


def _with_release(cluster: Cluster, layer: Layer) -> Cluster:
    """Return the cluster as if the kubelet of every node had a release."""
    version = f"v{known_release(layer.subject)}"
    nodes = tuple(
        replace(node, status=replace(node.status, node_info=replace(node.status.node_info, kubelet_version=version)))
        for node in (cluster.node_by_name[name] for name in cluster.node_names)
    )
    return cluster.with_objects(
        nodes=nodes, server_version="", name=f"{cluster.name} with Kubernetes {layer.subject}".strip()
    )


def _with_device(cluster: Cluster, layer: Layer, taint: DeviceTaint | None, words: str) -> Cluster:
    """Return the cluster with a taint on one device, without it for None; claims that have the device stay."""
    wanted = _device(cluster, layer.subject)

    def changed(slice_: ResourceSlice) -> ResourceSlice:
        spec = slice_.spec
        if (spec.driver, spec.pool.name) != (wanted.driver, wanted.pool):
            return slice_
        devices: list[Device] = []
        for device in spec.devices or ():
            if device.name != wanted.device:
                devices.append(device)
            elif taint is not None:
                devices.append(replace(device, taints=(*device.taints, taint)))
        same = tuple(devices) == (spec.devices or ())
        return slice_ if same else replace(slice_, spec=replace(spec, devices=tuple(devices)))

    slices = tuple(changed(slice_) for slice_ in cluster.slices)
    return cluster.with_objects(slices=slices, name=f"{cluster.name} {words} {wanted.device}".strip())


def _device(cluster: Cluster, text: str) -> DeviceID:
    """Return the device of `driver/pool/device`. Raises InputError, with the most similar name, if it is not there."""
    try:
        wanted = DeviceID.parse(text)
    except ValueError:
        raise InputError(f"{text!r} is not a device; write driver/pool/device") from None
    if wanted.driver not in cluster.drivers:
        advice = did_you_mean(wanted.driver, cluster.drivers) or f"; drivers: {', '.join(cluster.drivers) or 'none'}"
        raise InputError(f"there is no driver {wanted.driver!r}{advice}")
    slices = cluster.slices_by_pool.get((wanted.driver, wanted.pool), ())
    if not slices:
        pools = [pool for driver, pool in cluster.slices_by_pool if driver == wanted.driver]
        raise InputError(f"{wanted.driver} has no pool {wanted.pool!r}{did_you_mean(wanted.pool, pools)}")
    devices = [device.name for slice_ in slices for device in slice_.spec.devices or ()]
    if wanted.device not in devices:
        advice = did_you_mean(wanted.device, devices) or f"; its devices: {', '.join(devices[:8]) or 'none'}"
        raise InputError(f"the pool {wanted.pool!r} has no device {wanted.device!r}{advice}")
    return wanted


def _with_published_numa(cluster: Cluster, _layer: Layer) -> Cluster:
    """Return the cluster as if drivers published each NUMA node that is known under the standard attribute.

    Known is what a driver publishes under a name of its own and what `localities` derives. Devices of which the NUMA
    node is not known, and devices that several nodes see, stay as they are.
    """
    known = unknown = 0
    made: dict[int, ResourceSlice] = {}  # by identity: slices of a manifest may have no name
    for node, slices in cluster.slices_by_node.items():
        for slice_ in slices:
            old = slice_.spec.devices or ()
            if all(NUMA_NODE in device.attributes for device in old):
                continue
            places, pool = localities(cluster, node), (slice_.spec.driver, slice_.spec.pool.name)
            new = tuple(_numbered(device, places.get(DeviceID(*pool, device.name))) for device in old)
            made[id(slice_)] = replace(slice_, spec=replace(slice_.spec, devices=new))
            known += sum(after is not before for after, before in zip(new, old, strict=True))
            unknown += sum(NUMA_NODE not in device.attributes for device in new)
    if not known:
        raise InputError(
            "no NUMA node is known that the drivers do not publish; plan on nodes made with --topology FILE"
        )
    rest = f"; the NUMA node of {unknown:,} more is not known" if unknown else ""
    message = f"{known:,} device{'' if known == 1 else 's'} would publish {NUMA_NODE}{rest}"
    return cluster.with_objects(
        slices=tuple(made.get(id(slice_), slice_) for slice_ in cluster.slices),
        name=f"{cluster.name} with NUMA nodes published".strip(),
        findings=(*cluster.findings, Finding("numa-made", Severity.NOTE, "ResourceSlices", message)),
    )


def _numbered(device: Device, found: Locality | None) -> Device:
    place = found.numa_node if found is not None else None
    if place is None or not isinstance(place.value, int) or NUMA_NODE in device.attributes:
        return device
    return replace(device, attributes={**device.attributes, NUMA_NODE: DeviceAttribute(int_=place.value)})


def _with_moved(cluster: Cluster, layer: Layer) -> Cluster:
    pod, devices = moved_devices(layer)
    return with_moved_pod(cluster, pod, [(request, _device(cluster, device)) for request, device in devices])


_APPLY: Mapping[str, Callable[[Cluster, Layer], Cluster]] = {
    "add": _with_more,
    "drain": lambda cluster, layer: without_nodes(cluster, [layer.subject]),
    "uncordon": lambda cluster, layer: uncordoned(cluster, [layer.subject]),
    "without": lambda cluster, layer: _with_device(cluster, layer, None, "without"),
    "taint": lambda cluster, layer: _with_device(cluster, layer, TAINT, "with a taint on"),
    "moved": _with_moved,
    "idle": lambda cluster, _: when_idle(cluster),
    "publish-numa": _with_published_numa,
    "release": _with_release,
}
