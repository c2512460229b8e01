"""What is known of one driver's devices: the format of `drivers/data/<driver>.yaml` and of a person's own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct, field

from dra_lab.model.device import AttributeValue

STANDARD_TOPOLOGY: Mapping[str, tuple[str, ...]] = {
    "pcieRoot": ("resource.kubernetes.io/pcieRoot",),
    "numaNode": ("resource.kubernetes.io/numaNode",),
    "pciBusID": ("resource.kubernetes.io/pciBusID",),
}
"""The standard attributes of every driver (kubernetes/dynamic-resource-allocation `deviceattribute`, KEP-6072)."""

LEVELS = ("switch", "pcieRoot", "numaNode", "socket", "pciBusID")
"""The keys of `DriverProfile.topology`: levels from near to far, and the address."""

KINDS = ("gpu", "nic", "cpu", "memory", "other")
"""The kinds of devices, each drawn with a shape of its own."""

GUESSED = " (guessed)"
"""Follows a kind, in words or as a value, that no profile gives but names alone (`index.device_kinds`)."""


def kind_words(kind: str, *, guessed: bool) -> str:
    """Return a kind or the word for it, with the mark of a guess where it is one."""
    return f"{kind}{GUESSED}" if guessed else kind


PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
"""An attribute in the text of a `LabelRule`: `{full/attribute}`."""

ANY = "*"
"""In a `when`: the attribute is published, whatever its value."""

Lookup = Callable[[str], AttributeValue | None]
"""Gives the value of a device's attribute by its full name (`gpu.nvidia.com/type`), None where it is not published."""

Scalar = str | int | bool


def holds(when: Mapping[str, Scalar], lookup: Lookup) -> bool:
    """Say whether a device publishes every attribute of `when` with its value (`"*"`: with any value)."""
    for name, wanted in when.items():
        value = lookup(name)
        if value is None:
            return False
        # True == 1 in Python; a bool attribute and an int attribute are never equal in the API.
        if wanted != ANY and (value != wanted or isinstance(value, bool) != isinstance(wanted, bool)):
            return False
    return True


class KindRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Devices that publish `when` are of this kind; the first rule that holds decides."""

    kind: str
    when: Mapping[str, Scalar] = field(default_factory=dict)


class LabelRule(Struct, frozen=True, forbid_unknown_fields=True):
    """The model name for people: `text` with `{full/attribute}` filled in; holds when all of them are published."""

    text: str
    when: Mapping[str, Scalar] = field(default_factory=dict)


class Offer(Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the palette: how to ask for one sort of a driver's devices.

    `selectors` go into manifests and never fail at run time on a device of this driver, because one failure makes
    kube-scheduler give up the whole pod (docs/semantics.md 4.2). `documented` is the shorter text of the driver's own
    documentation, for people to read. It is empty if `selectors` already is that text. `capacity_key` is the key
    exactly as published, "" where whole devices are requested; a shareable device is requested with a count of
    `default_count` and `default_capacity` (a quantity) of that key. `when` and `shareable` say for which devices the
    offer is meant (`shareable` None: for both).
    """

    key: str
    label: str
    kind: str
    device_class: str
    selectors: tuple[str, ...] = ()
    documented: tuple[str, ...] = ()
    capacity_key: str = ""
    when: Mapping[str, Scalar] = field(default_factory=dict)
    shareable: bool | None = None
    default_count: int = 1
    default_capacity: str = ""

    def applies(self, lookup: Lookup, capacities: Collection[str] = (), *, shareable: bool = False) -> bool:
        """Say whether the offer is meant for a device.

        `capacities` are the device's capacity keys as published, `shareable` its `allowMultipleAllocations`.
        """
        if self.shareable is not None and self.shareable != shareable:
            return False
        return holds(self.when, lookup) and (not self.capacity_key or self.capacity_key in capacities)


class DocumentedClass(Struct, frozen=True, forbid_unknown_fields=True):
    """A DeviceClass from the driver's documentation, for clusters that lack it.

    `aliases` are other names under which the documentation or its examples create the same class: a cluster that has
    one of them does not lack it.
    """

    name: str
    selectors: tuple[str, ...]
    extended_resource_name: str = ""
    aliases: tuple[str, ...] = ()
    source: str = ""


class MadeDevice(Struct, frozen=True, forbid_unknown_fields=True):
    """What the driver would publish for a piece of hardware that a topology file describes.

    `of` is "gpu", "nic", "numaNode" (its CPUs as one device) or "cpu"; `mode` is "" or the driver's mode that publishes
    it so; `vendors` are PCI vendor ids, empty for all. `names` are templates, of which the first that can be filled in
    is used. `attributes` and `capacity` have the keys as the driver publishes them (bare or full). Their values are
    templates with the words of `data/README.md`. Templates that cannot be filled in are left out. `note` says what the
    driver may do otherwise.
    """

    of: str
    names: tuple[str, ...]
    mode: str = ""
    vendors: tuple[str, ...] = ()
    attributes: Mapping[str, Mapping[str, Scalar]] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    shareable: bool = False
    note: str = ""


class DriverProfile(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one driver.

    `short` are rules for the name that people know a device by. `topology` maps a level of
    `LEVELS` to the full attribute names that the driver really publishes for it, most standard first
    (`attributes_at` adds the standard name where a driver does not publish it yet). `known` says that dra_lab
    ships the profile: then its classes and offers are all that there are.
    """

    driver: str
    title: str = ""
    kinds: tuple[KindRule, ...] = ()
    labels: tuple[LabelRule, ...] = ()
    short: tuple[LabelRule, ...] = ()
    topology: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    offers: tuple[Offer, ...] = ()
    classes: tuple[DocumentedClass, ...] = ()
    sources: tuple[str, ...] = ()
    made: tuple[MadeDevice, ...] = ()
    known: bool = True

    def attributes_at(self, level: str) -> tuple[str, ...]:
        """Return the full names of the attributes of a level, in order: the driver's own, then the standard one."""
        return tuple(dict.fromkeys((*self.topology.get(level, ()), *STANDARD_TOPOLOGY.get(level, ()))))


Profiles = Mapping[str, DriverProfile]
"""A person's own profiles by driver: for one cluster (`Cluster.profiles`), in place of what dra_lab knows."""
