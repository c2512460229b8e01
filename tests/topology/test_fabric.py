"""Labels of nodes as one tree of the fabric: levels in order, nodes at its ends, contradictions told."""

from __future__ import annotations

import random
import time

import pytest
from small_nodes import a_slice, cluster, device

from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.topology.fabric import fabric_rows, fabric_tree, fabric_words

ZONE, CLIQUE = "topology.kubernetes.io/zone", "nvidia.com/gpu.clique"
BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"


def labelled(*rows: dict[str, str]) -> Cluster:
    """Return a cluster whose nodes n0, n1, ... have these labels."""
    nodes = (Node(metadata=ObjectMeta(name=f"n{number}", labels=row)) for number, row in enumerate(rows))
    return Cluster(nodes=tuple(nodes), name="test")


def levels(world: Cluster) -> list[str]:
    """Return the labels of the levels, from wide to near."""
    return [label.name for label in fabric_tree(world).levels]


GKE = "cloud.google.com/gce-topology-"
AWS = "topology.k8s.aws/network-node-layer-"
TIER = "fabric.topograph.run/tier-"


@pytest.mark.parametrize(
    "names",
    [
        [ZONE, BLOCK, RACK],
        [f"{GKE}block", f"{GKE}subblock", f"{GKE}host"],
        ["topology.kubernetes.io/region", ZONE, f"{AWS}1", f"{AWS}2", f"{AWS}3", "topology.k8s.aws/ultraserver-id"],
        [
            f"{TIER}2",
            f"{TIER}1",
            f"{TIER}0",
            "accelerator.topograph.run/domain",
            "accelerator.topograph.run/sub-domain",
        ],
        ["network.topology.nvidia.com/core", "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"],
        ["oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"],
        ["topology.kubernetes.io/block", "topology.kubernetes.io/rack"],
        [f"topology.gke.io/{name}" for name in ("cluster", "rack", "host")],
        [f"oci.oraclecloud.com/rdma.{name}_id" for name in ("hpc_island", "network_block", "local_block")],
        [f"ib.coreweave.cloud/{name}" for name in ("fabric", "superpod", "leafgroup")],
    ],
    ids=[
        "Kueue",
        "GKE",
        "EKS",
        "Topograph",
        "Topograph before 1.0",
        "OKE",
        "KAI",
        "GKE before",
        "OKE RDMA",
        "CoreWeave",
    ],
)
def test_levels_stand_from_wide_to_near(names):
    """The wider level comes first, in whatever order the labels are on a node."""
    rows = []
    for node in range(8):
        pairs = [(name, f"v{node >> (len(names) - depth)}") for depth, name in enumerate(names)]
        random.Random(node).shuffle(pairs)
        rows.append(dict(pairs))
    assert levels(labelled(*rows)) == names


def test_nodes_hang_at_the_ends():
    """Every node is in the tree once, at its own path."""
    tree = fabric_tree(labelled({BLOCK: "b1", RACK: "r1"}, {BLOCK: "b1", RACK: "r2"}, {BLOCK: "b2", RACK: "r3"}))
    assert tree.path("n1") == ((BLOCK, "b1"), (RACK, "r2"))
    assert sorted(tree.root.all_nodes()) == ["n0", "n1", "n2"]


def test_a_node_without_a_label_hangs_higher_and_is_told():
    """A node without a rack hangs at its block; a note says how many there are."""
    tree = fabric_tree(labelled({BLOCK: "b1", RACK: "r1"}, {BLOCK: "b1"}))
    assert tree.path("n1") == ((BLOCK, "b1"),)
    assert [(f.rule, f.message) for f in tree.findings] == [
        ("fabric-label-partial", "1 of 2 nodes have no value for it: n1")
    ]


def test_an_nvlink_domain_in_a_rack_stands_below_it():
    """A domain that lies in one rack is nearer than the rack."""
    rows = [{RACK: f"r{n // 4}", CLIQUE: f"u.{n // 2}"} for n in range(8)]
    assert levels(labelled(*rows)) == [RACK, CLIQUE]


def test_an_nvlink_domain_over_racks_stands_above_them():
    """A domain that spans two racks is wider than a rack, and nothing crosses."""
    tree = fabric_tree(labelled(*({RACK: f"r{n // 2}", CLIQUE: f"u.{n // 4}"} for n in range(8))))
    assert ([label.name for label in tree.levels], tree.findings) == ([CLIQUE, RACK], ())


def test_a_domain_that_crosses_racks_is_told():
    """Domain and rack that overlap without one lying in the other are a contradiction."""
    rows = [{RACK: rack, CLIQUE: domain} for rack, domain in (("r1", "u.1"), ("r1", "u.2"), ("r2", "u.2"))]
    found = fabric_tree(labelled(*rows)).findings
    assert [(finding.rule, finding.subject) for finding in found] == [("fabric-crossing", CLIQUE)]


