"""Fleets of GPU-NIC pairs on nodes of which no two are alike, at short time limits, as a drawing and as a template."""

from __future__ import annotations

from dra_lab.model.cluster import Cluster
from dra_lab.model.workload import Workload
from dra_lab.planner.fleet import plan_fleet
from tests.benchmarks.irregular_cluster import (
    drawn_pairs,
    gpus_apart,
    in_island,
    irregular_cluster,
    numbered_pairs,
    of_different_kinds,
    only_model,
)
from tests.benchmarks.measured_fleet import RELEASE, measure

FLEETS = ((800, 8, 1.0), (800, 16, 1.0), (100, 64, 1.0), (5_000, 8, 3.0), (10, 64, 5.0))
"""Nodes, GPUs and NICs of each, and the time limit in which 95 % of what counting allows are to be placed."""

SHORT, PROOF = 3.0, 10.0

ROOT, NUMA = "pcieRoot", "numaNode"

_LARGEST, _MOST_PAIRS = 16, 4
"""GPUs of a node, and pairs of a pod, up to which that takes seconds, not minutes."""


def _warm(cluster: Cluster) -> Cluster:
    """Return a cluster that was planned on before."""
    plan_fleet(cluster, [Workload("first", drawn_pairs(1), replicas=1)], release=RELEASE, first_fit=False)
    return cluster


def _on_roots() -> None:
    for nodes, size, limit in FLEETS:
        cluster = _warm(irregular_cluster(nodes, size))
        wanted = 2 * nodes * size
        for pairs in (1, 2, 4, 8):
            for form, claim in (("drawing", drawn_pairs(pairs)), ("template", numbered_pairs(pairs))):
                fleet = [Workload("pairs", claim, replicas=wanted // pairs)]
                for seconds in (limit, PROOF):
                    what = f"{nodes:,} x {size} + {size}, {pairs} pairs as {form}"
                    measure(what, cluster, fleet, seconds, checked=size <= _LARGEST and pairs <= _MOST_PAIRS)


def _other_links() -> None:
    """Print pairs on NUMA nodes, devices apart, two models of GPUs, and pairs in an island."""
    rows: list[tuple[str, list[Workload]]] = []
    for pairs in (1, 2, 4):
        for form, claim in (("drawing", drawn_pairs(pairs, where=NUMA)), ("template", numbered_pairs(pairs, NUMA))):
            rows.append((f"{pairs} pairs on NUMA nodes as {form}", [Workload("pairs", claim, replicas=25600 // pairs)]))
    for gpus, nics, where in ((2, 0, NUMA), (4, 0, ROOT), (2, 2, ROOT)):
        fleet = [Workload("apart", gpus_apart(gpus, nics, where), replicas=25600 // (gpus + nics))]
        rows.append((f"{gpus} GPUs and {nics} NICs apart by {where}", fleet))
    both = [
        Workload("any", drawn_pairs(2), replicas=12800),
        Workload("one", only_model(drawn_pairs(2), "a"), replicas=1600),
    ]
    few_kinds = [
        ("2 pairs of any model and of one", both),
        ("4 pairs in one island", [Workload("one", in_island(4), replicas=6400)]),
    ]
    for cluster, mine in ((irregular_cluster(800, 16), rows), (of_different_kinds(800, 16), few_kinds)):
        _warm(cluster)
        for what, fleet in mine:
            for seconds in (SHORT, PROOF):
                measure(f"800 x 16 + 16, {what}", cluster, fleet, seconds)


def main() -> None:
    """Print what is placed and proven beside the targets."""
    print("target: 95 % of what counting allows at the short limit; placed proven in 3 s, all goals in 10 s")
    _on_roots()
    _other_links()
    fleet = [Workload("pairs", drawn_pairs(4, alone=2), replicas=100)]
    measure("10 x 64 + 64, 4 pairs, 2 GPUs and 2 NICs", irregular_cluster(10, 64), fleet, 3.0)
    for nodes in (2_000, 5_000):
        cluster = irregular_cluster(nodes, 8, cpus=True)
        kinds = ((4, nodes // 2), (2, nodes), (1, nodes))
        fleet = [
            Workload(f"pairs-{pairs}", drawn_pairs(pairs, cpus=8 * pairs), replicas=count) for pairs, count in kinds
        ]
        for seconds in (5.0, 20.0):
            measure(f"three workloads with CPUs on {nodes:,} x 8 + 8", cluster, fleet, seconds)


if __name__ == "__main__":
    main()
