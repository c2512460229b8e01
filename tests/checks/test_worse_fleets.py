"""Fleet plans that keep every rule, but are worse than the best one and called proven: better ones are found."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from checked_plans import checked_fleet
from msgspec.structs import replace as changed
from random_clusters import random_workloads, small_fleet, switches

from dra_lab.checks.fleets import check_fleet
from dra_lab.gitops.node_filter import only_nodes
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease

RELEASE = KubernetesRelease("1.36")
SEEDS = range(40)


@cache
def best(seed, *, sharing):
    """A small cluster, workloads, and their best plan, None where nothing or not the best was found."""
    rng = random.Random(seed)
    cluster = small_fleet(rng, switches(sharing=sharing))
    workloads = random_workloads(rng, cluster, switches(sharing=sharing))
    cluster = with_documented_classes(cluster)
    plan = checked_fleet(cluster, workloads, release=RELEASE)
    return (cluster, workloads, plan) if plan.status is PlanStatus.OPTIMAL and plan.replicas else None


def a_replica_less(_cluster, _workloads, plan):
    return plan.replicas[1:]


def kube_schedulers(_cluster, _workloads, plan):
    return plan.first_fit.replicas if plan.first_fit.status is PlanStatus.FEASIBLE else ()


def without_a_node(cluster, workloads, plan):
    others = [node for node in cluster.node_names if node != plan.nodes[0]]
    part = only_nodes(cluster, others)
    return checked_fleet(part, workloads, release=RELEASE, first_fit=False).replicas if others else ()


def for_fewest_nodes(cluster, workloads, _plan):
    return checked_fleet(cluster, workloads, release=RELEASE, first_fit=False, objective="nodes").replicas


def called_best(plan, replicas):
    """The same plan with these replicas, each sum of theirs called proven; None where it is not worse."""
    numbers, mine = Counter(), []
    for replica in replicas:
        mine.append(changed(replica, number=numbers[replica.workload]))
        numbers[replica.workload] += 1
    counts = {
        UNPLACED: sum(workload.replicas for workload in plan.workloads) - len(mine),
        NODES: len({replica.node for replica in mine}),
    }
    goals = []
    for goal in plan.goals:
        total = sum(own.value for replica in mine for own in replica.goals if own.goal == goal.goal)
        value = counts.get(goal.goal, total)
        goals.append(replace(goal, value=value, bound=value, proven=True))
    if not mine or [goal.value for goal in goals] <= [goal.value for goal in plan.goals]:
        return None
    return replace(plan, replicas=tuple(mine), goals=tuple(goals), first_fit=None, regrets=(), shortfalls=())


def accepted(way, *, sharing):
    """The seeds of worse plans, and of those among them that the referee accepts."""
    worse, fine = [], []
    for seed in SEEDS:
        found = best(seed, sharing=sharing)
        plan = called_best(found[2], way(*found)) if found is not None else None
        if found is None or plan is None:
            continue
        worse.append(seed)
        if not check_fleet(found[0], plan, RELEASE):
            fine.append(seed)
    return worse, fine


@pytest.mark.some(1)
@pytest.mark.parametrize("sharing", [False, True])
def test_a_best_plan_is_accepted(sharing):
    """Nothing is found against a plan that is proven, whatever is placed again."""
    found = [case for seed in SEEDS if (case := best(seed, sharing=sharing)) is not None]
    assert [case[2] for case in found if check_fleet(case[0], case[2], RELEASE)] == []


@pytest.mark.parametrize("sharing", [False, True])
def test_a_plan_without_one_of_its_replicas_is_never_called_full(sharing):
    """The replica that was taken away can be placed again."""
    assert accepted(a_replica_less, sharing=sharing)[1] == []


def test_hardly_a_worse_plan_is_called_best():
    """The check refuses nine of ten worse plans; the others are better only if several pods move at once."""
    ways = (a_replica_less, kube_schedulers, without_a_node, for_fewest_nodes)
    every = [accepted(way, sharing=sharing) for way in ways for sharing in (False, True)]
    worse, fine = (sum(len(seeds) for seeds in part) for part in zip(*every, strict=True))
    assert fine * 10 <= worse


def test_a_node_with_too_many_devices_to_try_is_not_an_error(monkeypatch):
    """The check then finds nothing on it, instead of ending without an answer."""
    monkeypatch.setattr("dra_lab.checks.plan_bounds.MOST_DEVICES", 0)
    cluster, workloads, _ = next(filter(None, (best(seed, sharing=False) for seed in SEEDS)))
    many = [replace(workload, replicas=workload.replicas + 50) for workload in workloads]
    plan = checked_fleet(cluster, many, release=RELEASE, first_fit=False)
    assert plan.goal(UNPLACED).bound
    assert check_fleet(cluster, plan, RELEASE) == ()
