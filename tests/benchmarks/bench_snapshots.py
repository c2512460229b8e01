"""What is made of 5,000 nodes that are read: the audit of claims, a snapshot, and one under pseudonyms (no targets).

Seconds of the processor, medians of three, each on a cluster of which nothing is remembered.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.model.cluster import Cluster
from dra_lab.sources import load_cluster
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.snapshots import make_snapshot, write_snapshot
from tests.benchmarks.big_cluster import big_cluster
from tests.benchmarks.timing import median_seconds

NODES = 5000


def _median(what: str, work: Callable[[Cluster], Any]) -> None:
    fresh = [replace(big_cluster(NODES)) for _ in range(3)]
    print(f"  {what}: {median_seconds(lambda: work(fresh.pop()), 3, time.process_time):.2f} s")


def main() -> None:
    """Print the figures."""
    cluster = big_cluster(NODES)
    print(f"{NODES:,} nodes, {len(cluster.slices):,} slices, {len(cluster.claims):,} claims that hold devices:")
    _median("audit of the claims", audit_claims)
    _median("all checks of the cluster, the audit among them", check_cluster)
    with tempfile.TemporaryDirectory() as name:
        out = Path(name) / "out.tar.gz"
        _median("dra-lab capture, without reading the cluster", lambda one: write_snapshot(make_snapshot(one), out))
        print(f"    the archive has {out.stat().st_size / 2**20:.1f} MiB")
        _median("reading that archive", lambda _one: load_cluster(out))
        _median("pseudonyms for everything", anonymise)


if __name__ == "__main__":
    main()
