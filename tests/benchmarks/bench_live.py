"""Reading a running cluster of 5,000 nodes, 15,000 slices, 20,000 claims and pods; targets 15 s, 800 MB (issue 5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from dra_lab.sources.live.kinds import KIND_BY_NAME, Served
from dra_lab.sources.live.watch import _page_of, tidy
from tests.benchmarks.live_server import big_store, serving
from tests.code_of import code_of

NODES = 5000


def print_one_reading() -> None:
    """Read the served cluster, and print times, memory and counts."""
    import json
    import resource
    import time

    from dra_lab.sources.live.reading import load_context

    begin, cpu = time.perf_counter(), time.process_time()
    cluster = load_context("test", progress=lambda progress: None)
    values = {
        "seconds": time.perf_counter() - begin,
        "cpu": time.process_time() - cpu,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "slices": len(cluster.slices),
        "claims": len(cluster.claims),
        "pods": len(cluster.pods),
        "findings": len(cluster.findings),
    }
    print(json.dumps(values))


def read_once(folder: Path) -> dict[str, float]:
    """Read the served cluster in a fresh process and return its figures."""
    done = subprocess.run(
        [sys.executable, "-c", code_of(print_one_reading)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "KUBECONFIG": str(folder / "test.kubeconfig")},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def decode_seconds() -> tuple[float, int]:
    """Seconds to decode all pages of all kinds from bytes in memory, and their megabytes."""
    from tests.api_server.answers import list_page

    store = big_store(NODES)
    pages = []
    for plural, kind in (
        ("resourceslices", "ResourceSlice"),
        ("resourceclaims", "ResourceClaim"),
        ("pods", "Pod"),
        ("nodes", "Node"),
    ):
        query = {"limit": "500"}
        while query:
            page = list_page(store, plural, "v1", "", query)
            pages.append((kind, page))
            token = json.loads(page)["metadata"].get("continue")
            query = {"limit": "500", "continue": token} if token else {}
    begin = time.perf_counter()
    kept = [tidy(i) for kind, page in pages for i in _page_of(page, Served(KIND_BY_NAME[kind], "v1"), "s", "s").items]
    assert kept
    return time.perf_counter() - begin, sum(len(page) for _, page in pages) >> 20


def main() -> None:
    """Print the figures beside their targets."""
    seconds, size = decode_seconds()
    print(f"decode {size} MB of pages from memory: {seconds:.2f} s   (target 2 s)")
    with tempfile.TemporaryDirectory() as name, serving(Path(name), NODES) as server:
        found = [read_once(Path(name)) for _ in range(3)]
        sums = found[0]
        print(f"read {NODES:,} nodes, {sums['slices']:,} slices, {sums['claims']:,} claims, {sums['pods']:,} pods:")
        print(f"  {median(f['seconds'] for f in found):.1f} s   (target 15 s)")
        print(
            f"  of which this process computes {median(f['cpu'] for f in found):.1f} s, the rest is the test server's"
        )
        print(f"  peak memory: {max(f['peak'] for f in found):.0f} MB   (target 800 MB)")
        print(f"  the server's own: {psutil.Process(server.pid).memory_info().rss >> 20} MB, not counted")


if __name__ == "__main__":
    main()
