"""The Fleet mode in the kernel: what the browser is told, what its messages do, and nodes to add."""

import pytest
from ipywidgets import Widget
from msgspec import structs
from widget_messages import fleet_answered, say

from dra_lab import PlanView, Session, read_sketch

POD = "gpu-nic-pairs"


@pytest.fixture
def fleet():
    """Give a session in Fleet mode with its answer, and the view that shows it."""
    session = Session("sample:eks-p4d", sketch=read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    view = PlanView(session)
    session.show_mode("fleet")
    session.fleet.plan()
    yield session, view
    session.close()
    Widget.close_all()


def send(session, view, **message) -> None:
    """Send a message of the browser, and wait for the answer."""
    say(view, **message)
    fleet_answered(session)


def test_nothing_is_reported_before_the_mode_is_shown():
    session = Session("sample:eks-p4d")
    view = PlanView(session)
    session.plan()
    found = (view.fleet_answer, view.fleet_bars, session.fleet.answer)
    session.close()
    assert found == ({}, {}, None)


def test_the_verdict_has_its_proof_and_its_numbers(fleet):
    _, view = fleet
    assert view.fleet_answer["asked"] == "You ask for 1 × gpu-nic-pairs (2 gpu + 2 nic)."
    assert view.fleet_answer["sentence"].startswith("Fits on 3 of 4 nodes")
    assert "proven optimal" in view.fleet_answer["proof"]
    captions = [tile["caption"] for tile in view.fleet_answer["tiles"]]
    assert captions == ["pods placed", "more fit, proven", "stranded, proven", "stranded, proven"]


def test_measured_bandwidths_change_the_answer_to_a_fleet(fleet):
    """Without links kube-scheduler leaves part of the bandwidth; a person's own numbers replace the published range."""
    session, view = fleet
    session.edit(structs.replace(session.sketch, links=()))
    session.plan()
    session.fleet.set_replicas(POD, 3)
    session.fleet.plan()
    assert "GPUs keep 14 to 100 % of their bandwidth." in view.fleet_answer["proof"]
    path = session.fleet.answer.plan.regrets[0].theirs[-1].path
    session.drawing = structs.replace(session.drawing, measured={path: (100.0, 30.0)})
    session.fleet.plan()
    assert "GPUs keep 30 to 100 % of their bandwidth." in view.fleet_answer["proof"]


def test_the_bars_add_up_to_the_devices(fleet):
    _, view = fleet
    assert (view.fleet_kind, view.fleet_by) == ("gpu", "nodes")
    assert sum(sum(row[4:9]) for row in view.fleet_bars["rows"]) == 32
    assert sum(row[5] for row in view.fleet_bars["rows"]) == 2


def test_bars_are_grouped_by_hardware_type_and_state(fleet):
    _, view = fleet
    view.fleet_by = "types"
    rows = view.fleet_bars["rows"]
    assert sum(row[3] for row in rows) == 4
    assert sum(sum(row[4:9]) for row in rows) == 32
    view.fleet_chosen = rows[0][0]
    assert len(view.fleet_card["rows"]) == rows[0][3]


def test_nodes_are_filtered_by_label_driver_and_hardware_type(fleet):
    """One value of each filter has to be the node's; a value that all nodes have is not offered."""
    session, view = fleet
    labels = next(row for row in view.fleet_bars["filters"] if row["name"] == "label")
    value, nodes = labels["values"][0]
    assert 0 < nodes < len(session.cluster.node_names)
    view.fleet_filters = [f"label:{value}"]
    key, _, wanted = value.partition("=")
    shown = {row[0] for row in view.fleet_bars["rows"]}
    assert shown == {n.name for n in session.cluster.nodes if n.metadata.labels.get(key) == wanted}


def test_a_node_card_has_its_pods_and_their_picture(fleet):
    session, view = fleet
    node = session.fleet.answer.plan.nodes[0]
    view.fleet_chosen = node
    assert view.fleet_card["pods"] == [{"workload": POD, "count": 1, "letter": "A"}]
    assert not view.fleet_card.get("svg")
    view.fleet_picture = True
    assert view.fleet_card["svg"].count(f'data-request="{POD}"') == 4


def test_a_node_card_says_why_devices_are_stranded(fleet):
    """The RDMA NICs are in use, and the tests say how many are left after each."""
    session, view = fleet
    node = next(row[0] for row in view.fleet_bars["rows"] if row[7])
    view.fleet_chosen = node
    session.fleet.stranding.wait(30)
    why = view.fleet_card["why"]
    assert why["title"] == f"Why not more on {node}?"
    assert [row["request"] for row in why["requests"]] == ["nic"]
    assert why["lines"][0].startswith("Once more pods fill this node, ")


def test_layers_are_chips_and_the_answer_before_stays(fleet):
    session, view = fleet
    node = session.fleet.answer.plan.nodes[0]
    send(session, view, type="add-layer", change="drain", subject=node)
    note = f"2 pods leave {node}; all of them fit elsewhere."
    assert view.fleet_layers == [{"words": f"Drain {node}", "note": note}]
    assert [row["name"] for row in view.fleet_scenarios["rows"]] == ["without changes", f"now: Drain {node}"]
    send(session, view, type="remove-layer", number=0)
    assert view.fleet_layers == []
    assert len(view.fleet_bars["rows"]) == 4


EIGHT = "eight-pairs"


def gang(size: int) -> dict:
    """Return the message of the browser that keeps some pods below one leaf switch."""
    kept = {"size": size, "level": "leaf switch", "hierarchy": "h100-pod"}
    return {"type": "set-gang", "name": EIGHT, "gang": kept}


@pytest.fixture
def lacking():
    """Give a session in Fleet mode whose gang of four pods fits in no leaf switch, and the view that shows it."""
    session = Session("sample:h100-pod")
    view = PlanView(session)
    session.show_mode("fleet")
    session.fleet.plan()
    send_and_add(session, view, **gang(4))
    yield session, view
    session.close()
    Widget.close_all()


def send_and_add(session, view, **message) -> dict:
    """Send a message of the browser, wait for the answers, and return what is shown of nodes to add."""
    say(view, **message)
    assert session.adding.wait(60)
    fleet_answered(session)
    return view.fleet_adding


def test_nodes_are_offered_if_pods_have_no_place(lacking):
    """The offer has a copy of each kind of node, and the innermost level of the gang's hierarchy."""
    _, view = lacking
    row = view.fleet_adding
    assert (row["needed"], row.get("found"), row["word"]) == (True, None, "leaf switch")
    assert [one["places"] for one in row["types"]] == ["any"] * len(row["types"])


def test_nothing_is_offered_if_all_pods_have_a_place(lacking):
    session, view = lacking
    assert not send_and_add(session, view, **gang(2)).get("needed")


def test_the_cheapest_nodes_are_shown_with_their_proof(lacking):
    """Three of four pods fit in one leaf switch, so one more node suffices, and nothing is cheaper."""
    session, view = lacking
    row = send_and_add(session, view, type="find-nodes")
    assert row["found"] == "nodes"
    assert row["verdict"].endswith("so that the gang fits. Nothing cheaper exists, proven.")
    assert [(new, count, cost) for _, _, new, count, cost in row["rows"]] == [(False, "1", "1")]
    assert "kind: ProvisioningRequest" in row["request"]


def test_the_nodes_that_were_found_become_a_change_with_which_all_fits(lacking):
    session, view = lacking
    send_and_add(session, view, type="find-nodes")
    row = send_and_add(session, view, type="add-found-nodes")
    (layer,) = session.fleet.layers
    assert layer.beside in ("h100-05", "h100-06", "h100-07", "h100-08", "h100-13", "h100-14", "h100-15", "h100-16")
    assert not row.get("needed")
    assert "4 pods on 4 nodes" in view.fleet_answer["sentence"]
    session.undo()
    assert session.fleet.layers == ()


def test_a_new_leaf_switch_is_made_if_no_other_has_places(lacking):
    session, view = lacking
    node = view.fleet_adding["types"][0]["node"]
    send_and_add(session, view, type="set-node-type", node=node, cost="2.5", places="0")
    send_and_add(
        session,
        view,
        type="set-new-domains",
        hierarchy="h100-pod",
        level="leaf switch",
        domains=1,
        nodes=4,
    )
    row = send_and_add(session, view, type="find-nodes")
    assert [(new, count, cost) for _, _, new, count, cost in row["rows"]] == [(True, "4", "10")]
    assert not send_and_add(session, view, type="add-found-nodes").get("needed")
    assert session.fleet.layers[0].level == "leaf switch"


def test_the_answer_says_if_no_number_of_nodes_helps(lacking):
    session, view = lacking
    for one in view.fleet_adding["types"]:
        send_and_add(session, view, type="set-node-type", node=one["node"], cost="1", places="0")
    row = send_and_add(session, view, type="find-nodes")
    assert row["found"] == "none"
    assert row["verdict"].startswith("No number of these nodes helps, proven.")


def test_an_answer_for_other_workloads_is_marked_and_cannot_be_added(lacking):
    session, view = lacking
    send_and_add(session, view, type="find-nodes")
    assert send_and_add(session, view, **gang(5)).get("stale")
    send_and_add(session, view, type="add-found-nodes")
    assert session.fleet.layers == ()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"type": "set-node-type", "node": "h100-99"}, "h100-99"),
        ({"type": "set-node-type", "node": "h100-01", "cost": "dear"}, "enter a number above 0"),
        ({"type": "set-node-type", "node": "h100-01", "places": "some"}, "enter any, a number, or numbers by domain"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(lacking, message, words):
    session, view = lacking
    send_and_add(session, view, **message)
    assert words in view.problem
