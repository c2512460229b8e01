"""`picture` draws what any answer is about."""

from __future__ import annotations

import re

import pytest

from dra_lab import (
    PodGroup,
    Workload,
    frame,
    load_cluster,
    make_plan,
    make_room,
    picture,
    read_sketch,
    with_more_nodes,
    without_nodes,
)
from dra_lab.errors import InputError

CLUSTER, CLAIM = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
PODS = Workload("pods", CLAIM, replicas=2)


@pytest.mark.parametrize(
    "what",
    [CLAIM, PODS, Workload("gang", [PodGroup("pods", CLAIM, count=2)], level="host")],
    ids=["pod", "pods", "gang"],
)
def test_the_devices_of_a_plan_are_marked_on_its_first_node(what):
    plan = make_plan(CLUSTER, what)
    drawn, rows = picture(plan), frame(plan)
    assert drawn.node == min(rows["node"])
    assert str(drawn).count('data-request="') == (rows["node"] == drawn.node).sum()


def test_a_misfit_is_drawn_on_the_node_that_its_reason_names(tmp_path):
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
        (lambda: frame(7), "answer is a cluster, findings, or what a question returned, not an int"),
    ],
)
def test_what_cannot_be_shown_is_refused_by_its_argument(ask, message):
    with pytest.raises(InputError, match=message):
        ask()


PAIRS = "sample:h100-busy/eight-pairs"


@pytest.fixture(scope="module")
def room():
    """The plan of a pod that needs a whole node, after two pods have moved from dgx-14 to dgx-13."""
    return make_room(load_cluster("sample:h100-busy"), read_sketch(PAIRS))


def drawn(svg: str, state: str) -> list[str]:
    """Return the tooltips of the parts of bars in a state."""
    return re.findall(rf'<g class="dra-mv-{state}"><title>([^<]*)</title>', svg)


def test_a_moved_pod_is_on_the_node_that_it_leaves_and_on_the_one_that_it_reaches(room):
    svg = str(picture(room, kind="moves"))
    assert drawn(svg, "leaves") == ["batch/tune-0: 1 GPU, leaves", "serving/rank-5f7b8-9qhcl: 2 GPUs, leaves"]
    assert [one.replace("arrives", "leaves") for one in drawn(svg, "arrives")] == drawn(svg, "leaves")
    assert drawn(svg, "new") == ["eight-pairs: 8 GPUs, new pod"]


def test_a_screen_reader_gets_the_steps_in_their_order(room):
    found = re.search('aria-label="([^"]*)"', str(picture(room, kind="moves")))
    assert found is not None
    assert found[1] == (
        "GPUs of the nodes that take part. 1. Move batch/tune-0 from dgx-14 to dgx-13. "
        "2. Move serving/rank-5f7b8-9qhcl from dgx-14 to dgx-13."
    )


def test_moves_between_the_same_nodes_share_an_arrow(room):
    svg = str(picture(room, kind="moves"))
    assert svg.count("dra-mv-arrow") == 1 + svg.count(".dra-mv-arrow")
    assert ">1–2<" in svg


def test_only_nodes_that_take_part_are_drawn():
    cluster = load_cluster("sample:h100-busy")
    larger = with_more_nodes(without_nodes(cluster, ["dgx-11"]), like="dgx-12", count=500)
    svg = str(picture(make_plan(larger, []), kind="moves"))
    assert len(re.findall("<title>dgx-[^<:]*</title>", svg)) <= 1 + 3
    assert len(svg) < 30_000


def test_a_pod_of_a_drained_node_without_a_place_is_marked():
    plan = make_plan(without_nodes(load_cluster("sample:h100-busy"), ["dgx-13"]), [])
    svg = str(picture(plan, kind="moves"))
    assert drawn(svg, "lost") == ["research/notebook-ada: 1 GPU, has no next place"]
    assert ">drained<" in svg


def test_a_plan_without_moves_has_no_such_picture():
    cluster = load_cluster("sample:two-sockets")
    plan = make_plan(cluster, read_sketch("sample:two-sockets/lesson"))
    with pytest.raises(InputError, match="no pod moves or leaves a node"):
        picture(plan, kind="moves")
