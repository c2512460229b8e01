"""Vendors of GPUs whose topology file does not name them: what a cluster made from the file assumes, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.drivers import known_drivers, profile
from dra_lab.findings import Finding, Severity
from dra_lab.sources.foreign.inventory import Inventory, InventoryDevice

NVIDIA, AMD = "10de", "1002"

_TITLES = {NVIDIA: "NVIDIA", AMD: "AMD", "8086": "Intel", "1da3": "Intel Gaudi", "15b3": "NVIDIA", "14e4": "Broadcom"}
_BY_CLASS = {"0300": NVIDIA, "0302": NVIDIA, "0380": AMD, "1200": AMD}
"""Vendors by PCI class: NVIDIA's accelerators are VGA or 3D controllers, AMD's other displays or accelerators."""


@dataclass(frozen=True)
class Vendors:
    """The vendor of each GPU: the file's own, else the assumed one.

    `assumed` holds vendors by the name of the device; `because` says for people where an assumed vendor comes from.
    """

    assumed: Mapping[str, str] = field(default_factory=dict)
    because: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = False

    def of(self, device: InventoryDevice) -> str:
        """Return the PCI vendor id of a device, "" where it is not known."""
        return device.text("vendor") or self.assumed.get(device.name, "")


def vendors(inventory: Inventory, drivers: Sequence[str]) -> Vendors:
    """Return the vendors of an inventory's GPUs.

    The order is: what the file says; the vendor of the GPU drivers that a person named; the PCI class; NVIDIA. Where
    the named drivers are of several vendors, the PCI class decides between them.
    """
    named = tuple(dict.fromkeys(vendor for driver in drivers for vendor in vendors_of(driver)))
    unknown = [device for device in inventory.of("gpu") if not device.text("vendor")]
    if drivers and not named:
        return Vendors()
    assumed: dict[str, str] = {}
    because: dict[str, str] = {}
    for device in unknown:
        code = device.text("pciClass")
        by_class = _BY_CLASS.get(code, "")
        if named and (len(named) == 1 or by_class not in named):
            assumed[device.name], because[device.name] = named[0], "the chosen driver publishes this vendor's GPUs"
        elif by_class:
            assumed[device.name], because[device.name] = by_class, f"their PCI class is {code}"
        else:
            assumed[device.name], because[device.name] = NVIDIA, "NVIDIA is the default if a file does not say"
    return Vendors(assumed, because, bool(named))


def vendors_of(driver: str) -> tuple[str, ...]:
    """Return the PCI vendor ids of the GPUs that a driver publishes."""
    return tuple(vendor for rule in profile(driver, {}).made if rule.of == "gpu" for vendor in rule.vendors)


def drivers_of(vendor: str) -> tuple[str, ...]:
    """Return the drivers that publish the GPUs of a vendor."""
    return tuple(driver for driver in known_drivers() if vendor in vendors_of(driver))


def vendor_title(vendor: str) -> str:
    """Return a vendor's name for people, its id where the name is not known."""
    return _TITLES.get(vendor, vendor)


def vendor_findings(inventory: Inventory, found: Vendors) -> Iterator[Finding]:
    """Yield what was assumed of GPUs whose vendor the file does not name, one Finding for each vendor and reason."""
    groups: dict[tuple[str, str], int] = {}
    for name, vendor in found.assumed.items():
        group = (vendor, found.because[name])
        groups[group] = groups.get(group, 0) + 1
    for (vendor, why), count in groups.items():
        gpus = "1 GPU" if count == 1 else f"{count} GPUs"
        message = f"the file does not name the vendor of {gpus}; dra-lab assumes {vendor_title(vendor)}: {why}"
        other = next(driver for known in (AMD, NVIDIA) if known != vendor for driver in drivers_of(known))
        advice = f"If that is wrong, name the drivers: --driver {other} --driver dra.net (make_cluster(..., drivers=))."
        severity = Severity.NOTE if found.chosen else Severity.WARNING
        yield Finding("made-vendor", severity, inventory.source, message, advice)
