"""Locality that no attribute publishes but that documented facts about a machine give (`data/machines.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from dra_lab.drivers.kinds import published
from dra_lab.drivers.profiles import convert, read_data
from dra_lab.model.driver_profile import DriverProfile, Lookup


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
