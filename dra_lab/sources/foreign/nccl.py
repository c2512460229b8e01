"""NCCL and RCCL topology XML (`NCCL_TOPO_DUMP_FILE`, the files of cloud images): NUMA nodes, switches, GPUs, NICs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
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

FORMAT = "NCCL topology XML"

_BRIDGE = "0604"
_NO_DOMAIN = "ffff:"
"""PCI domain of switches that a cloud's file invents: inside the virtual machine they are not to be seen."""


@dataclass
class _NcclElements:
    source: str
    found: list[tuple[XmlElement, str, Fact | None, tuple[str, ...]]] = field(default_factory=list)
    bare: list[tuple[XmlElement, Fact | None]] = field(default_factory=list)
    nics: list[XmlElement] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    bridges: dict[str, int] = field(default_factory=dict)
    repeated: list[XmlElement] = field(default_factory=list)
    nets: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def origin(self, element: XmlElement, path: str = "") -> Origin:
        names = (element.get(key) for key in ("busid", "numaid", "name", "dev"))
        name = next((name for name in names if name), "")
        return Origin(self.source, object=f"{element.tag} {name}".strip()[:120], path=path, line=element.line)

    def refuse(self, what: str, element: XmlElement) -> NoReturn:
        advice = "write the file again with the environment variable NCCL_TOPO_DUMP_FILE set"
        raise SourceError(f"{what}; {advice}", origin=self.origin(element))


def read_nccl(root: XmlElement, source: str) -> Inventory:
    """Return the inventory of a topology file of NCCL or RCCL.

    Devices below one bridge share a PCIe root, whose name is not in the file (`rootGroup`); switches that a cloud's
    file invents (domain ffff) tell what is near, but nothing of PCIe roots. A GPU's vendor is its PCI vendor id;
    without one, RCCL's `gcn=` and <xgmi> mean AMD, NCCL's <nvlink> and an `sm=` without `gcn=` mean NVIDIA. One library
    wrote the whole file, so a GPU without any of these has the vendor of the others.
    Raises SourceError with line and element for a file that is none, for broken addresses and for an address that is
    there twice.
    """
    if root.tag != "system":
        raise SourceError(
            f"this is not a topology of NCCL: expected <system>, got <{root.tag[:40]}>", origin=Origin(source)
        )
    elements = _NcclElements(source)
    hosts = {cpu.get("host_hash"): cpu for cpu in root.named("cpu")}
    if len(hosts) > 1:
        what = f"the file describes {len(hosts)} hosts (host_hash) of one NVLink domain, and dra-lab needs one host"
        raise SourceError(
            f"{what}; write it with NCCL_MNNVL_ENABLE=0 in addition to NCCL_TOPO_DUMP_FILE, or keep only the <cpu> "
            "elements of one host",
            origin=elements.origin(list(hosts.values())[1], "host_hash"),
        )
    _check(elements, root)
    nodes = [node for cpu in root.named("cpu") if (node := _cpu(elements, cpu)) is not None]
    twice = {node.numa_node for node in nodes if sum(node.numa_node == other.numa_node for other in nodes) > 1}
    if twice:
        again = [cpu for cpu in root.named("cpu") if cpu.get("numaid") == str(min(twice))][-1]
        elements.refuse(f"NUMA node {min(twice)} appears twice", again)
    if not elements.found and not elements.bare:
        raise SourceError("it has no <cpu> with a <pci> of a GPU or NIC", origin=Origin(source, line=root.line))
    switches = nearest_switches([(address, ("", *bridges)) for _, address, _, bridges in elements.found])
    devices = [_device(elements, *found, switches.get(found[1], "")) for found in elements.found]
    devices = _with_vendors(devices)
    named = {device.text("rdmaDevice") for device in devices}
    devices += [nic for found in elements.bare for nic in _bare(elements, *found) if nic.name not in named]
    return Inventory(source, FORMAT, tuple(devices), tuple(nodes), tuple(_findings(elements, source)))


