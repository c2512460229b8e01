"""The devices of a whole cluster that a request may mean: seen once each, matched by class and selectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dra_lab.authoring.classes import with_documented_classes
from dra_lab.cel.matching import Matching
from dra_lab.drivers import Lookup, device_kind
from dra_lab.errors import CelError
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device
from dra_lab.model.names import DeviceID
from dra_lab.model.pools import PoolDevice, devices_on, gather_pools
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks, covers

_DEVICES = "_authoring_devices"
_MATCHED = "_authoring_matched"
_MOST_REMEMBERED = 64


@dataclass(frozen=True)
class Candidates:
    """The devices of a cluster that an ask means, wherever they are and whether or not they are free.

    `devices` passed class and selectors; `in_class` passed the class; `failed` maps a device to the message with which
    a selector fails on it (kube-scheduler would give up the pod); `error` says why nothing can match (no such class, a
    selector that does not compile).
    """

    devices: tuple[PoolDevice, ...] = ()
    in_class: tuple[PoolDevice, ...] = ()
    failed: Mapping[DeviceID, str] = field(default_factory=dict)
    error: str = ""


def lookup_of(driver: str, device: Device) -> Lookup:
    """Return the function that gives a device's attribute value by full name, as `drivers` wants it."""

    def lookup(name: str) -> AttributeValue | None:
        attribute = device.lookup(name, driver)
        return None if attribute is None else attribute.value

    return lookup


def kind_of(item: PoolDevice) -> str:
    """Return the kind of a device: "gpu", "nic", "cpu", "memory" or "other"."""
    return device_kind(item.driver, lookup_of(item.driver, item.device))


def common_kind(items: Iterable[PoolDevice]) -> str:
    """Return the kind of most devices ("other" for none); of equally many the first."""
    counts = Counter(kind_of(item) for item in items)
    return counts.most_common(1)[0][0] if counts else "other"


def all_devices(cluster: Cluster) -> tuple[PoolDevice, ...]:
    """Return every device that some node sees, once, by node name and then in kube-scheduler's order.

    Remembered as long as the cluster lives.
    """
    found: tuple[PoolDevice, ...] | None = cluster.__dict__.get(_DEVICES)
    if found is None:
        seen: dict[DeviceID, PoolDevice] = {}
        for node_name in cluster.node_names:
            for item in devices_on(gather_pools(cluster, node_name)):
                seen.setdefault(item.id, item)
        found = cluster.__dict__[_DEVICES] = tuple(seen.values())
    return found


def candidates(cluster: Cluster, ask: Ask, release: KubernetesRelease) -> Candidates:
    """Return the devices that an ask means; documented classes stand in for missing ones. Never raises for bad CEL."""
    cluster = with_documented_classes(cluster)
    memo: dict[object, Candidates] = cluster.__dict__.setdefault(_MATCHED, {})
    # the reference is part of the messages
    key = (str(release), ask.reference, ask.device_class_name, ask.selectors)
    found = memo.get(key)
    if found is None:
        if len(memo) >= _MOST_REMEMBERED:
            # a person who types a selector leaves one entry with every pause
            memo.clear()
        found = memo[key] = _match(cluster, ask, release)
    return found


def reference_candidates(
    cluster: Cluster, sketch: ClaimSketch, reference: str, release: KubernetesRelease
) -> tuple[PoolDevice, ...]:
    """Return the devices that a link's end (`request` or `request/subrequest`) may mean, each once."""
    found: dict[DeviceID, PoolDevice] = {}
    for request in sketch.requests:
        for ask in asks(request):
            if covers(reference, ask):
                found.update((item.id, item) for item in candidates(cluster, ask, release).devices)
    return tuple(found.values())


def attribute_names(items: Iterable[PoolDevice]) -> frozenset[str]:
    """Return the full names of the attributes that every one of the devices publishes (none for no device)."""
    shapes = {(item.driver, frozenset(item.device.attributes)): item for item in items}
    names = [frozenset(item.device.attribute_names(item.driver)) for item in shapes.values()]
    return frozenset.intersection(*names) if names else frozenset()


def is_tainted(cluster: Cluster, item: PoolDevice, release: KubernetesRelease) -> bool:
    """Say whether a taint keeps claims without a toleration away from a device (gate DRADeviceTaints)."""
    if not release.enabled("DRADeviceTaints"):
        return False
    taints = cluster.taints_of(item.id, item.device, rules=release.enabled("DRADeviceTaintRules"))
    return any(taint.effect in ("NoSchedule", "NoExecute") for taint in taints)


def is_free(cluster: Cluster, item: PoolDevice, release: KubernetesRelease, capacity_key: str = "") -> bool:
    """Say whether a device can still be given to somebody: not in use, not tainted.

    A shareable device is free as long as something is left of `capacity_key` (of every capacity where it is "").
    """
    if is_tainted(cluster, item, release) or item.id in cluster.allocated.exclusive:
        return False
    if item.id not in cluster.allocated.shares:
        return True
    if not item.device.allow_multiple_allocations:
        return False
    consumed = cluster.allocated.consumed.get(item.id, {})
    keys = [capacity_key] if capacity_key else list(item.device.capacity)
    values = {key: item.device.capacity[key].value for key in keys if key in item.device.capacity}
    return all(parse_quantity(value) > consumed.get(key, 0) for key, value in values.items())


def _match(cluster: Cluster, ask: Ask, release: KubernetesRelease) -> Candidates:
    if ask.device_class_name not in cluster.class_by_name:
        names = ", ".join(sorted(cluster.class_by_name)) or "none"
        return Candidates(error=f"there is no DeviceClass {ask.device_class_name!r}; classes: {names}")
    matched: list[PoolDevice] = []
    in_class: list[PoolDevice] = []
    failed: dict[DeviceID, str] = {}
    try:
        matching = Matching(cluster, release)
        for item in all_devices(cluster):
            match = matching.match(ask, item.driver, item.device)
            if match.stage == "error":
                failed[item.id] = match.error
            if match.stage in ("match", "selector", "error"):
                in_class.append(item)
            if match.stage == "match":
                matched.append(item)
    except CelError as error:
        return Candidates(in_class=tuple(in_class), error=error.message)
    return Candidates(tuple(matched), tuple(in_class), failed)
