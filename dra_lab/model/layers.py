"""Layers: reversible changes over a snapshot, each with its text form and its words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceTaint, Value
from dra_lab.model.names import DeviceID
from dra_lab.model.numbers import whole_number
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.what_if import when_idle, with_more_nodes, without_nodes

TAINT = DeviceTaint(key="dra-lab/what-if", effect="NoSchedule")
"""The taint of a device that a layer taints."""

MOST_ADDED = 10_000
"""Most nodes that one layer adds."""


class Layer(Value, frozen=True):
    """One change: `change` is a name of LAYER_KINDS, `subject` the node, device or release, `count` the nodes to add.

    >>> str(Layer(change="add", subject="node-1", count=4))
    '--add 4=node-1'
    >>> Layer(change="drain", subject="node-1").words
    'Drain node-1'
    """

    change: str
    subject: str = ""
    count: int = 0

    def __str__(self) -> str:
        """Return the text form, which is an option of the command line: `--add 4=node-1`, `--drain node-1`."""
        value = f"{self.count}={self.subject}" if self.count else self.subject
        return f"--{self.change} {value}".rstrip()

    @property
    def words(self) -> str:
        """Return what it changes, in a few words."""
        if self.change not in LAYER_KINDS:
            return self.change
        return LAYER_KINDS[self.change].words.format(self.subject, f"{self.count:,}", "" if self.count == 1 else "s")


class LayerKind(Struct, frozen=True):
    """One kind of change.

    `words` say it with {0} for the subject, {1} for the number and {2} for the plural "s"; `value` is the form of its
    value in text, "" if it has none; `apply` returns the changed cluster and raises InputError.
    """

    words: str
    value: str
    apply: Callable[[Cluster, Layer], Cluster]


def with_layers(cluster: Cluster, layers: Sequence[Layer]) -> Cluster:
    """Return the cluster with all changes, one after the other; the same cluster if there is none.

    Raises InputError, naming the layer, if a layer names a node, device or release that is not there.
    """
    for layer in layers:
        cluster = _applied(cluster, layer)
    return cluster


class Layered(NamedTuple):
    """A cluster with the layers that apply, and why each other layer does not, by its position."""

    cluster: Cluster
    refused: Mapping[int, str]


def with_possible_layers(cluster: Cluster, layers: Sequence[Layer]) -> Layered:
    """Return the cluster with the layers that apply: after a new snapshot a layer may name a node that is gone."""
    refused: dict[int, str] = {}
    for number, layer in enumerate(layers):
        try:
            cluster = _applied(cluster, layer)
        except InputError as error:
            refused[number] = error.message
    return Layered(cluster, refused)


def read_layer(change: str, value: str = "") -> Layer:
    """Return the layer of a kind and the value of its text form; the names in it are not looked up.

    Raises InputError, with the form that is expected, for another kind or value.

    >>> read_layer("add", "4=node-1")
    Layer(change='add', subject='node-1', count=4)
    """
    kind = _kind(change)
    if not kind.value:
        if value:
            raise InputError(f"--{change} has no value, not {value!r}")
        return Layer(change=change)
    if change != "add":
        if not value:
            raise InputError(f"--{change} needs {kind.value}")
        return Layer(change=change, subject=value)
    number, equals, like = value.partition("=")
    count = whole_number(number)
    if not equals or not like or count is None:
        raise InputError(f"--add {value!r}: write {kind.value}, for example 4=node-1")
    layer = Layer(change=change, subject=like, count=count)
    check_layer(layer)
    return layer


def check_layer(layer: Layer) -> None:
    """Raise InputError if a layer is wrong whatever the cluster is: an unknown kind, release, or number of nodes."""
    kind = _kind(layer.change)
    if bool(kind.value) != bool(layer.subject):
        raise InputError(f"change {layer.change!r}: " + (f"needs {kind.value}" if kind.value else "has no subject"))
    if layer.change == "add":
        if not 1 <= layer.count <= MOST_ADDED:
            raise InputError(f"{layer.count:,} more nodes: give 1 to {MOST_ADDED:,}")
    elif layer.count:
        raise InputError(f"change {layer.change!r} has no count")
    if layer.change == "release":
        KubernetesRelease(layer.subject)


def layered_release(layers: Sequence[Layer]) -> str:
    """Return the release of the last layer that changes it, "" if none does."""
    return next((layer.subject for layer in reversed(layers) if layer.change == "release"), "")


def _kind(change: str) -> LayerKind:
    if change not in LAYER_KINDS:
        advice = did_you_mean(change, LAYER_KINDS) or f"; changes: {', '.join(LAYER_KINDS)}"
        raise InputError(f"there is no change {change!r}{advice}")
    return LAYER_KINDS[change]


def _applied(cluster: Cluster, layer: Layer) -> Cluster:
    check_layer(layer)
    try:
        return LAYER_KINDS[layer.change].apply(cluster, layer)
    except InputError as error:
        raise InputError(f"{layer.words}: {error.message}") from None


def _with_more(cluster: Cluster, layer: Layer) -> Cluster:
    return with_more_nodes(cluster, like=layer.subject, count=layer.count)


def _with_release(cluster: Cluster, layer: Layer) -> Cluster:
    """Return the cluster as if the kubelet of every node had a release."""
    version = f"v{layer.subject}.0"
    nodes = tuple(
        replace(node, status=replace(node.status, node_info=replace(node.status.node_info, kubelet_version=version)))
        for node in (cluster.node_by_name[name] for name in cluster.node_names)
    )
    return cluster.with_objects(nodes=nodes, name=f"{cluster.name} with Kubernetes {layer.subject}".strip())


def _without_device(cluster: Cluster, layer: Layer) -> Cluster:
    """Return the cluster without one device; a claim that has it keeps its other devices."""
    return _with_device(cluster, layer, lambda _: None, "without")


def _with_taint(cluster: Cluster, layer: Layer) -> Cluster:
    """Return the cluster with TAINT on one device; pods that use it already stay."""
    return _with_device(cluster, layer, _tainted, "with a taint on")


def _tainted(device: Device) -> Device:
    return replace(device, taints=(*device.taints, TAINT))


def _with_device(cluster: Cluster, layer: Layer, change: Callable[[Device], Device | None], words: str) -> Cluster:
    wanted = _device(cluster, layer.subject)

    def changed(slice_: ResourceSlice) -> ResourceSlice:
        spec = slice_.spec
        if (spec.driver, spec.pool.name) != (wanted.driver, wanted.pool):
            return slice_
        if all(device.name != wanted.device for device in spec.devices or ()):
            return slice_
        made = (change(device) if device.name == wanted.device else device for device in spec.devices or ())
        return replace(slice_, spec=replace(spec, devices=tuple(device for device in made if device is not None)))

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


LAYER_KINDS: Mapping[str, LayerKind] = {
    "add": LayerKind("Add {1} node{2} like {0}", "N=NODE", _with_more),
    "drain": LayerKind("Drain {0}", "NODE", lambda cluster, of: without_nodes(cluster, [of.subject])),
    "without": LayerKind("Remove {0}", "DRIVER/POOL/DEVICE", _without_device),
    "taint": LayerKind("Taint {0}", "DRIVER/POOL/DEVICE", _with_taint),
    "idle": LayerKind("Nothing in use", "", lambda cluster, _: when_idle(cluster)),
    "release": LayerKind("Kubernetes {0}", "RELEASE", _with_release),
}
"""Every kind of change, by the name of its option."""
