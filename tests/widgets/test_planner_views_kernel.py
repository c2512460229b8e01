"""HardwareView and Lab without a browser: what a session makes of them, what messages do."""

from __future__ import annotations

import re
import threading
import time

import pytest
from ipywidgets import Widget
from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab.errors import SourceError
from dra_lab.model.plan import PlanStatus
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import read_sketch
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.device_rows import fleet
from dra_lab.widgets.hardware_view import HardwareView
from dra_lab.widgets.kernel_loop import LoopPoster
from dra_lab.widgets.lab import Lab
from dra_lab.widgets.plan_view import PlanView

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


def test_a_look_at_a_node_outlasts_the_answers_of_a_cluster_that_is_followed(session):
    """They arrive every second, and without this rule only the plan's node could be viewed."""
    view = HardwareView(session)
    other = session.cluster.node_names[-1]
    say(view, type="node", name=other)
    session._take_live(session.cluster.with_objects(claims=session.cluster.claims[1:]))
    answered(session)
    assert view.node == other


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
    say(view, type="pin", name=session.cluster.node_names[2])
    answered(session)
    assert view.pinned == session.answer.node == session.cluster.node_names[2]
    say(view, type="pin", name="")
    answered(session)
    assert (view.pinned, view.node) == ("", node)
    say(view, type="pin", name="nowhere")
    assert "nowhere" in view.problem


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


def test_both_says_where_kube_scheduler_takes_the_same_devices_either_way(session):
    """A claim for all GPUs of a node leaves nothing to choose, so there is nothing more to draw."""
    view = HardwareView(session)
    session.edit(ClaimSketch(name="all", requests=(counted(session.sketch.requests[0], 8),)))
    session.pin("ip-192-168-140-52.ec2.internal")
    answered(session)
    view.show = "both"
    assert view.caption.endswith("kube-scheduler takes the same")


def counted(request, count):
    return replace(request, exactly=replace(request.exactly, count=count))


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


def test_the_graph_comes_when_asked_and_goes_again(session):
    """The tree is made only while it is open, and has every device of the picture."""
    view = HardwareView(session)
    assert view.graph == ""
    say(view, type="graph")
    assert sorted(re.findall(r'data-id="([^"]+)"', view.graph)) == sorted(re.findall(r'data-id="([^"]+)"', view.svg))
    say(view, type="close-graph")
    assert view.graph == ""


def test_the_picture_is_laid_out_for_the_width_that_the_browser_has(session):
    """The text keeps its size; the boxes are arranged for the width."""
    view = HardwareView(session)
    view.width = 480
    assert ' width="480"' in view.svg
    view.width = 820
    assert ' width="820"' in view.svg


def test_many_nodes_are_classes_and_not_tiles(session, monkeypatch):
    """Above the limit of tiles the strip has a row a class, most nodes first."""
    monkeypatch.setattr("dra_lab.pictures.node_strip.MOST_TILES", 2)
    strip = fleet(session.cluster, session.answer)
    assert strip.kind == "classes"
    assert sum(item.nodes for item in strip.items) == strip.total == 4
    counts = [item.nodes for item in strip.items]
    assert counts == sorted(counts, reverse=True)


def test_an_answer_of_another_cluster_is_not_shown(session):
    """Between loading and the next answer no view shows the old one on the new nodes."""
    view = HardwareView(session)
    go = threading.Event()
    session._worker.submit(lambda stop: go.wait(10) and None)
    session.load("sample:dgx-h100")
    assert all(item.get("fit", "unknown") == "unknown" for item in view.fleet["items"])
    go.set()
    answered(session)
    assert view.node.startswith("dgx-")


def test_views_share_one_highlight(session):
    """What is lit in one view is lit in the others, through the session."""
    plan_view, hardware = PlanView(session), HardwareView(session)
    hardware.highlight = "gpu"
    assert plan_view.highlight == session.highlight == "gpu"


def test_a_defect_of_one_pane_leaves_the_others_alone(session, monkeypatch):
    """A picture that cannot be drawn is reported in its own pane; the fleet beside it is there."""

    def broken(*_arguments, **_options):
        raise ValueError("no paint")

    monkeypatch.setattr("dra_lab.pictures.hardware.hardware_svg", broken)
    view = HardwareView(session)
    assert "no paint" in view.problem
    assert view.fleet["items"]


def test_a_closed_view_follows_no_longer(session):
    """Closing ends every subscription."""
    view = PlanView(session)
    view.close()
    session.edit(ClaimSketch(name="later"))
    assert "later" not in view.yaml


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
    assert len(lab.devices()) == 60


def test_lab_closes_once(lab):
    """Closing ends worker and views; a second time nothing happens."""
    lab.close()
    lab.close()
    assert lab.comm is None


def test_lab_refuses_a_cluster_that_is_not_there():
    """The error of the reader comes through."""
    with pytest.raises(SourceError, match="nowhere"):
        Lab("/nowhere", file=None)


def test_callbacks_of_the_worker_run_on_the_loop_of_the_kernel():
    """Calls from another thread wait for the loop, calls from its own thread run at once."""
    import asyncio

    async def main() -> tuple[list[int], int]:
        seen: list[int] = []
        post = LoopPoster()
        post(lambda: seen.append(threading.get_ident()))
        thread = threading.Thread(target=lambda: post(lambda: seen.append(threading.get_ident())))
        thread.start()
        thread.join()
        assert len(seen) == 1
        await asyncio.sleep(0)
        return seen, threading.get_ident()

    seen, own = asyncio.run(main())
    assert seen == [own, own]


def test_the_first_screen_is_small(session):
    """Opening the planner on the example sends the browser less than 200 kB beside the code."""
    import json

    started = time.perf_counter()
    views = (ClusterBar(session), PlanView(session), HardwareView(session))
    size = sum(
        len(json.dumps({key: value for key, value in view.get_state().items() if not key.startswith("_")}, default=str))
        for view in views
    )
    assert size < 200_000, (size, time.perf_counter() - started)


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
