"""The examples of Kueue's documentation come out as documented.

Source: kubernetes-sigs/kueue v0.19.2 (8eab68778fc1, Apache-2.0), keps/2724-topology-aware-scheduling/README.md, the
sections "Computing the assignment", "Two-level" and "Multi-level".
"""

from __future__ import annotations

from itertools import count

import pytest

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
