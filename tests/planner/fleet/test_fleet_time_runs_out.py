"""A fleet's plan proves nothing false, also when it is cancelled: pods keep every rule, and bounds hold."""

from __future__ import annotations

import dataclasses
import random

import pytest
from benchmarks.crowded_cluster import partitioned, profiles
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import NUMA, mixed_cluster, workloads
from cancelled import CancelledAfter, assert_true_goals
from checked_plans import broken_rules, checked_fleet
from drawn_fleets import FAMILIES
from msgspec.structs import replace
from small_nodes import attribute

from dra_lab import KubernetesRelease, Workload
from dra_lab.model.goals import UNPLACED
from dra_lab.model.plan import PlanStatus
from dra_lab.model.slices import ResourceSlice

RELEASE = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
LOOKS = (*range(0, 60, 6), *range(60, 600, 60))


def pairs():
    """Pods of one and of two pairs, which do not all fit, on nodes that are all different."""
    return irregular_cluster(12, 8), [Workload(f"pairs-{count}", drawn_pairs(count), replicas=25) for count in (1, 2)]


def on_two_numa_nodes():
    """The same pods on nodes whose PCIe roots are on two NUMA nodes each, so that they are no trees of places."""
    on, wanted = pairs()
    return dataclasses.replace(on, slices=tuple(map(turned, on.slices))), wanted


def turned(published: ResourceSlice) -> ResourceSlice:
    devices = (
        replace(device, attributes={**device.attributes, NUMA: attribute(at % 2)})
        for at, device in enumerate(published.spec.devices or ())
    )
    return replace(published, spec=replace(published.spec, devices=tuple(devices)))


def mixed():
    """Jobs with GPUs, NICs and CPUs on few kinds of hardware."""
    return mixed_cluster(12), workloads((10, 20, 20), must=False)


def parts():
    """MIG partitions that share counters."""
    return partitioned(6), profiles(6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", ["plain", "coupled and shared", "partitions", "zones"])
@pytest.mark.some(4)
def test_every_look(family, seed):
    """Plans keep every rule and sum, bounds hold, what is proven is the best, and nothing is called impossible."""
    cluster, fleet = FAMILIES[family][0](random.Random(f"time {family} {seed}"), seed)
    best = checked_fleet(cluster, fleet, release=RELEASE, first_fit=False)
    for looks in LOOKS:
        plan = checked_fleet(cluster, fleet, release=RELEASE, cancel=CancelledAfter(looks))
        assert plan.pods or {goal.goal for goal in plan.goals} <= {UNPLACED}
        assert plan.status is not PlanStatus.INFEASIBLE or best.status is PlanStatus.INFEASIBLE
        if best.proven:
            assert_true_goals(plan, best)


@pytest.mark.long
@pytest.mark.parametrize("made", [pairs, mixed, parts])
def test_a_cancel_at_any_look_gives_what_is_known(made):
    """Nodes that were not examined are counted and have no pods, and no bound or proof is wrong."""
    cluster, fleet = made()
    best = checked_fleet(cluster, fleet, release=RELEASE, first_fit=False)
    for looks in range(20, 400, 26):
        plan = checked_fleet(cluster, fleet, release=RELEASE, cancel=CancelledAfter(looks), first_fit=False)
        assert len(plan.nodes) <= len(cluster.node_names) - plan.not_examined, looks
        if best.proven:
            assert_true_goals(plan, best)


@pytest.mark.parametrize("looks", [1, 10, 20, 40])
def test_partitioned_nodes_are_used_or_counted_at_every_cancel(looks):
    """Once a node was read a cancel gives a plan, whose nodes are none of those that were not examined."""
    plan = checked_fleet(*parts(), release=RELEASE, cancel=CancelledAfter(looks), first_fit=False)
    assert 0 < len(plan.nodes) <= 6 - plan.not_examined


@pytest.mark.parametrize(("looks", "pods"), [(60, 1), (400, 25)])
def test_nodes_that_are_no_trees_get_pods_before_their_best_plan_is_known(looks, pods):
    """The plan of an early cancel has pods on the nodes that were examined, that of a later one on all nodes."""
    plan = checked_fleet(*on_two_numa_nodes(), release="1.36", cancel=CancelledAfter(looks), first_fit=False)
    assert len(plan.pods) >= pods


def test_no_time_gives_no_answer():
    """Without any time there is no plan and nothing is said to be impossible."""
    plan = checked_fleet(*mixed(), release=RELEASE, time_limit=0.0)
    assert plan.status is PlanStatus.STOPPED
    assert not plan.proven


def test_misfit_of_a_fleet_is_proven():
    """A fleet of which nothing fits, or not all where all are asked for, is infeasible with proof."""
    few, nothing = mixed_cluster(5), workloads((3,), must=False, kinds=((9, 9, 8),))
    too_many = workloads((500,), must=False, kinds=((4, 4, 32),))
    plan = checked_fleet(few, too_many, release=RELEASE, objective="nodes")
    assert checked_fleet(few, nothing, release=RELEASE).status is PlanStatus.INFEASIBLE
    assert (plan.status, plan.pods) == (PlanStatus.INFEASIBLE, ())


def test_first_fit_stands_on_the_same_nodes():
    """kube-scheduler's first fit is tried on the plan's nodes, with devices of its own, and is never better."""
    cluster = mixed_cluster(8)
    plan = checked_fleet(cluster, workloads((2, 3, 3), must=False), release=RELEASE)
    theirs = dataclasses.replace(plan, status=PlanStatus.FEASIBLE, pods=plan.first_fit.pods, goals=())
    assert {pod.node for pod in theirs.pods} <= set(plan.nodes)
    assert broken_rules(cluster, theirs, RELEASE) == []
    assert [goal.value for goal in plan.goals] <= [goal.value for goal in plan.first_fit.goals]
