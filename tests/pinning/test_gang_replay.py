"""Whether kube-scheduler's PodGroup loop and Kueue find a place for a gang is what trying every order says."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest
from gang_replays import GPU, HOST, RACK, replay_kueue, replay_pod_group
from gang_replays import racks as _racks
from small_claims import request
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab import PodGroup, Workload
from dra_lab.model.gang_verdicts import GangVerdict
from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link

R136 = KubernetesRelease("1.36")
ONE = ClaimSketch(name="one", requests=(request("gpu", GPU),))
FREE = ClaimSketch(name="free", requests=(request("gpu", GPU), request("nic", "dranet")))
PAIR = ClaimSketch(
    name="pair",
    requests=(request("gpu", GPU), request("nic", "dranet")),
    links=(Link(name="near", requests=("gpu", "nic")),),
)


def racks(sizes):
    """Return racks whose nodes have 64 CPUs."""
    return _racks(sizes, cpu=64)


def gang(size: int, sketch: ClaimSketch = ONE, least: int | None = None) -> Workload:
    return Workload(
        "train", [PodGroup("worker", (sketch,), count=size, minimum=least)], level="rack", hierarchy="fabric"
    )


def test_a_pod_group_starts_where_first_fit_fills_enough():
    """With pods that are alike every order fills a node alike, so the verdict is yes or no."""
    on, tree = racks({"r1": [2, 1], "r2": [4, 4]})
    found = replay_pod_group(on, gang(8), tree, R136)
    assert (found.verdict, [(row.domain, row.least, row.most) for row in found.domains]) == (
        GangVerdict.YES,
        [("r1", 3, 3), ("r2", 8, 8)],
    )


@pytest.mark.parametrize(("release", "depends"), [("1.37", False), ("1.38", True)])
def test_from_1_38_a_yes_says_if_it_depends_on_trying_every_placement(release, depends):
    """1.38 may try only one of two placements (docs/semantics.md 1.18.4)."""
    on, tree = racks({"r1": [2, 1], "r2": [4, 4]})
    found = replay_pod_group(on, gang(8), tree, KubernetesRelease(release))
    assert found.verdict is GangVerdict.YES
    assert ("tries all 2 placements" in found.sentence) == depends


def test_a_pod_group_that_no_rack_holds_is_refused():
    """Nine pods have no rack with nine GPUs, though the cluster has eleven."""
    on, tree = racks({"r1": [2, 1], "r2": [4, 4]})
    assert replay_pod_group(on, gang(9), tree, R136).verdict is GangVerdict.NO


def test_the_minimum_decides():
    """A group of nine starts with a minimum of eight."""
    on, tree = racks({"r2": [4, 4]})
    assert replay_pod_group(on, gang(9, least=8), tree, R136).verdict is GangVerdict.YES


def test_first_fit_that_takes_the_wrong_device_refuses_a_gang_that_fits():
    """Counts alone take GPU 0 and NIC 0 first; a pod with a link then finds no pair (kubernetes#138765)."""
    devices = (
        a_slice(GPU, gpu(0, "r0"), gpu(1, "r1"), node="a"),
        a_slice("dra.net", nic("a", "r1", 0), nic("b", "r0", 0), node="a"),
    )
    node = Node(ObjectMeta(name="a", labels={RACK: "r1", HOST: "a"}))
    on = cluster(*devices, nodes=(node,))
    tree = Hierarchy("fabric", (Level("rack", RACK),), (Domain(("r1",), ("a",)),))
    two = Workload("g", [PodGroup("x", (FREE,), count=1), PodGroup("y", (PAIR,), count=1)], level="rack")
    assert replay_pod_group(on, two, tree, R136).verdict is GangVerdict.MAYBE


def test_kueue_admits_what_its_claims_cannot_have():
    """Kueue counts pods and CPUs: it takes the rack with the least room, whose GPUs are too few."""
    on, tree = racks({"r1": [0, 1], "r2": [4, 4, 4]})
    found = replay_kueue(on, gang(4), tree, R136, requests={"worker": {"cpu": "8"}})
    assert (found.verdict, "wait there" in found.sentence) == (GangVerdict.NO, True)


def test_kueue_finds_what_has_the_devices_too():
    """Where every node of the chosen rack has the devices, the gang starts."""
    on, tree = racks({"r1": [8, 8], "r2": [8, 8, 8]})
    found = replay_kueue(on, gang(4), tree, R136, requests={"worker": {"cpu": "8"}})
    assert found.verdict is GangVerdict.YES


def test_kueue_refuses_what_its_counts_do_not_allow():
    """Too few CPUs in every rack: the message is Kueue's."""
    on, tree = racks({"r1": [8]})
    found = replay_kueue(on, gang(9), tree, R136, requests={"worker": {"cpu": "8"}})
    assert (found.verdict, "allows to fit only 8 out of 9 pod(s)" in found.sentence) == (GangVerdict.NO, True)


def test_nodes_that_say_nothing_leave_kueue_open():
    """Without allocatable amounts Kueue's counts are unknown."""
    on, tree = racks({"r1": [8]})
    bare = cluster(*on.slices, nodes=tuple(Node(node.metadata) for node in on.nodes))
    assert replay_kueue(bare, gang(2), tree, R136).verdict is GangVerdict.MAYBE


def fills_in_order(sizes: list[int], order: list[int], wanted: int) -> int:
    """Return how many pods of one GPU get a place if the scores prefer nodes in this order, pod by pod."""
    left = list(sizes)
    placed = 0
    for _ in range(wanted):
        node = next((index for index in order if left[index]), None)
        if node is not None:
            left[node] -= 1
            placed += 1
    return placed


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_nodes_does_not_matter_for_pods_that_are_alike(seed: int):
    """Every order of nodes ends with the number of pods that the replay tells."""
    draw = random.Random(f"gang order {seed}")
    sizes = [draw.randint(0, 3) for _ in range(3)]
    wanted = draw.randint(1, 8)
    on, tree = racks({"r1": sizes})
    (row,) = replay_pod_group(on, gang(wanted), tree, R136).domains
    orders = [list(order) for order in product(range(3), repeat=3) if len(set(order)) == 3]
    assert {fills_in_order(sizes, order, wanted) for order in orders} == {row.least} == {row.most}


def test_nodes_of_which_only_slices_are_known_are_one_placement():
    """A gang without a level starts on them too, for without a Node object no node is cordoned."""
    known, _ = racks({"a": [2], "b": [2]})
    gang = Workload("train", [PodGroup("worker", ONE, count=4)])
    assert replay_pod_group(replace(known, nodes=()), gang, None, R136).verdict is GangVerdict.YES


def test_nodes_without_the_requested_cpus_have_no_place():
    """A node has 64 CPUs, so a pod that requests 33 is alone there."""
    on, tree = racks({"r1": [8, 8]})
    found = replay_pod_group(on, gang(3), tree, R136, requests={"worker": {"cpu": "33"}})
    assert (found.verdict, found.domains[0].most) == (GangVerdict.NO, 2)


LARGE = ClaimSketch(name="large", requests=(request("gpu", GPU, 2),))
UPSTREAM = [
    ({"rack-1": [2, 2, 2], "rack-2": [0, 2], "rack-3": [2]}, ONE, {"rack-1"}),
    ({"rack-1": [2, 2], "rack-2": [2], "rack-3": [2]}, LARGE, set()),
    ({"rack-1": [0, 2, 0]}, ONE, set()),
    ({"rack-1": [2, 2, 0]}, ONE, {"rack-1"}),
    ({"rack-1": [2, 2], "rack-2": [2, 2, 2], "rack-3": [2]}, ONE, {"rack-1", "rack-2"}),
    ({"rack-1": [2, 2], "rack-2": [0, 2, 2], "rack-3": [2, 2, 1], "rack-4": [2]}, ONE, {"rack-1", "rack-2", "rack-3"}),
    ({"rack-1": [2, 2, 2], "rack-2": [2, 2]}, LARGE, {"rack-1"}),
    ({"rack-1": [2, 0]}, ONE, set()),
]
"""The examples of kubernetes v1.36, test/integration/scheduler/podgroup/topology_aware_scheduling/tas_test.go.

A CPU there is a GPU here, so that a node of 2 CPUs has 2 GPUs.
"""


@pytest.mark.parametrize(("sizes", "claim", "feasible"), UPSTREAM)
def test_upstream_examples_have_the_same_feasible_racks(sizes, claim, feasible):
    """Three pods start in the racks of the example."""
    on, tree = racks(sizes)
    found = replay_pod_group(on, gang(3, claim), tree, R136)
    assert {row.domain for row in found.domains if row.least >= 3} == feasible
