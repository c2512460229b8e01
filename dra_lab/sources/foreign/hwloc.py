"""hwloc XML (`lstopo topology.xml`), versions 2 and 3: packages, NUMA nodes, PCIe tree, GPUs and NICs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.quantity import unsigned_number
from dra_lab.sources.foreign.inventory import (
    INFINIBAND,
    MAX_CPUS,
    MAX_DEVICES,
    CpuNode,
    Fact,
    Inventory,
    InventoryDevice,
    is_mask,
    kind_of_pci,
    mask_numbers,
    nearest_switches,
    pci_address,
)
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
    """The elements above: `place` is the nearest object that is not of PCI, `nodeset` its NUMA nodes."""

    package: str = ""
    nodeset: str = ""
    place: XmlElement | None = None
    root: Fact | None = None
    bridges: tuple[str, ...] = ()


@dataclass
class HwlocObjects:
    """What the objects of a file contain, in its order.

    `bits` says that types of kernel names are bits (version 3). `packages` are number and NUMA nodes of each socket
    whose number is known. `found` are the PCI devices with address and place. `unknown` is the first object of each
    type that hwloc does not have.
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
    _check_object(objects, element)
    if not _KNOWN.fullmatch(kind):
        objects.unknown.setdefault(kind, element)
    if kind not in _IO and element.get("nodeset"):
        objects.nodesets.append((element, frozenset(mask_numbers(element.get("nodeset")) or ())))
    if kind == "OSDev":
        return
    if kind == "Package":
        # the number may be of any size (offsets into tables of ARM firmware), absent, or -1 in 32 bits for unknown
        number = unsigned_number(element.get("os_index"))
        known = number is not None and number < 2**32 - 1
        if number is not None and known:
            objects.packages.append((number, frozenset(mask_numbers(element.get("nodeset")) or ())))
        at = HwlocPlace(str(number) if known else "")
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


def _check_object(objects: HwlocObjects, element: XmlElement) -> None:
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


FORMAT = "hwloc XML"

_PCI_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?", re.IGNORECASE
)
_NUMBERED = re.compile(r"(nvml|rsmi|cuda)(\d{1,4})", re.ASCII)

# hwloc.h: up to version 2 an enumeration (2 network, 3 OpenFabrics); from version 3 bits (16 network, 32 OpenFabrics).
_ENUM = {"2": "interface", "3": "rdmaDevice"}

# NUMA nodes that are not the main memory of CPUs (hwloc's subtypes, docs "Heterogeneous memory")
_OTHER_MEMORY = ("GPUMemory", "SPM", "NVM", "CXL-DRAM", "CXL-NVM")
# the same next to DRAM; where the CPUs have no other memory (Xeon Max in HBM-only mode) it is the main one
_NEAR_MEMORY = ("HBM", "MCDRAM")

# ConnectX-7 functions of HGX B200 that manage NVSwitch and are no network
_MANAGEMENT = ("15b3:0087",)


def read_hwloc(root: XmlElement, source: str) -> Inventory:
    """Return the inventory of an hwloc export.

    A device's PCIe root is named by the host bridge above it, its NUMA node by the place where that bridge hangs; a
    bridge at the whole machine has none if there are several NUMA nodes. Without Bridge objects nothing but the
    NUMA node is known. Raises SourceError with line and element for a file that is no hwloc export, is of version 1, or
    names an address, a CPU or a NUMA node twice or not at all.
    """
    version = root.get("version")
    machine = next(root.named("object"), None)
    if root.tag != "topology" or machine is None:
        raise SourceError("this is not hwloc XML, which has a <topology> with an <object>", origin=Origin(source))
    major = unsigned_number(version.partition(".")[0]) or 1
    if major < 2:
        what = "this is XML of hwloc 1, which dra-lab does not read; write it again with lstopo of hwloc 2 or later"
        raise SourceError(what, origin=Origin(source, line=root.line))
    objects = HwlocObjects(source, bits=major >= 3)
    visit(objects, machine, HwlocPlace())
    findings: list[Finding] = []
    nodes = _cpu_nodes(objects)
    used = [found for found in objects.found if _kind(found[0])[0] in ("gpu", "nic")]
    seen: dict[str, int] = {}
    for element, address, _ in used:  # the address of other devices does not matter
        if address in seen:
            objects.refuse(f"the address {address} appears twice (first on line {seen[address]})", element)
        seen[address] = element.line
    switches = nearest_switches([(address, at.bridges) for _, address, at in used])
    devices = tuple(_device(objects, *found, nodes, switches) for found in objects.found)
    if devices and not objects.bridge_count:
        message = "the file has no Bridge objects, so PCIe roots and switches are not known"
        advice, where = "Write it with: lstopo --whole-io topology.xml", Origin(source, line=root.line)
        findings.append(Finding("topology-without-bridges", Severity.WARNING, source, message, advice, where))
    if not any(device.kind in ("gpu", "nic") for device in devices):
        message = "the file has no GPU and no NIC; hwloc leaves out PCI devices that it may not read"
        advice = "Write it on the server itself, with: lstopo --whole-io topology.xml"
        findings.append(Finding("topology-without-devices", Severity.WARNING, source, message, advice, Origin(source)))
    return Inventory(source, FORMAT, devices, nodes, (*findings, *_strange(objects)))


