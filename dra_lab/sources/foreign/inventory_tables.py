"""An inventory as a table: a row for each value, with the place in the file that it was read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dra_lab.errors import require
from dra_lab.sources.foreign.inventory import FACTS, Inventory, InventoryDevice
from dra_lab.sources.foreign.vendors import vendor_title

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("kind", "name", "fact", "value", "origin")


def inventory_frame(inventory: Inventory) -> pd.DataFrame:
    """Return one row for each value that an inventory holds: `kind`, `name` of the device, `fact`, `value`, `origin`.

    `origin` is the file with line and element. CPUs of a NUMA node are rows of kind "cpu". Text comes from the files.
    """
    require("pandas", "charts")
    import pandas as pd

    return pd.DataFrame(list(_rows(inventory)), columns=list(COLUMNS))


def _rows(inventory: Inventory) -> Iterator[tuple[str, str, str, object, str]]:
    for device in inventory.devices:
        for name in FACTS:
            fact = device.facts.get(name)
            if fact is not None:
                yield device.kind, device.name, name, fact.value, str(fact.origin)
    for node in inventory.cpu_nodes:
        values = (
            ("cpus", None if node.cpus is None else len(node.cpus)),
            ("socket", node.socket),
            ("memory", node.memory),
            ("threadsPerCore", node.threads_per_core),
        )
        for name, value in values:
            if value is not None:
                yield "cpu", f"NUMA node {node.numa_node}", name, value, str(node.origin)


INVENTORY_HEAD = ("device", "kind", "model", "address", "PCIe root", "switch", "NUMA node", "from")


def inventory_rows(inventory: Inventory) -> Iterator[tuple[str, ...]]:
    """Yield a row under INVENTORY_HEAD for each GPU, NIC and NUMA node; text comes from the files."""
    for device in (*inventory.of("gpu"), *inventory.of("nic")):
        root = device.text("pcieRoot") or (f"({device.text('rootGroup')})" if device.text("rootGroup") else "")
        places = (root, device.text("switch"), device.text("numaNode"))
        where = str(device.origin).partition(",")[0]
        yield device.name, device.kind, model_words(device), device.text("address"), *places, where
    for node in inventory.cpu_nodes:
        cpus = "? CPUs" if node.cpus is None else f"{len(node.cpus)} CPUs"
        where = str(node.origin).partition(",")[0]
        yield f"NUMA node {node.numa_node}", "cpu", cpus, "", "", "", str(node.numa_node), where


def model_words(device: InventoryDevice) -> str:
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
    found: dict[str, dict[str, object]] = {}
    for kind, name, fact, value, origin in _rows(inventory):
        found.setdefault(name, {"kind": kind})[fact] = {"value": value, "origin": origin}
    return found
