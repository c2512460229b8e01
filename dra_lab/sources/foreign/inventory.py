"""The hardware of one server, as a topology file describes it: devices, vendors, tables."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.findings import Finding, Origin, Severity

FACTS = (
    "address",
    "vendor",
    "device",
    "pciClass",
    "model",
    "index",
    "uuid",
    "interface",
    "rdmaDevice",
    "infiniBand",
    "virtualFunction",
    "management",
    "pcieRoot",
    "rootGroup",
    "switch",
    "numaNode",
    "socket",
)
"""What can be known of a device.

`address` is the PCI address `dddd:bb:dd.f`. `vendor` and `device` are the PCI ids in four hex digits. `pciClass` is the
first four hex digits of the PCI class, kept for GPUs of unknown vendor. `index` is the vendor tool's number of a GPU.
`infiniBand`, `virtualFunction` and `management` are True or absent. `pcieRoot` is the root's name as Linux has it
(`pci0000:10`); `rootGroup` is known where devices provably share a root whose name is not in the file: equal values are
one root. `switch` is the nearest PCIe switch that holds another of the devices.
"""

MAX_BYTES = 16 * 2**20
"""Bytes that a topology file may have; the largest known real one, of 24 NUMA nodes, has under 2 MB."""

MAX_DEVICES = 4096
"""Devices and CPU groups that an inventory may hold."""

MAX_CPUS = 8192
"""The highest CPU or NUMA node number read, the limit of Linux's own NR_CPUS."""

INFINIBAND = ("0207", "0c06")
"""PCI classes of InfiniBand controllers, as network controllers and as serial buses."""

