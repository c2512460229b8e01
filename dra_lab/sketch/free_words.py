"""How many devices are free, in words: no more than what was read of claims tells."""

from __future__ import annotations

from collections.abc import Iterable

from dra_lab.index.catalogue import Shape
from dra_lab.model.cluster import Cluster


def free_count(cluster: Cluster, free: int) -> str:
    """Return `18`, `at most 18` where the claims of some namespaces only were read, `unknown` where none were."""
    if not cluster.claims_known:
        return "unknown"
    # claims of the namespaces that were not read may hold what looks free; where nothing does, that is certain
    return f"at most {free:,}" if free and cluster.claims_in_part else f"{free:,}"


def use_words(cluster: Cluster, free: int, total: int, shapes: Iterable[Shape] = ()) -> str:
    """Return `18 of 32 free`, of partitions `41 of 50 partitions still possible`, as far as claims were read."""
    if not are_partitions(shapes):
        return free_words(cluster, free, total)
    return partition_words(cluster, free, total)


def partition_words(cluster: Cluster, possible: int, total: int) -> str:
    """Return `41 of 50 partitions still possible`: as `free_count` tells it, `use unknown` where no claim was."""
    if not cluster.claims_known:
        return f"{total:,} partitions, use unknown"
    return f"{free_count(cluster, possible)} of {total:,} partitions still possible"


def are_partitions(shapes: Iterable[Shape]) -> bool:
    """Say whether all devices draw on shared counters (KEP-4815): each may exclude others, so none is simply free."""
    found = [bool(shape.example.consumes_counters) for shape in shapes]
    return bool(found) and all(found)


def free_words(cluster: Cluster, free: int, total: int | None = None) -> str:
    """Return `18 free`, with a total `18 of 32 free`: as `free_count` tells it, `use unknown` where no claim was."""
    if not cluster.claims_known:
        return "use unknown" if total is None else f"{total:,}, use unknown"
    of_all = "" if total is None else f" of {total:,}"
    return f"{free_count(cluster, free)}{of_all} free"


def left_words(cluster: Cluster, free: int, *, split: bool = False, cpus: bool = False) -> str:
    """Return `18 free`, of partitions (`split`) `41 possible`, of CPUs `96 CPUs free`, as far as claims were read."""
    if not cluster.claims_known:
        return "use unknown"
    return f"{free_count(cluster, free)} {'CPUs free' if cpus else 'possible' if split else 'free'}"


def doubt_words(cluster: Cluster) -> str:
    """Return the words for a device that no claim holds among those read, "" if that means that it is free."""
    if not cluster.claims_known:
        return "use unknown"
    return "free as far as claims were read" if cluster.claims_in_part else ""


def unread_words(cluster: Cluster) -> str:
    """Return what stands beside a picture of devices in use, without its full stop; "" where all claims were read."""
    if not cluster.claims_known:
        return "no claims were read, so it is not known which devices are in use"
    return "not all claims were read, so devices that look free may be in use" if cluster.claims_in_part else ""
