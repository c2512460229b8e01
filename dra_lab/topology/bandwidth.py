"""What a distance costs between a GPU and a NIC: ranges from published measurements, never one number.

The values are ratios: what is left of the bandwidth that the same GPU and NIC reach where they sit together. Every
range names its measurements. If none is published, the range is derived and says so. If the path is not known, neither
is the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from dra_lab.model.names import DeviceID
from dra_lab.topology.places import Locality, distance


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
