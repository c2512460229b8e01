"""The way through the objects of an hwloc export: packages, NUMA nodes, bridges, PCI devices and where each hangs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from dra_lab.errors import SourceError
from dra_lab.findings import Origin
from dra_lab.sources.foreign.inventory import MAX_CPUS, MAX_DEVICES, Fact, is_mask, mask_numbers, pci_address
from dra_lab.sources.foreign.xml_text import XmlElement

_IO = ("Bridge", "PCIDev", "OSDev")
_KNOWN = re.compile(
    r"Machine|Package|Die|Tile|Module|Group|NUMANode|MemCache|L[1-9]i?Cache|Core|PU|Bridge|PCIDev|OSDev|Misc"
)
"""Types of objects (hwloc.h, `hwloc_obj_type_t`)."""
_PCI = ("pci_busid", "pci_type", "bridge_pci", "bridge_type")
_BRIDGE_PCI = re.compile(r"([0-9a-f]{4,8}):\[([0-9a-f]{2})-([0-9a-f]{2})\]", re.IGNORECASE)


@dataclass(frozen=True)
class HwlocPlace:
    """Where the walk is: what the elements above say about a device below.

    `place` is the nearest object of the machine itself (not of PCI) and `nodeset` its NUMA nodes.
    """

    package: str = ""
    nodeset: str = ""
    place: XmlElement | None = None
    root: Fact | None = None
    bridges: tuple[str, ...] = ()


@dataclass
class HwlocObjects:
    """What the objects of a file contain, in its order.

    `bits` says that types of kernel names are bits (version 3). `packages` are number and NUMA nodes of each socket
    whose number is known. `cores` are the CPUs of each core. `found` are the PCI devices with address and place.
    `unknown` is the first object of each type that hwloc does not have. `nodesets` is what objects of the machine say
    of NUMA nodes.
    """

    source: str
    bits: bool
    packages: list[tuple[int, frozenset[int]]] = field(default_factory=list)
    numa_nodes: list[tuple[XmlElement, int]] = field(default_factory=list)
    cores: list[tuple[int, ...]] = field(default_factory=list)
    found: list[tuple[XmlElement, str, HwlocPlace]] = field(default_factory=list)
    roots: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, XmlElement] = field(default_factory=dict)
    nodesets: list[tuple[XmlElement, frozenset[int]]] = field(default_factory=list)
    bridge_count: int = 0

    def origin(self, element: XmlElement, path: str = "") -> Origin:
        """Return the line of an element and its type with its number, address or name."""
        what = element.get("type") or element.tag
        name = element.get("pci_busid") or element.get("bridge_pci") or element.get("os_index") or element.get("name")
        return Origin(self.source, object=f"{what} {name}".strip()[:120], path=path, line=element.line)

    def refuse(self, what: str, element: XmlElement) -> NoReturn:
        """Raise SourceError with line and element."""
        advice = "write the file again with: lstopo topology.xml"
        raise SourceError(f"{what}; {advice}", origin=self.origin(element))

    def number(self, element: XmlElement, name: str) -> int:
        """Return an attribute that is a number of a CPU or NUMA node. Raises SourceError."""
        text = element.get(name)
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or int(text) > MAX_CPUS:
            self.refuse(f"{name} is {text[:40]!r}, expected a number up to {MAX_CPUS}", element)
        return int(text)


def visit(objects: HwlocObjects, element: XmlElement, at: HwlocPlace) -> None:
    """Walk through an object and those inside it. Raises SourceError for what cannot be true."""
    kind = element.get("type")
    _check_nesting(objects, element)
    _check_masks(objects, element)
    if not _KNOWN.fullmatch(kind):
        objects.unknown.setdefault(kind, element)
    if kind not in _IO and element.get("nodeset"):
        objects.nodesets.append((element, frozenset(mask_numbers(element.get("nodeset")) or ())))
    if kind == "OSDev":
        return
    if kind == "Package":
        number = _package(element)
        if number is not None:
            objects.packages.append((number, frozenset(mask_numbers(element.get("nodeset")) or ())))
        at = HwlocPlace("" if number is None else str(number))
    if kind == "NUMANode":
        objects.numa_nodes.append((element, objects.number(element, "os_index")))
    if kind == "Core":
        objects.cores.append(mask_numbers(element.get("cpuset")) or ())
    if kind == "Bridge":
        at = _bridge(objects, element, at)
    elif kind == "PCIDev":
        _pci_device(objects, element, at)
    else:
        _check_cpus(objects, element, at.place)
        at = HwlocPlace(at.package, element.get("nodeset"), element)
    for child in element.named("object"):
        visit(objects, child, at)


def _check_nesting(objects: HwlocObjects, element: XmlElement) -> None:
    """Refuse what stands where hwloc never puts it: then lines are missing or mixed up, and devices with them.

    Only bridges have other PCI objects below them, and nothing of PCI has a socket (hwloc's "Terms and Definitions").
    """
    kind = element.get("type")
    if kind not in _IO and any(element.get(name) for name in _PCI):
        objects.refuse(f"an object of type {kind[:40]!r} has an address on PCI", element)
    inside = {"Bridge": ("Package",), "PCIDev": ("Bridge", "PCIDev", "Package")}
    barred = inside.get(kind, (*inside["PCIDev"], "NUMANode") if kind == "OSDev" else ())
    barred = (*barred, "Machine")
    for child in element.named("object"):
        if child.get("type") in barred:
            objects.refuse(f"it is inside the {kind} of line {element.line}, where it cannot be", child)


def _check_masks(objects: HwlocObjects, element: XmlElement) -> None:
    for name in ("cpuset", "nodeset"):
        if not is_mask(element.get(name)):
            objects.refuse(f"{name} is {element.get(name)[:40]!r}, expected a mask such as 0x00000003", element)


def _check_cpus(objects: HwlocObjects, element: XmlElement, above: XmlElement | None) -> None:
    """Refuse an object of the machine with CPUs that the one above it does not have (hwloc_topology_check)."""
    if above is None or element.get("type") == "Misc":
        return
    cpus, all_cpus = mask_numbers(element.get("cpuset")), mask_numbers(above.get("cpuset"))
    if cpus and all_cpus and not set(cpus) <= set(all_cpus):
        objects.refuse(
            f"it has CPUs that the {above.get('type')} around it, on line {above.line}, does not have", element
        )


def _package(element: XmlElement) -> int | None:
    """Return a socket's number, None where the system did not tell it: absent, or -1 in 32 bits.

    It may be of any size: firmware of ARM servers gives offsets into its own tables.
    """
    text = element.get("os_index")
    known = re.fullmatch(r"\d{1,10}", text, re.ASCII) and int(text) < 2**32 - 1
    return int(text) if known else None


def _bridge(objects: HwlocObjects, element: XmlElement, at: HwlocPlace) -> HwlocPlace:
    objects.bridge_count += 1
    buses = _BRIDGE_PCI.fullmatch(element.get("bridge_pci"))
    if element.get("bridge_type").startswith("0-"):
        if buses is None:
            objects.refuse(f"bridge_pci of a host bridge is {element.get('bridge_pci')[:40]!r}", element)
        name = f"pci{int(buses[1], 16):04x}:{buses[2].lower()}"
        if at.root is not None:
            objects.refuse(f"the root {name} is inside another root, {at.root.value}", element)
        if name in objects.roots:
            objects.refuse(f"the root {name} appears twice (first on line {objects.roots[name]})", element)
        objects.roots[name] = element.line
        root = Fact(name, objects.origin(element, "bridge_pci"))
        return HwlocPlace(at.package, at.nodeset, at.place, root)
    address = pci_address(element.get("pci_busid"))
    if not address:
        objects.refuse(f"pci_busid of a bridge is {element.get('pci_busid')[:40]!r}", element)
    return HwlocPlace(at.package, at.nodeset, at.place, at.root, (*at.bridges, address))


def _pci_device(objects: HwlocObjects, element: XmlElement, at: HwlocPlace) -> None:
    address = pci_address(element.get("pci_busid"))
    if not address:
        objects.refuse(f"pci_busid is {element.get('pci_busid')[:40]!r}, expected dddd:bb:dd.f", element)
    if not element.get("pci_type"):
        objects.refuse("it has no pci_type, which says whether it is a GPU or a NIC", element)
    if len(objects.found) >= MAX_DEVICES:
        objects.refuse(f"there are more than {MAX_DEVICES} PCI devices, which is the limit", element)
    if at.root is not None and str(at.root.value)[3:].partition(":")[0] != address.partition(":")[0]:
        objects.refuse(f"the device has another PCI domain than its host bridge, {at.root.value}", element)
    objects.found.append((element, address, at))
