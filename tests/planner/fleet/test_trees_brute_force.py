"""Fleets whose nodes are trees of NUMA nodes and PCIe roots, against trying every allocation on every node."""

from __future__ import annotations

import os
import random

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet, hold_to, most_alone
from budgets import use_sizes
from checked_plans import checked_fleet
from random_clusters import TREES, random_fleet, random_workloads
from random_devices import CPU, NUMA, device_class, slices_of
from random_pods import FLEET_ORDERS

from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet import how_many_more
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.tree_states import tree_of

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_TREES", "60"))
STEP = 30
RELEASE = KubernetesRelease("1.36")


@pytest.fixture(autouse=True)
def _no_listed_ways(monkeypatch):
    """Small fleets are planned as trees too, though their ways could be listed."""
    monkeypatch.setattr("dra_lab.planner.fleet.search.is_listed", lambda fleet, sizes: False)


@pytest.mark.some(2)
@pytest.mark.parametrize("block", range(-(-FLEETS // STEP)))
@pytest.mark.parametrize("listed", [True, False])
def test_fleet_of_trees_is_brute_force(block, listed, monkeypatch):
    """Every goal has the value that trying everything finds, proven, whether numbers are all listed or modelled."""
    if not listed:
        use_sizes(monkeypatch, tree_steps=0)
    compared = drawn = trees = 0
    while compared < STEP:
        drawn += 1
        seed = f"tree {listed} {block} {drawn}"
        rng = random.Random(seed)
        cluster = random_fleet(rng, rng.randint(1, 3), TREES)
        workloads = random_workloads(rng, cluster, TREES)
        objective = "nodes" if drawn % 3 == 2 else "replicas"
        goals = FLEET_ORDERS[drawn % len(FLEET_ORDERS)]
        order = fleet_order(goals, objective)
        try:
            expected = best_fleet(cluster, workloads, order, RELEASE, all_placed=objective == "nodes")
        except TooLarge:
            continue
        compared += 1
        trees += tree_of(look_at(cluster, workloads, RELEASE, Budget())) is not None
        plan = checked_fleet(cluster, workloads, release=RELEASE, goals=goals, objective=objective, first_fit=False)
        hold_to(expected, plan, seed)
    assert trees > STEP // 2, "too few of the fleets are planned as trees"


def test_how_many_more_on_trees_is_brute_force():
    """As many pods fit on every node as trying everything finds, proven."""
    compared = 0
    for number in range(FLEETS):
        rng = random.Random(f"more {number}")
        cluster = random_fleet(rng, rng.randint(1, 3), TREES)
        workload = random_workloads(rng, cluster, TREES)[0]
        try:
            expected = most_alone(cluster, workload, RELEASE, 9)
        except TooLarge:
            continue
        compared += 1
        headroom = how_many_more(cluster, workload, release=RELEASE)
        assert (headroom.count, headroom.bound) == (expected, expected), f"more {number}"
    assert compared > FLEETS // 2, "too many were too large to try everything"


@pytest.mark.long
def test_thousands_of_small_pods_fit_on_one_node():
    """Pods of a tenth of a CPU are counted and placed like others: as many as the CPUs of the node are tenths."""
    cores = [
        Device(
            name=f"cpu-{numa}",
            attributes={NUMA: DeviceAttribute(int_=numa)},
            capacity={"dra.cpu/cpu": DeviceCapacity(value=64)},
            allow_multiple_allocations=True,
        )
        for numa in range(2)
    ]
    cluster = Cluster(
        slices=tuple(slices_of(CPU, "n0", cores, node_name="n0")), classes=(device_class(CPU),), name="small pods"
    )
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": "100m"})
    request = DeviceRequest(name="cpu", exactly=ExactDeviceRequest(device_class_name=CPU, capacity=capacity))
    workload = Workload("small", ClaimSketch(name="claim", requests=(request,)), 2_000)
    headroom = how_many_more(cluster, workload, release=RELEASE)
    plan = checked_fleet(cluster, [workload], release=RELEASE, first_fit=False)
    assert (headroom.count, headroom.bound, len(plan.replicas)) == (1_280, 1_280, 1_280)
    assert plan.proven
