"""The node labels and device attributes of clouds and schedulers that say where a node is in a data centre."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

NVLINK, FABRIC, ZONE = "NVLink", "fabric", "zone"
"""The names of the hierarchies that presets define."""

NVLINK_DOMAIN = "NVLink domain"
HOSTNAME = "kubernetes.io/hostname"
CLIQUE = "nvidia.com/gpu.clique"
"""NVIDIA's label `<ClusterUUID>.<CliqueID>`: the NVLink domain and the partition of it."""


class Preset(Struct, frozen=True):
    """The levels of one source, from the outermost to the innermost: what each is called, and its keys.

    The first key that any node has is used. A key whose domain ends in `dra.net` is a device attribute.
    """

    hierarchy: str
    source: str
    levels: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def keys(self) -> Iterable[str]:
        """Return the keys of all levels."""
        return (key for _, keys in self.levels for key in keys)


def _preset(hierarchy: str, source: str, *levels: tuple[str, ...]) -> Preset:
    return Preset(hierarchy, source, tuple((word, tuple(keys)) for word, *keys in levels))


_COREWEAVE = (("fabric", "fabric"), ("superpod", "superpod"), ("leaf group", "leafgroup"))

PRESETS = (
    _preset(
        ZONE,
        "Kubernetes",
        ("region", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"),
        (
            "zone",
            "topology.kubernetes.io/zone",
            "failure-domain.beta.kubernetes.io/zone",
            "topology.k8s.aws/zone-id",
        ),
    ),
    _preset(
        FABRIC,
        "GKE",
        ("block", "cloud.google.com/gce-topology-block", "gce.dra.net/block"),
        ("sub-block", "cloud.google.com/gce-topology-subblock", "gce.dra.net/subBlock"),
    ),
    # where compact placement is older than the labels above (GoogleCloudPlatform/container-engine-accelerators)
    _preset(
        FABRIC, "GKE's topology scheduler", ("cluster", "topology.gke.io/cluster"), ("rack", "topology.gke.io/rack")
    ),
    # AWS counts inwards: the highest number is the closest
    _preset(FABRIC, "EKS", *(("switch", f"topology.k8s.aws/network-node-layer-{layer}") for layer in (1, 2, 3, 4))),
    _preset(
        FABRIC,
        "OKE RDMA",
        ("HPC island", "oci.oraclecloud.com/rdma.hpc_island_id", "oke.dra.net/hpcIslandId"),
        ("network block", "oci.oraclecloud.com/rdma.network_block_id", "oke.dra.net/networkBlockId"),
        ("local block", "oci.oraclecloud.com/rdma.local_block_id", "oke.dra.net/localBlockId"),
    ),
    _preset(
        FABRIC,
        "OKE",
        ("network block", "oci.oraclecloud.com/host.network_block_id"),
        ("rack", "oci.oraclecloud.com/host.rack_id", "oke.dra.net/rackId"),
    ),
    _preset(
        FABRIC,
        "AKS",
        ("placement group", "azure.dra.net/placementGroupId"),
        ("interconnect group", "azure.dra.net/interconnectGroupId"),
        ("interconnect subgroup", "azure.dra.net/interconnectSubgroupId"),
    ),
    _preset(FABRIC, "CoreWeave", *((word, f"backend.coreweave.cloud/{name}") for word, name in _COREWEAVE)),
    _preset(FABRIC, "CoreWeave InfiniBand", *((word, f"ib.coreweave.cloud/{name}") for word, name in _COREWEAVE)),
    _preset(FABRIC, "CoreWeave racks", ("rack", "node.coreweave.cloud/rack")),
    _preset(
        FABRIC,
        "Topograph before 1.0",
        ("data centre", "network.topology.nvidia.com/datacenter"),
        ("core switch", "network.topology.nvidia.com/core"),
        ("spine", "network.topology.nvidia.com/spine"),
        ("block", "network.topology.nvidia.com/block"),
        ("leaf switch", "network.topology.nvidia.com/leaf"),
    ),
    # the labels of the documentation of Kueue, KAI and Volcano; all three let people choose their own
    _preset(
        FABRIC,
        "Kueue",
        ("block", "cloud.provider.com/topology-block"),
        ("rack", "cloud.provider.com/topology-rack"),
    ),
    _preset(FABRIC, "KAI", ("block", "topology.kubernetes.io/block"), ("rack", "topology.kubernetes.io/rack")),
    _preset(FABRIC, "Volcano", ("hypercluster", "volcano.sh/hypercluster"), ("hypernode", "volcano.sh/hypernode")),
    _preset(FABRIC, "Volcano racks", ("rack", "volcano.sh/tor")),
    _preset(NVLINK, "NVIDIA", (NVLINK_DOMAIN, CLIQUE), ("NVLink partition", CLIQUE)),
    _preset(
        NVLINK,
        "Topograph",
        (NVLINK_DOMAIN, "accelerator.topograph.run/domain"),
        ("NVLink partition", "accelerator.topograph.run/sub-domain"),
    ),
    _preset(NVLINK, "Topograph before 1.0", (NVLINK_DOMAIN, "network.topology.nvidia.com/accelerator")),
    _preset(NVLINK, "EKS", (NVLINK_DOMAIN, "topology.k8s.aws/ultraserver-id")),
    _preset(
        NVLINK,
        "OKE",
        (NVLINK_DOMAIN, "oci.oraclecloud.com/host.gpu_memory_fabric_id", "oke.dra.net/gpuMemoryFabricId"),
    ),
    _preset(NVLINK, "CoreWeave", (NVLINK_DOMAIN, "ds.coreweave.com/nvlink.domain")),
)
"""Sources: the documentation of each (Topograph v1.0.0, EC2 instance topology, CoreWeave "InfiniBand Labels",
oracle-quickstart/oci-hpc-oke "Node Labels", DRANET). A label of the physical host is no level: it has one node."""

ATTRIBUTES = tuple(key for preset in PRESETS for key in preset.keys if ".dra.net/" in key)
"""The keys that are device attributes."""

_HOSTS = frozenset(
    (HOSTNAME, "cloud.google.com/gce-topology-host", "topology.gke.io/host", "oci.oraclecloud.com/rdma.host_id")
)
_WORDS: Mapping[str, str] = MappingProxyType(
    {key: word for preset in PRESETS for word, keys in preset.levels for key in keys}
)
_TIER = re.compile(r"fabric\.topograph\.run/tier-(\d{1,3})", re.ASCII)
_LAYER = re.compile(r"topology\.k8s\.aws/network-node-layer-(\d)", re.ASCII)
_BARE = ("region", "zone", "datacenter", "hall", "spine", "block", "subblock", "rack", "leaf")
_SWITCHES = ("leaf switch", "spine", "core switch")


def is_known(key: str) -> bool:
    """Say whether a node label is one of the presets."""
    return key in _WORDS or _TIER.fullmatch(key) is not None


def is_host(key: str) -> bool:
    """Say whether a label names the node or the machine that it runs on, which is no level."""
    return key in _HOSTS


def topograph(keys: Iterable[str]) -> Preset:
    """Return the preset of Topograph's tiers among some labels. It counts outwards: tier-0 is the closest switch."""
    tiers = sorted((int(found[1]), key) for key in keys if (found := _TIER.fullmatch(key)))
    return _preset(FABRIC, "Topograph", *(("switch", key) for _, key in reversed(tiers)))


def level_names(keys: Sequence[str], given: Sequence[str] = ()) -> list[str]:
    """Return what the levels of labels are called, each name once.

    A given name goes first, then the word of the preset, then a word in the name of the label, then this name.
    """
    closest = sorted((rank, key) for key in keys if (rank := _rank(key)) is not None)
    switches = {
        key: _SWITCHES[at] if at < len(_SWITCHES) else f"tier-{at} switch" for at, (_, key) in enumerate(closest)
    }
    found: list[str] = []
    for at, key in enumerate(keys):
        bare = key.rpartition("/")[2]
        names = (given[at] if given else "", switches.get(key, ""), _WORDS.get(key, ""), _word_in(bare), bare, key)
        found.append(next(name for name in names if name and name not in found))
    return found


def is_inside(key: str, other: str) -> bool:
    """Say whether the level of a known label is inside that of another label of the same source."""
    mine, theirs = _rank(key), _rank(other)
    if mine is not None and theirs is not None and key.rpartition("-")[0] == other.rpartition("-")[0]:
        return mine < theirs
    orders = ([*preset.keys] for preset in PRESETS if {key, other} <= {*preset.keys})
    return any(keys.index(key) > keys.index(other) for keys in orders)


def _rank(key: str) -> int | None:
    """Return how far a switch is from the nodes, compared with others of its source; None for other labels."""
    if tier := _TIER.fullmatch(key):
        return int(tier[1])
    return -int(layer[1]) if (layer := _LAYER.fullmatch(key)) else None


def _word_in(bare: str) -> str:
    words = re.split("[^a-z]+", bare.lower())
    found = next((word for word in _BARE if word in words), "")
    return _SWITCHES[0] if found == "leaf" else found