def _strange(objects: HwlocObjects) -> Iterator[Finding]:
    """Yield what is no error by itself and says that lines may be missing or changed.

    A device or a name that is missing at the end of a series leaves no trace, so it is not reported.
    """
    advice = "Write the file again with: lstopo topology.xml"
    warn = partial(Finding, severity=Severity.WARNING, subject=objects.source, advice=advice)
    for kind, element in objects.unknown.items():
        message = f"objects of the type {kind[:40]!r} are not known, so dra-lab ignores them and their content"
        yield warn("topology-unknown-object", message=message, origin=objects.origin(element))
    known = {number for _, number in objects.numa_nodes}
    for element, nodes in objects.nodesets:
        if nodes and not nodes <= known:
            lost = ", ".join(map(str, sorted(nodes - known)[:8]))
            message = f"its nodeset names the NUMA nodes {lost}, which the file does not contain"
            yield warn("topology-nodes-missing", message=message, origin=objects.origin(element, "nodeset"))
            break
    # the vendors' tools number GPUs from 0 without a gap
    by_tool: dict[str, dict[int, XmlElement]] = {}
    for device in (device for element, _, _ in objects.found for device in element.named("object")):
        number = _NUMBERED.fullmatch(device.get("name"))
        if number and number[1] != "cuda":
            by_tool.setdefault(number[1], {})[int(number[2])] = device
    for tool, numbers in by_tool.items():
        lost = ", ".join(f"{tool}{n}" for n in [*{*range(max(numbers))} - numbers.keys()][:8])
        if lost:
            message = f"there is {tool}{max(numbers)} and no {lost}: lines of GPUs or their names are missing"
            where = objects.origin(numbers[max(numbers)], "name")
            yield warn("topology-numbers-missing", message=message, origin=where)


def _kind(element: XmlElement) -> tuple[str, re.Match[str] | None]:
    ids = _PCI_TYPE.match(element.get("pci_type").lower())
    return (kind_of_pci(ids[1], ids[2], ids[3]) if ids else "other"), ids


def _device(
    objects: HwlocObjects,
    element: XmlElement,
    address: str,
    at: HwlocPlace,
    nodes: tuple[CpuNode, ...],
    switches: Mapping[str, str],
) -> InventoryDevice:
    kind, ids = _kind(element)
    if ids is None and element.get("pci_type"):
        objects.refuse(f"pci_type is {element.get('pci_type')[:60]!r}, expected CLASS [vendor:device]", element)
    facts = {"address": Fact(address, objects.origin(element, "pci_busid"))}
    if ids:
        facts |= {"vendor": Fact(ids[2], objects.origin(element, "pci_type"))}
        facts |= {"device": Fact(ids[3], objects.origin(element, "pci_type"))}
        if ids[1] in INFINIBAND:
            facts["infiniBand"] = Fact(value=True, origin=objects.origin(element, "pci_type"))
        if f"{ids[4]}:{ids[5]}" in _MANAGEMENT and kind == "nic":
            facts["management"] = Fact(value=True, origin=objects.origin(element, "pci_type"))
    facts |= dict(_named(objects, element))
    if at.root is not None:
        facts["pcieRoot"] = at.root
    if address in switches:
        facts["switch"] = Fact(switches[address], objects.origin(element, f"below the bridge {switches[address]}"))
    numa = _numa(at, nodes)
    if numa is not None and at.place is not None:
        place = objects.origin(at.place, "nodeset")
        facts["numaNode"] = Fact(numa.numa_node, place)
        if numa.socket is not None:
            facts["socket"] = Fact(numa.socket, place)
    elif (package := unsigned_number(at.package)) is not None and at.place is not None:
        facts["socket"] = Fact(package, objects.origin(at.place))
    name = next((str(facts[key].value) for key in ("rdmaDevice", "interface") if key in facts), address)
    return InventoryDevice(kind, name, objects.origin(element), facts)


