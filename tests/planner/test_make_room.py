"""make_room: the fewest running pods that move so that others fit, beside trying all of them."""

from __future__ import annotations

import pytest
import yaml
from running_fleets import (
    DRIVER,
    Running,
    cluster_of,
    drawing,
    fewest_moves,
    objects_of,
    random_case,
    replayed,
)

from dra_lab import DeviceID, Movable, PodGroup, Workload, load_cluster, make_room, without_nodes
from dra_lab.errors import InputError
from dra_lab.model.placement import Placement
from dra_lab.model.running import Move
from dra_lab.planner.fleet.after import reallocated
from dra_lab.planner.make_room import UnitMove, ordered_moves

ROOM = {"a1": 4, "b1": 4}
SPREAD = (Running("p1", "a1", (0, 1)), Running("p2", "b1", (0,)), Running("p3", "b1", (2,)))


def moved(plan) -> list[tuple[str, str]]:
    """Return the name and the destination of every move."""
    return [(move.pod, move.node_to) for move in plan.moves]


def test_a_pod_that_ends_on_more_numa_nodes_than_now_is_named(tmp_path):
    """Its two GPUs are on one NUMA node, and the two that are free elsewhere are on two."""
    (move,) = make_room(cluster_of(tmp_path, ROOM, SPREAD), drawing(tmp_path, 4)).moves
    assert move.worse == "2 NUMA nodes instead of 1"


def test_a_pod_whose_place_is_not_known_is_not_called_worse(tmp_path):
    """The node that it leaves publishes no NUMA node."""
    objects = objects_of(ROOM, SPREAD)
    for one in objects:
        if one["metadata"]["name"] == "a1-gpus" and one["kind"] == "ResourceSlice":
            one["spec"]["devices"] = [{"name": device["name"]} for device in one["spec"]["devices"]]
    (tmp_path / "unknown.yaml").write_text(yaml.safe_dump_all(objects))
    (move,) = make_room(load_cluster(str(tmp_path / "unknown.yaml")), drawing(tmp_path, 4)).moves
    assert (move.node_to, move.worse) == ("b1", "")


def test_a_pod_of_a_drained_node_comes_before_the_pods_that_need_room(tmp_path):
    """The only node that moves can free is the place of the pod that left the drained one."""
    pods = (Running("left", "c1", (0, 1, 2, 3)), *SPREAD)
    cluster = without_nodes(cluster_of(tmp_path, {**ROOM, "c1": 4}, pods), ["c1"])
    plan = make_room(cluster, drawing(tmp_path, 4))
    (found,) = (finding for finding in plan.findings if finding.rule == "room-not-found")
    assert not plan.fits
    assert "free devices for team/left of a drained node" in found.message


def test_in_a_circle_one_pod_stops_first(tmp_path):
    """Two pods change places on full nodes: the one with the fewest devices stops, and starts last."""
    pods = (Running("left", "a1", (0, 1)), Running("right", "b1", (0,)))
    cluster = cluster_of(tmp_path, {"a1": 2, "b1": 2}, pods)
    left, right = cluster.claims

    def at(claim, *there):
        placed = [Placement("gpu", DeviceID(DRIVER, node, f"gpu-{gpu}")) for node, gpu in there]
        return reallocated(cluster, claim, placed, cluster.target_release())

    units = [
        UnitMove((left,), (at(left, ("b1", 0), ("b1", 1)),), (Move("team/left", "a1", "b1"),)),
        UnitMove((right,), (at(right, ("a1", 0)),), (Move("team/right", "b1", "a1"),)),
    ]
    moves = ordered_moves(cluster, units)
    assert [(move.pod, move.stops_first) for move in moves] == [("team/left", False), ("team/right", True)]


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (Running("p1", "a1", (0, 1), owner="DaemonSet"), "DaemonSet"),
        (Running("p1", "a1", (0, 1), owner=""), "no owner"),
        (Running("p1", "a1", (0, 1), more={"metadata": {"namespace": "team"}, "spec": {"priority": 5}}), "priority"),
    ],
)
def test_pods_that_may_not_move_stay(tmp_path, pod, why):
    """Without them only the two pods of the other node can make room."""
    plan = make_room(cluster_of(tmp_path, {"a1": 4, "b1": 4}, (pod, *SPREAD[1:])), drawing(tmp_path, 4))
    assert (plan.node, sorted(name for name, _ in moved(plan))) == ("b1", ["team/p2", "team/p3"]), why


