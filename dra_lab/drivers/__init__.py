"""Drivers: what is known of one vendor's devices, as data: labels, topology attributes, how to ask for them.

Imports model and errors only. One driver is one file, `data/<driver>.yaml`; `data/README.md` says how to add one.
"""

from dra_lab.drivers.kinds import (
    Machine,
    PciModel,
    attributes_of_labels,
    attributes_of_machines,
    attributes_read,
    derived_numa,
    device_kind,
    device_label,
    device_short,
    kind_of_driver,
    machines,
    pci_model,
    published,
)
from dra_lab.drivers.profiles import all_profiles, documented_class, known_drivers, profile

__all__ = [
    "Machine",
    "PciModel",
    "all_profiles",
    "attributes_of_labels",
    "attributes_of_machines",
    "attributes_read",
    "derived_numa",
    "device_kind",
    "device_label",
    "device_short",
    "documented_class",
    "kind_of_driver",
    "known_drivers",
    "machines",
    "pci_model",
    "profile",
    "published",
]
