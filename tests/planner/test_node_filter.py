"""Nodes that a pod's own words admit."""

import pytest

from dra_lab import Cluster, load_cluster
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.planner.node_tests import admitted_nodes, only_nodes

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
NODES = Cluster(
    nodes=(
        Node(metadata=ObjectMeta(name="a", labels={"zone": "1"})),
        Node(metadata=ObjectMeta(name="b", labels={"zone": "2"}), spec=NodeSpec(taints=(TAINT,))),
        Node(metadata=ObjectMeta(name="c", labels={"zone": "2"}), spec=NodeSpec(unschedulable=True)),
    )
)


def _affinity(operator, *values):
    term = {"matchExpressions": [{"key": "zone", "operator": operator, "values": list(values)}]}
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


ANYWHERE = {"tolerations": [{"operator": "Exists"}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "a"),
        (ANYWHERE, "abc"),
        ({"tolerations": [{"key": "gpu", "value": "yes"}]}, "ab"),
        ({"tolerations": [{"key": "gpu", "value": "no"}]}, "a"),
        ({"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]}, "a"),
        ({**ANYWHERE, "nodeName": "b"}, "b"),
        ({**ANYWHERE, "nodeSelector": {"zone": "2"}}, "bc"),
        ({**ANYWHERE, **_affinity("NotIn", "2")}, "a"),
        ({**ANYWHERE, **_affinity("In", "2")}, "bc"),
    ],
)
def test_a_pod_goes_where_its_words_allow(spec, expected):
    """Node name, selector, required affinity, taints and cordoned nodes, as kube-scheduler's filters read them."""
    assert "".join(admitted_nodes(NODES, spec)) == expected


def test_a_daemonset_tolerates_cordoned_nodes():
    """The DaemonSet controller gives its pods that toleration."""
    assert "c" in admitted_nodes(NODES, {}, per_node=True)


def test_a_part_of_a_cluster_keeps_its_slices():
    """The nodes that are left have all their slices, the others none."""
    cluster = load_cluster("sample:eks-p4d")
    part = only_nodes(cluster, cluster.node_names[:1])
    assert part.node_names == cluster.node_names[:1]
    assert part.slices_by_node[cluster.node_names[0]] == cluster.slices_by_node[cluster.node_names[0]]