def budget(name: str, allowed: int, **labels: str) -> dict:
    """Return a PodDisruptionBudget for pods with labels."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"selector": {"matchLabels": labels}, "maxUnavailable": allowed},
        "status": {"disruptionsAllowed": allowed},
    }


@pytest.mark.parametrize("budgets", [[budget("none", 0, app="x")], [budget("a", 1, app="x"), budget("b", 1, app="x")]])
def test_a_budget_that_allows_none_and_two_budgets_hold_a_pod(tmp_path, budgets):
    """The API refuses an eviction that a budget forbids, and one of a pod with two budgets."""
    held = Running("p1", "a1", (0, 1), more={"metadata": {"labels": {"app": "x"}}})
    plan = make_room(cluster_of(tmp_path, ROOM, (held, *SPREAD[1:]), *budgets), drawing(tmp_path, 4))
    assert "team/p1" not in dict(moved(plan))


def test_a_budget_bounds_how_many_of_its_pods_move(tmp_path):
    """Both pods of the only node that could be emptied are of one budget, which allows one disruption."""
    more = {"metadata": {"labels": {"app": "x"}}}
    pods = (
        Running("p2", "b1", (0,), more=more),
        Running("p3", "b1", (2,), more=more),
        Running("p1", "a1", (0, 1), owner="DaemonSet"),
    )
    plan = make_room(cluster_of(tmp_path, ROOM, pods, budget("one", 1, app="x")), drawing(tmp_path, 4))
    assert (plan.fits, plan.moves) == (False, ())


def test_pods_of_a_gang_move_together(tmp_path):
    """One pod of the gang is in the way; its other pod moves with it."""
    gang = {"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "train"}}}
    pods = (Running("w0", "a1", (0,), more=gang), Running("w1", "a2", (0,), more=gang))
    plan = make_room(
        cluster_of(tmp_path, {"a1": 2, "a2": 2, "b1": 2}, pods), Workload("new", drawing(tmp_path, 2), replicas=2)
    )
    assert sorted(move.pod for move in plan.moves) == ["team/w0", "team/w1"]
    assert len({move.unit for move in plan.moves}) == 1


def test_movable_narrows_which_pods_move(tmp_path):
    """Only pods with a label may move: the one of two GPUs has none."""
    spot = {"metadata": {"labels": {"tier": "spot"}}}
    pods = (SPREAD[0], *(Running(pod.name, pod.node, pod.gpus, more=spot) for pod in SPREAD[1:]))
    cluster = cluster_of(tmp_path, ROOM, pods)
    plan = make_room(cluster, drawing(tmp_path, 4), movable=Movable(labels={"tier": "spot"}))
    assert sorted(name for name, _ in moved(plan)) == ["team/p2", "team/p3"]
    none = make_room(cluster, drawing(tmp_path, 4), movable=Movable(namespaces=("other",)))
    assert (none.fits, none.moves) == (False, ())


def test_a_gang_gets_its_room_in_one_domain(tmp_path):
    """Two pods of two GPUs each start on nodes of one rack, and one pod leaves it."""
    pods = (Running("p1", "a1", (0,)), Running("p2", "b1", (0,)), Running("p3", "b2", (0,)))
    racks = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Topology", "metadata": {"name": "racks"}}
    racks["spec"] = {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}
    cluster = cluster_of(tmp_path, {"a1": 2, "a2": 2, "b1": 2, "b2": 2}, pods, racks)
    plan = make_room(cluster, Workload("job", drawing(tmp_path, 2), count=2, level="rack"))
    assert ({pod.node for pod in plan.pods}, len(plan.moves)) == ({"a1", "a2"}, 1)


def test_room_is_made_for_the_minimum_of_a_gang_alone(tmp_path):
    """The gang starts with one of its two pods, so that one node is enough."""
    pods = (Running("p1", "a1", (0,)), Running("p2", "b1", (0,)))
    group = PodGroup("worker", drawing(tmp_path, 4), count=2, minimum=1)
    plan = make_room(cluster_of(tmp_path, ROOM, pods), Workload("job", [group]))
    assert (plan.placed["job"], len(plan.moves), plan.least_moves) == (1, 1, 1)


def test_pods_of_other_nodes_hold_devices_that_every_node_sees(tmp_path):
    """One of them moves to a device of a node, and the new pod takes what it held beside a device of another node."""
    objects = objects_of({"a1": 1, "b1": 2, "c1": 1}, (Running("p1", "b1", (0,)), Running("p2", "b1", (1,))))
    for one in objects:
        if one["metadata"]["name"] == "b1-gpus" and one["kind"] == "ResourceSlice":
            del one["spec"]["nodeName"]
            one["spec"]["allNodes"] = True
    (tmp_path / "network.yaml").write_text(yaml.safe_dump_all(objects))
    plan = make_room(load_cluster(str(tmp_path / "network.yaml")), drawing(tmp_path, 2))
    assert (plan.fits, len(plan.moves)) == (True, 1)
    assert plan.least_moves <= 1


def test_an_argument_that_is_no_movable_is_named():
    """The message names the argument."""
    with pytest.raises(InputError, match="movable"):
        make_room(None, None, movable="batch")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(2_000))
def test_the_fewest_moves_are_found_and_can_be_carried_out(tmp_path, seed):
    """No plan places more or moves fewer pods than trying all does, no bound is above, and every step has room."""
    case = random_case(seed)
    cluster = cluster_of(tmp_path, case.nodes, case.pods)
    what = Workload("new", drawing(tmp_path, case.count, together=case.together), replicas=case.wanted)
    plan = make_room(cluster, what)
    placed, moves, devices = fewest_moves(case)
    assert plan.placed["new"] == placed
    if placed:
        assert (len(plan.moves), sum(len(move.devices_from) for move in plan.moves)) == (moves, devices)
        assert plan.least_moves is not None
        assert plan.least_moves <= moves
    assert replayed(case, plan.moves) == []
