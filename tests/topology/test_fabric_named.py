"""Topology objects of Kueue and KAI name the labels that are levels, and say in which order they stand."""

from __future__ import annotations

import pytest

from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.topologies import Topology, TopologyLevel, TopologySpec
from dra_lab.topology.fabric import fabric_rows, fabric_tree

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"
OWN = ("example.com/hall", "example.com/rack", "example.com/pod-of-racks")


def topology(*labels: str, name: str = "default", version: str = "kueue.x-k8s.io/v1beta1") -> Topology:
    """A Topology of these levels."""
    levels = tuple(TopologyLevel(node_label=label) for label in labels)
    return Topology(metadata=ObjectMeta(name=name), spec=TopologySpec(levels=levels), api_version=version)


def world(labels: tuple[str, ...], *topologies: Topology) -> Cluster:
    """Eight nodes with a value of each label, the first label the widest."""
    nodes = tuple(
        Node(
            metadata=ObjectMeta(
                name=f"n{node}",
                labels={HOST: f"n{node}"}
                | {label: f"{at}-{node >> (len(labels) - at)}" for at, label in enumerate(labels)},
            )
        )
        for node in range(8)
    )
    return Cluster(nodes=nodes, topologies=topologies, name="test")


@pytest.mark.parametrize(
    ("labels", "topologies"),
    [
        (OWN, [topology(*OWN, HOST)]),
        (OWN[::-1], [topology(*OWN[::-1], version="kai.scheduler/v1alpha1")]),
        ((RACK, BLOCK), [topology(RACK, BLOCK)]),
        ((ZONE, *OWN), [topology(*OWN)]),
        ((ZONE, OWN[0], BLOCK, RACK), [topology(ZONE, OWN[0], BLOCK)]),
        (OWN, [topology(*OWN, name="a"), topology(*OWN[::-1], name="b")]),
    ],
    ids=["own names", "another order", "known names", "beside known ones", "between known ones", "contradicting"],
)
def test_named_levels_stand_in_the_order_of_the_topology(labels, topologies):
    """Whatever the labels are called; of two objects that contradict one another the first by name counts."""
    tree = fabric_tree(world(labels, *topologies))
    assert [label.name for label in tree.levels] == list(labels)


def test_without_the_object_the_label_is_none_of_the_fabric():
    """A label of the cluster's own says nothing by itself."""
    assert fabric_tree(world(OWN)).levels == ()


def test_a_level_is_told_with_its_word_and_who_named_it():
    """The word is the level that the label's name tells, else the name itself; the writer is the object."""
    rows = fabric_rows(fabric_tree(world(OWN, topology(*OWN, name="halls"))))
    assert [(row.level, row.writer) for row in rows] == [
        ("hall", "Topology halls (Kueue)"),
        ("rack", "Topology halls (Kueue)"),
        ("pod-of-racks", "Topology halls (Kueue)"),
    ]


def test_a_label_that_no_node_has_is_no_level():
    """The object may name more than there is."""
    assert [label.name for label in fabric_tree(world((RACK,), topology(BLOCK, RACK))).levels] == [RACK]
