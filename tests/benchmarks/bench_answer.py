"""From an edit of the drawing to its answer, in the kernel; targets 150 ms for a small cluster, 1 s for 5,000 nodes."""

from __future__ import annotations

import statistics
import time

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.session import Session, read_sketch
from tests.benchmarks.big_cluster import big_cluster
from tests.benchmarks.timing import seconds

EDITS = 6


def seconds_to_answer(cluster: str | Cluster) -> tuple[float, float, float]:
    """Return the time of the first answer, and the median and most of EDITS further ones."""
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    start = time.perf_counter()
    session = Session(cluster, sketch=sketch)
    session.plan()
    first = time.perf_counter() - start
    times = []
    for edit in range(EDITS):
        count = 1 + edit % 3
        requests = tuple(replace(r, exactly=replace(r.exactly, count=count)) for r in sketch.requests)
        edited = replace(sketch, requests=requests)
        times.append(seconds(lambda edited=edited: (session.edit(edited), session.plan())))
    session.close()
    return first, statistics.median(times), max(times)


def main() -> None:
    """Print the medians beside their targets."""
    first, median, most = seconds_to_answer("sample:eks-p4d")
    after = f"after an edit {median * 1e3:.0f} ms, at most {most * 1e3:.0f} ms"
    print(f"4 nodes: first answer {first * 1e3:.0f} ms, {after}   (target 150 ms)")
    for busy in (0.0, 0.2):
        cluster = big_cluster(5000, busy)
        first, median, most = seconds_to_answer(cluster)
        after = f"after an edit {median:.2f} s, at most {most:.2f} s"
        print(f"5,000 nodes, {busy:.0%} busy: first answer {first:.2f} s, {after}   (target 1 s)")


if __name__ == "__main__":
    main()
