"""Why not, copies, export and meters without a browser: what the views tell, and what a person asks."""

from __future__ import annotations

import pytest
from widget_messages import answered, say

from dra_lab.session import Session, read_sketch
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.cluster_rows import MOST_NODES
from dra_lab.widgets.hardware_view import HardwareView
from dra_lab.widgets.plan_view import PlanView

FULL = "ip-192-168-158-9.ec2.internal"
PAIRS = "kube-scheduler allocates 2 of 2 pairs on every node it may choose"
FREE = "ip-192-168-140-52.ec2.internal"


def test_a_node_that_does_not_serve_is_asked_about_first(session):
    """The claim fits elsewhere; the node on which it does not has its reason in sight."""
    view = PlanView(session)
    assert view.why_not["title"] == "Why not 158-9?"
    assert [row["bars"][-1]["short"] for row in view.why_not["requests"]] == [True, True]


def test_a_click_on_a_node_asks_about_it(session):
    """The strip, the table of nodes and the search lead to the same answer and the same picture."""
    view, hardware = PlanView(session), HardwareView(session)
    say(hardware, type="node", name=FREE)
    assert (view.why_not["title"], view.why_not["asked"]) == ("Why 140-52?", True)
    say(view, type="look-at", node=FULL, device=f"gpu.nvidia.com/{FULL}/gpu-0")
    assert (hardware.node, view.why_not["title"]) == (FULL, "Why not gpu-0?")
    assert view.why_not["deviceLines"] == ["gpu: in use by training/llm-70b-0-devices-2ddgn."]


def test_another_drawing_ends_the_question(session):
    """The new answer shows its own nodes."""
    view, hardware = PlanView(session), HardwareView(session)
    say(hardware, type="node", name=FREE)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert (view.why_not.get("asked", False), view.why_not["sentence"]) == (False, "140-52 cannot serve this claim.")


def test_the_changes_of_a_misfit_can_be_applied(session):
    """A card carries the number of its suggestion."""
    view = PlanView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    card = next(fix for fix in view.answer["fixes"] if fix["title"] == "Ask for gpu ×4 and nic ×4")
    say(view, type="apply-suggestion", id=card["id"])
    assert [request.exactly.count for request in session.sketch.requests] == [4, 4]


def test_the_difference_is_shown_on_the_picture(session):
    """The verdict asks, the picture shows."""
    view, hardware = PlanView(session), HardwareView(session)
    say(view, type="show-difference")
    assert hardware.show == "both"


@pytest.mark.parametrize("ask", [PlanView, ClusterBar])
def test_the_way_to_an_export_is_asked_for_from_bar_and_card(session, ask):
    """Both buttons lead to the same place."""
    view = PlanView(session)
    asking = view if ask is PlanView else ask(session)
    say(asking, type="show-export")
    assert view.export


def test_copies_are_counted_after_the_answer():
    """The worker counts them; until then the figure says so."""
    session = Session("sample:eks-p4d", sketch=read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    view = PlanView(session)
    session.count_copies()
    session.plan()
    session.wait()
    assert [(t["value"], t["caption"]) for t in view.answer["tiles"]][1] == ("4", "copies fit, proven")
    session.close()


def test_what_is_exported_says_kind_release_and_what_kube_scheduler_does(session):
    """Before the sheet opens a person knows whether the YAML does it."""
    found = [row["text"] for row in PlanView(session).outgoing]
    assert found[0].startswith("ResourceClaimTemplate, Pod, ")
    assert found[0].endswith("valid for Kubernetes 1.36")
    assert found[1] == "Simulated: kube-scheduler picks an equally good set on the best node."


def test_the_simulation_of_the_sheet_is_in_the_card_with_its_pin(session):
    """Once all nodes that kube-scheduler may choose are simulated, the card says so, and pins with one click."""
    view = PlanView(session)
    session.exporting.simulate()
    session.exporting.wait()
    assert view.outgoing[1]["text"] == session.exporting.plain.simulation.sentence
    assert "a node like ip-192-168-149-201" in view.outgoing[1]["text"]
    assert (view.pin_offer["on"], view.pin_offer["text"].partition(". ")[0]) == (True, PAIRS)
    say(view, type="choose-export", pin=False)
    session.exporting.wait()
    assert "on" not in view.pin_offer
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    assert view.pin_offer == {}


def test_every_node_has_a_row(session):
    """A large cluster has a row for each class of identical nodes."""
    assert [row["id"] for row in PlanView(session).nodes] == list(session.cluster.node_names)


def test_the_meters_count_what_is_free(session):
    """GPUs and NICs, in all and on each node."""
    bar = ClusterBar(session)
    assert [(row["label"], row["text"]) for row in bar.meters] == [("GPUs", "18 of 32 free"), ("NICs", "21 of 28 free")]
    full = {"node": FULL, "kind": "GPUs", "used": 8, "total": 8, "text": "0 of 8 free"}
    assert full in bar.node_use


def test_the_meters_of_many_nodes_open_by_hardware_type(session):
    """What is in use on thousands of nodes is counted when a person asks, a row for each type."""
    session.fleet.what_if(f"add {MOST_NODES}={FREE}")
    bar = ClusterBar(session)
    assert bar.node_use == []
    say(bar, type="show-use")
    assert [(row["node"], row["nodes"], row["total"], row["kind"]) for row in bar.node_use] == [
        ("p4d.24xlarge", 68, 544, "GPUs"),
        ("p4d.24xlarge", 68, 476, "NICs"),
    ]


def test_nodes_that_serve_as_well_have_the_same_words():
    """The copies that a plan prevents are known of its own node only, and are left out of the rows of nodes."""
    session = Session("sample:dgx-h100", sketch=read_sketch("sample:dgx-h100/gpu-nic-cpu"))
    session.plan()
    rows = PlanView(session).nodes
    assert not any("copies" in row["detail"] or "copy" in row["detail"] for row in rows)
    session.close()
