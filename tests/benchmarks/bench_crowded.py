"""Fleets on nodes that hold many small pods: partitions, shares of memory, and CPUs beside GPUs; how many more fit."""

from __future__ import annotations

import time

from dra_lab import make_plan
from dra_lab.model.cluster import Cluster
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.questions import how_many_more
from tests.benchmarks.crowded_cluster import (
    before_chassis,
    before_islands,
    before_storage,
    gpus_and_nic,
    partitioned,
    profiles,
    shared,
    shares,
    sharing_nics,
    with_admin_pods,
    with_nic,
    with_whole_gpus,
)
from tests.benchmarks.measured_fleet import RELEASE, measure
from tests.benchmarks.mixed_cluster import cpu_request, mixed_cluster, workloads

LIMIT, SHORT = 30.0, 10.0


def _more(what: str, cluster: Cluster, workload: Workload) -> None:
    computed = time.process_time()
    headroom = how_many_more(cluster, workload, release=RELEASE, time_limit=LIMIT)
    print(f"{what}: {headroom.count} more; {time.process_time() - computed:.1f} s of CPU")


def _best(what: str, cluster: Cluster, claim: ClaimSketch) -> None:
    computed = time.process_time()
    plan = make_plan(cluster, claim, release=RELEASE, time_limit=LIMIT)
    computed = time.process_time() - computed
    open_goal = next((goal.goal for goal in plan.goals if not goal.proven), "none")
    print(f"{what}: {len(plan.node_classes)} classes of nodes; {computed:.1f} s of CPU, not proven: {open_goal}")


def main() -> None:
    """Print what is placed, and what of it is proven; no targets."""
    for workload in profiles(1):
        _best(f"the best node for one MIG {workload.name}, 300 nodes", partitioned(300), workload.claims[0])
    measure("one MIG partition a pod, 20 nodes with 8 A100", partitioned(20), profiles(20), LIMIT)
    _more("MIG 1g.5gb on 20 nodes with 8 A100", partitioned(20), profiles(20)[0])
    fleet = [with_nic(workload) for workload in profiles(4)]
    measure(
        "one MIG partition and a NIC a pod, 50 nodes before 4 chassis of 8 A100", before_chassis(50, 4), fleet, LIMIT
    )
    many = [with_nic(workload) for workload in profiles(16)]
    measure("one MIG partition and a NIC a pod, 200 nodes before 16 chassis", before_chassis(200, 16), many, LIMIT)
    measure("one MIG partition and a NIC a pod, 200 nodes before 16 chassis", before_chassis(200, 16), many, 1.0)
    _more("MIG 1g.5gb and a NIC on 50 nodes before 4 chassis of 8 A100", before_chassis(50, 4), fleet[0])
    for nodes, nics, rack in ((96, 20, 8), (1_000, 1_600, 1_000)):
        words = f"GPUs and a NIC a pod, {nodes:,} nodes, {nics:,} NICs for every {rack:,} nodes"
        measure(words, sharing_nics(nodes, nics, rack), gpus_and_nic(3 * nodes // 2), LIMIT)
    measure("8 or 3 GPUs of an island a pod, 16 nodes before 16 islands", *before_islands(16, 16), SHORT)
    for nodes, islands in ((64, 32), (200, 64)):
        words = f"8 or 3 GPUs of an island a pod, {nodes} nodes before {islands} islands"
        measure(words, *before_islands(nodes, islands), 1.0)
    measure("a share of storage and a NIC a pod, 100 nodes before 20 devices", *before_storage(100, 20), SHORT)
    words = "200 pods with admin access, beside three kinds of pods, 500 mixed nodes"
    measure(words, mixed_cluster(500), with_admin_pods(500), SHORT)
    measure("a share of GPU memory a pod, 200 nodes with 8 GPUs", shared(200), shares(200), LIMIT)
    sizes = shares(200, {"9Gi": 20})
    measure("a share of GPU memory of four sizes a pod, 200 nodes with 8 GPUs", shared(200), sizes, LIMIT)
    words = "all GPUs of a node a pod, beside nine kinds of pods, 2,000 mixed nodes"
    measure(words, mixed_cluster(2_000), with_whole_gpus(2_000), SHORT)
    small = ClaimSketch("cpu", (cpu_request(4),))
    busy = (*workloads((250, 500, 500), must=False), Workload("cpu-only", (small,), replicas=2500))
    measure("GPUs, NICs and CPUs beside 4 CPUs a pod, 500 mixed nodes", mixed_cluster(500), busy, LIMIT)


if __name__ == "__main__":
    main()
