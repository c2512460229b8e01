"""Pods that are pinned to a node: they are there, the others go around them, and proofs stay true."""

from __future__ import annotations

from functools import cache

import pytest
from checked_plans import broken_rules, checked_fleet

from dra_lab import Session, Workload, load_cluster, read_sketch
from dra_lab.model.goals import UNPLACED
from dra_lab.model.plan import PlanStatus

PAIRS = "gpu-nic-pairs"
CLUSTER = load_cluster("sample:eks-p4d")
SKETCH = read_sketch(f"sample:eks-p4d/{PAIRS}")


@cache
def pinned(node: str, pods: int = 2, change: str = ""):
    """Return the plan of pods of which one is pinned to a node, "" for none."""
    session = Session(CLUSTER, sketch=SKETCH)
    session.fleet.set_replicas(PAIRS, pods)
    if node:
        session.fleet.pin(PAIRS, node)
    if change:
        session.fleet.what_if(change)
    plan = session.fleet.plan()
    session.close()
    return plan


@cache
def best():
    return checked_fleet(CLUSTER, [Workload(PAIRS, SKETCH, replicas=2)])


def test_without_pins_it_is_the_plan_of_the_fleet():
    """No pin changes nothing, proofs neither."""
    assert pinned("").goals == best().goals


@pytest.mark.parametrize("node", CLUSTER.node_names)
def test_a_pinned_pod_runs_on_its_node_wherever_it_fits(node):
    """A pin puts a pod on each node that holds one; numbers go on, no bound is above a value, and all rules hold."""
    plan = pinned(node)
    assert (node in plan.nodes) == bool(pinned(node, 1).pods)
    assert broken_rules(CLUSTER, plan) == []
    assert sorted(replica.replica for replica in plan.pods) == list(range(len(plan.pods)))
    assert all(goal.bound is None or goal.bound <= goal.value for goal in plan.goals)


def test_a_pin_that_costs_nothing_keeps_the_proof():
    """The best plan has a pod there anyway."""
    plan = pinned(best().nodes[0])
    assert (plan.status, plan.goals) == (PlanStatus.OPTIMAL, best().goals)


def test_a_pod_that_does_not_fit_where_it_is_pinned_has_no_place():
    """It is not put elsewhere, and the plan says why without a proof that it could not be better."""
    full = next(node for node in CLUSTER.node_names if not pinned(node, 1).pods)
    plan = pinned(full)
    assert (len(plan.pods), plan.goal(UNPLACED).proven) == (1, False)
    assert f"pinned to {full}" in plan.shortfalls[0].message


def test_a_pin_to_a_node_that_is_drained_is_reported():
    """The pod has no place, and the message names the node."""
    plan = pinned(CLUSTER.node_names[0], 2, f"drain {CLUSTER.node_names[0]}")
    assert "this node is not in the cluster" in plan.shortfalls[0].message
