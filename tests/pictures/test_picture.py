"""`picture` draws what any answer is about."""

from __future__ import annotations

import pytest

from dra_lab import PodGroup, Workload, frame, load_cluster, make_plan, picture, read_sketch, without_nodes
from dra_lab.errors import InputError

CLUSTER, CLAIM = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
PODS = Workload("pods", CLAIM, replicas=2)


@pytest.mark.parametrize(
    "what",
    [CLAIM, PODS, Workload("gang", [PodGroup("pods", CLAIM, count=2)], level="host")],
    ids=["pod", "pods", "gang"],
)
def test_the_devices_of_a_plan_are_marked_on_its_first_node(what):
    """One pod, many pods and gangs: the picture has a request or a pod on every device that the frame has there."""
    plan = make_plan(CLUSTER, what)
    drawn, rows = picture(plan), frame(plan)
    assert drawn.node == min(rows["node"])
    assert str(drawn).count('data-request="') == (rows["node"] == drawn.node).sum()


def test_a_misfit_is_drawn_on_the_node_that_its_reason_names(tmp_path):
    """The file has the picture that the notebook shows."""
    plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/five-pairs"))
    drawn = picture(plan)
    assert drawn.node in {reason.node for reason in plan.shortfalls}
    assert drawn.save(tmp_path / "node.svg").read_text("utf-8") == str(drawn) == drawn._repr_html_()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: picture("sample:two-sockets"), "answer is a Cluster or a plan, not a str"),
        (lambda: picture(CLUSTER, kind="tree"), "kind 'tree' is not known; use hardware, graph"),
        (lambda: picture(CLUSTER, show="worst"), "show 'worst' is not known; use best"),
        (lambda: picture(without_nodes(CLUSTER, CLUSTER.node_names)), "the cluster has no nodes to draw"),
        (lambda: frame(CLUSTER, "pods"), "view 'pods' is not known here; use devices"),
        (lambda: frame(7), "answer is a cluster, findings, or what a question returned, not a int"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_its_argument(ask, message):
    """The message names the argument and what it can be."""
    with pytest.raises(InputError, match=message):
        ask()
