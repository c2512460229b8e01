"""What is in a cluster, in one line."""

from __future__ import annotations

from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.pictures.words import counted

_MEMO = "_summary"
_FABRIC = "_fabric_words"
_RDMA = "_rdma_words"
_NAMES = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices", "other": "other devices"}


def summary(cluster: Cluster, release: KubernetesRelease) -> str:
    """Return `4 nodes · 2 drivers · 32 GPUs, 27 free · 28 NICs, 16 with RDMA`; remembered with the cluster.

    `at most 27 free` where the claims of some namespaces only were read, `use unknown` where none were.
    """
    known: dict[str, str] = cluster.__dict__.setdefault(_MEMO, {})
    found = known.get(str(release))
    if found is None:
        found = known[str(release)] = _summary(cluster, release)
    return found


def fabric(cluster: Cluster, *, known: bool = False) -> str:
    """Return `1 zone · 2 racks of 4 nodes`, "" where nothing tells of racks and the like; remembered with the nodes.

    `known` returns "" where nobody has looked yet: for 5,000 nodes it takes a tenth of a second.
    """
    from dra_lab.topology import fabric_tree, fabric_words

    named = cluster.topologies
    found: tuple[object, str] | None = cluster.hardware.get(_FABRIC)
    if found is None or found[0] != named:
        if known:
            return ""
        found = cluster.hardware[_FABRIC] = (named, fabric_words(fabric_tree(cluster)))
    return found[1]


def first_words(cluster: Cluster) -> str:
    """Return `5,000 nodes · 3 drivers`: what is known before the devices were looked at."""
    return f"{counted(len(cluster.node_names), 'node')} · {counted(len(cluster.drivers), 'driver')}"


def _summary(cluster: Cluster, release: KubernetesRelease) -> str:
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


def _with_rdma(cluster: Cluster) -> str:
    from dra_lab.authoring.catalogue import RDMA, catalogue

    words: str | None = cluster.hardware.get(_RDMA)
    if words is None:
        counts = catalogue(cluster).counts.items()
        able = [
            (attribute.value is True, count)
            for shape, count in counts
            if shape.kind == "nic" and (attribute := shape.example.lookup(RDMA, shape.driver)) is not None
        ]
        words = f", {sum(count for with_it, count in able if with_it):,} with RDMA" if able else ""
        cluster.hardware[_RDMA] = words
    return words
