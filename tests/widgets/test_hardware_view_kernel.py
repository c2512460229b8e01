"""HardwareView and Lab without a browser: what a session makes of them, what messages do."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from ipywidgets import Widget
from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab import ClusterBar, HardwareView, Lab, PlanView, Session, frame, load_cluster, read_sketch
from dra_lab.model.plan import PlanStatus
from dra_lab.topology.locality import device_names

# ---------------------------------------------------------------- HardwareView


def test_the_picture_is_of_the_plans_node(session):
    """Without a wish the plan's node is drawn, with the chosen devices on it."""
    view = HardwareView(session)
    assert view.node == session.answer.node
    assert view.svg.count('data-request="gpu"') == 2
    assert [item["fit"] for item in view.fleet["items"]].count("best") == 3


def test_a_click_looks_at_a_node_until_the_next_answer(session):
    """Looking changes neither drawing nor answer; the next answer shows itself again."""
    view = HardwareView(session)
    other = session.cluster.node_names[-1]
    number = session.number
    say(view, type="node", name=other)
    assert (view.node, session.number, session.drawing.node) == (other, number, "")
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    answered(session)
    assert view.node == session.answer.node


def test_a_device_that_is_found_on_a_folded_root_is_drawn_and_marked():
    """A low pane folds the roots without GPUs; looking at a NIC there opens them."""
    pair = read_sketch("sample:oke-gb200/one-pair")
    with closing(Session("sample:oke-gb200", sketch=replace(pair, requests=pair.requests[:1], links=()))) as session:
        session.plan()
        view = HardwareView(session)
        view.height = 1
        nic = next(one for one in device_names(session.cluster, view.node) if one.driver == "dra.net")
        assert str(nic) not in view.svg
        session.look_at(view.node, str(nic))
        assert (view.looked, str(nic) in view.svg) == (str(nic), True)


def test_the_picture_of_a_refusal_is_of_the_node_that_it_names(session):
    """Where nothing fits, the node of the first reason is drawn, so that words and picture speak of the same."""
    view = HardwareView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert view.node == session.answer.shortfalls[0].node != session.cluster.node_names[0]


def test_a_pin_plans_on_that_node(session):
    """`pin` holds the plan to a node, "" lets it go; an unknown node is a problem."""
    view = HardwareView(session)
    node = session.answer.node
    say(view, type="pin", node=session.cluster.node_names[2])
    answered(session)
    assert view.pinned == session.answer.node == session.cluster.node_names[2]
    say(view, type="pin", node="")
    answered(session)
    assert (view.pinned, view.node) == ("", node)
    say(view, type="pin", node="nowhere")
    assert "nowhere" in view.problem


def test_the_kind_of_an_unknown_driver_is_set_and_its_profile_can_be_kept(tmp_path):
    """The guess is marked until a kind is set; the profile on the view is a file that gives the same kind."""
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "npu.acme.io", "nodeName": "n1", "pool": pool, "devices": [{"name": "npu-0"}]}
    slices = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}
    (tmp_path / "slices.json").write_text(json.dumps(slices))
    with closing(Session(tmp_path / "slices.json")) as session:
        answered(session)
        view = HardwareView(session)
        assert [(row["kind"], row["guessed"]) for row in view.kinds] == [("gpu", True)]
        say(view, type="set-kind", driver="npu.acme.io", kind="nic")
        answered(session)
        assert [(row["kind"], row.get("guessed")) for row in view.kinds] == [("nic", None)]
        say(view, type="set-kind", driver="npu.acme.io", kind="fpga")
        assert "use one of gpu, nic" in view.problem
        (tmp_path / "own.yaml").write_text(view.kinds[0]["profile"])
    kept = load_cluster(tmp_path / "slices.json", drivers=tmp_path / "own.yaml")
    assert frame(kept).kind.tolist() == ["nic"]


def test_what_is_shown_redraws_the_picture(session):
    """The comparison with kube-scheduler is another picture."""
    view = HardwareView(session)
    before = view.svg
    view.show = "plain"
    assert view.svg != before


def test_both_shows_what_differs_where_the_manifest_gives_the_best(session):
    """With this manifest kube-scheduler takes the best: what it takes without links lies over it, and is told."""
    view = HardwareView(session)
    assert {p.device for p in session.answer.first_fit.placements} == set(session.answer.chosen())
    view.show = "both"
    assert "dra-hw-only-k" in view.svg.split("dra-hw-legend")[0].split("</style>")[1]
    assert "only kube-scheduler without links" in view.svg
    assert view.caption.endswith("K: without links")
    view.show = "best"
    assert "K:" not in view.caption