def _named(objects: HwlocObjects, element: XmlElement) -> Iterator[tuple[str, Fact]]:
    """Yield what the infos of a PCI device and the kernel's own names below it say."""
    infos = _infos(element)
    if "PCIDevice" in infos:
        yield "model", Fact(infos["PCIDevice"].get("value"), objects.origin(infos["PCIDevice"]))
        if "virtual function" in infos["PCIDevice"].get("value").lower():
            yield "virtualFunction", Fact(value=True, origin=objects.origin(infos["PCIDevice"]))
    kernel = [device for device in element.named("object") if device.get("type") == "OSDev"]
    # CUDA may count the fastest first; the vendor's tool does not
    tool = any(device.get("name").startswith(("nvml", "rsmi")) for device in kernel)
    for device in kernel:
        name = device.get("name")
        if (role := _role(objects, name, device.get("osdev_type"))) and name:
            yield role, Fact(name, objects.origin(device, "name"))
        number = _NUMBERED.fullmatch(name)
        if number and (number[1] != "cuda" or not tool):
            yield "index", Fact(int(number[2]), objects.origin(device, "name"))
        own = _infos(device)
        for key, role in (("GPUModel", "model"), ("NVIDIAUUID", "uuid")):
            if key in own:
                yield role, Fact(own[key].get("value"), objects.origin(own[key]))


def _role(objects: HwlocObjects, name: str, kind: str) -> str:
    """Return "interface" or "rdmaDevice" for an OSDev; with both bits (version 3) the name decides."""
    if not objects.bits:
        return _ENUM.get(kind, "")
    mask = int(kind) if re.fullmatch(r"\d{1,4}", kind, re.ASCII) else 0
    if mask & 32 and not (mask & 16 and re.match(r"(en|eth|ib\d|ib[ps]|wl|bond)", name)):
        return "rdmaDevice"
    return "interface" if mask & 16 else ""


def _infos(element: XmlElement) -> dict[str, XmlElement]:
    return {info.get("name"): info for info in element.named("info")}


def _cpu_nodes(objects: HwlocObjects) -> tuple[CpuNode, ...]:
    """Return the NUMA nodes of main memory, in order of number."""
    seen: dict[int, XmlElement] = {}
    nodes = []
    main = (n for n, _ in objects.numa_nodes if n.get("subtype") not in (*_OTHER_MEMORY, *_NEAR_MEMORY))
    served = {cpu for element in main for cpu in mask_numbers(element.get("cpuset")) or ()}
    for element, number in objects.numa_nodes:
        if number in seen:
            objects.refuse(f"NUMA node {number} appears twice (first on line {seen[number].line})", element)
        seen[number] = element
        if element.get("subtype") in _OTHER_MEMORY:
            continue
        cpus = mask_numbers(element.get("cpuset")) if element.get("cpuset") else None
        if element.get("subtype") in _NEAR_MEMORY and (not cpus or not served.isdisjoint(cpus)):
            continue
        sockets = [package for package, nodeset in objects.packages if number in nodeset]
        threads = {len(core) for core in objects.cores if core and {*(cpus or ())}.issuperset(core)}
        memory = element.get("local_memory")
        nodes.append(
            CpuNode(
                number,
                objects.origin(element),
                cpus,
                sockets[0] if len(sockets) == 1 else None,
                int(memory) if re.fullmatch(r"\d{1,18}", memory, re.ASCII) else None,
                threads.pop() if len(threads) == 1 else None,
            )
        )
    return tuple(sorted(nodes, key=lambda node: node.numa_node))


def _numa(at: HwlocPlace, nodes: tuple[CpuNode, ...]) -> CpuNode | None:
    """Return the one NUMA node of main memory at the place where a bridge hangs, None where there are several."""
    numbers = mask_numbers(at.nodeset) or ()
    here = [node for node in nodes if node.numa_node in numbers]
    # a node without CPUs is far memory; next to one with CPUs it is not where a device sits
    with_cpus = [node for node in here if node.cpus] or here
    return with_cpus[0] if len(with_cpus) == 1 else None
