"""A session with running pods: what a drain says, and the moves that make room for a claim that does not fit."""

import pytest
from msgspec.structs import replace

from dra_lab import Session, read_sketch
from dra_lab.session.preparing import moved_layers
from dra_lab.words.verdict import MAKE_ROOM, fixes


@pytest.fixture
def session():
    """A session on a full cluster with a claim of a whole node, closed after the test."""
    made = Session("sample:h100-busy", sketch=read_sketch("sample:h100-busy/eight-pairs"))
    made.wait()
    yield made
    made.close()


def test_a_claim_that_does_not_fit_gets_the_moves_that_make_room(session):
    """The fix comes first, with the fewest pods, and applied as what-if changes the claim fits."""
    (fix, *_) = fixes(session.answer, session.room)
    assert (fix.title, fix.brings) == ("Move 2 pods, no fewer", "it fits; they leave dgx-14")
    assert fix.number == MAKE_ROOM
    session.fleet.what_if(*moved_layers(session.room.moves))
    assert session.plan().node == "dgx-14"
    assert [layer.words for layer in session.fleet.layers] == [
        "Move batch/tune-0 to dgx-13",
        "Move serving/rank-5f7b8-9qhcl to dgx-13",
    ]
    session.undo()
    assert not session.plan().fits


def test_what_a_card_says_of_drained_pods_holds_after_it_is_applied(session):
    """Pods that leave dgx-13 go where the card has them, also if another place is better after the moves."""
    wanted = (replace(one, exactly=replace(one.exactly, count=6)) for one in session.sketch.requests)
    session.edit(replace(session.sketch, requests=tuple(wanted)))
    session.fleet.what_if("drain dgx-13")
    session.wait()
    room, before = session.room, session.layer_notes[0]
    session.fleet.what_if(*moved_layers(room.moves))
    session.wait()
    assert session.plan().node == room.node
    assert {str(move) for move in session.cluster.moves} == {str(move) for move in room.moves}
    assert (session.refused_layers, session.layer_notes[0]) == ({}, before)


def test_moves_that_are_applied_are_not_offered_again(session):
    """The next card has its own moves alone."""
    session.fleet.what_if(*moved_layers(session.room.moves))
    session.wait()
    assert moved_layers(session.cluster.moves, session.fleet.layers) == ()


def test_a_drained_node_says_where_its_pods_go(session):
    """The note of the change has the sentence, and the pods are at their new nodes."""
    session.fleet.what_if("drain dgx-13")
    session.wait()
    assert session.layer_notes[0].startswith("3 pods leave dgx-13; 2 of them fit elsewhere.")
    assert {pod.metadata.name: pod.spec.node_name for pod in session.cluster.pods}["eval-1"] == "dgx-14"


def test_nothing_is_moved_where_no_pod_may(session):
    """With nothing in use the claim fits, and there is no room to make."""
    session.fleet.what_if("idle")
    session.wait()
    assert session.plan().fits
    assert session.room is None
