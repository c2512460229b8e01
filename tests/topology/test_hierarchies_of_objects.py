"""Topology objects of Kueue and KAI, and HyperNodes of Volcano, as hierarchies."""

from __future__ import annotations

import pytest
from labelled_nodes import BLOCK, HOST, RACK, ZONE, hyper, labelled, like, named, topology

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import LeftOut
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.topologies import (
    LabelMatch,
    Member,
    MemberSelector,
    Topology,
    TopologyLevel,
    TopologyObject,
    TopologySpec,
)
from dra_lab.topology import hierarchies, hierarchy_findings

OWN = ("example.com/hall", "example.com/rack", "example.com/pod-of-racks")


def world(labels: tuple[str, ...], *objects: TopologyObject) -> Cluster:
    """Eight nodes with a value of each label, the first label the outermost."""
    rows = (
        {HOST: f"n{node}"} | {label: f"{at}-{node >> (len(labels) - at)}" for at, label in enumerate(labels)}
        for node in range(8)
    )
    return labelled(*rows, objects=objects)


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "kai.scheduler/v1alpha1"])
@pytest.mark.parametrize("labels", [OWN, (RACK, BLOCK), (ZONE, *OWN)])
def test_levels_are_in_the_order_of_the_topology(version, labels):
    """Whatever the labels are called; the host name is no level."""
    found = hierarchies(world(labels, topology(*labels, HOST, version=version)))[0]
    assert (found.name, tuple(level.key for level in found.levels)) == ("default", labels)


def test_a_level_has_its_word_and_its_source():
    """The word is the level in the label's name, else the name itself."""
    found = hierarchies(world(OWN, topology(*OWN, name="halls")))[0]
    assert [(level.name, level.source) for level in found.levels] == [
        ("hall", "Kueue Topology halls"),
        ("rack", "Kueue Topology halls"),
        ("pod-of-racks", "Kueue Topology halls"),
    ]


def test_an_alias_of_kai_is_the_name_of_the_level():
    """`spec.levels[].alias` is for people."""
    levels = (TopologyLevel(node_label=OWN[0], alias="aisle"),)
    item = Topology(
        metadata=ObjectMeta(name="t"), spec=TopologySpec(levels=levels), api_version="kai.scheduler/v1alpha1"
    )
    assert hierarchies(world(OWN, item))[0].levels[0].name == "aisle"


def test_levels_of_one_word_have_different_names():
    """The second is called as its label is."""
    labels = ("a.example/rack", "b.example/rack")
    found = hierarchies(world(labels, topology(*labels)))[0]
    assert [level.name for level in found.levels] == ["rack", "b.example/rack"]


def test_known_labels_of_a_topology_are_not_repeated():
    """The object's own hierarchy is enough; zones stay beside it."""
    found = hierarchies(world((ZONE, BLOCK, RACK), topology(ZONE, BLOCK, RACK, HOST)))
    assert [one.name for one in found] == ["default", "zone"]


def test_topologies_of_one_name_name_their_sources():
    """Kueue and KAI may both have a default."""
    found = hierarchies(world(OWN, topology(*OWN), topology(*OWN, version="kai.scheduler/v1alpha1")))
    assert [one.name for one in found] == ["default", "default (Kueue Topology default)"]


@pytest.mark.parametrize("labels", [(HOST,), ()])
def test_a_topology_of_the_host_alone_is_no_hierarchy(labels):
    """Nothing is above the nodes."""
    assert hierarchies(world(OWN, topology(*labels))) == ()


def test_a_label_that_no_node_has_leaves_every_node_out():
    """Kueue uses no node then, which a warning says."""
    found = hierarchies(world((RACK,), topology(BLOCK, RACK)))[0]
    assert (found.domains, len(found.left_out)) == ((), 8)


RACKS = (hyper("r0", 1, like("^n[0-3]$"), word="rack"), hyper("r1", 1, named("n4"), named("n5"), word="rack"))


def test_hypernodes_are_domains_and_tiers_are_levels():
    """The highest tier is the outermost; the level's name is the tier's."""
    block = hyper("b0", 2, like("r[01]", "HyperNode"), word="block")
    [found] = hierarchies(world((), *RACKS, block))
    assert [level.name for level in found.levels] == ["block", "rack"]
    assert {domain.path: len(domain.nodes) for domain in found.domains} == {
        ("b0",): 6,
        ("b0", "r0"): 4,
        ("b0", "r1"): 2,
    }


def test_a_tree_of_hypernodes_may_be_partial():
    """A rack outside every block is in no block, and a node of a block need not be in a rack."""
    block = hyper("b0", 2, named("r0", "HyperNode"), named("n6"))
    [found] = hierarchies(world((), *RACKS, block))
    assert [domain.path for domain in found.domains] == [("b0",), ("", "r1"), ("b0", "r0")]
    assert [found.path_of(node) for node in ("n6", "n4", "n7")] == [("b0",), ("", "r1"), ()]
    assert found.left_out == (LeftOut("n7", "is in no HyperNode"),)


def test_members_are_selected_by_labels():
    """`labelMatch` selects nodes."""
    labels = LabelMatch(match_labels={OWN[0]: "0-0"})
    item = hyper("r0", 1, Member(type="Node", selector=MemberSelector(label_match=labels)))
    [found] = hierarchies(world(OWN, item))
    assert found.innermost()[0].nodes == tuple(f"n{node}" for node in range(8))


def test_tiers_without_a_name_are_numbered():
    """The tier is what a job of Volcano names then."""
    [found] = hierarchies(world((), hyper("r0", 3, named("n0"))))
    assert [(level.name, level.source) for level in found.levels] == [("tier 3", "HyperNode tier 3")]


@pytest.mark.parametrize(
    ("rule", "items"),
    [
        ("hyper-node-member", [hyper("r0", 1, named("n0"), named("gone"))]),
        ("hyper-node-member", [hyper("r0", 1, named("n0"), like("^x"))]),
        ("hyper-node-member", [hyper("r0", 1, named("n0"), like("["))]),
        ("hyper-node-member", [hyper("r0", 1, named("n0"), Member(type="Node"))]),
        ("hyper-node-member", [hyper("r0", 1, named("n0"), named("n1", "Pod"))]),
        (
            "hyper-node-cycle",
            [hyper("a", 1, named("n0"), named("b", "HyperNode")), hyper("b", 2, named("a", "HyperNode"))],
        ),
        ("hyper-node-cycle", [hyper("a", 1, named("n0"), like("a", "HyperNode"))]),
        ("hyper-node-tier", [hyper("a", 1, named("n0")), hyper("b", 1, named("a", "HyperNode"))]),
        ("hyper-node-overlap", [hyper("a", 1, named("n0")), hyper("b", 1, named("n0"))]),
        (
            "hyper-node-parents",
            [hyper("a", 1, named("n0")), *(hyper(name, 2, named("a", "HyperNode")) for name in "bc")],
        ),
    ],
)
def test_what_is_wrong_with_hypernodes(rule, items):
    """The rest of the tree is read."""
    found = world((), *items)
    assert hierarchies(found)[0].path_of("n0")
    assert {finding.rule for finding in hierarchy_findings(found) if finding.rule.startswith("hyper")} == {rule}
