"""Which nodes see a slice that is not of one node."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from small_nodes import a_slice, device

from dra_lab import Cluster, KubernetesRelease
from dra_lab.index.node_index import node_index
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta

LABELS = {"n1": {"zone": "a", "rack": "1"}, "n2": {"zone": "a"}, "n3": {"zone": "b", "rack": "1"}, "n4": {}}


def term(*requirements: tuple[str, ...], name: str = "") -> NodeSelectorTerm:
    """Return a term of (label, operator, values ...), and of the name of a node."""
    rows = tuple(NodeSelectorRequirement(key, operator, tuple(values)) for key, operator, *values in requirements)
    fields = (NodeSelectorRequirement("metadata.name", "In", (name,)),) if name else ()
    return NodeSelectorTerm(match_expressions=rows, match_fields=fields)


ZONE_A, RACK = ("zone", "In", "a"), ("rack", "Exists")
SELECTORS = {
    "a label": ([term(ZONE_A)], "n1 n2"),
    "two values": ([term(("zone", "In", "a", "b"))], "n1 n2 n3"),
    "two labels": ([term(ZONE_A, RACK)], "n1"),
    "two terms": ([term(ZONE_A), term(RACK)], "n1 n2 n3"),
    "a name": ([term(name="n4")], "n4"),
    "a name and a label": ([term(ZONE_A, name="n3")], ""),
    "not a label": ([term(("zone", "NotIn", "a"))], "n3 n4"),
    "no requirement": ([term()], ""),
    "no term": ([], ""),
}


def seeing(spec: dict[str, object], one_device: dict[str, object]) -> str:
    """Return the nodes that see the device of a slice with these fields."""
    published = a_slice("gpu.nvidia.com", replace(device("gpu", {}), **one_device), node="pool")
    published = replace(published, spec=replace(published.spec, node_name=None, **spec))
    nodes = tuple(Node(metadata=ObjectMeta(name=name, labels=labels)) for name, labels in LABELS.items())
    views = node_index(Cluster((published,), nodes=nodes), KubernetesRelease("1.37"))
    return " ".join(name for name in LABELS if views.view(name).devices)


@pytest.mark.parametrize(("terms", "nodes"), SELECTORS.values(), ids=SELECTORS)
@pytest.mark.parametrize("level", ["slice", "device"])
def test_nodes_see_a_slice_or_device_that_selects_them(level, terms, nodes):
    """A selector of a slice, or of one device of it, is met by the same nodes."""
    selector = NodeSelector(tuple(terms))
    if level == "slice":
        assert seeing({"node_selector": selector}, {}) == nodes
    else:
        assert seeing({"per_device_node_selection": True}, {"node_selector": selector}) == nodes


@pytest.mark.parametrize(
    ("spec", "one_device", "nodes"),
    [
        ({"all_nodes": True}, {}, "n1 n2 n3 n4"),
        ({"per_device_node_selection": True}, {"node_name": "n2"}, "n2"),
        ({"per_device_node_selection": True}, {"all_nodes": True}, "n1 n2 n3 n4"),
        ({"per_device_node_selection": True}, {}, ""),
    ],
    ids=["slice for all", "device of a node", "device for all", "device of none"],
)
def test_nodes_see_what_is_for_all_or_names_them(spec, one_device, nodes):
    """A slice or a device may be for all nodes, and a device for the one that it names."""
    assert seeing(spec, one_device) == nodes
