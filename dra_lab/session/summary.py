"""What is in a cluster, in one line."""

from __future__ import annotations

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_devices, once_per_snapshot
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.topologies import Topology
from dra_lab.pictures.words import counted

_NAMES = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices", "other": "other devices"}


@once_per_snapshot
def summary(cluster: Cluster, release: KubernetesRelease) -> str:
    """Return `4 nodes · 2 drivers · 32 GPUs, 27 free · 28 NICs, 16 with RDMA`.

    `at most 27 free` where the claims of some namespaces only were read, `use unknown` where none were.
    """
    from dra_lab.authoring.candidates import free_by_kind
    from dra_lab.authoring.free_words import free_words

    fabric(cluster)  # where the summary is made there is time for it
    parts = [first_words(cluster)]
    counts = free_by_kind(cluster, release)
    for kind in (kind for kind in _NAMES if kind in counts):
        total, free = counts[kind]
        told = _NAMES[kind] if total > 1 else _NAMES[kind].removesuffix("s")
        parts.append(f"{total:,} {told}, {free_words(cluster, free)}{_with_rdma(cluster) if kind == 'nic' else ''}")
    return " · ".join(parts)


def fabric(cluster: Cluster, *, known: bool = False) -> str:
    """Return `1 zone · 2 racks of 4 nodes`, "" where nothing tells of racks and the like.

    `known` returns "" if it was not worked out yet: for 5,000 nodes it takes a tenth of a second.
    """
    from dra_lab.topology import fabric_tree, fabric_words

    words = _fabric_words(cluster)
    if not words or words[0][0] != cluster.topologies:
        if known:
            return ""
        words[:] = ((cluster.topologies, fabric_words(fabric_tree(cluster))),)
    return words[0][1]


@once_per_devices
def _fabric_words(_cluster: Cluster) -> list[tuple[tuple[Topology, ...], str]]:
    """Return the latest topologies and the words for them, or nothing."""
    return []


def first_words(cluster: Cluster) -> str:
    """Return `5,000 nodes · 3 drivers`: what is known before the devices were looked at."""
    return f"{counted(len(cluster.node_names), 'node')} · {counted(len(cluster.drivers), 'driver')}"


@once_per_devices
def _with_rdma(cluster: Cluster) -> str:
    from dra_lab.index.catalogue import catalogue
    from dra_lab.index.device_kinds import RDMA

    counts = catalogue(cluster).counts.items()
    able = [
        (attribute.value is True, count)
        for shape, count in counts
        if shape.kind == "nic" and (attribute := shape.example.lookup(RDMA, shape.driver)) is not None
    ]
    return f", {sum(count for with_it, count in able if with_it):,} with RDMA" if able else ""
