"""What was worked out of a cluster is known on where nothing changed that it depends on."""

import pytest
from msgspec.structs import replace

from dra_lab.model.nodes import NodeSpec
from dra_lab.sources import load_cluster


def cordoned(node):
    """The node, as kubectl cordon leaves it."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return replace(node, spec=NodeSpec(unschedulable=True, taints=(taint,)))


def moved(node):
    """The node with another label."""
    return replace(node, metadata=replace(node.metadata, labels={**node.metadata.labels, "rack": "7"}))


@pytest.mark.parametrize(("change", "kept"), [(cordoned, True), (moved, False)])
def test_hardware_is_known_on_unless_a_node_has_other_labels(change, kept):
    """Selectors of slices ask for labels, and nothing of devices depends on taints, state or versions of nodes."""
    before = load_cluster("sample:eks-p4d")
    after = before.with_objects(nodes=(change(before.nodes[0]), *before.nodes[1:]))
    assert after.node_by_name[before.nodes[0].name] is after.nodes[0]
    assert (after.hardware is before.hardware, after.gathered is before.gathered) == (kept, kept)


def test_a_node_that_goes_takes_what_was_worked_out_with_it():
    """There are other nodes then."""
    before = load_cluster("sample:eks-p4d")
    after = before.with_objects(nodes=before.nodes[1:])
    assert after.hardware is not before.hardware
