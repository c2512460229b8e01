"""Whatever moment the time for a fleet ends at, what comes back is worth what it says, and no proof is made up."""

from __future__ import annotations

import dataclasses
import random
import sys
import threading
import time
from itertools import count
from typing import Any

import pytest
from benchmarks.crowded_cluster import partitioned, profiles
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import mixed_cluster, workloads
from budgets import CancelledAfter, use_sizes
from checked_plans import checked_fleet
from kept_cases import kept_case
from msgspec.structs import replace
from random_clusters import random_workloads, small_fleet, switches
from random_devices import GPU
from sharing_nodes import ask, node
from small_nodes import a_slice

from dra_lab.model.device import Counter, Device, DeviceCounterConsumption
from dra_lab.model.fleet import UNPLACED, Workload
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import CounterSet
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet import node_components, plan_fleet
from dra_lab.planner.fleet.fleet_work import Clock, FleetWork
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import FleetProblem, look_at
from dra_lab.planner.fleet.search import search

RELEASE = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
LIMITS = (*range(0, 60, 6), *range(60, 600, 60))


def question(seed: int):
    rng = random.Random(f"fleet time {seed}")
    sharing = seed % 2 == 0
    cluster = small_fleet(rng, switches(sharing=sharing, coupled=seed % 4 < 2))
    return cluster, random_workloads(rng, cluster, switches(sharing=sharing))


def ticking():
    """Return a clock that goes on by 1 with every look of this thread; others that still run see the time."""
    ticks, mine, real = count(), threading.get_ident(), time.monotonic
    return lambda: next(ticks) if threading.get_ident() == mine else real()


@pytest.mark.parametrize("seed", range(12))
def test_every_moment(seed):
    """By a clock that goes on by 1 with every look: plans keep every rule and sum, bounds hold, nothing is undone."""
    cluster, fleet = question(seed)
    best = checked_fleet(cluster, fleet, release=RELEASE, first_fit=False)
    for limit in LIMITS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "monotonic", ticking())
            plan = checked_fleet(cluster, fleet, release=RELEASE, time_limit=limit)
        assert plan.replicas or {goal.goal for goal in plan.goals} <= {UNPLACED}
        assert plan.status is not PlanStatus.INFEASIBLE or best.status is PlanStatus.INFEASIBLE
        if best.proven:
            for mine, known in zip(plan.goals, best.goals, strict=False):
                assert mine.bound is None or mine.bound <= known.value, (limit, mine)
                assert not mine.proven or mine.value == known.value, (limit, mine)
                if mine.value != known.value:
                    break


def test_a_node_of_many_pods_whose_ways_are_not_listed_has_a_plan(monkeypatch):
    """Small numbers of pods are tried before the least that may exist, so time ends with pods placed."""
    cluster, workloads = kept_case("fill 21")
    fleet = [dataclasses.replace(one, replicas=8 * one.replicas) for one in workloads]
    monkeypatch.setattr(time, "monotonic", ticking())
    plan = checked_fleet(cluster, fleet, release=RELEASE, time_limit=1_500)
    assert len(plan.replicas) == 16


@pytest.mark.parametrize("ways", [0, Sizes().ways], ids=["trees", "listed"])
def test_time_that_ends_after_the_last_node_leaves_all_that_counting_gives(ways, monkeypatch):
    """Once every node was examined, the bound is that of counting, which is exact for pairs on PCIe roots."""
    use_sizes(monkeypatch, ways=ways)
    cluster, fleet = irregular_cluster(24, 8), [Workload("pairs", drawn_pairs(1), 200)]
    best = plan_fleet(cluster, fleet, release=RELEASE, first_fit=False)
    ended = 0
    for limit in range(40, 500, 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "monotonic", ticking())
            plan = plan_fleet(cluster, fleet, release=RELEASE, time_limit=limit, first_fit=False)
        if not plan.not_examined:
            assert plan.goals[0].bound == best.goals[0].value, limit
            ended += not plan.proven
    assert ended, "no limit ended between the last node and the proof"


def test_a_plan_that_leaves_nodes_out_is_not_compared_with_first_fit(monkeypatch):
    """To write a claim, all devices are read, which takes as long as to look at every node."""

    def without_one(*given: Any) -> FleetProblem:
        fleet = look_at(*given)
        fleet.scan.unseen = (fleet.survey.states.popitem()[0],)
        fleet.scan.complete = False
        return fleet

    monkeypatch.setattr(sys.modules["dra_lab.planner.fleet.plan_fleet"], "look_at", without_one)
    plan = plan_fleet(irregular_cluster(8, 8), [Workload("pairs", drawn_pairs(1), 4)], release=RELEASE)
    assert (plan.not_examined, len(plan.replicas), plan.first_fit) == (1, 4, None)


def test_nodes_that_nobody_looked_at_bound_nothing(monkeypatch):
    """If time ended before the node that holds all pods, the bound is one node, for components as for whole nodes."""
    monkeypatch.setattr(node_components, "most_vectors", lambda *_: -1)
    use_sizes(monkeypatch, replicas=-1)
    sizes = {f"n{number:02}": 2 for number in range(50)} | {"z": 6}
    slices = [s for name, sets in sizes.items() for s in partitions(name, sets)]
    fleet = [Workload("w", (ClaimSketch("claim", (ask("r"),)),), 6)]
    used = set()
    for limit in (*range(30, 100, 10), 400):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "monotonic", ticking())
            plan = checked_fleet(node(*slices), fleet, release=RELEASE, goals=("nodes",), time_limit=limit)
        if plan.replicas:
            nodes = plan.goal("nodes")
            assert nodes.bound is None or nodes.bound <= 1, limit
            assert not nodes.proven or nodes.value == 1, limit
            used.add((len(plan.replicas), nodes.value))
    assert (6, 3) in used, "no time ended before the node that holds all was looked at"
    assert (6, 1) in used


def partitions(name: str, sets: int):
    """Return the slices of a node of some GPUs, each of two partitions that draw on its one slot."""
    slots = {"slot": Counter(value=1)}
    own = a_slice(
        GPU,
        *(
            Device(name=f"{n}-{half}", consumes_counters=(DeviceCounterConsumption(f"set-{n}", slots),))
            for n in range(sets)
            for half in "ab"
        ),
        node=name,
        count=2,
    )
    declared = tuple(CounterSet(name=f"set-{n}", counters=slots) for n in range(sets))
    spec = replace(own.spec, devices=None, shared_counters=declared)
    return own, replace(own, metadata=ObjectMeta(name=f"{name}-counters"), spec=spec)


@pytest.mark.parametrize("must", [False, True])
def test_examined_nodes_give_a_plan(must):
    """If the time ends as soon as nodes are examined, pods are placed on some of them."""
    ended = threading.Event()
    looked = look_at(mixed_cluster(10), workloads((10, 10, 10), must=must), RELEASE, Budget())
    ended.set()
    work = FleetWork(looked, fleet_order((), "replicas"), False, Budget(cancel=ended), "HiGHS", Clock())
    answer = search(work).answer
    assert answer.goals[0].value < 30


@pytest.mark.parametrize("looks", [1, 5, 10, 15, 20, 25, 30, 40])
def test_partitioned_nodes_are_used_or_counted_at_every_cancel(looks):
    """Once a node was read a cancel gives a plan, whose nodes are none of those that were not examined."""
    plan = checked_fleet(partitioned(6), profiles(6), release=RELEASE, cancel=CancelledAfter(looks), first_fit=False)
    assert 0 < len(plan.nodes) <= 6 - plan.not_examined
