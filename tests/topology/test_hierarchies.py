"""Labels and attributes of nodes as hierarchies: levels in order, domains by path, nodes that are left out."""

from __future__ import annotations

import random

import pytest
from labelled_nodes import BLOCK, CLIQUE, HOST, RACK, ZONE, hyper, labelled, like, named, topology
from small_nodes import a_slice, cluster, device

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy, LeftOut
from dra_lab.model.nodes import LabelSelector, ObjectMeta
from dra_lab.model.topologies import (
    Member,
    MemberSelector,
    Topology,
    TopologyLevel,
    TopologyObject,
    TopologySpec,
)
from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings

GKE = "cloud.google.com/gce-topology-"
AWS = "topology.k8s.aws/network-node-layer-"
TIER = "fabric.topograph.run/tier-"
DOMAIN = "accelerator.topograph.run/domain"


def tree(world: Cluster, name: str) -> Hierarchy:
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
    found = tree(labelled({CLIQUE: "u.1"}, {CLIQUE: value}), "NVLink")
    assert found.left_out == (LeftOut("n1", f"its label {CLIQUE} is not DOMAIN.CLIQUE"),)


def test_labels_that_group_alike_are_one_hierarchy():
    """Topograph's domain and NVIDIA's clique say the same here."""
    rows = [{CLIQUE: f"u{n // 2}.0", DOMAIN: f"nvl{n // 2}"} for n in range(4)]
    assert [found.levels[-1].key for found in hierarchies(labelled(*rows))] == [CLIQUE]


def test_labels_that_group_otherwise_are_a_hierarchy_of_their_own():
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
    nics = [device(f"nic-{n}", {"azure.dra.net/placementGroupId": f"g{n}"}) for n in range(2)]
    found = hierarchy_findings(cluster(a_slice("dra.net", *nics)))
    assert [(finding.rule, finding.subject) for finding in found if finding.rule == "devices-disagree"] == [
        ("devices-disagree", "n1")
    ]


@pytest.mark.parametrize("rows", [({ZONE: ""}, {}), ({"kubernetes.io/hostname": "n0"},)])
def test_without_known_labels_there_is_no_hierarchy(rows):
    assert (hierarchies(labelled(*rows)), hierarchy_findings(labelled(*rows))) == ((), ())


def test_random_trees_agree_with_a_second_reading():
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
    found = hierarchies(world(labels, topology(*labels, HOST, version=version)))[0]
    assert (found.name, tuple(level.key for level in found.levels)) == ("default", labels)


def test_a_level_has_its_word_and_its_source():
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
    labels = ("a.example/rack", "b.example/rack")
    found = hierarchies(world(labels, topology(*labels)))[0]
    assert [level.name for level in found.levels] == ["rack", "b.example/rack"]


def test_known_labels_of_a_topology_are_not_repeated():
    found = hierarchies(world((ZONE, BLOCK, RACK), topology(ZONE, BLOCK, RACK, HOST)))
    assert [one.name for one in found] == ["default", "zone"]


def test_topologies_of_one_name_name_their_sources():
    """Kueue and KAI may both have a default."""
    found = hierarchies(world(OWN, topology(*OWN), topology(*OWN, version="kai.scheduler/v1alpha1")))
    assert [one.name for one in found] == ["default", "default (Kueue Topology default)"]


@pytest.mark.parametrize("labels", [(HOST,), ()])
def test_a_topology_of_the_host_alone_is_no_hierarchy(labels):
    assert hierarchies(world(OWN, topology(*labels))) == ()


def test_a_label_that_no_node_has_leaves_every_node_out():
    """Kueue uses no node then, which a warning says."""
    found = hierarchies(world((RACK,), topology(BLOCK, RACK)))[0]
    assert (found.domains, len(found.left_out)) == ((), 8)


RACKS = (hyper("r0", 1, like("^n[0-3]$"), word="rack"), hyper("r1", 1, named("n4"), named("n5"), word="rack"))


def test_hypernodes_are_domains_and_tiers_are_levels():
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
    labels = LabelSelector(match_labels={OWN[0]: "0-0"})
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
    found = world((), *items)
    assert hierarchies(found)[0].path_of("n0")
    assert {finding.rule for finding in hierarchy_findings(found) if finding.rule.startswith("hyper")} == {rule}
