"""A place of a device, what devices at one place of a link share, and how far apart two devices are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import unsigned_number

LEVEL_FIELDS: Mapping[str, str] = MappingProxyType(
    {"switch": "switch", "pcieRoot": "pcie_root", "numaNode": "numa_node", "socket": "socket"}
)
"""The levels of a node, nearest first, and the member of Locality that holds each."""

_LEVEL_WORDS = {"numaNode": "NUMA node", "pcieRoot": "PCIe root", "switch": "PCIe switch"}


class Place(Struct, frozen=True):
    """A value of a level, and where it comes from.

    `source` is the full name of the attribute that publishes it, with ", made from FILE:LINE" in slices that no driver
    published. If `derived`, it is words that name the source ("from the NICs on the same PCIe root (dra.net/numaNode)",
    "file: dgx.xml:36, Bridge 0000:[2b-3b]").
    """

    value: str | int
    source: str
    derived: bool = False


class Locality(Struct, frozen=True):
    """Where one device sits; a level is None where it is not known.

    `kind` is "gpu", "nic", "cpu", "memory" or "other"; `guessed` says that no profile gives it. `label` is the model
    for people, `short` the name that people know the device by, "" without one that no other on its node has (both
    text from the cluster). `address` is the PCI address or "". `listed` has the values of each level that the driver
    publishes as a list.
    """

    device: DeviceID
    kind: str
    label: str
    socket: Place | None = None
    numa_node: Place | None = None
    pcie_root: Place | None = None
    switch: Place | None = None
    address: str = ""
    short: str = ""
    guessed: bool = False
    listed: tuple[tuple[str, tuple[int | str, ...]], ...] = ()

    def place(self, level: str) -> Place | None:
        """Return the place at one of the levels `switch`, `pcieRoot`, `numaNode`, `socket`."""
        match level:
            case "switch":
                return self.switch
            case "pcieRoot":
                return self.pcie_root
            case "numaNode":
                return self.numa_node
            case "socket":
                return self.socket
        raise KeyError(level)

    @property
    def name(self) -> str:
        """Return what people call the device (`rdma0`), else the name in its slice (`pci-0000-12-00-0`)."""
        return self.short or self.device.device

    @property
    def known(self) -> bool:
        """Say whether any level is known."""
        return any(self.place(level) is not None for level in LEVEL_FIELDS)


def level_number(value: str | int) -> str | int:
    """Return a value at a level, a text of digits as its number: "0" and 0 are the same NUMA node."""
    number = unsigned_number(value) if isinstance(value, str) else None
    return value if number is None else number


def level_value(locality: Locality, where: str, device: Device) -> str | int | None:
    """Return a device's value at the place that a link names, or None when it has none.

    `where` is a level (`switch`, `pcieRoot`, `numaNode`, `socket`: the known locality, published or derived) or the
    full name of an attribute (as `matchAttribute` sees it: lists count as no value).
    """
    if where in LEVEL_FIELDS:
        place = locality.place(where)
        return None if place is None else place.value
    attribute = device.lookup(where, locality.device.driver)
    value = attribute.value if attribute is not None else None
    return None if isinstance(value, tuple) else value


def shared_place(locality: Locality, level: str) -> tuple[str, Place] | None:
    """Return the level and the place by which is known what shares a level with a device; None where nothing tells.

    That is the level itself. An unknown socket of a device is that of its NUMA node, else of its PCIe root or switch.
    Devices there together are on one socket, so a wider level is never worse.
    """
    for known in (level, "numaNode", "pcieRoot", "switch") if level == "socket" else (level,):
        place = locality.place(known)
        if place is not None:
            return known, place
    return None


def shared_value(locality: Locality, where: str, device: Device) -> str | int | None:
    """Return the value that devices at one place of a link share, as `level_value`; it does not tell places apart.

    Two devices whose sockets are known by another level (`shared_place`) may sit in one socket with different values.
    """
    if where not in LEVEL_FIELDS:
        return level_value(locality, where, device)
    found = shared_place(locality, where)
    if found is None:
        return None
    level, place = found
    return place.value if level == where else f"that of {_LEVEL_WORDS[level]} {place.value}"


DISTANCES: Mapping[str, str] = MappingProxyType(
    {
        "device": "the same device",
        "switch": "behind one PCIe switch",
        "pcieRoot": "on one PCIe root",
        "numaNode": "on one NUMA node, on different PCIe roots",
        "socket": "on one socket, on different NUMA nodes",
        "node": "on different NUMA nodes",
        "unknown": "not known: the drivers do not publish enough",
    }
)
"""The distances from near to far, and what each says.

They correspond to the letters of `nvidia-smi topo -m`: one switch or root to PIX, PXB or
PHB, one NUMA node to NODE, everything farther to SYS.
"""


def distance(a: Locality, b: Locality) -> str:
    """Return the nearest level that two devices of one node share, a key of DISTANCES.

    "node" needs both NUMA nodes (or both sockets) to be known and different; where that is not known the answer is
    "unknown", never a guess.
    """
    if a.device == b.device:
        return "device"
    for level in LEVEL_FIELDS:
        place, other = a.place(level), b.place(level)
        if place is not None and other is not None and place.value == other.value:
            return level
    for level in ("numaNode", "socket"):
        if a.place(level) is not None and b.place(level) is not None:
            return "node"
    return "unknown"
