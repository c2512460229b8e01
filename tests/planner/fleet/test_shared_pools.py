"""Nodes that share a pool of interchangeable devices: each by itself, and together no more than there are."""

from __future__ import annotations

import dataclasses
import os
import random
from collections import Counter

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet, hold_to
from budgets import use_sizes
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_clusters import random_fleet, random_workloads, switches
from random_devices import GPU, NIC
from sharing_nodes import ask, node
from small_nodes import a_slice

from dra_lab.model.device import Device
from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.fleet import search
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_POOLS", "60"))
"""How many random fleets are compared; more with the environment variable."""

RELEASE = KubernetesRelease("1.37")
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"))


def a_pooled_fleet(rng):
    """Make two or three nodes whose GPUs or NICs are one pool that all of them see, of devices that are alike."""
    cluster = random_fleet(rng, rng.randint(2, 3))
    driver = rng.choice(sorted({s.spec.driver for s in cluster.slices if s.spec.devices} & {GPU, NIC}))
    first = next(s for s in cluster.slices if s.spec.driver == driver and s.spec.devices)
    one = first.spec.devices[0]
    many = tuple(replace(one, name=f"far-{number}") for number in range(rng.randint(1, 5)))
    pool = replace(first.spec.pool, name="fabric", resource_slice_count=1)
    spec = replace(first.spec, pool=pool, node_name=None, all_nodes=True, devices=many)
    fabric = replace(first, metadata=replace(first.metadata, name="far"), spec=spec)
    kept = tuple(s for s in cluster.slices if s.spec.driver != driver)
    return dataclasses.replace(cluster, slices=(*kept, fabric))


@pytest.fixture
def capped(monkeypatch):
    """Count how many fleets were planned with nodes taken apart."""
    counts, first = Counter(), search.apart

    def apart(fleet, sites, limits, **said):
        found = first(fleet, sites, limits, **said)
        counts[any(site.caps for site in found)] += 1
        return found

    use_sizes(monkeypatch, sharing=0)
    monkeypatch.setattr(search, "apart", apart)
    return counts


def test_fleets_on_a_shared_pool_are_brute_force(capped):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    compared = drawn = 0
    while compared < FLEETS or capped[True] < FLEETS // 2:
        drawn += 1
        compared += is_brute_force(f"pool {drawn}", drawn)
        assert drawn < 6 * FLEETS, "too few fleets that can be tried were drawn"


def is_brute_force(seed, number):
    """Compare one fleet; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster = a_pooled_fleet(rng)
    workloads = random_workloads(rng, cluster, switches(sharing=False))
    objective = "nodes" if number % 3 == 2 else "replicas"
    goals = ORDERS[number % len(ORDERS)]
    try:
        order = fleet_order(goals, objective)
        expected = best_fleet(cluster, workloads, order, RELEASE, all_placed=objective == "nodes")
    except TooLarge:
        return False
    plan = checked_fleet(cluster, workloads, release=RELEASE, goals=goals, objective=objective, first_fit=False)
    hold_to(expected, plan, seed)
    return True


def test_a_pool_that_many_nodes_share_is_planned_to_the_proof(capped):
    """A hundred nodes and forty devices that all of them see: 40 pods are placed, and that no more can be is proven."""
    devices = (Device(name="here"),)
    slices = [a_slice(NIC, *devices, node=f"n{number}") for number in range(100)]
    far = a_slice(GPU, *(Device(name=f"far-{number}") for number in range(40)), node="fabric")
    far = replace(far, spec=replace(far.spec, node_name=None, all_nodes=True))
    claim = ClaimSketch(requests=(ask("gpu", GPU), ask("nic", NIC)))
    cluster = node(*slices, far)
    plan = checked_fleet(cluster, [Workload("w", (claim,), 60)], release=RELEASE, first_fit=False)
    assert capped[True] == 1
    assert (len(plan.replicas), plan.proven) == (40, True)
