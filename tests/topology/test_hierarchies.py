"""Labels and attributes of nodes as hierarchies: levels in order, domains by path, nodes that are left out."""

from __future__ import annotations

import random

import pytest
from labelled_nodes import BLOCK, CLIQUE, RACK, ZONE, labelled
from small_nodes import a_slice, cluster, device

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy, LeftOut
from dra_lab.topology import hierarchies, hierarchy_findings

GKE = "cloud.google.com/gce-topology-"
AWS = "topology.k8s.aws/network-node-layer-"
TIER = "fabric.topograph.run/tier-"
DOMAIN = "accelerator.topograph.run/domain"


def tree(world: Cluster, name: str) -> Hierarchy:
    """Return the hierarchy of a name."""
    [found] = [found for found in hierarchies(world) if found.name == name]
    return found


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("fabric", [BLOCK, RACK], ["block", "rack"]),
        ("zone", ["topology.kubernetes.io/region", ZONE], ["region", "zone"]),
        ("fabric", [f"{GKE}block", f"{GKE}subblock"], ["block", "sub-block"]),
        ("fabric", [f"{AWS}1", f"{AWS}2", f"{AWS}3"], ["core switch", "spine", "leaf switch"]),
        ("fabric", [f"{TIER}2", f"{TIER}1", f"{TIER}0"], ["core switch", "spine", "leaf switch"]),
        ("NVLink", [DOMAIN, "accelerator.topograph.run/sub-domain"], ["NVLink domain", "NVLink partition"]),
        (
            "fabric",
            [f"network.topology.nvidia.com/{name}" for name in ("core", "spine", "leaf")],
            ["core switch", "spine", "leaf switch"],
        ),
        (
            "fabric",
            ["oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"],
            ["network block", "rack"],
        ),
        ("fabric", ["topology.kubernetes.io/block", "topology.kubernetes.io/rack"], ["block", "rack"]),
        ("fabric", ["topology.gke.io/cluster", "topology.gke.io/rack"], ["cluster", "rack"]),
        (
            "fabric",
            [f"oci.oraclecloud.com/rdma.{name}_id" for name in ("hpc_island", "network_block", "local_block")],
            ["HPC island", "network block", "local block"],
        ),
        (
            "fabric",
            [f"ib.coreweave.cloud/{name}" for name in ("fabric", "superpod", "leafgroup")],
            ["fabric", "superpod", "leaf group"],
        ),
    ],
)
def test_levels_are_in_order_from_the_outermost(name, keys, words):
    """The outer level comes first, in whatever order the labels are on a node."""
    rows = []
    for node in range(8):
        pairs = [(key, f"v{node >> (len(keys) - depth)}") for depth, key in enumerate(keys)]
        random.Random(node).shuffle(pairs)
        rows.append(dict(pairs))
    levels = tree(labelled(*rows), name).levels
    assert [(level.key, level.name) for level in levels] == list(zip(keys, words, strict=True))


def test_fabric_nvlink_and_zone_are_never_one_chain():
    """An NVLink domain may span spines, so each kind has a hierarchy of its own."""
    rows = [{ZONE: "z", BLOCK: f"b{n // 2}", RACK: f"r{n}", CLIQUE: f"u.{n % 2}"} for n in range(4)]
    assert [found.name for found in hierarchies(labelled(*rows))] == ["fabric", "NVLink", "zone"]


def test_a_domain_is_its_path():
    """A rack 1 in two blocks is two domains."""
    world = labelled({BLOCK: "b1", RACK: "1"}, {BLOCK: "b2", RACK: "1"})
    assert [(d.path, d.nodes) for d in tree(world, "fabric").at("rack")] == [
        (("b1", "1"), ("n0",)),
        (("b2", "1"), ("n1",)),
    ]


def test_parents_come_before_children_in_natural_order():
    """Blocks first, then racks; r2 comes before r10, and n2 before n10."""
    rows = [{BLOCK: "b", RACK: f"r{n // 2}"} for n in range(24)]
    domains = tree(labelled(*rows), "fabric").domains
    assert [domain.value for domain in domains] == ["b", *(f"r{n}" for n in range(12))]


def test_a_node_without_a_label_is_left_out_with_the_reason():
    """Kueue and KAI use nodes that have every label."""
    found = tree(labelled({BLOCK: "b1", RACK: "r1"}, {BLOCK: "b1"}, {}), "fabric")
    assert found.left_out == (LeftOut("n1", f"has no label {RACK}"), LeftOut("n2", f"has no label {BLOCK}"))


