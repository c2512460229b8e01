"""Fleets: workloads × replicas on 500 and 5,000 mixed busy nodes, with the bound and the part that took the time."""

from __future__ import annotations

import resource

from tests.benchmarks.measured_fleet import measure
from tests.benchmarks.mixed_cluster import mixed_cluster, workloads


def twice(title: str, nodes: int, replicas: tuple[int, int, int], limit: float, target: str, *, must: bool) -> None:
    """Plan twice, the first time with nothing known of the cluster."""
    cluster, fleet = mixed_cluster(nodes), workloads(replicas, must=must)
    for which in ("first", "again"):
        measure(f"{title}, {which}", cluster, fleet, limit, target)


def main() -> None:
    """Print the times beside their targets."""
    mixed_cluster(5)
    few = "2,500 claims of three kinds on 500 nodes"
    for limit, target in ((1, "target: plan and bound in 1 s"), (5, "")):
        twice(few, 500, (834, 833, 833), limit, target, must=False)
    for must in (False, True):
        title = f"10,500 claims of three kinds on 5,000 nodes {'with must-links' if must else 'without links'}"
        for limit, target in ((5, "target: plan and bound in 5 s"), (60, "target: proof or the unproven goal in 60 s")):
            twice(title, 5000, (3500, 3500, 3500), limit, target, must=must)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"most memory {memory:.0f} MB; target 500 MB")


if __name__ == "__main__":
    main()
