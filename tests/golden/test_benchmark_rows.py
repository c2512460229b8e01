"""Pods placed and goals on the clusters of the benchmarks, one file per row; `make golden` writes all files again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from golden_file import GoldenFile, LeastPods, in_a_file

from dra_lab import ClaimSketch, Cluster, KubernetesRelease, Workload
from dra_lab.model.goals import GoalValue
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.gangs import plan_gangs
from dra_lab.planner.plan_pod import plan_pod
from tests.benchmarks import bench_gangs
from tests.benchmarks.big_cluster import big_cluster
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
from tests.benchmarks.irregular_cluster import (
    drawn_pairs,
    gpus_apart,
    in_island,
    irregular_cluster,
    numbered_pairs,
    of_different_kinds,
    only_model,
    with_odd_nodes,
)
from tests.benchmarks.mixed_cluster import mixed_cluster, request_of, workloads

RELEASE = KubernetesRelease("1.36", {"DRAConsumableCapacity": True})
NUMA = "numaNode"

Made = Callable[[], tuple[Cluster, Sequence[Workload]]]


def irregular(
    nodes: int, size: int, *claims: ClaimSketch, made=irregular_cluster
) -> tuple[Cluster, Sequence[Workload]]:
    """Return irregular nodes, and a workload of each claim with more pods than fit."""
    return made(nodes, size), [Workload(f"pods-{n}", claim, replicas=nodes * size) for n, claim in enumerate(claims)]


def chassis(nodes: int, count: int):
    """Return nodes before chassis of GPUs, and pods of a partition and a NIC."""
    return before_chassis(nodes, count), [with_nic(workload) for workload in profiles(count)]


def beside_admin_pods(nodes: int, size: int):
    """Return irregular nodes, and pods of pairs beside pods that look into GPUs, some of which take a NIC as well."""
    cluster, pairs = irregular(nodes, size, numbered_pairs(4))
    gpu, nic = with_admin_pods(nodes)[-1].claims[0].requests[0], request_of("nic", "dranet", 1)
    looks = [
        Workload(f"admin-{n}", ClaimSketch("claim", asked), replicas=5) for n, asked in enumerate(((gpu,), (gpu, nic)))
    ]
    return cluster, [*pairs, *looks]


QUICK: dict[str, Made] = {
    "pairs-100x8": lambda: irregular(100, 8, drawn_pairs(2)),
    "pairs-as-template-50x16": lambda: irregular(50, 16, numbered_pairs(4)),
    "partitions-20-nodes": lambda: (partitioned(20), profiles(20)),
    "partitions-and-nics-50-nodes-4-chassis": lambda: chassis(50, 4),
    "shared-nics-48-nodes": lambda: (sharing_nics(48, 20, 8), gpus_and_nic(72)),
    "shares-of-memory-50-nodes": lambda: (shared(50), shares(50)),
}
WITHOUT_LIMIT: dict[str, Made] = {
    "pairs-5000x8": lambda: irregular(5000, 8, drawn_pairs(2)),
    "pairs-800x16": lambda: irregular(800, 16, drawn_pairs(4)),
    "pairs-as-template-800x16": lambda: irregular(800, 16, numbered_pairs(4)),
    "pairs-100x64": lambda: irregular(100, 64, drawn_pairs(8)),
    "gpus-apart-800x16": lambda: irregular(800, 16, gpus_apart(2, 0, NUMA)),
    "pairs-in-islands-800x16": lambda: irregular(800, 16, in_island(4), made=of_different_kinds),
    "two-models-800x16": lambda: irregular(
        800, 16, drawn_pairs(2), only_model(drawn_pairs(2), "a"), made=of_different_kinds
    ),
    "partitions-and-nics-200-nodes-16-chassis": lambda: chassis(200, 16),
    "shared-nics-1000-nodes": lambda: (sharing_nics(1_000, 1_600, 1_000), gpus_and_nic(1_500)),
    "islands-16-nodes": lambda: before_islands(16, 16),
    "islands-64-nodes": lambda: before_islands(64, 32),
    "islands-200-nodes": lambda: before_islands(200, 64),
    "storage-100-nodes": lambda: before_storage(100, 20),
    "shares-of-memory-200-nodes": lambda: (shared(200), shares(200)),
    "admin-pods-500-nodes": lambda: (mixed_cluster(500), with_admin_pods(500)),
}
WITH_LIMIT: dict[str, tuple[Made, float]] = {
    "pairs-as-template-800x16-odd": (lambda: irregular(800, 16, numbered_pairs(4), made=with_odd_nodes), 5.0),
    "pairs-beside-admin-pods-400x16": (lambda: beside_admin_pods(400, 16), 5.0),
    "pairs-on-numa-nodes-800x16": (lambda: irregular(800, 16, drawn_pairs(4, where=NUMA)), 15.0),
    "whole-gpus-2000-nodes": (lambda: (mixed_cluster(2_000), with_whole_gpus(2_000)), 60.0),
    "three-workloads-500-nodes": (lambda: (mixed_cluster(500), workloads((834, 833, 833), must=False)), 15.0),
    "three-workloads-5000-nodes": (lambda: (mixed_cluster(5_000), workloads((3500,) * 3, must=True)), 30.0),
}
ONE_POD: dict[str, Callable[[], tuple[Cluster, ClaimSketch | tuple[ClaimSketch, ...]]]] = {
    "one-pod-500-nodes": lambda: (big_cluster(500), drawn_pairs(4, cpus=32)),
    "one-partition-20-nodes": lambda: (partitioned(20), profiles(1)[1].claims),
}
GANGS = {"gangs-linked": "linked", "gangs-crowded": "crowded", "gangs-elastic": "elastic"}


def row(placed: int, goals: Iterable[GoalValue]) -> str:
    """Return what equal optima have in common: how many are placed, and each goal with its bound and proof."""
    found = {goal.goal: {"value": goal.value, "bound": goal.bound, "proven": goal.proven} for goal in goals}
    return json.dumps({"placed": placed, "goals": found}, indent=2) + "\n"


def rows(*quick: str, long: Iterable[str] = (), suffix: str = "json"):
    """Name a golden file for each row; those of `long` run in `make test-long`."""
    marked = [pytest.param(f"rows/{name}.{suffix}", marks=pytest.mark.long) for name in long]
    return pytest.mark.parametrize("name", [*(f"rows/{name}.{suffix}" for name in quick), *marked])


@in_a_file
@rows(*QUICK, long=WITHOUT_LIMIT)
def test_fleets_without_a_limit_are_as_good_as_recorded(name, snapshot):
    """The number of pods, every goal and every proof are the same on each run."""
    cluster, wanted = (QUICK | WITHOUT_LIMIT)[Path(name).stem]()
    plan = plan_fleet(cluster, wanted, release=RELEASE, first_fit=False)
    assert row(len(plan.pods), plan.goals) == snapshot(extension_class=GoldenFile)


@in_a_file
@rows(long=WITH_LIMIT, suffix="txt")
def test_fleets_with_a_limit_place_at_least_the_recorded_pods(name, snapshot):
    """How many are placed depends on the machine, so the file has half of them."""
    made, limit = WITH_LIMIT[Path(name).stem]
    plan = plan_fleet(*made(), release=RELEASE, time_limit=limit, first_fit=False)
    assert len(plan.pods) == snapshot(extension_class=LeastPods)


@in_a_file
@rows(*ONE_POD)
def test_one_pod_is_as_good_as_recorded(name, snapshot):
    """Placed means how many nodes fit."""
    cluster, claim = ONE_POD[Path(name).stem]()
    plan = plan_pod(cluster, claim, release=RELEASE)
    assert row(len(plan.fitting_nodes), plan.goals) == snapshot(extension_class=GoldenFile)


@in_a_file
@rows(long=GANGS)
def test_gangs_are_as_good_as_recorded(name, snapshot):
    """40 gangs on 5,000 nodes in 300 racks: the gangs that start are the same and proven; later goals take longer."""
    cluster, hierarchy, gangs, pods = bench_gangs.instance(GANGS[Path(name).stem])
    plan = plan_gangs(cluster, [*gangs, *pods], hierarchies=[hierarchy], release=RELEASE, time_limit=20)
    assert row(len(plan.placed_gangs), plan.goals[:1]) == snapshot(extension_class=GoldenFile)
