"""The node labels and device attributes that say where a node stands in a data centre, from wide to near."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

LEVEL_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "region": "region",
        "zone": "zone",
        "spine": "network level",
        "block": "block",
        "subBlock": "sub-block",
        "rack": "rack",
        "nvlinkDomain": "NVLink domain",
        "nvlinkPartition": "NVLink partition",
        "host": "host",
    }
)
"""The levels from wide to near, and what people call each; the node itself comes last and is none of them."""


class FabricLabel(Struct, frozen=True):
    """A label (or, with `attribute`, a device attribute) of one level; `order` puts labels of one level, wider first.

    `word` is what its writer calls such a place, "" for the level's own word.
    `unique` where equal values always mean one place; a rack's number may be used again in another block.
    """

    name: str
    level: str
    writer: str
    order: int = 0
    attribute: bool = False
    unique: bool = True
    word: str = ""

    @property
    def title(self) -> str:
        """Return what people call such a place."""
        return self.word or LEVEL_WORDS[self.level]


_KNOWN = (
    FabricLabel("topology.kubernetes.io/region", "region", "Kubernetes"),
    FabricLabel("failure-domain.beta.kubernetes.io/region", "region", "Kubernetes before 1.17"),
    FabricLabel("topology.kubernetes.io/zone", "zone", "Kubernetes"),
    FabricLabel("failure-domain.beta.kubernetes.io/zone", "zone", "Kubernetes before 1.17"),
    FabricLabel("topology.k8s.aws/zone-id", "zone", "EKS"),
    # the names of Kueue's and KAI's documentation; both let people choose their own
    FabricLabel("cloud.provider.com/topology-block", "block", "Kueue", unique=False),
    FabricLabel("cloud.provider.com/topology-rack", "rack", "Kueue", unique=False),
    FabricLabel("topology.kubernetes.io/block", "block", "KAI", unique=False),
    FabricLabel("topology.kubernetes.io/rack", "rack", "KAI", unique=False),
    FabricLabel("cloud.google.com/gce-topology-block", "block", "GKE"),
    FabricLabel("cloud.google.com/gce-topology-subblock", "subBlock", "GKE"),
    FabricLabel("cloud.google.com/gce-topology-host", "host", "GKE"),
    # where compact placement is older than the labels above (GoogleCloudPlatform/container-engine-accelerators)
    FabricLabel("topology.gke.io/cluster", "block", "GKE's topology scheduler", word="cluster"),
    FabricLabel("topology.gke.io/rack", "rack", "GKE's topology scheduler"),
    FabricLabel("topology.gke.io/host", "host", "GKE's topology scheduler"),
    FabricLabel("gce.dra.net/block", "block", "DRANET on GKE", attribute=True),
    FabricLabel("gce.dra.net/subBlock", "subBlock", "DRANET on GKE", attribute=True),
    FabricLabel("gce.dra.net/host", "host", "DRANET on GKE", attribute=True),
    FabricLabel("topology.k8s.aws/network-node-layer-1", "spine", "EKS", 1, word="layer-1 network node"),
    FabricLabel("topology.k8s.aws/network-node-layer-2", "spine", "EKS", 2, word="layer-2 network node"),
    FabricLabel("topology.k8s.aws/network-node-layer-3", "spine", "EKS", 3, word="layer-3 network node"),
    FabricLabel("topology.k8s.aws/network-node-layer-4", "spine", "EKS", 4, word="layer-4 network node"),
    FabricLabel("topology.k8s.aws/ultraserver-id", "nvlinkDomain", "EKS"),
    FabricLabel("azure.dra.net/placementGroupId", "block", "DRANET on AKS", attribute=True, word="placement group"),
    FabricLabel(
        "azure.dra.net/interconnectGroupId", "block", "DRANET on AKS", 1, attribute=True, word="interconnect group"
    ),
    FabricLabel(
        "azure.dra.net/interconnectSubgroupId",
        "subBlock",
        "DRANET on AKS",
        attribute=True,
        word="interconnect subgroup",
    ),
    FabricLabel("oci.oraclecloud.com/host.network_block_id", "block", "OKE", word="network block"),
    FabricLabel("oci.oraclecloud.com/host.rack_id", "rack", "OKE"),
    FabricLabel("oci.oraclecloud.com/rdma.hpc_island_id", "spine", "OKE", word="HPC island"),
    FabricLabel("oci.oraclecloud.com/rdma.network_block_id", "block", "OKE", 1, word="network block"),
    FabricLabel("oci.oraclecloud.com/rdma.local_block_id", "subBlock", "OKE", word="local block"),
    FabricLabel("oci.oraclecloud.com/host.gpu_memory_fabric_id", "nvlinkDomain", "OKE"),
    FabricLabel("oke.dra.net/hpcIslandId", "spine", "DRANET on OKE", attribute=True, word="HPC island"),
    FabricLabel("oke.dra.net/networkBlockId", "block", "DRANET on OKE", attribute=True, word="network block"),
    FabricLabel("oke.dra.net/localBlockId", "subBlock", "DRANET on OKE", attribute=True, word="local block"),
    FabricLabel("oke.dra.net/rackId", "rack", "DRANET on OKE", attribute=True),
    FabricLabel("oke.dra.net/gpuMemoryFabricId", "nvlinkDomain", "DRANET on OKE", attribute=True),
    FabricLabel("network.topology.nvidia.com/datacenter", "spine", "Topograph before 1.0", 0, word="data centre"),
    FabricLabel("network.topology.nvidia.com/core", "spine", "Topograph before 1.0", 1, word="core switch"),
    FabricLabel("network.topology.nvidia.com/spine", "spine", "Topograph before 1.0", 2, word="spine switch"),
    FabricLabel("network.topology.nvidia.com/block", "block", "Topograph before 1.0"),
    FabricLabel("network.topology.nvidia.com/leaf", "block", "Topograph before 1.0", 1, word="leaf switch"),
    FabricLabel("network.topology.nvidia.com/accelerator", "nvlinkDomain", "Topograph before 1.0"),
    FabricLabel("accelerator.topograph.run/domain", "nvlinkDomain", "Topograph"),
    FabricLabel("accelerator.topograph.run/sub-domain", "nvlinkPartition", "Topograph"),
    FabricLabel("nvidia.com/gpu.clique", "nvlinkDomain", "NVIDIA", 1),
    FabricLabel("ib.coreweave.cloud/fabric", "spine", "CoreWeave", word="fabric"),
    FabricLabel("ib.coreweave.cloud/superpod", "block", "CoreWeave", unique=False, word="superpod"),
    FabricLabel("ib.coreweave.cloud/leafgroup", "subBlock", "CoreWeave", unique=False, word="leaf group"),
    FabricLabel("backend.coreweave.cloud/fabric", "spine", "CoreWeave (back end)", word="fabric"),
    FabricLabel("backend.coreweave.cloud/superpod", "block", "CoreWeave (back end)", unique=False, word="superpod"),
    FabricLabel(
        "backend.coreweave.cloud/leafgroup", "subBlock", "CoreWeave (back end)", unique=False, word="leaf group"
    ),
    FabricLabel("node.coreweave.cloud/rack", "rack", "CoreWeave", unique=False),
    FabricLabel("ds.coreweave.com/nvlink.domain", "nvlinkDomain", "CoreWeave"),
)
"""Sources: the documentation of each writer (Topograph v1.0.0, CoreWeave "InfiniBand Labels",
oracle-quickstart/oci-hpc-oke "Node Labels")."""

LABELS: Mapping[str, FabricLabel] = MappingProxyType({label.name: label for label in _KNOWN if not label.attribute})
ATTRIBUTES: Mapping[str, FabricLabel] = MappingProxyType({label.name: label for label in _KNOWN if label.attribute})

_TIER = re.compile(r"fabric\.topograph\.run/tier-(\d{1,3})", re.ASCII)


def fabric_label(name: str) -> FabricLabel | None:
    """Return what is known of a node label, None for one that says nothing of the fabric.

    Topograph numbers its tiers from the node outwards, without an end: tier-0 is the nearest switch.
    """
    known = LABELS.get(name)
    if known is not None:
        return known
    tier = _TIER.fullmatch(name)
    return (
        None
        if tier is None
        else FabricLabel(name, "spine", "Topograph", 1000 - int(tier[1]), word=f"tier-{tier[1]} switch")
    )
