"""Cordoned nodes: kube-scheduler's filter NodeUnschedulable starts no pod there, and every question obeys it alike."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_fleet, checked_plan
from random_clusters import random_sketch, random_workloads, small_fleet, switches
from random_gangs import cordon

from dra_lab import (
    KubernetesRelease,
    Workload,
    how_many_more,
    largest_job,
    load_cluster,
    read_sketch,
    stranded,
    when_idle,
    with_more_nodes,
    without_nodes,
)
from dra_lab.model.headroom import CORDONED, NodeFit
from dra_lab.model.layers import read_layer
from dra_lab.model.plan import PlanStatus
from dra_lab.model.what_if import uncordoned
from dra_lab.planner.node_tests import admitted_nodes, only_nodes
from dra_lab.topology.layered import with_layers

RELEASE = KubernetesRelease("1.37")
TOLERATION = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
DAEMONSET = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}


@pytest.fixture
def lab():
    """Give two nodes of which lab-1, the better one, is cordoned."""
    return cordon(load_cluster("sample:two-sockets"), "lab-1")


@pytest.fixture
def lesson():
    """Give the drawing of the sample."""
    return read_sketch("sample:two-sockets/lesson")


def goals(plan):
    """Return the values of a plan's goals with their bounds and proofs."""
    return [(goal.goal, goal.value, goal.bound, goal.proven) for goal in plan.goals]


@pytest.mark.parametrize("seed", range(20))
def test_a_plan_is_that_of_the_cluster_without_the_cordoned_node(seed):
    """The best devices of one pod are the same as if the node were not there."""
    rng = random.Random(f"cordon {seed}")
    cluster, has = small_fleet(rng, switches(sharing=bool(seed % 2))), switches(sharing=bool(seed % 2))
    node, sketch = rng.choice(cluster.node_names), random_sketch(rng, has, cluster)
    plan = checked_plan(cordon(cluster, node), sketch, release=RELEASE)
    rest = checked_plan(without_nodes(cluster, [node]), sketch, release=RELEASE)
    assert (plan.status, plan.node, goals(plan)) == (rest.status, rest.node, goals(rest))


@pytest.mark.parametrize("seed", range(20))
def test_a_fleet_has_no_pod_on_a_cordoned_node(seed):
    """The goals of a fleet and the pods that fit are those of the cluster without the node."""
    rng = random.Random(f"cordoned fleet {seed}")
    has = switches(sharing=bool(seed % 2), coupled=seed % 4 == 3)
    cluster = small_fleet(rng, has)
    node, workloads = rng.choice(cluster.node_names), random_workloads(rng, cluster, has)
    closed, rest = cordon(cluster, node), without_nodes(cluster, [node])
    plan, other = (checked_fleet(on, workloads, release=RELEASE, first_fit=False) for on in (closed, rest))
    headrooms = [how_many_more(on, workloads[0], release=RELEASE).count for on in (closed, rest)]
    assert node not in plan.nodes
    assert (goals(plan), headrooms[0]) == (goals(other), headrooms[1])


def test_other_questions_leave_the_node_out(lab, lesson):
    """The largest job and stranded devices are about nodes on which pods start."""
    rest = without_nodes(lab, ["lab-1"])
    assert largest_job(lab, lesson).scale == largest_job(rest, lesson).scale
    assert stranded(lab, [lesson]).kinds == stranded(rest, [lesson]).kinds


def test_the_plan_names_the_node_and_the_remedy(lab, lesson):
    """The node's class says cordoned, a note names it, and nothing in use would not help."""
    plan = checked_plan(lab, lesson)
    [note] = [finding for finding in plan.findings if finding.rule == "nodes-cordoned"]
    [closed] = [one for one in plan.node_classes if one.label == CORDONED]
    assert (closed.members, closed.verdict) == (("lab-1",), NodeFit.NO)
    assert note.message == "lab-1 is cordoned, so no pod is planned there"
    assert "lab-1" not in checked_plan(when_idle(lab), lesson).fitting_nodes


def test_a_pinned_cordoned_node_does_not_fit(lab, lesson):
    """A person who pins the node reads that it is cordoned."""
    plan = checked_plan(lab, lesson, node="lab-1")
    assert (plan.status, plan.shortfalls[0].rule) == (PlanStatus.INFEASIBLE, CORDONED)
    assert plan.shortfalls[0].message == "lab-1 is cordoned: kube-scheduler starts no new pod there"


def test_with_all_nodes_cordoned_nothing_fits(lab, lesson):
    """The reason is that all nodes are cordoned, for one pod and for a fleet."""
    every = cordon(lab, "lab-1").with_objects(nodes=(*cordon(lab, "lab-1").nodes, *cordon(lab, "lab-2").nodes[-1:]))
    plan, pods = checked_plan(every, lesson), checked_fleet(every, [Workload("lesson", (lesson,), replicas=2)])
    assert plan.shortfalls[0].message == "all nodes are cordoned: kube-scheduler starts no new pod there"
    assert (pods.status, pods.pods) == (PlanStatus.INFEASIBLE, ())


def test_uncordon_is_a_what_if_change(lab, lesson):
    """With the change the plan is that of the cluster before a person cordoned the node."""
    opened = with_layers(lab, [read_layer("uncordon", "lab-1")])
    assert checked_plan(opened, lesson).node == "lab-1"
    assert not opened.cordoned


@pytest.mark.parametrize("toleration", [TOLERATION, DAEMONSET])
def test_a_pod_that_tolerates_it_starts_there(lab, lesson, toleration):
    """A toleration of the pod, such as a DaemonSet's, makes the node one like the others."""
    admitted = admitted_nodes(lab, {"tolerations": [toleration]})
    admitting = only_nodes(lab, admitted)
    plan, fleet = checked_plan(admitting, lesson), checked_fleet(admitting, [Workload("lesson", (lesson,), replicas=3)])
    assert (plan.node, fleet.placed) == ("lab-1", {"lesson": 3})


def test_a_copy_of_a_cordoned_node_is_open(lab):
    """New nodes like a cordoned one take pods."""
    assert with_more_nodes(lab, like="lab-1", count=2).cordoned == {"lab-1"}


def test_uncordoned_keeps_the_rest(lab):
    """Other nodes, and a cluster without cordoned ones, stay as they are."""
    opened = uncordoned(lab, lab.node_names)
    assert uncordoned(opened, opened.node_names) is opened
    assert [node.name for node in opened.nodes] == [node.name for node in lab.nodes]
