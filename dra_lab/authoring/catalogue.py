"""Every device of a cluster once, with what drawing needs to know of it again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dra_lab.authoring.classes import with_documented_classes
from dra_lab.drivers import Lookup, device_kind, profile
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device, DeviceAttribute
from dra_lab.model.names import DeviceID, full_name
from dra_lab.model.pools import PoolDevice, devices_on, gather_pools

_MEMO = "_authoring_catalogue"
_TEXT, _VERSION, _BOOL = ("string", True), ("version", True), ("bool", False)


@dataclass(frozen=True)
class Shape:
    """What devices publish, values aside: driver, and per full attribute name its type and whether it says something.

    The type is a member of DeviceAttribute (`string`, `int`, `strings`, ...). A value says nothing where it stands for
    "not known" (-1, "", a bool where a place is meant: `drivers.published` passes them over).
    """

    driver: str
    attributes: Mapping[str, tuple[str, bool]]

    def __hash__(self) -> int:
        """Compare as an object: there is one for each shape of a cluster."""
        return id(self)


@dataclass(frozen=True)
class Catalogue:
    """The devices of a cluster: by node name and then in kube-scheduler's order, each once; shapes and kinds by id."""

    devices: tuple[PoolDevice, ...]
    shapes: Mapping[DeviceID, Shape]
    kinds: Mapping[DeviceID, str]

    @cached_property
    def by_id(self) -> Mapping[DeviceID, PoolDevice]:
        """Return the devices by identity."""
        return {item.id: item for item in self.devices}

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[PoolDevice, ...]]:
        """Return the devices by kind, in their order."""
        found: dict[str, list[PoolDevice]] = {}
        for item in self.devices:
            found.setdefault(self.kinds[item.id], []).append(item)
        return {kind: tuple(items) for kind, items in found.items()}

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


def catalogue(cluster: Cluster) -> Catalogue:
    """Return the catalogue of a cluster, worked out once and remembered as long as its hardware stays."""
    cluster = with_documented_classes(cluster)
    found: Catalogue | None = cluster.hardware.get(_MEMO)
    if found is None:
        found = cluster.hardware[_MEMO] = _make(cluster)
    return found


def lookup_of(driver: str, device: Device) -> Lookup:
    """Return the function that gives a device's attribute value by full name, as `drivers` wants it."""

    def lookup(name: str) -> AttributeValue | None:
        attribute = device.lookup(name, driver)
        return None if attribute is None else attribute.value

    return lookup


def kind_of(item: PoolDevice) -> str:
    """Return the kind of a device: "gpu", "nic", "cpu", "memory" or "other"."""
    return device_kind(item.driver, lookup_of(item.driver, item.device))


def _make(cluster: Cluster) -> Catalogue:
    seen: dict[DeviceID, PoolDevice] = {}
    for node_name in cluster.node_names:
        for item in devices_on(gather_pools(cluster, node_name)):
            seen.setdefault(item.id, item)
    interned: dict[tuple[object, ...], Shape] = {}
    told: dict[tuple[object, ...], str] = {}
    keys = {driver: _kind_keys(driver) for driver in cluster.drivers}
    shapes, kinds = {}, {}
    for device_id, item in seen.items():
        driver, published = device_id.driver, item.device.attributes
        types = [_TEXT if (text := a.string) and not text.isspace() else _type_of(a) for a in published.values()]
        key = (driver, *published, *types)
        shape = interned.get(key)
        if shape is None:
            shape = interned[key] = _shape(driver, published)
        shapes[device_id] = shape
        values = (driver, *map(published.get, keys[driver]))
        kind = told.get(values)
        if kind is None:
            kind = told[values] = kind_of(item)
        kinds[device_id] = kind
    return Catalogue(tuple(seen.values()), shapes, kinds)


def _kind_keys(driver: str) -> tuple[str, ...]:
    """Return the keys of the attributes by which a driver's devices are of a kind, the bare ones too."""
    names = [name for rule in profile(driver).kinds for name in rule.when]
    return tuple(dict.fromkeys((*names, *(name.removeprefix(f"{driver}/") for name in names))))


def _shape(driver: str, published: Mapping[str, DeviceAttribute]) -> Shape:
    named = {full_name(name, driver): _type_of(attribute) for name, attribute in published.items()}
    # of `numaNode` and `driver/numaNode` the full key wins (dra-semantics 3.9, rule 50)
    named.update({name: _type_of(attribute) for name, attribute in published.items() if "/" in name})
    return Shape(driver, dict(sorted(named.items())))


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
