"""The frame around a drawing that keeps several such pods together, in the kernel."""

import pytest
from ipywidgets import Widget

from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session, read_sketch
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.plan_view import PlanView

LEVEL = {"level": "leaf switch", "hierarchy": "h100-pod"}


@pytest.fixture
def drawn():
    """Give a session with a drawing and the canvas that shows it."""
    session = Session("sample:h100-pod", sketch=read_sketch("sample:h100-pod/eight-pairs"))
    yield session, ClaimCanvas(session)
    session.close()
    Widget.close_all()


def send(canvas, **message) -> None:
    """Send a message as the browser does."""
    canvas._on_message(canvas, message, [])


def test_a_drawing_becomes_a_gang_and_the_workload_that_is_edited(drawn):
    """Without workloads, the drawing is one, with four pods below one leaf switch."""
    session, canvas = drawn
    send(canvas, type="make-gang")
    (pod,) = session.drawing.workloads
    assert (pod.pod, pod.gang.size, pod.gang.level) == ("eight-pairs", 4, "leaf switch")
    assert session.drawing.editing == "eight-pairs"
    assert canvas.gang["words"] == "1 gang of 4 pods, all in one leaf switch"


def test_the_frame_changes_the_gang_and_one_undo_brings_it_back(drawn):
    """Another size is one step; so is the frame itself."""
    session, canvas = drawn
    send(canvas, type="make-gang")
    send(canvas, type="set-gang", size=8, **LEVEL)
    assert canvas.gang["size"] == 8
    session.undo()
    assert canvas.gang["size"] == 4
    session.undo()
    assert canvas.gang == {}


def test_removing_the_frame_leaves_ordinary_pods(drawn):
    """A gang of four pods is four pods again."""
    session, canvas = drawn
    send(canvas, type="make-gang")
    send(canvas, type="set-gang", size=0)
    assert canvas.gang == {}
    assert session.fleet.workload("eight-pairs").replicas == 4


def test_a_drawing_beside_other_workloads_becomes_one_of_them(drawn):
    """The drawing is none of the workloads: its gang is another one, in one step."""
    session, canvas = drawn
    session.fleet.add(session.sketch, 2, "other")
    session.fleet.remove("eight-pairs")
    send(canvas, type="make-gang")
    assert [pod.pod for pod in session.fleet.workloads] == ["other", "eight-pairs"]
    session.undo()
    assert [pod.pod for pod in session.fleet.workloads] == ["other"]


def test_an_empty_drawing_has_nothing_to_keep_together(drawn):
    """The canvas says what to do first."""
    session, canvas = drawn
    session.edit(ClaimSketch())
    send(canvas, type="make-gang")
    assert "draw a request first" in canvas.problem


def test_plan_says_who_answers_for_the_gang(drawn):
    """The verdict in Plan is about one pod, and names Fleet for the gang."""
    session, canvas = drawn
    view = PlanView(session)
    session.plan()
    send(canvas, type="make-gang")
    asked = view.answer["asked"]
    assert asked.endswith("Fleet answers for 1 gang of 4 pods, all in one leaf switch.")