def test_names_that_are_used_again_are_different_places():
    """A rack 1 in every block is a rack of its own in each, and only a note."""
    tree = fabric_tree(labelled({BLOCK: "b1", RACK: "1"}, {BLOCK: "b2", RACK: "1"}))
    assert fabric_rows(tree)[1].places == 2
    assert [finding.rule for finding in tree.findings] == ["fabric-names-reused"]


def test_two_labels_that_say_the_same_are_one_level():
    """Topograph's domain and NVIDIA's clique that divide the nodes alike are one level; the other is named."""
    rows = [{CLIQUE: f"u.{n // 2}", "accelerator.topograph.run/domain": f"nvl{n // 2}"} for n in range(4)]
    tree = fabric_tree(labelled(*rows))
    assert [label.name for label in tree.levels] == ["accelerator.topograph.run/domain"]
    assert tree.same == {CLIQUE: "accelerator.topograph.run/domain"}


def test_aks_tells_its_groups_through_dranet_alone():
    """Where no label names a block, the placement group that DRANET publishes does."""
    nic = {"azure.dra.net/placementGroupId": "g1", "dra.net/rdma": True}
    tree = fabric_tree(cluster(a_slice("dra.net", device("pci-0101-00-00-0", nic))))
    assert tree.path("n1") == (("azure.dra.net/placementGroupId", "g1"),)


def test_devices_of_one_node_that_disagree_are_told():
    """Two devices of a node cannot stand in different blocks."""
    nics = [device(f"nic-{n}", {"azure.dra.net/placementGroupId": f"g{n}"}) for n in range(2)]
    found = fabric_tree(cluster(a_slice("dra.net", *nics))).findings
    assert [(finding.rule, finding.subject) for finding in found] == [("fabric-devices-disagree", "n1")]


def test_levels_can_be_named():
    """A person's own labels are levels in the order given."""
    tree = fabric_tree(labelled({"corp/hall": "h1", "corp/row": "7"}), levels=["corp/hall", "corp/row"])
    assert tree.path("n0") == (("corp/hall", "h1"), ("corp/row", "7"))


def test_empty_labels_and_none_are_no_level():
    """A label without a value is not known, and a cluster without labels has no fabric."""
    tree = fabric_tree(labelled({ZONE: ""}, {}))
    assert (tree.levels, fabric_rows(tree), fabric_words(tree)) == ((), (), "")


def test_words():
    """One line counts the places of each level and the nodes of the nearest."""
    rows = [{ZONE: "a", BLOCK: f"b{n // 4}", RACK: f"r{n // 2}"} for n in range(7)]
    assert fabric_words(fabric_tree(labelled(*rows))) == "1 zone · 2 blocks · 4 racks of 1 to 2 nodes"


def test_levels_of_one_name_say_whose_they_are():
    """Node pools of GKE beside nodes that carry Kueue's labels have blocks of two writers."""
    theirs = [{"cloud.google.com/gce-topology-block": "b", "cloud.google.com/gce-topology-host": f"h{n}"} for n in "12"]
    own = [{"cloud.provider.com/topology-block": "B"}]
    told = fabric_words(fabric_tree(labelled(*theirs, *own)))
    assert told == "1 block (GKE) · 1 block (Kueue) · 2 hosts of 1 node"


def test_every_node_is_in_the_tree_once():
    """Whatever labels are missing or cross, every node is there exactly once, with its own values on the way."""
    names = [ZONE, BLOCK, RACK, CLIQUE, f"{TIER}0", f"{TIER}1"]
    for seed in range(50):
        rng = random.Random(seed)
        rows = [{name: f"v{rng.randrange(4)}" for name in names if rng.random() < 0.7} for _ in range(20)]
        world = labelled(*rows)
        tree = fabric_tree(world)
        assert sorted(tree.root.all_nodes()) == sorted(world.node_names)
        for number, row in enumerate(rows):
            assert dict(tree.path(f"n{number}")).items() <= row.items()


def test_five_thousand_nodes():
    """5,000 nodes of three levels take a second at most."""
    world = labelled(*({ZONE: "a", BLOCK: f"b{n // 512}", RACK: f"r{n // 16}"} for n in range(5000)))
    began = time.process_time()
    assert [row.places for row in fabric_rows(fabric_tree(world))] == [1, 10, 313]
    assert time.process_time() - began < 1


def test_the_writers_own_words():
    """A level is called what its writer calls it."""
    assert fabric_words(fabric_tree(labelled({f"{TIER}1": "s1"}, {f"{TIER}1": "s2"}))) == "2 tier-1 switches of 1 node"
