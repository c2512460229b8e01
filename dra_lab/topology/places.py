"""A place of a device, what devices at one place of a link share, and how far apart two devices are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


# --------------------------------------------------------------------- what a distance costs
# Ranges from published measurements, never one number. The values are ratios: what is left of the bandwidth that the
# same GPU and NIC reach where they sit together. Every range names its measurements. If none is published, the range
# is derived and says so. If the path is not known, neither is the bandwidth.


class Measurement(Struct, frozen=True):
    """One published measurement: what was measured, the ratio far / near (low and high), and its source."""

    what: str
    low: float
    high: float
    source: str


class PathCost(Struct, frozen=True):
    """What is left of the bandwidth on one kind of path, for large transfers between a GPU and a NIC.

    `low` and `high` bound the published ratios, None if nothing is known. `kind` is `reference` (what the others are
    compared with, 1 by its meaning), `measured`, `derived` or `unknown`. `against` are measurements that the range does
    not cover because they are of something else, or because nothing was lost.
    """

    path: str
    low: float | None
    high: float | None
    kind: str
    measurements: tuple[Measurement, ...] = ()
    against: tuple[Measurement, ...] = ()
    note: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Return where the measurements of the range stand, each once."""
        return tuple(dict.fromkeys(m.source for m in self.measurements))


_DRANET = "kubernetes-sigs/dranet"
_PAPER = f"{_DRANET}: the DRANET paper (site/static/docs/kubernetes_network_driver_model_dranet_paper.pdf)"

_ONE = (
    Measurement("GB300, all_reduce, one NIC each, GPUDirect lost", 0.45, 0.45, f"{_DRANET}: azure_aks_examples/gb300"),
    Measurement("GB200, one NIC each, GPUDirect lost", 0.54, 0.54, f"{_DRANET}: oci_oke_examples/BM.GPU.GB200-v3.4"),
    Measurement("p4d, GPU and EFA, GPUDirect lost", 0.53, 0.53, f"{_DRANET}: aws_eks_examples/gpu-efa"),
    Measurement("B200, 8 GB all_gather and all_reduce, random GPU", 0.627, 0.632, _PAPER),
    Measurement("GKE A4, four workers, mixed placements", 0.505, 0.505, f"{_DRANET}: docs/user/gke-rdma"),
)
_SEVERAL = (
    *_ONE,
    Measurement("MI300X, four GPUs and four NICs", 0.143, 0.143, f"{_DRANET}: azure_aks_examples/mi300x"),
    Measurement("H100, four NICs, 1 GiB NIXL writes", 0.705, 0.705, f"{_DRANET}: examples/nixl-kv-transfer"),
)
_AGAINST = (
    Measurement("B200, 64 KB and 1 MB collectives, random GPU", 0.74, 0.90, _PAPER),
    Measurement("H100, a whole training step", 0.91, 0.91, f"{_DRANET}: examples/distributed_training"),
    Measurement("MI210, host to device over PCIe Gen4", 1.0, 1.0, "ROCm/rocm_bandwidth_test#129"),
    Measurement("8 x 4090, GPU to GPU: across sockets it is faster", 1.0, 1.0, "NVIDIA/nccl#1086"),
)
_SAME_NUMA = (
    Measurement("GB200, GPUDirect through C2C: 92 % of the line rate", 0.92, 0.92, _ONE[1].source),
    Measurement("GB300 in a virtual machine: it is the aligned case", 1.0, 1.0, _ONE[0].source),
)

PATHS: Mapping[str, PathCost] = MappingProxyType(
    {
        "root": PathCost("on one PCIe root", 1.0, 1.0, "reference", note="the reference for all other paths"),
        "numa": PathCost(
            "on one NUMA node, on another PCIe root",
            0.8,
            1.0,
            "derived",
            _SAME_NUMA,
            note="no clean measurement between two root ports of one x86 socket is published; 0.8 is an estimate",
        ),
        "numa-any": PathCost(
            "on one NUMA node, PCIe roots not known",
            0.8,
            1.0,
            "derived",
            _SAME_NUMA,
            note="on one root nothing is lost, and between two roots 0.8 is an estimate",
        ),
        "socket": PathCost(
            "on one socket, on another NUMA node", None, None, "unknown", note="no measurement of this is published"
        ),
        "far": PathCost("on another NUMA node", 0.45, 0.64, "measured", _ONE, _AGAINST),
        "far-several": PathCost("on other NUMA nodes, several at once", 0.14, 0.71, "measured", _SEVERAL, _AGAINST),
        "none": PathCost(
            "no NIC of its own", None, None, "unknown", note="it shares a NIC with another GPU, or has none"
        ),
        "unknown": PathCost("not known", None, None, "unknown", note="the drivers do not publish where these sit"),
    }
)
"""The kinds of path between a GPU and its NIC, nearest first.

`far` is one GPU with one NIC: 0.45 to 0.54 where the transfers lose GPUDirect RDMA (which NCCL decides by distance),
0.505 to 0.632 for random placements, some of them aligned by luck. Several such pairs at once were measured between
0.143 and 0.705. Bounds are rounded outwards.
"""

_OF_DISTANCE = {"switch": "root", "pcieRoot": "root", "numaNode": "numa", "socket": "socket", "node": "far"}


def pair_paths(places: Iterable[Locality]) -> tuple[str, ...]:
    """Pair every GPU of an allocation with a NIC of its own, and return the kinds of path, in the order of the GPUs.

    The nearest pairs come first: as many as can be share a PCIe root, then as many of the rest as can be a NUMA node.
    Places lie within one another, so that this loses nothing. Where a path is not known it stays unknown. Empty where
    there is no GPU or no NIC at all.
    """
    known = tuple(places)
    gpus = [place for place in known if place.kind == "gpu"]
    nics = [place for place in known if place.kind == "nic"]
    if not gpus or not nics:
        return ()
    found: dict[DeviceID, str] = {}
    for path in ("root", "numa", "numa-any", "socket", "far", "unknown"):
        for gpu in (gpu for gpu in gpus if gpu.device not in found):
            nic = next((nic for nic in nics if _path(gpu, nic) == path), None)
            if nic is not None:
                found[gpu.device] = path
                nics.remove(nic)
    far = "far-several" if [*found.values()].count("far") > 1 else "far"
    paths = (found.get(gpu.device, "none") for gpu in gpus)
    return tuple(far if path == "far" else path for path in paths)


def _path(gpu: Locality, nic: Locality) -> str:
    """Return the kind of path; that two places differ counts only where both are known."""
    path = _OF_DISTANCE.get(distance(gpu, nic), "unknown")
    if path == "numa" and None in (gpu.pcie_root, nic.pcie_root):
        return "numa-any"
    return "unknown" if path == "socket" and None in (gpu.numa_node, nic.numa_node) else path
