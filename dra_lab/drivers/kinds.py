"""The kind and the place of a device: from the attributes that its driver publishes, documented, or guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct, field

from dra_lab.drivers.profiles import convert, read_data
from dra_lab.model.device import AttributeValue
from dra_lab.model.driver_profile import LEVELS, PLACEHOLDER, DriverProfile, LabelRule, Lookup, holds


def device_kind(known: DriverProfile, lookup: Lookup) -> str:
    """Return "gpu", "nic", "cpu", "memory" or "other"; "other" if no rule of the profile holds."""
    return next((rule.kind for rule in known.kinds if holds(rule.when, lookup)), "other")


def device_label(known: DriverProfile, lookup: Lookup) -> str:
    """Return the model name of a device for people, never empty; text from the cluster, to be escaped when shown."""
    return _filled(known.labels, lookup) or known.title


def device_short(known: DriverProfile, lookup: Lookup) -> str:
    """Return the name that people know a device by (`rdma0`), "" if its own name says it best."""
    return _filled(known.short, lookup)


def _filled(rules: tuple[LabelRule, ...], lookup: Lookup) -> str:
    for rule in rules:
        if not holds(rule.when, lookup):
            continue
        # Split once: every second part is the name of an attribute, and text from the cluster is never read again.
        parts = PLACEHOLDER.split(rule.text)
        parts[1::2] = [str("" if (value := lookup(name)) is None else value) for name in parts[1::2]]
        if all(parts[1::2]):
            return "".join(parts)
    return ""


def attributes_read(known: DriverProfile) -> tuple[str, ...]:
    """Return the full names of all attributes that decide what is known of this driver's devices, sorted.

    Devices with the same values of these have the same kind, labels and places.
    """
    names = {name for level in LEVELS for name in known.attributes_at(level)}
    for kind in known.kinds:
        names.update(kind.when)
    for label in (*known.labels, *known.short):
        names.update(label.when, PLACEHOLDER.findall(label.text))
    return tuple(sorted(names))


def attributes_of_labels(known: DriverProfile) -> tuple[str, ...]:
    """Return the full names of the attributes that decide `device_label`, sorted."""
    return tuple(sorted({name for rule in known.labels for name in (*rule.when, *PLACEHOLDER.findall(rule.text))}))


def published(known: DriverProfile, level: str, lookup: Lookup) -> tuple[str, AttributeValue] | None:
    """Return (full attribute name, value) of the first attribute that tells a device's place at a level, or None.

    Levels: `LEVELS`. A value that means "not known" (a negative int, an empty text or list) is passed
    over: the SR-IOV driver publishes -1 and "" where sysfs says nothing (k8snetworkplumbingwg/dra-driver-sriov).
    A list is returned whole; by KEP-6072 the first item of a numaNode list is the device's own node.
    """
    for name in known.attributes_at(level):
        value = lookup(name)
        if value is not None and not _means_unknown(value):
            return name, value
    return None


def _means_unknown(value: AttributeValue) -> bool:
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        return value < 0
    if isinstance(value, str):
        return not value.strip()
    return not value or any(_means_unknown(item) for item in value)


class PciModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model: `ids` are `vendor:device` in hex, `product` is the name that drivers publish, `maker` the vendor's.

    `rdma` is None for what is no NIC; `facts` are further words for the templates of made devices.
    """

    ids: tuple[str, ...]
    product: str
    source: str
    maker: str = ""
    rdma: bool | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@cache
def _models() -> Mapping[str, PciModel]:
    rows = (convert(row, PciModel, "pci_models.yaml") for row in read_data("pci_models.yaml"))
    return {name: row for row in rows for name in row.ids}


def pci_model(vendor: str, device: str) -> PciModel | None:
    """Return what is known of a device by its ids in four hex digits each, or None."""
    return _models().get(f"{vendor}:{device}".lower())


