"""How far apart two devices of a node are: the nearest level that they share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from dra_lab.topology.locality import LEVEL_FIELDS, Locality

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