def test_a_clique_is_a_domain_and_a_partition():
    """The label is <ClusterUUID>.<CliqueID>; the partition keeps the whole value, by which a node is selected."""
    found = tree(labelled(*({CLIQUE: f"u{n // 4}.{n // 2}"} for n in range(8))), "NVLink")
    assert [domain.path for domain in found.domains] == [
        ("u0",),
        ("u1",),
        ("u0", "u0.0"),
        ("u0", "u0.1"),
        ("u1", "u1.2"),
        ("u1", "u1.3"),
    ]


@pytest.mark.parametrize("value", ["u", ".1", "u."])
def test_a_clique_without_both_parts_leaves_the_node_out(value):
    """The reason names the form of the label."""
    found = tree(labelled({CLIQUE: "u.1"}, {CLIQUE: value}), "NVLink")
    assert found.left_out == (LeftOut("n1", f"its label {CLIQUE} is not DOMAIN.CLIQUE"),)


def test_labels_that_group_alike_are_one_hierarchy():
    """Topograph's domain and NVIDIA's clique say the same here."""
    rows = [{CLIQUE: f"u{n // 2}.0", DOMAIN: f"nvl{n // 2}"} for n in range(4)]
    assert [found.levels[-1].key for found in hierarchies(labelled(*rows))] == [CLIQUE]


def test_labels_that_group_otherwise_are_a_hierarchy_of_their_own():
    """The second names its source."""
    rows = [{CLIQUE: f"u{n % 2}.0", DOMAIN: f"nvl{n // 2}"} for n in range(4)]
    assert [found.name for found in hierarchies(labelled(*rows))] == ["NVLink", "NVLink (Topograph)"]


def test_node_pools_of_two_sources_are_two_hierarchies():
    """GKE's pools beside nodes with the labels of Kueue's documentation."""
    found = hierarchies(labelled({f"{GKE}block": "b"}, {BLOCK: "B"}))
    assert [(one.name, one.path_of("n0"), one.path_of("n1")) for one in found] == [
        ("fabric", ("b",), ()),
        ("fabric (Kueue)", (), ("B",)),
    ]


def test_aks_publishes_its_groups_as_attributes():
    """No label says it; DRANET does."""
    nic = {"azure.dra.net/placementGroupId": "g1", "dra.net/rdma": True}
    world = cluster(a_slice("dra.net", device("pci-0101-00-00-0", nic)))
    assert tree(world, "fabric").path_of("n1") == ("g1",)


def test_a_label_goes_before_the_attribute():
    """Both name the same level of GKE, and pods can be sent by the label only."""
    nic = {"gce.dra.net/block": "of-the-device", "dra.net/rdma": True}
    base = cluster(a_slice("dra.net", device("nic", nic)))
    world = base.with_objects(nodes=labelled({f"{GKE}block": "of-the-label"}).nodes)
    assert [level.key for level in tree(world, "fabric").levels] == [f"{GKE}block"]


def test_devices_of_one_node_that_disagree():
    """Two devices of a node cannot be in different blocks."""
    nics = [device(f"nic-{n}", {"azure.dra.net/placementGroupId": f"g{n}"}) for n in range(2)]
    found = hierarchy_findings(cluster(a_slice("dra.net", *nics)))
    assert [(finding.rule, finding.subject) for finding in found if finding.rule == "devices-disagree"] == [
        ("devices-disagree", "n1")
    ]


@pytest.mark.parametrize("rows", [({ZONE: ""}, {}), ({"kubernetes.io/hostname": "n0"},)])
def test_without_known_labels_there_is_no_hierarchy(rows):
    """An empty label and the name of the node say nothing."""
    assert (hierarchies(labelled(*rows)), hierarchy_findings(labelled(*rows))) == ((), ())


def test_random_trees_agree_with_a_second_reading():
    """Every domain has exactly the nodes whose labels are its path."""
    keys = (f"{TIER}2", f"{TIER}1", f"{TIER}0")
    for seed in range(200):
        rng = random.Random(seed)
        rows = [{key: f"v{rng.randrange(3)}" for key in keys if rng.random() < 0.9} for _ in range(12)]
        rows.append(dict.fromkeys(keys, "v0"))
        found = tree(labelled(*rows), "fabric")
        whole = {f"n{at}": tuple(row[key] for key in keys) for at, row in enumerate(rows) if len(row) == len(keys)}
        wanted = {
            path[:depth]: tuple(n for n in whole if whole[n][:depth] == path[:depth])
            for path in whole.values()
            for depth in (1, 2, 3)
        }
        assert {domain.path: domain.nodes for domain in found.domains} == wanted
        assert {one.node for one in found.left_out} == {f"n{at}" for at in range(len(rows))} - set(whole)