_ADDRESS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])", re.IGNORECASE)
_MASK = re.compile(r"(0xf\.\.\.f,?)?((0x)?[0-9a-f]{0,8}(,(0x)?[0-9a-f]{0,8})*|(0x)?[0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Fact:
    """A value and where it stands: file and line, and the element or row."""

    value: str | int | bool
    origin: Origin


@dataclass(frozen=True, slots=True)
class InventoryDevice:
    """A GPU, a NIC or another PCI device (`kind` "gpu", "nic", "other"), called `name` in the file.

    `facts` holds what is known of it, by the words of FACTS; what is absent is not known.
    """

    kind: str
    name: str
    origin: Origin
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def value(self, name: str) -> str | int | bool | None:
        """Return a fact's value, None where it is not known."""
        fact = self.facts.get(name)
        return None if fact is None else fact.value

    def text(self, name: str) -> str:
        """Return a fact as text, "" where it is not known."""
        value = self.value(name)
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class CpuNode:
    """The CPUs of a NUMA node: `cpus` their Linux numbers, None where the file does not tell all of them.

    `memory` in bytes and `socket` are None where they are not known.
    """

    numa_node: int
    origin: Origin
    cpus: tuple[int, ...] | None = None
    socket: int | None = None
    memory: int | None = None
    threads_per_core: int | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """The hardware of one server as a file describes it.

    `source` names the file, `format` what it is (`nvidia-smi topo -m`, `hwloc XML`, `NCCL topology XML`).
    """

    source: str
    format: str
    devices: tuple[InventoryDevice, ...] = ()
    cpu_nodes: tuple[CpuNode, ...] = ()
    findings: tuple[Finding, ...] = ()

    def of(self, kind: str) -> tuple[InventoryDevice, ...]:
        """Return the devices of a kind, in the file's order."""
        return tuple(device for device in self.devices if device.kind == kind)

    @property
    def roots(self) -> tuple[str, ...]:
        """Return the names of the PCIe roots that hold a device, sorted."""
        return tuple(sorted({device.text("pcieRoot") for device in self.devices} - {""}))


def pci_address(text: str) -> str:
    """Return an address as `dddd:bb:dd.f` in lower case, "" for text that is none; a missing domain is 0000."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        return ""
    domain, bus, slot, function = (int(part or "0", 16) for part in found.groups())
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}" if slot < 32 else ""


def kind_of_pci(class_code: str, vendor: str, device: str = "") -> str:
    """Return "gpu", "nic" or "other" by PCI class (its first four hex digits), vendor and device id.

    A display controller is a GPU only where the vendor makes accelerators, so that a board's own graphics (ASPEED,
    Matrox, ATI's ES1000) is none. Classes, by the PCI Code and ID Assignment Specification: 02 network, 0c06 InfiniBand
    (ConnectX-2 and -3 in that mode), 03 display, 12 accelerator.
    """
    if class_code.startswith("02") or class_code == "0c06":
        return "nic"
    if class_code[:2] not in ("03", "12"):
        return "other"
    makers = ("10de", "1002", "8086", "1da3", "")
    board_graphics = vendor == "1002" and device in ("4752", "515e", "5969")
    return "gpu" if vendor in makers and not board_graphics else "other"


def mask_numbers(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a bit mask of comma-separated 32-bit words, highest first (hwloc, NCCL, Linux).

    An empty word is zero, as hwloc writes it. None where the mask is endless (`0xf...f`), broken, or over MAX_CPUS.
    """
    words = text.strip().lower().split(",")
    if len(words) * 32 > MAX_CPUS + 32:
        return None
    value = 0
    for word in words:
        digits = word.removeprefix("0x") or "0"
        if not re.fullmatch(r"[0-9a-f]{1,8}", digits) and len(words) > 1:
            return None
        if not re.fullmatch(r"[0-9a-f]{1,2048}", digits):
            return None
        value = (value << 32) | int(digits, 16)
    return tuple(number for number in range(value.bit_length()) if value >> number & 1)


def is_mask(text: str) -> bool:
    """Say whether a text is a bit mask as hwloc and NCCL write one, endless (`0xf...f`) ones too, of whatever size."""
    return _MASK.fullmatch(text.strip().lower()) is not None


def list_numbers(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a list such as `0-23,48-71`, None where it is none."""
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,5})(?:-(\d{1,5}))?\s*", part, re.ASCII)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last > MAX_CPUS:
            return None
        found.update(dict.fromkeys(range(first, last + 1)))
    return tuple(found)


def nearest_switches(devices: Sequence[tuple[str, Sequence[str]]]) -> Mapping[str, str]:
    """Return, by address, the nearest bridge below the root port that holds another device as well.

    `devices` are (address, addresses of the bridges above it, from the root port down). A bridge that holds the
    functions of one card only is part of that card and no switch to anybody else; neither is a root port.
    """
    below: dict[str, set[str]] = defaultdict(set)
    for address, bridges in devices:
        for bridge in bridges[1:]:
            below[bridge].add(address.rpartition(".")[0])
    found = {}
    for address, bridges in devices:
        shared = next((bridge for bridge in reversed(bridges[1:]) if len(below[bridge]) > 1), None)
        if shared is not None:
            found[address] = shared
    return found


NVIDIA, AMD = "10de", "1002"

_TITLES = {NVIDIA: "NVIDIA", AMD: "AMD", "8086": "Intel", "1da3": "Intel Gaudi", "15b3": "NVIDIA", "14e4": "Broadcom"}
_BY_CLASS = {"0300": NVIDIA, "0302": NVIDIA, "0380": AMD, "1200": AMD}
"""Vendors by PCI class: NVIDIA's accelerators are VGA or 3D controllers, AMD's other displays or accelerators."""


@dataclass(frozen=True)
class Vendors:
    """The vendor of each GPU: the file's own, else the assumed one.

    `assumed` holds, by the name of the device, the vendor and for people where it comes from.
    """

    assumed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    chosen: bool = False

    def of(self, device: InventoryDevice) -> str:
        """Return the PCI vendor id of a device, "" where it is not known."""
        return device.text("vendor") or self.assumed.get(device.name, ("", ""))[0]


def vendors(inventory: Inventory, drivers: Sequence[str]) -> Vendors:
    """Return the vendors of an inventory's GPUs.

    The order is: what the file says; the vendor of the GPU drivers that a person named; the PCI class; NVIDIA. Where
    the named drivers are of several vendors, the PCI class decides between them.
    """
    named = tuple(dict.fromkeys(vendor for driver in drivers for vendor in vendors_of(driver)))
    if drivers and not named:
        return Vendors()
    assumed: dict[str, tuple[str, str]] = {}
    for device in inventory.of("gpu"):
        code = device.text("pciClass")
        by_class = _BY_CLASS.get(code, "")
        if device.text("vendor"):
            continue
        if named and (len(named) == 1 or by_class not in named):
            assumed[device.name] = named[0], "the chosen driver publishes this vendor's GPUs"
        elif by_class:
            assumed[device.name] = by_class, f"their PCI class is {code}"
        else:
            assumed[device.name] = NVIDIA, "NVIDIA is the default if a file does not say"
    return Vendors(assumed, bool(named))


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
    for (vendor, why), count in Counter(found.assumed.values()).items():
        gpus = "1 GPU" if count == 1 else f"{count} GPUs"
        message = f"the file does not name the vendor of {gpus}; dra-lab assumes {vendor_title(vendor)}: {why}"
        other = next(driver for known in (AMD, NVIDIA) if known != vendor for driver in drivers_of(known))
        advice = f"If that is wrong, name the drivers: --driver {other} --driver dra.net (make_cluster(..., drivers=))."
        severity = Severity.NOTE if found.chosen else Severity.WARNING
        yield Finding("made-vendor", severity, inventory.source, message, advice)


INVENTORY_HEAD = ("device", "kind", "model", "address", "PCIe root", "switch", "NUMA node", "from")


def inventory_rows(inventory: Inventory) -> Iterator[tuple[str, ...]]:
    """Yield a row under INVENTORY_HEAD for each GPU, NIC and NUMA node; text comes from the files."""
    for device in (*inventory.of("gpu"), *inventory.of("nic")):
        root = device.text("pcieRoot") or (f"({device.text('rootGroup')})" if device.text("rootGroup") else "")
        places = (root, device.text("switch"), device.text("numaNode"))
        where = str(device.origin).partition(",")[0]
        yield device.name, device.kind, _model_words(device), device.text("address"), *places, where
    for node in inventory.cpu_nodes:
        cpus = "? CPUs" if node.cpus is None else f"{len(node.cpus)} CPUs"
        where = str(node.origin).partition(",")[0]
        yield f"NUMA node {node.numa_node}", "cpu", cpus, "", "", "", str(node.numa_node), where


def _model_words(device: InventoryDevice) -> str:
    """Return the model of a device, else its vendor with the PCI id: `NVIDIA GPU`, `AMD GPU (1002:740c)`."""
    vendor, number = device.text("vendor"), device.text("device")
    if device.text("model") or not vendor:
        return device.text("model")
    title, ids = vendor_title(vendor), f"{vendor}:{number}"
    if title == vendor:
        return ids.strip(":")
    return f"{title} {device.kind.upper()}{f' ({ids})' if number else ''}"


def inventory_values(inventory: Inventory) -> dict[str, dict[str, object]]:
    """Return the values of an inventory by the name of the device and of the fact."""
    rows: list[tuple[str, str, str, object, Origin]] = [
        (device.kind, device.name, name, device.facts[name].value, device.facts[name].origin)
        for device in inventory.devices
        for name in FACTS
        if name in device.facts
    ]
    for node in inventory.cpu_nodes:
        values = {"cpus": None if node.cpus is None else len(node.cpus), "socket": node.socket, "memory": node.memory}
        values["threadsPerCore"] = node.threads_per_core
        known = ((name, value) for name, value in values.items() if value is not None)
        rows += [("cpu", f"NUMA node {node.numa_node}", name, value, node.origin) for name, value in known]
    found: dict[str, dict[str, object]] = {}
    for kind, name, fact, value, origin in rows:
        found.setdefault(name, {"kind": kind})[fact] = {"value": value, "origin": str(origin)}
    return found
