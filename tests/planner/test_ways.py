"""Values read from the list of all ways of a claim, as with many node states, against trying every subset."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from brute_force import BruteForce
from brute_force_fleets import ENDLESS, counted, proven
from budgets import use_sizes
from checked_plans import checked_plan
from msgspec.structs import replace as changed
from random_clusters import SHARING, random_fleet, random_sketch
from random_devices import GPU, NIC

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.plan import NodeFit, PlanStatus, goal_order
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.ways import ListedWays

CASES = int(os.environ.get("DRA_LAB_RANDOM_PLANS", "60"))
LISTED = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})


@pytest.fixture(autouse=True)
def _every_class(monkeypatch):
    use_sizes(monkeypatch, solved_alone=0)


def decided_rightly(plan, values, idle, where):
    """Hold each node of a plan against the best values of every node, now and with nothing in use."""
    best = min((value for value in values.values() if value is not None), default=None)
    for node_class in plan.node_classes:
        for node in node_class.nodes:
            worst = NodeFit.NO if values[node] is None else NodeFit.WORSE
            expected = NodeFit.BEST if best is not None and values[node] == best else worst
            assert (node_class.fit, node_class.fits_idle) == (expected, idle[node] is not None), f"{where} {node}"
    assert (counted(plan.goals) if plan.fits else None) == best, where
    assert proven(plan), where


def partitioned(cluster):
    """Return a cluster of which no device can be shared or is: partitions draw on counters, one claim each."""
    claims = tuple(c for c in cluster.claims if not c.status.allocation.devices.results[0].share_id)
    slices = []
    for published in cluster.slices:
        devices = published.spec.devices
        alone = devices and tuple(changed(device, allow_multiple_allocations=None) for device in devices)
        slices.append(changed(published, spec=changed(published.spec, devices=alone)))
    return replace(cluster, slices=tuple(slices), claims=claims)


def partitions(rng):
    """Return requests for one to three GPUs each, and sometimes a NIC."""
    drivers = [GPU] * rng.randint(1, 2) + [NIC] * rng.randint(0, 1)
    asked = [ExactDeviceRequest(device_class_name=driver, count=rng.randint(1, 3)) for driver in drivers]
    return tuple(DeviceRequest(name=f"r{at}", exactly=one) for at, one in enumerate(asked))


@pytest.mark.parametrize("start", range(0, CASES, 20))
def test_listed_ways_are_brute_force(start):
    """Every node is decided as trying all subsets there does, and the plan keeps every rule."""
    for seed in range(start, start + 20):
        rng = random.Random(f"ways {seed}")
        cluster, sketch = random_fleet(rng), random_sketch(rng)
        order, release = goal_order(()), KubernetesRelease("1.36")
        plan = checked_plan(cluster, sketch, release=release)
        bare = replace(cluster, claims=())
        values, idle = (
            {n: BruteForce(c, sketch, n, release).values_in(order) for n in cluster.node_names} for c in (cluster, bare)
        )
        decided_rightly(plan, values, idle, f"seed {seed}")


@pytest.mark.parametrize("start", range(0, CASES, 20))
def test_listed_ways_of_shared_devices_are_brute_force(start):
    """So it is with shares, capacity, lists and everything else that claims may ask for."""
    for seed in range(start, start + 20):
        rng = random.Random(f"shared ways {seed}")
        cluster = random_fleet(rng, 5, SHARING)
        sketch, order = random_sketch(rng, SHARING, cluster), goal_order(())
        plan = checked_plan(cluster, sketch, release=LISTED)
        bare = replace(cluster, claims=())
        values, idle = (
            {n: BruteForce(c, sketch, n, LISTED, most=ENDLESS).values_in(order) for n in cluster.node_names}
            for c in (cluster, bare)
        )
        decided_rightly(plan, values, idle, f"seed {seed}")


@pytest.mark.parametrize("start", range(0, CASES, 20))
def test_listed_ways_of_partitions_are_brute_force(start, monkeypatch):
    """Partitions of one node that share counters are decided from the list of ways, as trying all subsets does."""
    listed: list[str] = []
    known = ListedWays.known
    monkeypatch.setattr(ListedWays, "known", lambda self, equal: listed.append(equal.nodes[0]) or known(self, equal))
    for seed in range(start, start + 20):
        rng = random.Random(f"partitions {seed}")
        cluster, order = partitioned(random_fleet(rng, 6, SHARING)), goal_order(())
        sketch = ClaimSketch(requests=partitions(rng))
        plan = checked_plan(cluster, sketch, release=LISTED)
        bare = replace(cluster, claims=())
        values, idle = (
            {n: BruteForce(c, sketch, n, LISTED, most=ENDLESS).values_in(order) for n in c.node_names}
            for c in (cluster, bare)
        )
        decided_rightly(plan, values, idle, f"seed {seed}")
    assert listed


def test_listed_ways_give_a_device_once(monkeypatch):
    """The devices that the list gives to a claim are different ones."""
    found = []
    placed = ListedWays.placed
    monkeypatch.setattr(ListedWays, "placed", lambda self, name: found.append(placed(self, name)) or found[-1])
    for seed in range(20):
        rng = random.Random(f"placed ways {seed}")
        cluster, sketch = random_fleet(rng), random_sketch(rng)
        checked_plan(cluster, sketch, release=KubernetesRelease("1.36"))
    assert any(taken for taken in found)
    assert all(len({device for _, device in taken}) == len(taken) for taken in found if taken)


def test_without_time_nothing_is_claimed():
    """Without an allocation, a misfit or a proof, each node is reported as not decided."""
    for seed in range(5):
        rng = random.Random(f"ways {seed}")
        cluster, sketch = random_fleet(rng), random_sketch(rng)
        plan = checked_plan(cluster, sketch, release=KubernetesRelease("1.36"), time_limit=1e-9)
        assert (plan.status, plan.placements, plan.shortfalls, plan.proven) == (PlanStatus.STOPPED, (), (), False)
        undecided = [node for c in plan.node_classes if c.fit is NodeFit.UNKNOWN for node in c.nodes]
        assert sorted(undecided) == sorted(cluster.node_names)
        assert not any(goal.proven for goal in plan.goals)
