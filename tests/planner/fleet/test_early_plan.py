"""The plan that is written while nodes are filled: what a cancel gives that comes before any other answer."""

from __future__ import annotations

import random
import threading

import pytest
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import mixed_cluster, workloads
from budgets import CancelledAfter, use_shares, use_sizes
from checked_plans import checked_fleet
from random_clusters import random_workloads, small_fleet, switches

from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.early_plan import EarlyPlan
from dra_lab.planner.fleet.fleet_work import Clock, FleetWork
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.placing import WrittenPods
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.search import search
from dra_lab.planner.fleet.tree_table import tree_tables

RELEASE = KubernetesRelease("1.37", {"DRAConsumableCapacity": True})
ORDER = fleet_order((), "replicas")


def pairs():
    """Pods of one and of two pairs, which do not all fit, on nodes that are trees and all different."""
    return irregular_cluster(12, 8), [Workload(f"pairs-{count}", drawn_pairs(count), 25) for count in (1, 2)]


def mixed():
    """Jobs with GPUs, NICs and CPUs on few kinds of hardware, whose ways are listed."""
    return mixed_cluster(12), workloads((10, 20, 20), must=False)


def drawn(number):
    """Draw a small fleet."""
    rng = random.Random(f"early {number}")
    cluster = small_fleet(rng, switches(sharing=number % 2 == 0, coupled=number % 4 == 0))
    return cluster, random_workloads(rng, cluster, switches(sharing=number % 2 == 0))


@pytest.fixture
def given(monkeypatch):
    """Have every plan that a person can cancel written early, a few nodes at a time; collect those that are given."""
    use_shares(monkeypatch, cancelled=-1.0)
    use_sizes(monkeypatch, written=3)
    found, plan = [], EarlyPlan.plan
    monkeypatch.setattr(EarlyPlan, "plan", lambda self: found.append(self) or plan(self))
    return found


@pytest.mark.parametrize("made", [pairs, mixed])
def test_a_cancel_at_any_look_gives_what_is_written(made, given):
    """Whatever look a cancel comes at, the pods keep every rule, and no bound or proof is wrong."""
    cluster, fleet = made()
    best = checked_fleet(cluster, fleet, release=RELEASE, first_fit=False)
    for looks in range(20, 400, 13):
        plan = checked_fleet(cluster, fleet, release=RELEASE, cancel=CancelledAfter(looks), first_fit=False)
        assert len(plan.nodes) <= len(cluster.node_names) - plan.not_examined, looks
        for mine, known in zip(plan.goals, best.goals, strict=False):
            assert mine.bound is None or mine.bound <= known.value, (looks, mine)
            assert not mine.proven or mine.value == known.value, (looks, mine)
            if mine.value != known.value:
                break
    assert len(given) > 5, "too few cancels came before another answer"


def test_a_cancel_of_a_random_fleet_gives_what_is_written(given):
    """Whatever the hardware, the pods that a cancel gives keep every rule."""
    for number in range(40):
        cluster, fleet = drawn(number)
        for looks in range(15, 90, 15):
            checked_fleet(cluster, fleet, release=RELEASE, cancel=CancelledAfter(looks), first_fit=False)
    assert given, "no cancel came before another answer"


@pytest.mark.parametrize("made", [pairs, mixed])
def test_a_plan_without_a_cancel_is_the_same(made, given):
    """A plan that is not cancelled is the same whether pods were written early or not."""
    plan = checked_fleet(*made(), release=RELEASE, cancel=threading.Event(), first_fit=False)
    assert plan.replicas == checked_fleet(*made(), release=RELEASE, first_fit=False).replicas
    assert not given


def filled(cluster, fleet):
    """Return the plan that is written early while all trees of a fleet are filled, and the answer of the fleet."""
    looked = look_at(cluster, fleet, RELEASE, Budget())
    budget = Budget(cancel=threading.Event())
    work = FleetWork(looked, ORDER, False, budget, "HiGHS", Clock(), WrittenPods(looked, ORDER), writing=1.0)
    early = EarlyPlan.of(work)
    tree_tables(looked, device_goals(ORDER), "HiGHS", budget, early.add)
    early.finish()
    return early, search(work)


def test_as_many_pods_are_written_early_as_fit():
    """Each node that is filled has as many pods of one kind as fit there."""
    early, found = filled(irregular_cluster(20, 8), [Workload("pairs", drawn_pairs(1), 500)])
    assert early.plan().replicas == sum(sum(on_node.counts) for on_node in found.by_node)


def test_a_node_that_is_filled_better_gives_its_pods_back_first(given):
    """Every replica that is wanted has a place or is left."""
    tables, add = [], EarlyPlan.add
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EarlyPlan, "add", lambda self, mine: tables.extend(mine) or add(self, mine))
        early, _ = filled(*pairs())
    placed = [sum(counts) for counts in zip(*(mine.counts for mine, _ in early.on_node.values()), strict=True)]
    assert tuple(map(int.__add__, placed, early.left)) == early.work.fleet.demand
    assert len(tables) > len(early.nodes), "no node was filled twice"


def test_a_cancel_gives_the_plan_until_half_of_an_answer_is_written(given):
    """The plan that is written is given sooner, and no longer kept once the answer is written."""
    early, found = filled(*pairs())
    for looks, is_replaced in ((0, False), (1, False), (2, True)):
        early.work.budget.cancel = CancelledAfter(looks)
        assert early.is_replaced(found.by_node) == is_replaced
        assert bool(early.on_node) != is_replaced