PARENTS = ("parentUUID", "parentPciAddr")
"""The attributes that name it: NVIDIA's driver for MIG (mig.go), older slices of AMD's."""


def parent_of(driver: str, lookup: Lookup) -> str:
    """Return the identity of the physical device that a partition names, "" for what is no partition."""
    return next((str(value) for name in PARENTS if (value := lookup(f"{driver}/{name}")) not in (None, "")), "")


_WORDS: Mapping[str, tuple[str, ...]] = {
    "gpu": ("gpu", "npu", "tpu", "accelerator"),
    "nic": ("nic", "net", "rdma", "roce"),
    "cpu": ("cpu",),
    "memory": ("memory",),
    "other": ("fpga", "nvme", "ssd", "disk", "storage"),
}
"""The words that name a kind; those of "other" say that no further name is to be read."""

_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in words}
_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TOP_LEVEL = ".net"
_NEAR = ({"gpu", "nic"}, {"cpu", "memory"}, {"other"})


def kind_of_name(name: str) -> str:
    """Return the kind that the first word with one gives to the name of a driver or a DeviceClass, "" for none.

    In `gpu.example.net` the top-level domain is no word.
    """
    return next(iter(_kinds_of_words(name.removesuffix(_TOP_LEVEL) if "." in name[:-1] else name)), "")


def kind_of_classes(names: Iterable[str]) -> str:
    """Return the kind on which the names of a driver's DeviceClasses agree, "" for none or several."""
    return _only({kind for name in names if (kind := kind_of_name(name))})


def kind_of_attributes(identifiers: Iterable[str]) -> str:
    """Return the kind on which the names of a driver's attributes agree, without their domains; "" for none or several.

    Words for CPUs and memory count only without those for accelerators and networks, which publish what is near them.
    """
    found = {kind for name in identifiers for kind in _kinds_of_words(name)}
    return next((_only(found & near) for near in _NEAR if found & near), "")


def _only(kinds: set[str]) -> str:
    return kinds.pop() if len(kinds) == 1 else ""


def _kinds_of_words(name: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(name))
    return [kind for word in words if (kind := _KIND_OF.get(word) or _KIND_OF.get(word.removesuffix("s")))]


# --------------------------------------------------------------------- documented machines


class Machine(Struct, frozen=True, forbid_unknown_fields=True):
    """Devices of `driver` whose `attribute` contains one of `contains`: the NUMA node follows from the PCI domain.

    `source` starts with the word "derived" and names where the fact is documented; `{machine}` is the word found.
    """

    name: str
    driver: str
    attribute: str
    contains: tuple[str, ...]
    numa_of_pci_domain: Mapping[str, int]
    source: str


@cache
def machines() -> tuple[Machine, ...]:
    """Return the known machines, in the order of the data file."""
    return tuple(convert(row, Machine, "machines.yaml") for row in read_data("machines.yaml"))


def attributes_of_machines(driver: str) -> tuple[str, ...]:
    """Return the full names of the attributes by which `derived_numa` knows a machine from this driver's devices."""
    return tuple(sorted({machine.attribute for machine in machines() if machine.driver == driver}))


def derived_numa(known: DriverProfile, lookup: Lookup) -> tuple[int, str] | None:
    """Return (NUMA node, source of the fact) of a device whose driver publishes none, or None where nothing is known.

    A published NUMA node always wins: the answer is then None. The source is text for people and starts with "derived".
    A manifest cannot use a derived value; it can name its devices.
    """
    if published(known, "numaNode", lookup) is not None:
        return None
    address = published(known, "pciBusID", lookup)
    if address is None:
        return None
    domain = str(address[1]).lower().split(":", 1)[0]
    for machine in machines():
        model = lookup(machine.attribute) if machine.driver == known.driver else None
        word = next((word for word in machine.contains if isinstance(model, str) and word in model), "")
        if word and domain in machine.numa_of_pci_domain:
            return machine.numa_of_pci_domain[domain], machine.source.format(machine=word)
    return None
