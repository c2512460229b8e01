"""Whether two snapshots of a cluster have the same content, whatever they are called."""

from __future__ import annotations

import msgspec

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot


@once_per_snapshot
def cluster_fingerprint(cluster: Cluster) -> str:
    """Return 16 hexadecimal digits that are the same for clusters with the same slices, nodes, claims and classes."""
    import hashlib

    found = hashlib.blake2b(digest_size=8)
    for part in (cluster.slices, cluster.nodes, cluster.claims, cluster.classes, cluster.taint_rules):
        found.update(msgspec.msgpack.encode(part))
    return found.hexdigest()
