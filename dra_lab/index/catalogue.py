"""Every device of a cluster once, with what drawing needs to know of it again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import cached_property

from msgspec import Struct

from dra_lab.drivers.kinds import attributes_of_labels, device_kind
from dra_lab.index.device_kinds import RDMA, DeviceKind, guessed_kinds, type_of, with_bare_keys
from dra_lab.index.pools import PoolDevice, devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device, DeviceAttribute
from dra_lab.model.driver_profile import DriverProfile, Lookup
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.names import DeviceID, full_name


class Shape(Struct, eq=False, frozen=True):
    """The published facts that drawing looks at; there is one object for all devices that are equal in it.

    `attributes` has, per full name, the type and whether the value says something. The type is a member of
    DeviceAttribute (`string`, `int`, `strings`, ...). A value says nothing where it means "not known" (-1, "", a
    bool where a place is meant: `drivers.published` passes them over). `kind` is "gpu", "nic", "cpu", "memory" or
    "other", and `guessed` says that no profile gives it; `example` one of the devices: in kind, model, capacity and
    what offers look at it stands for all. `profile` is what is known of the driver.
    """

    profile: DriverProfile
    attributes: Mapping[str, tuple[str, bool]]
    kind: str
    example: Device
    guessed: bool = False

    @property
    def driver(self) -> str:
        """Return the driver's name."""
        return self.profile.driver


class Catalogue(Struct, frozen=True, dict=True):
    """The devices of a cluster, by node name and then in kube-scheduler's order, each once; and the number by kind."""

    devices: tuple[PoolDevice, ...]
    kinds: Mapping[DeviceKind, int]
    _shapes: Mapping[int, Shape]

    def shape(self, item: PoolDevice) -> Shape:
        """Return the shape of a device."""
        return self._shapes[item.kind.number]

    def count(self, kinds: Mapping[DeviceKind, int]) -> Mapping[Shape, int]:
        """Return how many devices of some kinds there are of each shape."""
        found: Counter[Shape] = Counter()
        for kind, count in kinds.items():
            found[self._shapes[kind.number]] += count
        return found

    @cached_property
    def by_id(self) -> Mapping[DeviceID, PoolDevice]:
        """Return the devices by identity."""
        return {item.id: item for item in self.devices}

    @cached_property
    def counts(self) -> Mapping[Shape, int]:
        """Return how many devices there are of each shape."""
        return self.count(self.kinds)

    def of_kinds(self, numbers: Collection[int]) -> tuple[PoolDevice, ...]:
        """Return the devices of some kinds."""
        if len(numbers) == len(self.kinds):
            return self.devices
        return tuple([item for item in self.devices if item.kind.number in numbers])

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


@once_per_hardware
def catalogue(cluster: Cluster) -> Catalogue:
    """Return the catalogue of a cluster."""
    # A pool that several nodes see in the same way is one object, which the cluster keeps.
    pools = tuple({id(pool): pool for name in cluster.node_names for pool in gather_pools(cluster, name)}.values())
    devices = tuple(devices_on(pools))
    if len({(pool.driver, pool.name) for pool in pools}) < len(pools):
        first: dict[DeviceID, PoolDevice] = {}
        for item in devices:
            first.setdefault(item.id, item)
        devices = tuple(first.values())
    shapes: dict[Hashable, Shape] = {}
    kinds = count_kinds(devices)
    guessed = {driver for driver, _ in guessed_kinds(cluster)}
    return Catalogue(devices, kinds, {kind.number: shapes.setdefault(*_shape(kind, guessed)) for kind in kinds})


def count_kinds(items: Iterable[PoolDevice]) -> Mapping[DeviceKind, int]:
    """Return how many devices there are of each kind."""
    kinds: dict[int, DeviceKind] = {}
    found = Counter([kinds.setdefault((kind := item.kind).number, kind).number for item in items])
    return {kinds[number]: count for number, count in found.items()}


def _shape(kind: DeviceKind, guessed: Collection[str]) -> tuple[Hashable, Shape]:
    """Return what tells a shape apart, and the shape."""
    driver, device, known = kind.driver, kind.example, kind.profile
    types = _types(driver, device.attributes)
    # the attributes by which devices of a driver differ here
    whens = (*(rule.when for rule in known.kinds), *(offer.when for offer in known.offers))
    names = (*(name for when in whens for name in when), *attributes_of_labels(known), RDMA)
    values = tuple(map(device.attributes.get, with_bare_keys(names, driver)))
    key = (driver, *types.items(), tuple(device.capacity.items()), bool(device.allow_multiple_allocations), values)
    found = device_kind(known, lookup_of(driver, device))
    return key, Shape(known, types, found, device, driver in guessed)


def lookup_of(driver: str, device: Device) -> Lookup:
    """Return the function that returns a device's attribute value by full name, as `drivers` wants it."""

    def lookup(name: str) -> AttributeValue | None:
        attribute = device.lookup(name, driver)
        return None if attribute is None else attribute.value

    return lookup


def kind_of(item: PoolDevice) -> str:
    """Return the kind of a device: "gpu", "nic", "cpu", "memory" or "other"."""
    return device_kind(item.kind.profile, lookup_of(item.driver, item.device))


def _types(driver: str, published: Mapping[str, DeviceAttribute]) -> Mapping[str, tuple[str, bool]]:
    named = {full_name(name, driver): type_of(attribute) for name, attribute in published.items()}
    # of `numaNode` and `driver/numaNode` the full key wins (docs/semantics.md 3.9.3)
    named.update({name: type_of(attribute) for name, attribute in published.items() if "/" in name})
    return dict(sorted(named.items()))
