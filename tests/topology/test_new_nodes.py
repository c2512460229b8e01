"""New nodes have the labels and attributes of their place, in every hierarchy."""

from __future__ import annotations

import pytest

from dra_lab.model.node_type import NodeType
from dra_lab.sources import load_cluster
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.new_nodes import NewNode, existing_places, hierarchies_with, new_place, with_new_nodes

SAMPLES = ["h100-pod", "gb200-nvl72", "oke-gb200"]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("at", range(3))
def test_a_node_in_a_new_domain_is_read_as_such(sample, at):
    """Reading the larger cluster gives the hierarchies with the new domain."""
    cluster = load_cluster(f"sample:{sample}")
    trees = hierarchies(cluster)
    tree = trees[at % len(trees)]
    like = tree.innermost()[-1].nodes[0]
    place = new_place(cluster, trees, tree, tree.levels[-1].name, like, 1)
    larger = with_new_nodes(cluster, [NewNode("new", NodeType.like(like), place)])
    assert hierarchies(larger) == hierarchies_with(trees, {"new": place.paths})


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_node_in_an_existing_domain_is_read_as_such(sample):
    """A copy of a node of another domain is read as a node of the domain it is added to."""
    cluster = load_cluster(f"sample:{sample}")
    trees = hierarchies(cluster)
    place = [*existing_places(cluster, trees, trees[0], trees[0].levels[-1].name)][-1]
    one = NodeType.like(trees[0].innermost()[0].nodes[0])
    larger = with_new_nodes(cluster, [NewNode("new", one, place)])
    assert hierarchies(larger) == hierarchies_with(trees, {"new": place.paths})
