"""Pods that are pinned to a node: they are there, the others go around them, and proofs stay true."""

import pytest
from checked_plans import checked_fleet

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.fleet import UNPLACED, Workload
from dra_lab.model.layers import read_layer
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet.pinned import plan_pinned
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.topology.layered import with_layers

RELEASE = KubernetesRelease("1.36")
PAIRS = "sample:eks-p4d/gpu-nic-pairs"


@pytest.fixture(scope="module")
def cluster():
    """Give the shipped cluster of four nodes."""
    return load_cluster("sample:eks-p4d")


def pods(replicas: int = 2) -> list[Workload]:
    """Return a workload of two pairs in each pod."""
    return [Workload("pairs", read_sketch(PAIRS), replicas)]


def on(plan, node: str) -> int:
    """Count the pods of a plan on a node."""
    return len(plan.on_node.get(node, ()))


def test_without_pins_it_is_the_plan_of_the_fleet(cluster):
    """No pin changes nothing, proofs neither."""
    assert plan_pinned(cluster, pods(), {}).goals == checked_fleet(cluster, pods()).goals


def test_a_pinned_pod_runs_on_its_node_wherever_it_fits(cluster):
    """For each node that holds a pod, the pin puts it there, and the plan keeps the rules."""
    for node in cluster.node_names:
        plan = plan_pinned(cluster, pods(), {"pairs": {node: 1}}, release=RELEASE)
        fits = bool(plan_pinned(cluster, pods(1), {"pairs": {node: 1}}, release=RELEASE).replicas)
        assert bool(on(plan, node)) is fits
        assert check_fleet(cluster, plan, RELEASE) == ()


def test_a_pin_that_costs_nothing_keeps_the_proof(cluster):
    """The best plan has a pod there anyway."""
    best = checked_fleet(cluster, pods())
    plan = plan_pinned(cluster, pods(), {"pairs": {best.nodes[0]: 1}})
    assert plan.status is PlanStatus.OPTIMAL
    assert plan.goals == best.goals


def test_a_pod_that_does_not_fit_where_it_is_pinned_has_no_place(cluster):
    """It is not put elsewhere, and the plan says why without a proof that it could not be better."""
    full = next(node for node in cluster.node_names if not plan_pinned(cluster, pods(1), {"pairs": {node: 1}}).replicas)
    plan = plan_pinned(cluster, pods(), {"pairs": {full: 1}})
    assert len(plan.replicas) == 1
    assert not plan.goal(UNPLACED).proven
    assert f"pinned to {full}" in plan.shortfalls[0].message


def test_a_pin_to_a_node_that_is_drained_is_reported(cluster):
    """The pod has no place, and the message names the node."""
    node = cluster.node_names[0]
    plan = plan_pinned(with_layers(cluster, [read_layer("drain", node)]), pods(), {"pairs": {node: 1}})
    assert "this node is not in the cluster" in plan.shortfalls[0].message


def test_goals_are_bounded_by_the_plan_without_pins(cluster):
    """No bound is above the value, and a goal behind one that is not proven has none."""
    for node in cluster.node_names:
        plan = plan_pinned(cluster, pods(3), {"pairs": {node: 1}})
        open_before = False
        for goal in plan.goals:
            assert goal.bound is None if open_before else goal.bound <= goal.value
            open_before = open_before or not goal.proven


def test_replicas_of_a_workload_have_their_own_numbers(cluster):
    """Pinned pods and the others are numbered on."""
    best = checked_fleet(cluster, pods(4))
    node = next(name for name in cluster.node_names if on(best, name) < 2)
    plan = plan_pinned(cluster, pods(4), {"pairs": {node: 1, cluster.node_names[-1]: 1}})
    assert sorted(replica.number for replica in plan.replicas) == list(range(len(plan.replicas)))