def _check(elements: _NcclElements, element: XmlElement) -> None:
    """Refuse a <cpu> inside another element and a <net> that is there twice: lines are missing, mixed up or doubled."""
    for child in element.children:
        if child.tag == "cpu" and element.tag != "system":
            elements.refuse(f"it is inside the <{element.tag[:40]}> of line {element.line}, where it cannot be", child)
        if child.tag == "net" and child.get("name"):
            line = elements.nets.setdefault((child.get("name"), child.get("dev"), child.get("port")), child.line)
            if line != child.line:
                elements.refuse(f"{child.get('name')[:40]} appears twice (first on line {line})", child)
        _check(elements, child)


def _findings(elements: _NcclElements, source: str) -> Iterator[Finding]:
    invented = [e for e, _, _, bridges in elements.found if any(bridge.startswith(_NO_DOMAIN) for bridge in bridges)]
    if invented:
        yield Finding(
            "topology-invented-switches",
            Severity.NOTE,
            source,
            "its switches have made-up addresses in the PCI domain ffff, so drivers do not see these switches",
            "The planner uses them as switches, but a manifest cannot name them; PCIe roots are not known.",
            elements.origin(invented[0]),
        )
    if elements.repeated:
        first = elements.repeated[0]
        yield Finding(
            "topology-repeated-bridge",
            Severity.NOTE,
            source,
            f"the bridge {first.get('busid')[:40]} appears twice; dra-lab reads them as two bridges",
            "If they are one switch, write the file again with the environment variable NCCL_TOPO_DUMP_FILE set.",
            elements.origin(first),
        )
    empty = [nic for nic in elements.nics if next(nic.named("net"), None) is None]
    if empty:
        yield Finding(
            "topology-nic-without-net",
            Severity.WARNING,
            source,
            "a <nic> contains no <net>, so the name of the NIC or the NIC itself is missing",
            "Write the file again with the environment variable NCCL_TOPO_DUMP_FILE set.",
            elements.origin(empty[0]),
        )


def _cpu(elements: _NcclElements, element: XmlElement) -> CpuNode | None:
    text = element.get("numaid")
    if not re.fullmatch(r"-?\d{1,5}", text, re.ASCII) or int(text) > MAX_CPUS:
        elements.refuse(f"numaid is {text[:40]!r}, expected a number up to {MAX_CPUS}", element)
    numa = None if int(text) < 0 else Fact(int(text), elements.origin(element, "numaid"))
    if not is_mask(element.get("affinity")):
        elements.refuse(f"affinity is {element.get('affinity')[:40]!r}, expected a mask such as 0000ffff", element)
    for child in element.children:
        _visit(elements, child, numa, ())
    if numa is None:
        return None
    cpus = mask_numbers(element.get("affinity")) if element.get("affinity") else None
    return CpuNode(int(text), elements.origin(element, "affinity"), cpus or None)


def _visit(elements: _NcclElements, element: XmlElement, numa: Fact | None, bridges: tuple[str, ...]) -> None:
    if element.tag == "nic":
        elements.nics.append(element)
        elements.bare += [(net, numa) for net in element.named("net")]
    if element.tag != "pci":
        return
    address = pci_address(element.get("busid"))
    if not address:
        elements.refuse(f"busid is {element.get('busid')[:40]!r}, expected dddd:bb:dd.f", element)
    code = _class(element)
    own = _own_address(elements, element, address, code)
    if len(elements.seen) + len(elements.bridges) + len(elements.repeated) > MAX_DEVICES:
        elements.refuse(f"there are more than {MAX_DEVICES} PCI devices, which is the limit", element)
    if not element.get("class") and not element.children:
        elements.refuse("it has no class, which says whether it is a GPU or a NIC", element)
    if code == _BRIDGE or any(child.tag == "pci" for child in element.children):
        for child in element.children:
            _visit(elements, child, numa, (*bridges, own))
    elements.nics += element.named("nic")
    if code != _BRIDGE:
        elements.found.append((element, address, numa, bridges))


def _own_address(elements: _NcclElements, element: XmlElement, address: str, code: str) -> str:
    """Return a text that no other bridge has; refuse a device's address that is there twice.

    RCCL writes the functions of one switch with one address, so a bridge may repeat it: they are different bridges.
    """
    if code != _BRIDGE:
        if address in elements.seen:
            elements.refuse(f"the address {address} appears twice (first on line {elements.seen[address]})", element)
        elements.seen[address] = element.line
    elif elements.bridges.setdefault(address, element.line) != element.line:
        elements.repeated.append(element)
        return f"{address} of line {element.line}"
    return address


