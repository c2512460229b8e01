"""Kinds of devices: what is derived from published values is derived once for each kind, not for each device."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import count
from operator import itemgetter
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from msgspec import json
from msgspec.structs import replace

from dra_lab.cel.matching import ERROR, Matching
from dra_lab.cel.selector import compile_selector
from dra_lab.drivers.kinds import (
    attributes_of_labels,
    attributes_of_machines,
    attributes_read,
    kind_of_attributes,
    kind_of_classes,
    kind_of_name,
)
from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.errors import CelError, UnsupportedFeature
from dra_lab.model.claims import DeviceClass, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.driver_profile import DriverProfile, KindRule, Profiles
from dra_lab.model.memo import once_per_hardware, once_per_slice
from dra_lab.model.names import full_name
from dra_lab.model.sketch import Ask
from dra_lab.model.slices import ResourceSlice

Guesses = tuple[tuple[str, str], ...]
"""Driver and guessed kind, sorted: only drivers without a profile, and only where a name gives a kind."""


@once_per_hardware
def guessed_kinds(cluster: Cluster) -> Guesses:
    """Return the guessed kind of each driver of which no profile gives kinds, left out if no name gives one either.

    The name of the driver comes first, then the names of DeviceClasses that select it, then those of its attributes.
    """
    profiles = (profile(driver, cluster.profiles) for driver in cluster.drivers)
    unknown = (known.driver for known in profiles if not known.known and not known.kinds)
    found = ((driver, _guess(cluster, driver)) for driver in unknown)
    return tuple((driver, kind) for driver, kind in found if kind not in ("", "other"))


def _guess(cluster: Cluster, driver: str) -> str:
    return (
        kind_of_name(driver)
        or kind_of_classes(c.name for c in cluster.classes if kind_of_name(c.name) and _selects(c, driver))
        or kind_of_attributes(_identifiers(cluster).get(driver, ()))
    )


def _selects(device_class: DeviceClass, driver: str) -> bool:
    """Say whether the selectors of a class name a driver and do not refuse it."""
    try:
        selectors = [compile_selector(text) for text in expressions(device_class.spec.selectors)]
    except (CelError, UnsupportedFeature):
        return False
    read = {name.rpartition("/")[0] for selector in selectors for name in selector.attributes | selector.capacity}
    named = driver in read or any(selector.by_driver("") is False for selector in selectors)
    return named and all(selector.by_driver(driver) is not False for selector in selectors)


@once_per_hardware
def _identifiers(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """Return the names of the attributes in its own domain, without it, of each driver without a word in its name."""
    shipped = {*known_drivers()} - {*cluster.profiles}
    wanted = {driver for driver in cluster.drivers if driver not in shipped and not kind_of_name(driver)}
    found: dict[str, frozenset[str]] = {}
    for slice_ in (one for one in cluster.slices if one.spec.driver in wanted):
        found[slice_.spec.driver] = found.get(slice_.spec.driver, frozenset()) | _of_slice(cluster, slice_)
    return found


@once_per_slice
def _of_slice(_cluster: Cluster, slice_: ResourceSlice) -> frozenset[str]:
    names = {name for device in slice_.spec.devices or () for name in device.attributes}
    split = (name.rpartition("/") for name in names)
    return frozenset(identifier for domain, _, identifier in split if domain in ("", slice_.spec.driver))


RDMA = full_name("rdma", "dra.net")
"""The attribute that says of a NIC whether it can do RDMA."""

_TEXT, _VERSION, _BOOL = ("string", True), ("version", True), ("bool", False)


class DeviceKind:
    """The properties that devices of one driver share.

    They have the same capacity, taints of their own and flags, attributes of the same names and types (`type_of`), and
    the same values of `keys_read`. `profile` is what is known of the driver, with its guessed kind, and `example` one
    of the devices. Each kind has a `number` of its own; there is one object for a kind as long as anything refers to
    it. `plain` devices cannot be shared and have no taint, counter or flag.
    """

    __slots__ = ("__weakref__", "content", "driver", "example", "number", "plain", "profile")

    def __init__(self, profile: DriverProfile, content: Hashable, number: int, example: Device) -> None:
        """Keep the parts; use `DeviceKinds.of`."""
        self.profile, self.content, self.number, self.example = profile, content, number, example
        self.driver = profile.driver
        self.plain = not example.allow_multiple_allocations and _rare(example) == _rare(Device(name=""))

    def __eq__(self, other: object) -> bool:
        """Compare what devices of the kinds publish."""
        if self is other:
            return True
        return isinstance(other, DeviceKind) and (self.driver, self.content) == (other.driver, other.content)

    def __hash__(self) -> int:
        """Return the hash of what devices of the kind publish."""
        return hash((self.driver, self.content))


_KINDS: WeakValueDictionary[Hashable, DeviceKind] = WeakValueDictionary()
_LOCK, _NUMBERS = Lock(), count()


class DeviceKinds:
    """Finds the kinds of a cluster's devices."""

    def __init__(self, own: Profiles, guesses: Guesses) -> None:
        """Begin without any kind; `own` are the person's profiles (`Cluster.profiles`)."""
        self._own, self._guesses = own, dict(guesses)
        self._profiles: dict[str, _Profile] = {}
        self._known: dict[str, dict[tuple[str, ...], _SameNames]] = {}

    def of(self, driver: str, devices: Iterable[Device]) -> list[DeviceKind]:
        """Return the kind of each device of a driver."""
        by_names = self._known.setdefault(driver, {})
        found = []
        # One loop without calls: a large cluster has 90,000 devices.
        for device in devices:
            published, capacity = device.attributes, device.capacity
            names = tuple(published)
            same = by_names.get(names)
            if same is None:
                same = by_names.setdefault(names, self._same_names(driver, names))
            values, others, known = same
            content = (
                *values(published),
                *[_TEXT if (s := a.string) and not s.isspace() else type_of(a) for a in others(published)],
                *capacity.items(),
                device.allow_multiple_allocations or None,
                _rare(device)
                if device.taints
                or device.consumes_counters
                or device.binding_conditions
                or device.binds_to_node
                or device.node_allocatable_resources
                or device.node_allocatable_resource_mappings
                else None,
            )
            found.append(known.get(content) or self._new(driver, known, content, device))
        return found

    def _same_names(self, driver: str, names: tuple[str, ...]) -> _SameNames:
        keys = self._profile(driver).keys
        return _SameNames(_reader(n for n in names if n in keys), _reader(n for n in names if n not in keys), {})

    def profile(self, driver: str) -> DriverProfile:
        """Return what is known of a driver, with its guessed kind."""
        return self._profile(driver).profile

    def _profile(self, driver: str) -> _Profile:
        found = self._profiles.get(driver)
        if found is None:
            found = self._profiles[driver] = _profile(driver, self._own, self._guesses.get(driver, ""))
        return found

    def _new(self, driver: str, known: dict[Hashable, DeviceKind], content: Hashable, device: Device) -> DeviceKind:
        of_driver = self._profile(driver)
        whole = (of_driver.version, tuple(device.attributes), content)
        with _LOCK:
            found = _KINDS.get((driver, whole))
            if found is None:
                found = _KINDS[driver, whole] = DeviceKind(of_driver.profile, whole, next(_NUMBERS), device)
        known[content] = found
        return found


