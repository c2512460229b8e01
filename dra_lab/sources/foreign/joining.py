"""Several files about one server as one inventory: devices met by PCI address, by RDMA name, by GPU number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.sources.foreign.inventory import FACTS, CpuNode, Fact, Inventory, InventoryDevice

_ADVICE = "Give files that were written on the same server, without a change in between."


def join(inventories: Sequence[Inventory]) -> Inventory:
    """Return one inventory of all that is known; on a contradiction the earlier file is kept and a Finding tells it.

    Devices are the same if their addresses are. If a file has none (`nvidia-smi topo -m`), they are the same if the
    RDMA device or the number of the GPU is. GPUs without a number are counted in the order of their addresses, which is
    that of NVIDIA's tools. Raises SourceError where a file knows a GPU or NIC that an addressed file does not, so that
    they are not of one server.
    """
    if not inventories:
        raise SourceError("give a topology file")
    # files with addresses first, so that the others have something to meet; the order is kept otherwise
    ordered = sorted(inventories, key=lambda inventory: not _addressed(inventory))
    whole = ordered[0]
    for inventory in ordered[1:]:
        whole = _joined(whole, inventory)
    names = tuple(dict.fromkeys(inventory.source for inventory in inventories))
    formats = tuple(dict.fromkeys(inventory.format for inventory in inventories))
    return Inventory(" + ".join(names), " + ".join(formats), whole.devices, whole.cpu_nodes, whole.findings)


def _addressed(inventory: Inventory) -> bool:
    return any(device.text("address") for device in inventory.devices)


def _joined(whole: Inventory, other: Inventory) -> Inventory:
    findings = [*whole.findings, *other.findings]
    devices = list(whole.devices)
    at = _index(devices)
    for device in other.devices:
        found = next((at[key] for key in _keys(device) if key in at), None)
        if found is None:
            if device.kind in ("gpu", "nic") and not device.text("address") and _addressed(whole):
                what = (
                    f"{device.name} is not in {whole.source}, so the files are from different servers or one is "
                    "incomplete"
                )
                raise SourceError(f"{what}. {_ADVICE}", origin=device.origin)
            devices.append(device)
            continue
        devices[found] = _merged(devices[found], device, findings)
    if _addressed(whole) and _addressed(other) and len(devices) == len(whole.devices) + len(other.devices):
        what = f"{other.source} and {whole.source} have no PCI address in common, so they are from different servers"
        raise SourceError(f"{what}. {_ADVICE}", origin=Origin(other.source))
    nodes = _nodes(whole.cpu_nodes, other.cpu_nodes, findings)
    return Inventory(whole.source, whole.format, tuple(devices), nodes, tuple(findings))


def _keys(device: InventoryDevice) -> Iterable[tuple[str, str]]:
    for name in ("address", "rdmaDevice", "interface"):
        if device.text(name):
            yield name, device.text(name)
    if device.kind == "gpu" and device.text("index") and not device.text("address"):
        yield "index", device.text("index")


def _index(devices: Sequence[InventoryDevice]) -> dict[tuple[str, str], int]:
    at: dict[tuple[str, str], int] = {}
    for number, device in enumerate(devices):
        for key in _keys(device):
            at.setdefault(key, number)
    gpus = [number for number, device in enumerate(devices) if device.kind == "gpu"]
    known = {devices[number].text("index"): number for number in gpus} if gpus else {}
    if "" in known:
        # without numbers, the order of addresses is the order of the vendor's tool
        by_address = sorted(gpus, key=lambda number: devices[number].text("address"))
        known = {str(index): number for index, number in enumerate(by_address)}
    for index, number in known.items():
        at.setdefault(("index", index), number)
    return at


def _merged(kept: InventoryDevice, other: InventoryDevice, findings: list[Finding]) -> InventoryDevice:
    facts: dict[str, Fact] = dict(kept.facts)
    for name in FACTS:
        new = other.facts.get(name)
        if new is None:
            continue
        old = facts.setdefault(name, new)
        if old.value != new.value and name in ("numaNode", "pcieRoot", "socket", "vendor", "device"):
            findings.append(_contradiction(kept.name, name, old, new))
    kind = kept.kind if kept.kind != "other" else other.kind
    return InventoryDevice(kind, kept.name, kept.origin, facts)


def _contradiction(subject: str, name: str, old: Fact, new: Fact) -> Finding:
    return Finding(
        "topology-contradiction",
        Severity.WARNING,
        subject,
        f"its {name} is {old.value} in {old.origin}, but {new.value} here; dra-lab uses the first",
        _ADVICE,
        new.origin,
    )


def _nodes(kept: Sequence[CpuNode], other: Sequence[CpuNode], findings: list[Finding]) -> tuple[CpuNode, ...]:
    nodes: Mapping[int, CpuNode] = {node.numa_node: node for node in kept}
    merged = dict(nodes)
    for node in other:
        old = nodes.get(node.numa_node)
        if old is None:
            merged[node.numa_node] = node
            continue
        if old.cpus is not None and node.cpus is not None and set(old.cpus) != set(node.cpus):
            one, two = Fact(f"{len(old.cpus)} CPUs", old.origin), Fact(f"{len(node.cpus)} CPUs", node.origin)
            findings.append(_contradiction(f"NUMA node {node.numa_node}", "set of CPUs", one, two))
        merged[node.numa_node] = CpuNode(
            node.numa_node,
            old.origin,
            old.cpus if old.cpus is not None else node.cpus,
            old.socket if old.socket is not None else node.socket,
            old.memory if old.memory is not None else node.memory,
            old.threads_per_core if old.threads_per_core is not None else node.threads_per_core,
        )
    return tuple(merged[number] for number in sorted(merged))