def test_a_cluster_without_slices_is_an_empty_state_with_one_way_out(session):
    """No ResourceSlices: a sentence and an action, which loads the sample."""
    from dra_lab.model.cluster import Cluster
    from dra_lab.model.nodes import Node, ObjectMeta

    view = HardwareView(session)
    session.load(Cluster(name="bare", nodes=(Node(metadata=ObjectMeta(name="a")),)))
    answered(session)
    assert (view.svg, bool(view.empty), bool(view.empty_action)) == ("", True, True)
    say(view, type="sample")
    answered(session)
    assert view.svg
    assert view.empty == ""


def test_the_picture_is_laid_out_for_the_width_that_the_browser_has(session):
    """The text keeps its size; the boxes are arranged for the width."""
    view = HardwareView(session)
    view.width = 480
    assert ' width="480"' in view.svg
    view.width = 820
    assert ' width="820"' in view.svg


def test_views_share_one_highlight(session):
    """What is lit in one view is lit in the others, through the session."""
    plan_view, hardware = PlanView(session), HardwareView(session)
    hardware.highlight = "gpu"
    assert plan_view.highlight == session.highlight == "gpu"


def test_the_strip_has_the_plans_node_first_and_those_that_do_not_fit_last(session):
    """Each with what tells it apart, and its state in a word; a tooltip has the whole sentence."""
    strip = HardwareView(session).fleet
    assert strip["items"][0]["id"] == strip["best"]
    assert [(item["label"], item["fit"], item.get("word", "")) for item in strip["items"]] == [
        ("128-17", "best", ""),
        ("140-52", "best", "idle"),
        ("149-201", "best", ""),
        ("158-9", "no", "full"),
    ]
    assert strip["items"][-1]["detail"] == "does not fit now; would if it were idle"


def test_the_nearest_node_of_a_misfit_comes_first_with_its_pairs(session):
    """How far the claim gets is known of this node; the others say that it does not fit."""
    view = HardwareView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    words = [(item["label"], item["word"]) for item in view.fleet["items"]]
    assert words[:2] == [("140-52", "4 of 5 pairs"), ("128-17", "does not fit")]


def test_many_nodes_are_classes_with_a_heat_map_of_their_racks(session):
    """The strip has a row for each class, most nodes first, and a cell for each rack with a node to look at."""
    session.fleet.what_if(f"add 80={session.cluster.node_names[1]}")
    answered(session)
    strip = HardwareView(session).fleet
    counts = [item.get("nodes", 1) for item in strip["items"]]
    assert (strip["kind"], sum(counts), counts) == ("classes", 84, sorted(counts, reverse=True))
    assert all(cell["id"] in session.cluster.node_by_name for cell in strip["heat"]["cells"])


# ---------------------------------------------------------------- Lab


@pytest.fixture
def lab():
    made = Lab(file=None)
    yield made
    made.close()
    Widget.close_all()


def test_lab_ties_four_views_to_one_session(lab):
    """The parts show the same session; methods hand over to it."""
    assert lab.plan().fits
    assert lab.bar.source == lab.cluster.name == "sample:eks-p4d"
    lab.sketch = read_sketch("sample:eks-p4d/five-pairs")
    assert lab.plan().status is PlanStatus.INFEASIBLE
    assert lab.undo()
    assert lab.redo()
    assert repr(lab).startswith("Lab('sample:eks-p4d')")


def test_lab_writes_pictures_manifests_and_tables(lab, tmp_path):
    """What leaves the planner by mouse leaves it by method as well."""
    lab.plan()
    assert lab.draw(tmp_path / "plan.html").read_text().startswith("<!")
    names = ["resourceclaimtemplate.yaml", "pod.yaml", "kustomization.yaml", "plan.json"]
    assert [path.name for path in lab.export(tmp_path / "out", pin=True)] == names
    assert len(frame(lab.cluster)) == 60


def test_the_first_screen_is_small(session):
    """Opening the planner on the example sends the browser less than 200 kB beside the code."""
    views = (ClusterBar(session), PlanView(session), HardwareView(session))
    size = sum(
        len(json.dumps({key: value for key, value in view.get_state().items() if not key.startswith("_")}, default=str))
        for view in views
    )
    assert size < 200_000


def test_a_planner_whose_file_is_opened_again_ends_and_says_so(tmp_path):
    """Two planners of one file would write over each other; the first does not leave a blank place."""
    file = tmp_path / "twice.dralab.yaml"
    first, second = Lab(file=file), Lab(file=file)
    (error,) = first.children
    assert "another cell opened twice.dralab.yaml again" in error.value
    assert (first.bar.comm, second.bar.comm is None) == (None, False)
    for lab in (first, second):
        lab.close()
    assert (error.comm, first.comm) == (None, None)
