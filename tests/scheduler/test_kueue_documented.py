"""The examples of Kueue's documentation come out as documented, and so do the steps that lead there.

Source: kubernetes-sigs/kueue v0.19.2 (8eab68778fc1, Apache-2.0), keps/2724-topology-aware-scheduling/README.md, the
sections "Computing the assignment", "Two-level" and "Multi-level".
"""

from __future__ import annotations

from itertools import count

import pytest

from dra_lab.model.gang_replay import MOST_LISTED, RULE_SOURCES, GangRule
from dra_lab.model.nodes import Node, NodeStatus, ObjectMeta
from dra_lab.scheduler.kueue.assignment import KueueAssignment, KueueFlavor, KueuePodSet, kueue_assignments

BLOCK, RACK, HOST = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack", "kubernetes.io/hostname"

Blocks = list[list[list[int]]]
"""The pods that each node has room for, by block and rack."""


def assigned(blocks: Blocks, pods: KueuePodSet) -> KueueAssignment:
    """Return Kueue's assignment over nodes with room for that many pods."""
    numbers = count()
    nodes = [
        Node(
            ObjectMeta(name=name, labels={BLOCK: f"b{block}", RACK: f"r{rack}", HOST: name}),
            status=NodeStatus(allocatable={"cpu": headroom, "pods": 110}),
        )
        for block, racks in enumerate(blocks)
        for rack, headrooms in enumerate(racks)
        for headroom in headrooms
        for name in [f"n{next(numbers):03}"]
    ]
    flavor = KueueFlavor((BLOCK, RACK, HOST))
    return kueue_assignments(flavor, nodes, [], [pods])[0]


def pods(number: int, **fields) -> KueuePodSet:
    """Return a pod set of pods with one CPU each."""
    return KueuePodSet("main", number, {"cpu": 1}, **fields)


def per_node(found: KueueAssignment, nodes: int) -> list[int]:
    """Return the pods of each node, in the order of the example."""
    got = {path[-1]: number for path, number in found.pods}
    return [got.get(f"n{number:03}", 0) for number in range(nodes)]


@pytest.mark.parametrize(
    ("asked", "documented"),
    [({"required": RACK}, [3, 3, 0, 1]), ({"preferred": RACK}, [3, 3, 0, 1]), ({}, [3, 1, 2, 1])],
    ids=["BestFit, required", "BestFit, preferred", "LeastFreeCapacity"],
)
def test_seven_pods_on_nodes_with_room_for_3_3_2_and_1(asked, documented):
    """BestFit ends on the node for exactly 1 pod; LeastFreeCapacity begins with it and has 1 pod on the last node."""
    assert per_node(assigned([[[3, 3, 2, 1]]], pods(7, **asked)), 4) == documented


@pytest.mark.parametrize(
    ("number", "asked", "documented"),
    [(12, {"required": RACK}, [6, 0, 4, 0, 2]), (10, {}, [0, 2, 4, 2, 2])],
    ids=["BestFit", "LeastFreeCapacity"],
)
def test_slices_of_two_on_nodes_with_room_for_6_5_4_3_and_2(number, asked, documented):
    """The table of two-level scheduling."""
    blocks = [[[6, 5, 4, 3, 2]]]
    assert per_node(assigned(blocks, pods(number, slices=((HOST, 2),), **asked)), 5) == documented


def test_three_levels_of_slices():
    """64 pods, slices of 32 in a block and of 16 in a rack: every host of one block has 8 pods."""
    blocks = [[[8] * 4, [8] * 4], [[8] * 4, [8] * 4]]
    found = assigned(blocks, pods(64, required=BLOCK, slices=((BLOCK, 32), (RACK, 16))))
    assert per_node(found, 16) == [8] * 8 + [0] * 8


def rules(found: KueueAssignment) -> list[tuple[str, int]]:
    """Return the rule and the level of each step."""
    return [(step.rule.value, step.level) for step in found.steps]


def test_a_required_level_that_no_domain_has_room_for():
    """The steps end where Kueue refuses."""
    found = assigned([[[3], [2]]], pods(4, required=RACK))
    assert rules(found) == [("count", 2), ("most first", 1), ("none fits", 1)]


def test_a_preferred_level_makes_kueue_look_at_wider_ones():
    """From the rack to the block, then over both blocks, then down again level by level."""
    found = assigned([[[3], [2]], [[2]]], pods(7, preferred=RACK))
    assert rules(found) == [
        ("count", 2),
        *(("most first", 1), ("wider", 1), ("most first", 0), ("several", 0)),
        *(("fewest", 1), ("fewest", 2)),
    ]


def test_pods_without_a_level_go_where_the_least_room_suffices():
    """LeastFreeCapacity sorts the nodes by their room, the smallest first, and takes the first that fits."""
    found = assigned([[[3], [5], [4]]], pods(4))
    assert rules(found) == [("count", 2), ("least first", 2), ("first that fits", 2)]


def test_a_step_has_the_room_before_and_what_each_domain_gets():
    """The last step of the documented example of seven pods."""
    last = assigned([[[3, 3, 2, 1]]], pods(7, required=RACK)).steps[-1]
    assert [(row.pods, row.taken) for row in last.domains] == [(3, 3), (3, 3), (2, 0), (1, 1)]


def test_steps_list_a_bounded_number_of_domains():
    """The nodes that get pods are listed first, and the others are counted."""
    found = assigned([[[1] * 100]], pods(40, required=RACK))
    assert {(len(step.domains), step.more) for step in found.steps if step.level == 2} == {(MOST_LISTED, 76)}


def test_every_rule_has_its_source():
    """Each step can say in which function its rule is written."""
    assert set(RULE_SOURCES) == set(GangRule)
