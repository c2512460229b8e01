"""ClaimCanvas with a session and several claims: what the browser is told, and what it cannot do."""

from __future__ import annotations

from msgspec.structs import replace
from widget_messages import answered

from dra_lab.model.sketch import Link, pod_drawing
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.plan_view import PlanView
from dra_lab.widgets.wire import wire


def drawn(session):
    """Draw a pod with the session's claim twice, and return it."""
    pod = pod_drawing("train", (replace(session.sketch, name="a"), replace(session.sketch, name="b")))
    session.edit(pod)
    answered(session)
    return pod


def test_each_claim_says_its_field_and_the_name_of_its_template(session):
    canvas = ClaimCanvas(session)
    drawn(session)
    assert canvas.status["claims"] == {
        "a": {"field": "spec.resourceClaims[0].name", "template": "train-a"},
        "b": {"field": "spec.resourceClaims[1].name", "template": "train-b"},
    }


def test_requests_and_links_have_the_rows_of_their_claim(session):
    """Fields count from 0 in each claim, and pairs for a new link are of one claim."""
    canvas = ClaimCanvas(session)
    drawn(session)
    status = canvas.status
    assert status["requests"]["a:gpu"]["field"] == status["requests"]["b:gpu"]["field"]
    assert "matchAttribute" in status["links"]["b:pairs"]["field"]
    assert set(status["pairs"]) == {"a:gpu|a:nic", "b:gpu|b:nic"}


def test_a_link_between_claims_is_refused_with_what_to_do(session):
    """Python decides: the drawing stays, and the message says how to link them."""
    canvas = ClaimCanvas(session)
    pod = drawn(session)
    across = replace(pod, links=(*pod.links, Link(name="a:x", requests=("a:gpu", "b:nic"))))
    canvas.set_state({"sketch": wire(across)})
    assert "Move the requests into one claim" in canvas.problem
    assert (session.sketch, canvas.drawn) == (pod, pod)


def test_adding_and_deleting_a_claim_are_undo_steps(session):
    canvas = ClaimCanvas(session)
    before = session.sketch
    pod = drawn(session)
    canvas.draw(before)
    assert session.sketch == before
    canvas.undo()
    assert session.sketch == pod
    canvas.undo()
    assert session.sketch == before


def test_the_editor_of_the_yaml_has_all_claims(session):
    """The letters go on from claim to claim."""
    view = PlanView(session)
    drawn(session)
    assert view.claim_text.count("kind: ResourceClaimTemplate") == 2
    assert "name: gpu-0  # C" in view.claim_text


def test_the_sentence_says_what_each_claim_asks_for(session):
    view = PlanView(session)
    drawn(session)
    assert view.answer["asked"].startswith(
        "The pod has two claims. a: 2 A100-SXM4-40GB GPUs, each with its own RDMA NIC"
    )
    assert " b: 2 A100-SXM4-40GB GPUs, each with" in view.answer["asked"]
