"""A plan for a fleet never claims a proof that it does not have."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

import pytest
from benchmarks.mixed_cluster import mixed_cluster, workloads
from cancelled import assert_true_goals
from checked_plans import broken_rules, checked_fleet
from random_clusters import random_workloads, small_fleet, switches

from dra_lab import KubernetesRelease, how_many_more, largest_job, stranded
from dra_lab.errors import InputError
from dra_lab.model.headroom import Bounded
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")
MANY = mixed_cluster(80)
"""More distinct states than are looked at one by one."""

CLAIMS = workloads((30, 60, 60), must=False)


@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.1, 0.4])
def test_time_limit_never_proves_too_much(seconds):
    """Whatever the time, bounds stay below the best plan known, and OPTIMAL is the best."""
    for seed in range(4):
        rng = random.Random(f"honest {seed}")
        cluster = small_fleet(rng, switches(sharing=False))
        fleet = random_workloads(rng, cluster, switches(sharing=False))
        best = checked_fleet(cluster, fleet, release=RELEASE, first_fit=False)
        plan = checked_fleet(cluster, fleet, release=RELEASE, time_limit=seconds)
        if best.pods:
            assert_true_goals(plan, best)
        if plan.status is PlanStatus.OPTIMAL:
            assert [g.value for g in plan.goals] == [g.value for g in best.goals]
        if plan.status is PlanStatus.INFEASIBLE:
            assert best.status is PlanStatus.INFEASIBLE


def test_no_time_gives_no_answer():
    """Without any time there is no plan and nothing is said to be impossible."""
    plan = checked_fleet(MANY, CLAIMS, release=RELEASE, time_limit=0.0)
    assert plan.status is PlanStatus.STOPPED
    assert not plan.proven


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_cancel_keeps_what_was_found(after):
    """A cancel ends the work with the best so far; what was proven until then stays true."""
    cancel = threading.Event()
    reports = []

    def progress(step):
        reports.append(step)
        if len(reports) == after:
            cancel.set()

    plan = checked_fleet(MANY, CLAIMS, release=RELEASE, progress=progress, cancel=cancel)
    assert plan.status in (PlanStatus.STOPPED, PlanStatus.FEASIBLE)


def test_misfit_of_a_fleet_is_proven():
    """A fleet of which nothing fits, or not all where all are asked for, is infeasible with proof."""
    nothing = workloads((3,), must=False, kinds=((9, 9, 8),))
    assert checked_fleet(mixed_cluster(10), nothing, release=RELEASE).status is PlanStatus.INFEASIBLE
    too_many = workloads((500,), must=False, kinds=((4, 4, 32),))
    few = mixed_cluster(5)
    plan = checked_fleet(few, too_many, release=RELEASE, objective="nodes")
    assert plan.status is PlanStatus.INFEASIBLE
    assert not plan.pods


def test_most_replicas_then_fewest_nodes():
    """Where all replicas fit, the objective "nodes" never uses more nodes than the objective "replicas"."""
    cluster = mixed_cluster(6)
    fleet = workloads((1, 2, 2), must=True)
    spread = checked_fleet(cluster, fleet, release=RELEASE)
    packed = checked_fleet(cluster, fleet, release=RELEASE, objective="nodes")
    assert spread.proven
    assert packed.proven
    assert len(packed.nodes) <= len(spread.nodes)


def test_first_fit_stands_on_the_same_nodes():
    """kube-scheduler's first fit is tried on the plan's nodes, with devices of its own, and is never better."""
    cluster = mixed_cluster(8)
    plan = checked_fleet(cluster, workloads((2, 3, 3), must=False), release=RELEASE)
    assert plan.first_fit is not None
    assert {pod.node for pod in plan.first_fit.pods} <= set(plan.nodes)
    assert (
        broken_rules(cluster, replace(plan, status=PlanStatus.FEASIBLE, pods=plan.first_fit.pods, goals=()), RELEASE)
        == []
    )
    best = tuple(goal.value for goal in plan.goals)
    assert best <= tuple(goal.value for goal in plan.first_fit.goals)


def test_room_after_a_plan_is_what_a_larger_plan_places():
    """How many more fit after nothing is the most replicas that a plan places; after that plan none fits."""
    cluster = mixed_cluster(7)
    (workload,) = workloads((200,), must=True, kinds=((2, 2, 16),))
    headroom = how_many_more(cluster, workload, release=RELEASE)
    plan = checked_fleet(cluster, (workload,), release=RELEASE, first_fit=False)
    assert headroom.proven
    assert headroom.count.value == len(plan.pods)
    left = how_many_more(cluster, workload, release=RELEASE, after=plan)
    assert left.count == Bounded(0, 0)
    assert sum(len(found.members) for found in headroom.where) == len(cluster.node_names)


def test_stopped_room_is_no_number():
    """Without time nothing is known but bounds."""
    cluster = mixed_cluster(7)
    (workload,) = workloads((1,), must=True, kinds=((2, 2, 16),))
    headroom = how_many_more(cluster, workload, release=RELEASE, time_limit=0.0)
    assert not headroom.proven
    assert headroom.count.bound >= how_many_more(cluster, workload, release=RELEASE).count.value
    assert not largest_job(cluster, workload.claims[0], release=RELEASE, time_limit=0.0).proven
    assert not stranded(cluster, workload.claims, release=RELEASE, time_limit=0.0).proven


@pytest.mark.parametrize("changes", [{"replicas": -1}, {"pods": ()}])
def test_workloads_that_cannot_be_planned_are_refused(changes):
    """A message says which workload it is and what to do."""
    (workload,) = workloads((1,), must=False, kinds=((1, 1, 8),))
    with pytest.raises(InputError, match="1-gpu"):
        checked_fleet(MANY, (replace(workload, **changes),), release=RELEASE)
    with pytest.raises(InputError, match="twice"):
        checked_fleet(MANY, (workload, workload), release=RELEASE)
