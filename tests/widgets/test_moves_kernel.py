"""The moves in the kernel: which pods may move, the steps, and one click that undoes them."""

import pytest
from ipywidgets import Widget
from widget_messages import say

from dra_lab import ClusterBar, PlanView, Session, read_sketch
from dra_lab.words.verdict import MAKE_ROOM


@pytest.fixture
def busy():
    """Give a session on a full cluster with a claim of a whole node, and its view."""
    session = Session("sample:h100-busy", sketch=read_sketch("sample:h100-busy/eight-pairs"))
    view = PlanView(session)
    session.wait()
    yield session, view
    session.close()
    Widget.close_all()


def send(session, view, **message) -> None:
    """Send a message of the browser, and wait for the answer."""
    say(view, **message)
    session.wait()


def test_the_moves_of_the_card_are_shown_before_they_are_applied(busy):
    """Picture, steps in their order, and a file with kubectl lines."""
    _, view = busy
    assert view.moves["sentence"].startswith("If 2 pods move, it fits: ")
    assert [step["number"] for step in view.moves["steps"]] == [1, 2]
    assert {step["words"] for step in view.moves["steps"]} == {"dgx-14 → dgx-13"}
    assert view.moves["svg"].startswith("<svg")
    assert "kubectl delete pod tune-0 --namespace batch --dry-run=server" in view.moves["markdown"]


def test_fewer_namespaces_change_the_answer_and_say_what_is_left_out(busy):
    """No move of pods of one namespace makes room; one undo brings the card back."""
    session, view = busy
    send(session, view, type="set-movable", namespaces=["batch"])
    assert view.moves["sentence"] == "No move makes room: 4 running pods may move."
    assert "fixes" not in view.answer
    chosen = [name for name, on in view.moves["movable"]["namespaces"] if on]
    assert (chosen, view.moves["movable"]["lines"][1]) == (["batch"], "3 pods of serving may not move.")
    session.undo()
    session.wait()
    assert view.moves["fix"] == MAKE_ROOM


def test_labels_narrow_the_pods_and_a_wrong_one_says_what_to_write(busy):
    """The question stays what it was."""
    session, view = busy
    send(session, view, type="set-movable", namespaces=[], labels="tier=spot")
    assert view.moves["movable"]["lines"][0] == "0 of 12 running pods may move."
    send(session, view, type="set-movable", namespaces=[], labels="tier in (spot)")
    assert "'tier in (spot)' is not KEY=VALUE; write for example tier=spot" in view.problem
    assert view.moves["movable"]["labels"] == "tier=spot"


def test_the_pods_that_may_move_are_kept_in_the_plan_file(tmp_path):
    """A session that reads the file asks the same."""
    file = tmp_path / "room.dralab.yaml"
    session = Session("sample:h100-busy", sketch=read_sketch("sample:h100-busy/eight-pairs"), file=file)
    view = PlanView(session)
    session.wait()
    send(session, view, type="set-movable", namespaces=["batch"], labels="tier=spot")
    session.close()
    again = Session(file=file)
    again.close()
    Widget.close_all()
    assert again.drawing.movable == session.drawing.movable


def test_one_undo_of_the_line_of_changes_removes_all_moves_of_a_card(busy):
    """Two of the moves alone would make no room."""
    session, view = busy
    bar = ClusterBar(session)
    send(session, view, type="apply-suggestion", number=MAKE_ROOM)
    assert len(session.fleet.layers) == 2
    assert "fix" not in view.moves
    send(session, bar, type="undo-what-if")
    assert session.fleet.layers == ()


def test_the_moves_for_one_pod_are_not_shown_for_two(busy):
    """Fleet asks for two pods, for which no room was looked for."""
    session, view = busy
    session.show_mode("fleet")
    assert view.moves["fix"] == MAKE_ROOM
    session.fleet.set_replicas("eight-pairs", 2)
    session.fleet.plan()
    assert view.moves == {}


def test_a_drained_node_shows_where_its_pods_go(busy):
    """Those that go nowhere come first, without a number."""
    session, view = busy
    send(session, view, type="add-layer", change="drain", subject="dgx-13")
    assert [(step.get("number", 0), step["words"]) for step in view.moves["steps"]] == [
        (0, "leaves dgx-13"),
        (1, "dgx-13 → dgx-14"),
        (2, "dgx-13 → dgx-14"),
    ]
    assert view.moves["steps"][0]["lines"] == ["Will not come back by itself: it has no owner."]
