"""CEL texts that place a driver's devices on one NUMA node, also where the driver publishes none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import PCIE_ROOT, DeviceID
from dra_lab.sketch.cel_text import literal, read_of
from dra_lab.topology.locality import localities


def selector_at(
    cluster: Cluster, devices: Mapping[DeviceID, PoolDevice], value: int | str, nodes: Sequence[str]
) -> tuple[str, str] | None:
    """Return (CEL text, source of the locality) that selects those of the devices that sit on a NUMA node, or None.

    By the NUMA node where all of them publish it, else by the PCIe roots that sit there on every one of the nodes. The
    text is guarded: it never fails on a device that lacks the attribute. None where the devices are of several
    drivers, or where a root's name means different NUMA nodes on different machines.
    """
    items = devices.values()
    profiles = {item.driver: item.kind.profile for item in items}
    if len(profiles) != 1:
        return None
    driver, profile = profiles.popitem()
    for name in profile.attributes_at("numaNode"):
        kinds = {a.kind if (a := item.device.lookup(name, driver)) else "" for item in items}
        if kinds <= {"int"} or kinds <= {"string"}:
            wanted = literal(str(value)) if kinds == {"string"} else str(value)
            return _guarded(name, driver, f"== {wanted}"), name
    numa_of: dict[str | int, set[int | str | None]] = defaultdict(set)
    sources: dict[str, None] = {}
    for node in nodes:
        for device, locality in localities(cluster, node).items():
            if device in devices and locality.pcie_root is not None:
                place = locality.numa_node
                numa_of[locality.pcie_root.value].add(place.value if place else None)
                if place is not None and place.value == value:
                    sources[place.source] = None
    roots = sorted(str(root) for root, values in numa_of.items() if values == {value})
    if not roots or any(value in values and len(values) > 1 for values in numa_of.values()):
        # one root's name on different NUMA nodes of different machines: no selector can tell them apart
        return None
    return _guarded(PCIE_ROOT, driver, f"in {literal(roots)}"), ", ".join(sources)


def _guarded(name: str, driver: str, test: str) -> str:
    read, there = read_of(name, driver)
    return f"{there} && {read} {test}"
