"""A node that the cluster does not have is named with the nodes that exist, wherever a node is asked for."""

from __future__ import annotations

import pytest

from dra_lab import load_cluster
from dra_lab.errors import DraLabError, NodeError
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pictures.picture import graph_page

CLUSTER = load_cluster("sample:eks-p4d")


QUESTIONS = [hardware_svg, graph_page]


@pytest.mark.parametrize("ask", QUESTIONS)
def test_an_unknown_node_is_an_error_of_ours(ask):
    """No KeyError that shows the bare name."""
    with pytest.raises(DraLabError, match="there is no node 'nope' in sample:eks-p4d; its nodes are: ip-"):
        ask(CLUSTER, "nope")


@pytest.mark.parametrize("ask", QUESTIONS)
def test_a_mistyped_node_gets_the_name_that_was_meant(ask):
    """The most similar name is offered."""
    name = CLUSTER.node_names[0]
    with pytest.raises(DraLabError, match=f"did you mean '{name}'"):
        ask(CLUSTER, name[:-1])


def test_of_many_nodes_eight_are_named():
    """The message stays short on a cluster of thousands."""
    cluster = Cluster(nodes=tuple(Node(metadata=ObjectMeta(name=f"n{at:04}")) for at in range(5000)))
    with pytest.raises(NodeError) as caught:
        cluster.node_named("x" * 10_000)
    assert str(caught.value).endswith("n0006, n0007 and 4,992 more")
    assert len(str(caught.value)) < 500
