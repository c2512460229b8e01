"""A drained node: its pods are planned again, and the answer says where they go."""

from __future__ import annotations

import pytest
from running_fleets import Running, cluster_of, drawing

from dra_lab import KubernetesRelease, how_many_more, make_plan, when_idle, without_nodes

NODES = {"a1": 2, "b1": 2, "b2": 2}


def left(plan) -> dict[str, str]:
    """Return where each pod that leaves goes, "" for nowhere."""
    return {move.pod: move.node_to for move in plan.moves}


def test_pods_of_a_drained_node_go_elsewhere(tmp_path):
    """The pod of the node has a place on another one, and nothing else is asked for."""
    cluster = cluster_of(tmp_path, NODES, [Running("p1", "a1", (0,)), Running("p2", "b1", (0, 1))])
    plan = make_plan(without_nodes(cluster, ["a1"]), [])
    assert left(plan) == {"team/p1": "b2"}
    assert str(plan).startswith("1 pod leaves a1; it fits on b2.")


def test_pods_find_a_place_in_a_release_with_other_gates(tmp_path):
    """The gate that differs is part of what the plan calls its release."""
    cluster = cluster_of(tmp_path, NODES, [Running("p1", "a1", (0,)), Running("p2", "b1", (0, 1))])
    release = KubernetesRelease("1.36", {"DRADeviceTaintRules": True})
    assert left(make_plan(without_nodes(cluster, ["a1"]), [], release=release)) == {"team/p1": "b2"}


def test_pods_without_a_place_come_first_with_the_reason(tmp_path):
    """Two GPUs on one node are free nowhere else."""
    pods = [Running("big", "a1", (0, 1)), Running("p2", "b1", (0,)), Running("p3", "b2", (0,))]
    plan = make_plan(without_nodes(cluster_of(tmp_path, NODES, pods), ["a1"]), [])
    assert left(plan) == {"team/big": ""}
    assert "has no place" in str(plan)


def test_new_pods_get_what_the_pods_that_leave_do_not_need(tmp_path):
    """The only free node takes the pod that leaves, so that a new one of its size has no place."""
    cluster = cluster_of(tmp_path, NODES, [Running("p1", "a1", (0, 1)), Running("p2", "b1", (0, 1))])
    drained = without_nodes(cluster, ["a1"])
    assert make_plan(cluster, drawing(tmp_path, 2)).fits
    assert not make_plan(drained, drawing(tmp_path, 2)).fits
    assert how_many_more(drained, drawing(tmp_path, 1)).count.value == 0
    assert make_plan(when_idle(drained), drawing(tmp_path, 2)).fits


@pytest.mark.parametrize("owner", ["DaemonSet", "Node"])
def test_pods_that_belong_to_the_node_stay_out_of_it(tmp_path, owner):
    """A pod of a DaemonSet, or of the kubelet, runs on its own node only."""
    cluster = cluster_of(tmp_path, NODES, [Running("p1", "a1", (0,), owner=owner)])
    assert make_plan(without_nodes(cluster, ["a1"]), []).moves == ()


def test_a_pod_without_an_owner_does_not_come_back(tmp_path):
    """It gets no place, and the answer says why."""
    cluster = cluster_of(tmp_path, NODES, [Running("p1", "a1", (0,), owner="")])
    plan = make_plan(without_nodes(cluster, ["a1"]), [])
    assert left(plan) == {"team/p1": ""}
    assert "will not come back" in str(plan)


def test_a_pod_goes_only_where_its_node_selector_lets_it(tmp_path):
    """The only node of its rack is gone, and the others have free devices."""
    cluster = cluster_of(tmp_path, NODES, [Running("p1", "a1", (0,), only="a"), Running("p2", "a1", (1,))])
    assert left(make_plan(without_nodes(cluster, ["a1"]), [])) == {"team/p1": "", "team/p2": "b1"}


def test_pods_of_a_higher_priority_go_first(tmp_path):
    """One GPU is free for two pods."""
    high = {"spec": {"priority": 100}}
    pods = [Running("low", "a1", (0,)), Running("urgent", "a1", (1,), more=high), Running("p3", "b1", (0,))]
    plan = make_plan(without_nodes(cluster_of(tmp_path, {"a1": 2, "b1": 2}, pods), ["a1"]), [])
    assert left(plan) == {"team/low": "", "team/urgent": "b1"}


def test_every_pod_of_several_drained_nodes_is_accounted_for(tmp_path):
    """Drained one after the other or together, both pods leave once."""
    pods = [Running("p1", "a1", (0,)), Running("p2", "b1", (0,))]
    cluster = cluster_of(tmp_path, NODES, pods)
    for drained in (without_nodes(cluster, ["a1", "b1"]), without_nodes(without_nodes(cluster, ["a1"]), ["b1"])):
        assert left(make_plan(drained, [])) == {"team/p1": "b2", "team/p2": "b2"}