def _class(element: XmlElement) -> str:
    return element.get("class").lower().removeprefix("0x").zfill(6)[:4]


def _kind(element: XmlElement) -> str:
    if next(element.named("gpu"), None) is not None:
        return "gpu"
    if next(element.named("nic"), None) is not None:
        return "nic"
    return kind_of_pci(_class(element), _pci_id(element, "vendor"), _pci_id(element, "device"))


def _pci_id(element: XmlElement, key: str) -> str:
    """Return a vendor or device id in four hex digits, "" for none and for 0000 and ffff, which stand for none."""
    text = element.get(key).lower().removeprefix("0x")
    return text if re.fullmatch(r"[0-9a-f]{4}", text) and text not in ("0000", "ffff") else ""


def _device(
    elements: _NcclElements, element: XmlElement, address: str, numa: Fact | None, bridges: tuple[str, ...], switch: str
) -> InventoryDevice:
    facts = {"address": Fact(address, elements.origin(element, "busid"))}
    for key in ("vendor", "device"):
        if text := _pci_id(element, key):
            facts[key] = Fact(text, elements.origin(element, key))
    kind = _kind(element)
    if kind == "gpu" and "vendor" not in facts:
        facts |= _vendor(elements, element)
    if _class(element) in INFINIBAND:
        facts["infiniBand"] = Fact(value=True, origin=elements.origin(element, "class"))
    if numa is not None:
        facts["numaNode"] = numa
    if switch:
        facts["switch"] = Fact(switch, elements.origin(element, f"below the bridge {switch}"))
    if bridges and not bridges[0].startswith(_NO_DOMAIN):
        facts["rootGroup"] = Fact(f"above {bridges[0]}", elements.origin(element, f"below the bridge {bridges[0]}"))
    gpu = next(element.named("gpu"), None)
    if gpu is not None and re.fullmatch(r"\d{1,4}", gpu.get("dev"), re.ASCII):
        facts["index"] = Fact(int(gpu.get("dev")), elements.origin(gpu, "dev"))
    nets = [net for nic in element.named("nic") for net in nic.named("net") if net.get("name")]
    if nets:
        facts["rdmaDevice"] = Fact(nets[0].get("name"), elements.origin(nets[0], "name"))
    name = str(facts["rdmaDevice"].value) if nets else address
    return InventoryDevice(kind, name, elements.origin(element), facts)


def _vendor(elements: _NcclElements, element: XmlElement) -> dict[str, Fact]:
    """Return the vendor of a GPU without a vendor id, by what only one of both libraries writes, else its PCI class."""
    gpu = next(element.named("gpu"), None)
    for vendor, attribute, link in (("1002", "gcn", "xgmi"), ("10de", "sm", "nvlink")):
        if gpu is not None and gpu.get(attribute):
            return {"vendor": Fact(vendor, elements.origin(gpu, attribute))}
        if gpu is not None and (joined := next(gpu.named(link), None)) is not None:
            return {"vendor": Fact(vendor, elements.origin(joined))}
    return {"pciClass": Fact(_class(element), elements.origin(element, "class"))} if element.get("class") else {}


def _with_vendors(devices: Sequence[InventoryDevice]) -> list[InventoryDevice]:
    """Return the devices; GPUs of unknown vendor get that of the other GPUs if those agree."""
    known = {fact.value: fact for d in devices if d.kind == "gpu" and (fact := d.facts.get("vendor")) is not None}
    if len(known) != 1:
        return list(devices)
    (fact,) = known.values()
    return [dataclasses.replace(d, facts={"vendor": fact, **d.facts}) if d.kind == "gpu" else d for d in devices]


def _bare(elements: _NcclElements, net: XmlElement, numa: Fact | None) -> Iterator[InventoryDevice]:
    """Yield the NICs that have no address in the file: several where NCCL uses them as one (`mlx5_0+mlx5_1`)."""
    for name in (net.get("name") or f"net {net.get('dev')}").split("+"):
        facts = {"rdmaDevice": Fact(name, elements.origin(net, "name"))}
        if numa is not None:
            facts["numaNode"] = numa
        yield InventoryDevice("nic", name, elements.origin(net), facts)
