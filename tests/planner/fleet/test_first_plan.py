"""The first plan of nodes that share devices: it keeps every rule, and places pods wherever one fits."""

from __future__ import annotations

import random

import pytest
from benchmarks.crowded_cluster import before_chassis, before_islands, profiles, with_nic
from checked_plans import checked_fleet
from random_clusters import random_workloads, small_fleet, switches
from random_devices import GPU, NIC, device_class
from small_nodes import a_slice, gpu, nic
from test_planned_at_once import RELEASE as ONE_RACK
from test_planned_at_once import a_random_job, a_random_rack, a_random_store

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.claims import ALL, DeviceRequest, DeviceSubRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Workload
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.bounds import Answer
from dra_lab.planner.fleet.first_plan import first_plan
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.placing import goals_of, open_goals, replicas_of
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.sites import sites_of

RELEASE = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
ORDER = fleet_order((), "replicas")
FLEETS = 60


def placed_first(cluster, workloads, release=RELEASE):
    """Return the first plan of a fleet with its goals, as plan_fleet returns it, and the values that it counted."""
    fleet = look_at(cluster, workloads, release, Budget())
    found = first_plan(fleet, sites_of(fleet, Budget()), device_goals(ORDER), fleet.demand, Budget())
    replicas = replicas_of(fleet, found.by_node, ORDER)
    counted = goals_of(fleet, replicas, ORDER, len(found.by_node))
    status = PlanStatus.FEASIBLE if replicas else PlanStatus.STOPPED
    goals = open_goals(Answer(), counted) if replicas else ()
    return FleetPlan(status, workloads, cluster.name, str(release), replicas=replicas, goals=goals), found


def a_rack_fleet(number):
    """Draw nodes before partitioned GPUs, or before devices with capacity to be shared."""
    rng = random.Random(f"first {number}")
    if number % 3:
        cluster, jobs = a_random_rack(rng), [a_random_job(rng) for _ in range(rng.choice([1, 2, 2]))]
    else:
        cluster, jobs = a_random_store(rng)
    return cluster, tuple(Workload(f"w{at}", (job,), rng.randint(1, 4)) for at, job in enumerate(jobs))


@pytest.mark.parametrize("sharing", [False, True])
def test_a_first_plan_keeps_every_rule(sharing):
    """Replicas of a first plan fit together, and their goals are counted as the referee counts."""
    placed = 0
    for number in range(FLEETS):
        rng = random.Random(f"first plan {number} {sharing}")
        cluster = small_fleet(rng, switches(sharing=sharing, coupled=True))
        plan, found = placed_first(cluster, random_workloads(rng, cluster, switches(sharing=sharing)))
        assert check_fleet(cluster, plan, RELEASE) == (), f"{number} {sharing}"
        assert found.values == tuple(plan.goal(goal).value for goal in device_goals(ORDER) if plan.goals), number
        placed += len(plan.replicas)
    assert placed > FLEETS // 4, "too few replicas were placed to say anything"


def test_a_first_plan_before_partitions_places_pods_wherever_one_fits():
    """On nodes before partitions and shares the first plan keeps every rule, and is empty only where no pod fits."""
    for number in range(FLEETS):
        cluster, workloads = a_rack_fleet(number)
        plan, found = placed_first(cluster, workloads, ONE_RACK)
        best = checked_fleet(cluster, workloads, release=ONE_RACK, first_fit=False)
        assert check_fleet(cluster, plan, ONE_RACK) == (), number
        assert bool(found.replicas) == bool(best.replicas), number


def test_a_plan_at_a_short_limit_places_what_the_first_plan_places(monkeypatch):
    """Where nothing else is found in time, the answer is the first plan, and the bound of replicas holds."""
    monkeypatch.setattr("dra_lab.planner.fleet.search.best_answer", lambda *_, **__: Answer())
    for number in range(FLEETS // 3):
        cluster, workloads = a_rack_fleet(number)
        plan = checked_fleet(cluster, workloads, release=ONE_RACK, time_limit=60, first_fit=False)
        assert len(plan.replicas) == placed_first(cluster, workloads, ONE_RACK)[1].replicas, number


@pytest.mark.parametrize("fleet", ["partitions", "islands"])
def test_a_first_plan_of_many_nodes_places_nearly_all_that_fit(fleet):
    """50 nodes before 4 chassis place the 100 pods that their NICs allow; before islands, all that GPUs allow."""
    if fleet == "partitions":
        cluster, workloads, most = before_chassis(50, 4), tuple(map(with_nic, profiles(4))), 100
    else:
        # 64 pods with three GPUs leave 64 of 256 for eight more pods
        (cluster, workloads), most = before_islands(64, 32), 72
    assert placed_first(cluster, workloads, KubernetesRelease("1.36"))[1].replicas >= 0.9 * most


def test_all_devices_are_those_of_every_place():
    """A request for all NICs that prefers one root takes those of the other root too, or its alternative."""
    gpus = a_slice(GPU, *(gpu(number, "a") for number in range(2)))
    nics = a_slice(NIC, nic("nic-0", "a"), nic("nic-1", "b"))
    every = DeviceSubRequest(name="every", device_class_name=NIC, allocation_mode=ALL)
    pair = DeviceSubRequest(name="pair", device_class_name=GPU, count=2)
    claim = ClaimSketch("claim", (DeviceRequest("r", first_available=(every, pair)),))
    cluster = Cluster((gpus, nics), tuple(map(device_class, (GPU, NIC))))
    plan, _ = placed_first(cluster, (Workload("w", (claim,), 1),))
    assert len(plan.replicas[0].placements) == 2