_Reader = Callable[[Mapping[str, Any]], tuple[Any, ...]]


class _SameNames(NamedTuple):
    """Devices of a driver with attributes of the same names: how these are read, and the kinds by what they publish."""

    values: _Reader
    others: _Reader
    known: dict[Hashable, DeviceKind]


class _Profile(NamedTuple):
    """What is known of a driver, the keys that this reads, and what tells it from other profiles of the driver."""

    profile: DriverProfile
    keys: frozenset[str]
    version: bytes


def _profile(driver: str, own: Profiles, guess: str) -> _Profile:
    known = profile(driver, own)
    known = replace(known, kinds=(KindRule(guess),)) if guess else known
    return _Profile(known, keys_read(known), b"" if known.known else json.encode(known, order="sorted"))


def _reader(names: Iterable[str]) -> _Reader:
    """Return a function that returns the values of some names."""
    wanted = tuple(names)
    if not wanted:
        return lambda _: ()
    # of one name `itemgetter` would return no tuple
    return itemgetter(*(wanted if len(wanted) > 1 else wanted * 2))


def _rare(device: Device) -> Hashable:
    return (
        device.taints,
        tuple(use.compatibility_groups for use in device.consumes_counters),
        bool(device.consumes_counters),
        bool(device.binding_conditions),
        bool(device.binds_to_node),
        bool(device.node_allocatable_resources or device.node_allocatable_resource_mappings),
    )


@once_per_hardware
def device_kinds(cluster: Cluster) -> DeviceKinds:
    """Return the kinds of the devices that were looked at."""
    return DeviceKinds(cluster.profiles, guessed_kinds(cluster))


def keys_read(known: DriverProfile) -> frozenset[str]:
    """Return the keys of the attributes of which devices of one kind have the same values, bare keys too.

    They decide place, label and kind of a device, and which offer of the palette it belongs to.
    """
    offers = (name for offer in known.offers for name in offer.when)
    machines = attributes_of_machines(known.driver)
    names = {*attributes_read(known), *machines, *attributes_of_labels(known), *offers, RDMA}
    return frozenset(with_bare_keys(names, known.driver))


def with_bare_keys(names: Iterable[str], driver: str) -> tuple[str, ...]:
    """Return full names, and the bare keys under which a driver may publish those of its own domain."""
    full = tuple(names)
    return tuple(dict.fromkeys((*full, *(name.removeprefix(f"{driver}/") for name in full))))


def type_of(attribute: DeviceAttribute) -> tuple[str, bool]:
    """Return the type of an attribute, and whether its value says something.

    A value says nothing where it means "not known": -1, "", a bool where a place is meant (`drivers.published`).
    """
    if attribute.string is not None:
        return _TEXT if attribute.string.strip() else ("string", False)
    if attribute.version is not None:
        return _VERSION
    if attribute.bool_ is not None:
        return _BOOL
    if attribute.int_ is not None:
        return "int", attribute.int_ >= 0
    return attribute.kind, attribute.kind != "bool"


def keys_beside_kind(matching: Matching, ask: Ask, known: DriverProfile) -> frozenset[str] | None:
    """Return the keys by which an ask's answers differ within a kind, None for all; messages of errors may differ."""
    if matching.stage_of_all(ask, known.driver):
        return frozenset()
    read = matching.keys_read(ask, known.driver)
    return None if read is None else read - keys_read(known)


def stages_of_kinds(matching: Matching, ask: Ask, kinds: Iterable[DeviceKind]) -> Mapping[int, str]:
    """Return how far devices come with an ask (`Match.stage`) by the number of their kind, if the kind decides that."""
    beside: dict[str, frozenset[str] | None] = {}
    found: dict[int, str] = {}
    for kind in kinds:
        if kind.driver not in beside:
            beside[kind.driver] = keys_beside_kind(matching, ask, kind.profile)
        if beside[kind.driver] == frozenset():
            stage = matching.match(ask, kind.driver, kind.example).stage
            if stage != ERROR:
                found[kind.number] = stage
    return found
