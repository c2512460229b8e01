"""hwloc XML (`lstopo topology.xml`), versions 2 and 3: packages, NUMA nodes, PCIe tree, GPUs and NICs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.quantity import unsigned_number
from dra_lab.sources.foreign.hwloc_objects import HwlocObjects, HwlocPlace, visit
from dra_lab.sources.foreign.inventory import (
    INFINIBAND,
    CpuNode,
    Fact,
    Inventory,
    InventoryDevice,
    kind_of_pci,
    mask_numbers,
    nearest_switches,
)
from dra_lab.sources.foreign.xml_text import XmlElement

FORMAT = "hwloc XML"

_PCI_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\](?: \[([0-9a-f]{4}):([0-9a-f]{4})\])?", re.IGNORECASE
)
_NUMBERED = re.compile(r"(nvml|rsmi|cuda)(\d{1,4})", re.ASCII)

# hwloc.h: up to version 2 an enumeration (2 network, 3 OpenFabrics); from version 3 bits (16 network, 32 OpenFabrics).
_ENUM = {"2": "interface", "3": "rdmaDevice"}
_BITS = ((16, "interface"), (32, "rdmaDevice"))

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
    _refuse_twice(objects, used)
    switches = nearest_switches([(address, at.bridges) for _, address, at in used])
    devices = tuple(_device(objects, *found, nodes, switches) for found in objects.found)
    if devices and not objects.bridge_count:
        findings.append(
            Finding(
                "topology-without-bridges",
                Severity.WARNING,
                source,
                "the file has no Bridge objects, so PCIe roots and switches are not known",
                "Write it with: lstopo --whole-io topology.xml",
                Origin(source, line=root.line),
            )
        )
    if not any(device.kind in ("gpu", "nic") for device in devices):
        message = "the file has no GPU and no NIC; hwloc leaves out PCI devices that it may not read"
        advice = "Write it on the server itself, with: lstopo --whole-io topology.xml"
        findings.append(Finding("topology-without-devices", Severity.WARNING, source, message, advice, Origin(source)))
    return Inventory(source, FORMAT, devices, nodes, (*findings, *_strange(objects)))


def _refuse_twice(objects: HwlocObjects, devices: Iterable[tuple[XmlElement, str, HwlocPlace]]) -> None:
    """Refuse a GPU or NIC with the address of another one; the address of other devices does not matter."""
    seen: dict[str, int] = {}
    for element, address, _ in devices:
        if address in seen:
            objects.refuse(f"the address {address} appears twice (first on line {seen[address]})", element)
        seen[address] = element.line


def _strange(objects: HwlocObjects) -> Iterator[Finding]:
    """Yield what is no error by itself and says that lines may be missing or changed.

    A device or a name that is missing at the end of a series leaves no trace, so it is not reported.
    """
    advice = "Write the file again with: lstopo topology.xml"
    for kind, element in objects.unknown.items():
        message = f"objects of the type {kind[:40]!r} are not known, so dra-lab ignores them and their content"
        yield Finding(
            "topology-unknown-object", Severity.WARNING, objects.source, message, advice, objects.origin(element)
        )
    known = {number for _, number in objects.numa_nodes}
    for element, nodes in objects.nodesets:
        if nodes and not nodes <= known:
            lost = ", ".join(map(str, sorted(nodes - known)[:8]))
            message = f"its nodeset names the NUMA nodes {lost}, which the file does not contain"
            found = Finding("topology-nodes-missing", Severity.WARNING, objects.source, message, advice)
            yield dataclasses.replace(found, origin=objects.origin(element, "nodeset"))
            break
    for tool, numbers in _tool_numbers(objects).items():
        lost = ", ".join(f"{tool}{n}" for n in [*{*range(max(numbers))} - numbers.keys()][:8])
        if lost:
            message = f"there is {tool}{max(numbers)} and no {lost}: lines of GPUs or their names are missing"
            found = Finding("topology-numbers-missing", Severity.WARNING, objects.source, message, advice)
            yield dataclasses.replace(found, origin=objects.origin(numbers[max(numbers)], "name"))


def _tool_numbers(objects: HwlocObjects) -> dict[str, dict[int, XmlElement]]:
    """Return the numbers that the vendors' tools give to GPUs, by the tool; they count from 0 without a gap."""
    found: dict[str, dict[int, XmlElement]] = {}
    for element, _, _ in objects.found:
        for device in element.named("object"):
            number = _NUMBERED.fullmatch(device.get("name"))
            if number and number[1] != "cuda":
                found.setdefault(number[1], {})[int(number[2])] = device
    return found


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
    return InventoryDevice(kind, _name(facts, address), objects.origin(element), facts)


def _name(facts: Mapping[str, Fact], address: str) -> str:
    return next((str(facts[key].value) for key in ("rdmaDevice", "interface") if key in facts), address)


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
        name, kind = device.get("name"), device.get("osdev_type")
        if objects.bits:
            mask = int(kind) if re.fullmatch(r"\d{1,4}", kind, re.ASCII) else 0
            role = next((role for bit, role in _BITS if mask & bit and not _is_rdma(name, mask)), "")
            role = "rdmaDevice" if _is_rdma(name, mask) else role
        else:
            role = _ENUM.get(kind, "")
        if role and name:
            yield role, Fact(name, objects.origin(device, "name"))
        number = _NUMBERED.fullmatch(name)
        if number and (number[1] != "cuda" or not tool):
            yield "index", Fact(int(number[2]), objects.origin(device, "name"))
        own = _infos(device)
        for key, role in (("GPUModel", "model"), ("NVIDIAUUID", "uuid")):
            if key in own:
                yield role, Fact(own[key].get("value"), objects.origin(own[key]))


def _is_rdma(name: str, mask: int) -> bool:
    """Say whether an OSDev with both bits (48, version 3) is the RDMA device and not the interface."""
    if mask & 48 == 48:
        return not re.match(r"(en|eth|ib\d|ib[ps]|wl|bond)", name)
    return bool(mask & 32)


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
        memory = element.get("local_memory")
        nodes.append(
            CpuNode(
                number,
                objects.origin(element),
                cpus,
                sockets[0] if len(sockets) == 1 else None,
                int(memory) if re.fullmatch(r"\d{1,18}", memory, re.ASCII) else None,
                _threads(objects, cpus or ()),
            )
        )
    return tuple(sorted(nodes, key=lambda node: node.numa_node))


def _threads(objects: HwlocObjects, cpus: tuple[int, ...]) -> int | None:
    here = set(cpus)
    sizes = {len(core) for core in objects.cores if core and here.issuperset(core)}
    return sizes.pop() if len(sizes) == 1 else None


def _numa(at: HwlocPlace, nodes: tuple[CpuNode, ...]) -> CpuNode | None:
    """Return the one NUMA node of main memory at the place where a bridge hangs, None where there are several."""
    numbers = mask_numbers(at.nodeset) or ()
    here = [node for node in nodes if node.numa_node in numbers]
    # a node without CPUs is far memory; next to one with CPUs it is not where a device sits
    with_cpus = [node for node in here if node.cpus] or here
    return with_cpus[0] if len(with_cpus) == 1 else None
