"""Nodes to add in the Fleet mode, in the kernel: what may be added, the answer, and the what-if changes it becomes."""

import pytest
from ipywidgets import Widget
from widget_messages import fleet_answered, say

from dra_lab import PlanView, Session

POD = "eight-pairs"


def gang(size: int) -> dict:
    """Return the message of the browser that keeps some pods below one leaf switch."""
    kept = {"size": size, "level": "leaf switch", "hierarchy": "h100-pod"}
    return {"type": "set-gang", "name": POD, "gang": kept}


@pytest.fixture
def fleet():
    """Give a session in Fleet mode whose gang of four pods fits in no leaf switch, and the view that shows it."""
    session = Session("sample:h100-pod")
    view = PlanView(session)
    session.show_mode("fleet")
    session.fleet.plan()
    send(session, view, **gang(4))
    yield session, view
    session.close()
    Widget.close_all()


def send(session, view, **message) -> dict:
    """Send a message of the browser, wait for the answers, and return what is shown of nodes to add."""
    say(view, **message)
    assert session.adding.wait(60)
    fleet_answered(session)
    return view.fleet_adding


def test_nodes_are_offered_if_pods_have_no_place(fleet):
    """The offer has a copy of each kind of node, and the innermost level of the gang's hierarchy."""
    _, view = fleet
    row = view.fleet_adding
    assert (row["needed"], row.get("found"), row["word"]) == (True, None, "leaf switch")
    assert [one["places"] for one in row["types"]] == ["any"] * len(row["types"])


def test_nothing_is_offered_if_all_pods_have_a_place(fleet):
    """A gang of two pods fits."""
    session, view = fleet
    assert not send(session, view, **gang(2)).get("needed")


def test_the_cheapest_nodes_are_shown_with_their_proof(fleet):
    """Three of four pods fit in one leaf switch, so one more node suffices, and nothing is cheaper."""
    session, view = fleet
    row = send(session, view, type="find-nodes")
    assert row["found"] == "nodes"
    assert row["verdict"].endswith("so that the gang fits. Nothing cheaper exists, proven.")
    assert [(new, count, cost) for _, _, new, count, cost in row["rows"]] == [(False, "1", "1")]
    assert "kind: ProvisioningRequest" in row["request"]


def test_the_nodes_that_were_found_become_a_change_with_which_all_fits(fleet):
    """The change names the leaf switch by a node in it, and one undo takes it out again."""
    session, view = fleet
    send(session, view, type="find-nodes")
    row = send(session, view, type="add-found-nodes")
    (layer,) = session.fleet.layers
    assert layer.beside in ("h100-05", "h100-06", "h100-07", "h100-08", "h100-13", "h100-14", "h100-15", "h100-16")
    assert not row.get("needed")
    assert "4 pods on 4 nodes" in view.fleet_answer["verdict"]
    session.undo()
    assert session.fleet.layers == ()


def test_a_new_leaf_switch_is_made_if_no_other_has_places(fleet):
    """Without a place in existing leaf switches, the whole gang goes below a new one."""
    session, view = fleet
    node = view.fleet_adding["types"][0]["node"]
    send(session, view, type="set-node-type", node=node, cost="2.5", places="0")
    send(
        session,
        view,
        type="set-new-domains",
        hierarchy="h100-pod",
        level="leaf switch",
        domains=1,
        nodes=4,
    )
    row = send(session, view, type="find-nodes")
    assert [(new, count, cost) for _, _, new, count, cost in row["rows"]] == [(True, "4", "10")]
    assert not send(session, view, type="add-found-nodes").get("needed")
    assert session.fleet.layers[0].level == "leaf switch"


def test_the_answer_says_if_no_number_of_nodes_helps(fleet):
    """No node may be added anywhere."""
    session, view = fleet
    for one in view.fleet_adding["types"]:
        send(session, view, type="set-node-type", node=one["node"], cost="1", places="0")
    row = send(session, view, type="find-nodes")
    assert row["found"] == "none"
    assert row["verdict"].startswith("No number of these nodes helps, proven.")


def test_an_answer_for_other_workloads_is_marked_and_cannot_be_added(fleet):
    """The person finds again first."""
    session, view = fleet
    send(session, view, type="find-nodes")
    assert send(session, view, **gang(5)).get("stale")
    send(session, view, type="add-found-nodes")
    assert session.fleet.layers == ()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"type": "set-node-type", "node": "h100-99"}, "h100-99"),
        ({"type": "set-node-type", "node": "h100-01", "cost": "dear"}, "enter a number above 0"),
        ({"type": "set-node-type", "node": "h100-01", "places": "some"}, "enter any, a number, or numbers by domain"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(fleet, message, words):
    """The view names the value and what to enter."""
    session, view = fleet
    send(session, view, **message)
    assert words in view.problem
