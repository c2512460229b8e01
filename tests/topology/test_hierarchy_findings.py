"""What is reported about hierarchies, each rule on the smallest cluster that shows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from labelled_nodes import BLOCK, CLIQUE, HOST, RACK, ZONE, labelled, topology
from msgspec import structs

from dra_lab import check
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import NodeSpec, ObjectMeta
from dra_lab.model.queues import Configuration
from dra_lab.model.topologies import ResourceFlavor, ResourceFlavorSpec
from dra_lab.topology.hierarchies import hierarchy_findings

AWS = "topology.k8s.aws/network-node-layer-"
LONG = f"{'d' * 60}.example/{'k' * 10}"


def two_racks(*racks: str) -> list[dict[str, str]]:
    """Return the labels of nodes in racks of one block."""
    return [{BLOCK: "b", RACK: rack} for rack in racks]


def flavor(**labels: str) -> ResourceFlavor:
    """Return a flavor of the Topology `default`."""
    spec = ResourceFlavorSpec(node_labels=labels, topology_name="default")
    return ResourceFlavor(metadata=ObjectMeta(name="tas"), spec=spec, api_version="kueue.x-k8s.io/v1beta2")


def with_state(world: Cluster, node: int, spec: NodeSpec) -> Cluster:
    """Return a cluster of which one node has another spec."""
    nodes = list(world.nodes)
    nodes[node] = structs.replace(nodes[node], spec=spec)
    return replace(world, nodes=tuple(nodes))


def taint(key: str) -> NodeSpec:
    return NodeSpec(taints=({"key": key, "effect": "NoSchedule"},))


EVEN = labelled(*two_racks("r1", "r1", "r2", "r2"))
REVERSED = [{f"{AWS}1": "top", f"{AWS}2": f"s{n // 4}", f"{AWS}3": f"l{n // 2}"} for n in range(8)]


@pytest.mark.parametrize(
    ("rule", "world"),
    [
        ("nodes-left-out", labelled(*two_racks("r1", "r1", "r2", "r2"), {BLOCK: "b"})),
        ("domain-name-reused", labelled(*({BLOCK: f"b{n // 4}", RACK: f"{n // 2 % 2}"} for n in range(8)))),
        ("domain-one-node", labelled(*two_racks("r1", "r1", "r2"))),
        ("domain-sizes-differ", labelled(*two_racks("r1", "r1", "r1", "r2", "r2"))),
        ("level-equals-parent", labelled(*({BLOCK: f"b{n // 2}", RACK: f"r{n // 2}"} for n in range(4)))),
        (
            "level-order",
            labelled(*REVERSED, objects=(topology(f"{AWS}3", f"{AWS}2", HOST),)),
        ),
        ("level-key-long", labelled({LONG: "r"}, {LONG: "r"}, objects=(topology(LONG, HOST),))),
        ("domain-name-long", labelled(*({RACK: "r" * 64} for _ in "ab"))),
        ("domain-name-hashed", labelled(*({"fabric.topograph.run/tier-0": "x3e4f1a2b3c4d5e6f"} for _ in "ab"))),
        (
            "flavor-hides-nodes",
            labelled(
                *({BLOCK: "b", "pool": f"p{n}"} for n in range(2)), objects=(topology(BLOCK, HOST), flavor(pool="p0"))
            ),
        ),
        ("nodes-cordoned", with_state(EVEN, 1, NodeSpec(unschedulable=True))),
        ("nodes-not-ready", with_state(EVEN, 1, taint("node.kubernetes.io/not-ready"))),
        ("nodes-tainted", with_state(EVEN, 1, taint("nvidia.com/gpu"))),
    ],
)
def test_a_rule_and_no_other(rule, world):
    assert [finding.rule for finding in hierarchy_findings(world)] == [rule]


@pytest.mark.parametrize(
    "world",
    [
        EVEN,
        labelled({ZONE: "a"}, {ZONE: "a"}, {ZONE: "b"}),
        labelled(*({CLIQUE: f"u{n // 2}.0"} for n in range(4))),
        labelled(*REVERSED),
        labelled(*two_racks("r1", "r1"), objects=(topology(BLOCK, RACK, HOST), flavor())),
    ],
    ids=["racks", "zones", "cliques", "AWS layers", "Kueue"],
)
def test_nothing_is_reported_of_what_is_right(world):
    assert hierarchy_findings(world) == ()


def test_a_level_that_contains_the_outer_one_need_not_be_known():
    """Each of two blocks contains two of the racks, which are named as the outer level."""
    rows = [{"x/rack": f"r{n // 2}", "x/block": f"b{n // 4}"} for n in range(8)]
    found = hierarchy_findings(labelled(*rows, objects=(topology("x/rack", "x/block", HOST),)))
    assert [finding.rule for finding in found] == ["level-order"]


def test_a_reused_name_says_that_kube_scheduler_merges():
    """Kueue and KAI compare paths, kube-scheduler compares one label."""
    world = labelled(*({BLOCK: f"b{n // 2}", RACK: "1"} for n in range(4)))
    [finding] = [found for found in hierarchy_findings(world) if found.rule == "domain-name-reused"]
    assert finding.message == f"{RACK}=1 is in several places: b0/1, b1/1"
    assert "kube-scheduler compares this label alone, so it merges them" in finding.advice


def test_a_topology_that_no_flavor_names_is_not_used():
    other = structs.replace(flavor(), spec=ResourceFlavorSpec(topology_name="other"))
    world = labelled(*two_racks("r1", "r1"), objects=(topology(BLOCK, RACK, HOST), other))
    [finding] = hierarchy_findings(world)
    assert "no ResourceFlavor names this Topology" in finding.message


@pytest.mark.parametrize(("gates", "ignored"), [({}, False), ({"TASNodeFeasibilityForAllLevels": False}, True)])
def test_a_tainted_node_below_a_topology_without_host_names(gates, ignored):
    """Kueue 0.20 respects taints although the host name is not the last level, unless its gate for that is off."""
    world = with_state(labelled(*two_racks("r1", "r1"), objects=(topology(BLOCK, RACK),)), 0, taint("nvidia.com/gpu"))
    found = hierarchy_findings(world.with_objects(queues=(Configuration(feature_gates=gates),)))
    assert ("Kueue ignores taints in Topology default" in found[0].advice) == ignored


def test_a_change_of_taints_is_seen():
    before = [finding.rule for finding in hierarchy_findings(EVEN)]
    after = EVEN.with_objects(nodes=with_state(EVEN, 0, NodeSpec(unschedulable=True)).nodes)
    assert (before, [finding.rule for finding in hierarchy_findings(after)]) == ([], ["nodes-cordoned"])


def test_warnings_are_among_the_findings_of_the_cluster():
    """Notes are printed by `dra-lab topology` alone."""
    reused = labelled(*({BLOCK: f"b{n // 4}", RACK: f"{n // 2 % 2}"} for n in range(8)))
    uneven = labelled(*two_racks("r1", "r1", "r2"))
    assert [[finding.rule for finding in check(world)] for world in (reused, uneven)] == [
        ["domain-name-reused"],
        [],
    ]


@pytest.mark.parametrize("key", [{}, {"key": None}, {"key": {}}])
def test_a_taint_without_a_usable_key_is_reported_like_another(key):
    world = with_state(EVEN, 1, NodeSpec(taints=({"effect": "NoSchedule", **key},)))
    assert "nodes-tainted" in {finding.rule for finding in hierarchy_findings(world)}
