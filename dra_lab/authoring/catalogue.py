"""Every device of a cluster once, with what drawing needs to know of it again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dra_lab.drivers import Lookup, attributes_of_labels, device_kind, profile
from dra_lab.index.pools import PoolDevice, devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device, DeviceAttribute
from dra_lab.model.memo import once_per_devices
from dra_lab.model.names import DeviceID, full_name

RDMA = full_name("rdma", "dra.net")
"""The attribute that says of a NIC whether it can do RDMA; devices that differ in it have different shapes."""

_TEXT, _VERSION, _BOOL = ("string", True), ("version", True), ("bool", False)


@dataclass(frozen=True, eq=False)
class Shape:
    """What devices publish, as far as drawing looks at it; there is one object for all devices that are equal in it.

    `attributes` has, per full name, the type and whether the value says something. The type is a member of
    DeviceAttribute (`string`, `int`, `strings`, ...). A value says nothing where it stands for "not known" (-1, "", a
    bool where a place is meant: `drivers.published` passes them over). `kind` is "gpu", "nic", "cpu", "memory" or
    "other"; `example` one of the devices: in kind, model, capacity and what offers look at it stands for all.
    """

    driver: str
    attributes: Mapping[str, tuple[str, bool]]
    kind: str
    example: Device


@dataclass(frozen=True)
class Catalogue:
    """The devices of a cluster: by node name and then in kube-scheduler's order, each once; and their shapes by id."""

    devices: tuple[PoolDevice, ...]
    shapes: Mapping[DeviceID, Shape]

    @cached_property
    def by_id(self) -> Mapping[DeviceID, PoolDevice]:
        """Return the devices by identity."""
        return {item.id: item for item in self.devices}

    @cached_property
    def counts(self) -> Mapping[Shape, int]:
        """Return how many devices there are of each shape."""
        return Counter(self.shapes.values())

    @cached_property
    def by_driver(self) -> Mapping[str, tuple[PoolDevice, ...]]:
        """Return the devices by driver, in their order."""
        found: dict[str, list[PoolDevice]] = {}
        for item in self.devices:
            found.setdefault(item.id.driver, []).append(item)
        return {driver: tuple(items) for driver, items in found.items()}

    @cached_property
    def tainted(self) -> tuple[PoolDevice, ...]:
        """Return the devices that publish a taint."""
        return tuple(item for item in self.devices if item.device.taints)


@once_per_devices
def catalogue(cluster: Cluster) -> Catalogue:
    """Return the catalogue of a cluster."""
    seen: dict[DeviceID, PoolDevice] = {}
    shared: set[int] = set()
    for node_name in cluster.node_names:
        # a pool that several nodes see alike is one object, which the cluster keeps
        pools = tuple(pool for pool in gather_pools(cluster, node_name) if id(pool) not in shared)
        shared.update(map(id, pools))
        for item in devices_on(pools):
            seen.setdefault(item.id, item)
    look = ShapeOf()
    return Catalogue(tuple(seen.values()), {device_id: look(item) for device_id, item in seen.items()})


def lookup_of(driver: str, device: Device) -> Lookup:
    """Return the function that gives a device's attribute value by full name, as `drivers` wants it."""

    def lookup(name: str) -> AttributeValue | None:
        attribute = device.lookup(name, driver)
        return None if attribute is None else attribute.value

    return lookup


def kind_of(item: PoolDevice) -> str:
    """Return the kind of a device: "gpu", "nic", "cpu", "memory" or "other"."""
    return device_kind(item.driver, lookup_of(item.driver, item.device))


class ShapeOf:
    """Tells the shapes of devices, the same object for equal ones."""

    def __init__(self) -> None:
        """Know none yet."""
        self.known: dict[tuple[object, ...], Shape] = {}
        self._keys: dict[str, tuple[str, ...]] = {}

    def __call__(self, item: PoolDevice) -> Shape:
        """Return the shape of a device."""
        driver, device = item.id.driver, item.device
        published = device.attributes
        keys = self._keys.get(driver)
        if keys is None:
            keys = self._keys[driver] = _looked_at(driver)
        types = [_TEXT if (text := a.string) and not text.isspace() else _type_of(a) for a in published.values()]
        capacity, shareable = tuple(device.capacity.items()), bool(device.allow_multiple_allocations)
        key = (driver, capacity, shareable, *published, *types, *map(published.get, keys))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Shape(driver, _types(driver, published), kind_of(item), device)
        return found


def _looked_at(driver: str) -> tuple[str, ...]:
    """Return the keys of the attributes by which devices of a driver are told apart here, the bare ones too."""
    known = profile(driver)
    whens = (*(rule.when for rule in known.kinds), *(offer.when for offer in known.offers))
    names = [*(name for when in whens for name in when), *attributes_of_labels(driver), RDMA]
    return tuple(dict.fromkeys((*names, *(name.removeprefix(f"{driver}/") for name in names))))


def _types(driver: str, published: Mapping[str, DeviceAttribute]) -> Mapping[str, tuple[str, bool]]:
    named = {full_name(name, driver): _type_of(attribute) for name, attribute in published.items()}
    # of `numaNode` and `driver/numaNode` the full key wins (docs/semantics.md 3.9.3)
    named.update({name: _type_of(attribute) for name, attribute in published.items() if "/" in name})
    return dict(sorted(named.items()))


def _type_of(attribute: DeviceAttribute) -> tuple[str, bool]:
    if attribute.string is not None:
        return _TEXT if attribute.string.strip() else ("string", False)
    if attribute.version is not None:
        return _VERSION
    if attribute.bool_ is not None:
        return _BOOL
    if attribute.int_ is not None:
        return "int", attribute.int_ >= 0
    return attribute.kind, attribute.kind != "bool"
