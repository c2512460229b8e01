"""PlanView without a browser: the verdict and its tabs, why not, the claim as text, and moves."""

from __future__ import annotations

from threading import Event

import pytest
from ipywidgets import Widget
from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab import ClusterBar, HardwareView, PlanView, Session, read_sketch
from dra_lab.model.claims import CELDeviceSelector, DeviceSelector
from dra_lab.words.verdict import MAKE_ROOM


def test_the_answer_strip_has_sentence_figures_and_proof(session):
    view = PlanView(session)
    assert view.answer["state"] == "fits"
    assert view.answer["sentence"] == "Fits on 3 of 4 nodes now. Best on 128-17, proven optimal."
    assert view.answer["scheduler"].startswith("Without your link, kube-scheduler pairs only 1 of 2 GPUs")
    tiles = {row["caption"]: row["value"] for row in view.answer["tiles"]}
    assert tiles == {"GPUs paired": "2 of 2", "scheduler, this YAML": "2 of 2", "scheduler, no links": "1 of 2"}


def test_goals_stand_beside_what_kube_scheduler_reaches(session):
    rows = {row["goal"]: row for row in PlanView(session).goals}
    assert list(rows) == ["alternatives", "preferences", "numa", "unpaired", "roots", "damage"]
    assert (rows["numa"]["best"], rows["numa"]["manifest"], rows["numa"]["plain"]) == (1, "1", "2")
    assert rows["numa"]["better"] == "1 better than without links"
    assert all(row["proven"] for row in rows.values())


def test_yaml_lines_carry_the_letter_of_their_request(session):
    view = PlanView(session)
    lines = view.yaml.splitlines()
    for number, letter in view.yaml_marks.items():
        assert letter in ("A", "B"), number
    first = min(int(number) for number, letter in view.yaml_marks.items() if letter == "A")
    assert "name: gpu" in lines[first - 1]
    assert view.badges["gpu"]["letter"] == "A"


def test_the_manifest_follows_every_change(session):
    """The YAML is that of the present drawing, before its answer is there."""
    view = PlanView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    assert "five-pairs" in view.yaml


def test_every_device_is_in_the_table_once(session):
    devices = PlanView(session).devices
    assert len(devices["rows"]) == len(set(devices["ids"])) == devices["total"] == 60
    assert all(len(row) == len(devices["columns"]) for row in devices["rows"])


def test_a_suggestion_can_be_applied_by_its_number():
    session = Session("sample:oke-gb200", sketch=read_sketch("sample:oke-gb200/one-pair"))
    session.plan()
    view = PlanView(session)
    assert view.answer["state"] == "misfit"
    usable = [row["number"] for row in view.suggestions if "number" in row]
    assert usable
    before = session.sketch
    say(view, type="apply-suggestion", number=usable[0])
    assert session.sketch != before
    assert session.undo()
    say(view, type="apply-suggestion", number=99)
    assert session.sketch == before
    session.close()


def test_a_large_cluster_sends_the_devices_of_one_node(session):
    """Above a thousand devices the table has those of the node on the picture, and says how many there are."""
    session.fleet.what_if(f"add 80={session.cluster.node_names[1]}")
    answered(session)
    devices = PlanView(session).devices
    assert len({row[1] for row in devices["rows"]}) == 1
    assert f"the cluster has {devices['total']:,}" in devices["caption"]


def test_a_question_is_cancelled(session):
    view = PlanView(session)
    # the worker waits in the question before, so that it has not begun this one when it is cancelled
    go = Event()
    session.events.on("status", lambda: go.wait(30))
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    session.edit(replace(session.sketch, name="another"))
    say(view, type="cancel")
    go.set()
    answered(session)
    assert (view.answer["state"], view.answer["stale"]) == ("fits", True)
    assert "cancelled" in view.answer["trouble"]


def test_no_message_of_a_misfit_has_the_name_of_a_link(session):
    """Verdict, changes, reasons and "why not?" name a link by what it connects: its name is in the file alone."""
    view = PlanView(session)
    five = read_sketch("sample:eks-p4d/five-pairs")
    session.edit(replace(five, links=tuple(replace(link, name="link-1") for link in five.links)))
    answered(session)
    assert view.answer["state"] == "misfit"
    assert "link-1" not in str([view.answer, view.reasons, view.suggestions, view.why, view.why_not, view.findings])


def test_a_half_written_selector_keeps_the_last_answer(session):
    view = PlanView(session)
    before = view.answer["sentence"]
    gpu, *others = session.sketch.requests
    part = replace(gpu.exactly, selectors=(DeviceSelector(cel=CELDeviceSelector(expression="device.driver ==")),))
    session.edit(replace(session.sketch, requests=(replace(gpu, exactly=part), *others)))
    answered(session)
    assert (view.answer["sentence"], view.answer["stale"]) == (before, True)
    assert view.answer["trouble"].startswith("Selector does not compile at")
    assert view.goals
    assert view.reasons[0]["rule"] == "not-answered"
    session.undo()
    answered(session)
    assert not {"stale", "trouble"} & set(view.answer)


def test_goals_are_put_in_another_order_and_back(session):
    view = PlanView(session)
    say(view, type="order-goals", goals=["roots", "damage"])
    answered(session)
    assert [row["goal"] for row in view.goals][2:4] == ["roots", "damage"]
    assert view.goals_changed
    assert [row.get("movable", True) for row in view.goals] == [False, False, True, True, True, True]
    say(view, type="order-goals", goals=["speed"])
    assert "'speed' is not known" in view.problem
    say(view, type="order-goals", goals=[])
    answered(session)
    assert not view.goals_changed
    assert session.drawing.goals == ()


def test_reasons_and_regret_reach_the_browser(session):
    view = PlanView(session)
    assert any("0.45 to 0.64" in line for line in view.regret["lines"])
    assert view.regret["sources"]
    assert not view.why
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert [table["title"] for table in view.why["funnels"]] == [
        f"Devices left for {name} (5 needed)" for name in ("gpu", "nic")
    ]
    assert view.why["lines"][0].startswith("Fragmentation: Request nic")
    assert "It then fits on 3 of 4 nodes." in view.suggestions[0]["detail"]


ARTICLE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: article}  # from an article
spec:
  spec:
    devices:
      requests:
      - {name: gpu, deviceClassName: nvidia-gpu}
      - {name: nic, deviceClassName: rdma-nic}
      constraints:
      - {requests: [gpu, nic], matchAttribute: pcieRoot}
"""


def test_a_typed_text_is_corrected_as_one_undo_step(session):
    view, before = PlanView(session), session.sketch
    say(view, type="edit-claim", text=ARTICLE, number=1)
    assert "unknown field" in view.claim_answer["message"]
    assert len(view.claim_answer["fixes"]) == 5
    assert session.sketch == before
    say(view, type="fix-claim", text=ARTICLE, number=2)
    answer = view.claim_answer
    assert (answer["number"], answer.get("message", "")) == (2, "")
    assert "{name: article}  # from an article" in answer["text"]
    assert [ask.exactly.device_class_name for ask in session.sketch.requests] == ["gpu.nvidia.com", "dranet"]
    assert [row["line"] for row in answer["fixes"]] == [8, 8, 9, 9, 11]
    session.undo()
    assert session.sketch == before


def test_the_drawings_own_text_is_corrected(session):
    view = PlanView(session)
    assert view.claim_fixes == []
    gpu, *others = session.sketch.requests
    wrong = replace(gpu, exactly=replace(gpu.exactly, device_class_name="nvidia-gpu"))
    session.edit(replace(session.sketch, requests=(wrong, *others)))
    answered(session)
    assert len(view.claim_fixes) == 2
    assert all("'nvidia-gpu' → 'gpu.nvidia.com'" in row["text"] for row in view.claim_fixes)
    say(view, type="fix-claim")
    answered(session)
    assert session.sketch.requests[0].exactly.device_class_name == "gpu.nvidia.com"
    assert view.claim_fixes == []


FULL = "ip-192-168-158-9.ec2.internal"
PAIRS = "kube-scheduler allocates 2 of 2 pairs on every node it may choose"
FREE = "ip-192-168-140-52.ec2.internal"


def test_a_node_that_does_not_serve_is_asked_about_first(session):
    view = PlanView(session)
    assert view.why_not["title"] == "Why not 158-9?"
    assert [row["bars"][0]["label"] for row in view.why_not["requests"]] == ["free", "free"]


def test_a_click_on_a_node_asks_about_it(session):
    """The strip, the table of nodes and the search lead to the same answer and the same picture."""
    view, hardware = PlanView(session), HardwareView(session)
    say(hardware, type="node", name=FREE)
    assert (view.why_not["title"], view.why_not["asked"]) == ("Why 140-52?", True)
    say(view, type="look-at", node=FULL, device=f"gpu.nvidia.com/{FULL}/gpu-0")
    assert (hardware.node, view.why_not["title"]) == (FULL, "Why not gpu-0?")
    assert view.why_not["deviceLines"] == ["gpu: in use by training/llm-70b-0-devices-2ddgn."]


def test_a_device_that_a_selector_leaves_out_shows_its_values_as_cel_writes_them(session):
    view = PlanView(session)
    say(view, type="look-at", node=FREE, device=f"dra.net/{FREE}/pci-0000-20-01-0")
    assert view.why_not["deviceLines"][-1].endswith('attributes["dra.net"].rdma == true (rdma is false).')


def test_another_drawing_ends_the_question(session):
    view, hardware = PlanView(session), HardwareView(session)
    say(hardware, type="node", name=FREE)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert (view.why_not.get("asked", False), view.why_not["sentence"]) == (False, "140-52 cannot serve this claim.")


def test_copies_are_counted_after_the_answer():
    session = Session("sample:eks-p4d", sketch=read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    view = PlanView(session)
    session.count_copies()
    session.plan()
    session.wait()
    assert [(t["value"], t["caption"]) for t in view.answer["tiles"]][1] == ("4", "copies fit, proven")
    session.close()


def test_the_simulation_of_the_sheet_is_in_the_card_with_its_pin(session):
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


def test_the_moves_of_the_card_are_shown_applied_and_undone_by_one_click(busy):
    """Two of the moves alone would make no room, so one undo removes all of them."""
    session, view = busy
    assert view.moves["sentence"].startswith("If 2 pods move, it fits: ")
    assert [step["number"] for step in view.moves["steps"]] == [1, 2]
    assert {step["words"] for step in view.moves["steps"]} == {"dgx-14 → dgx-13"}
    assert view.moves["svg"].startswith("<svg")
    assert "kubectl delete pod tune-0 --namespace batch --dry-run=server" in view.moves["markdown"]
    bar = ClusterBar(session)
    send(session, view, type="apply-suggestion", number=MAKE_ROOM)
    assert len(session.fleet.layers) == 2
    assert "fix" not in view.moves
    send(session, bar, type="undo-what-if")
    assert session.fleet.layers == ()


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
    session, view = busy
    send(session, view, type="set-movable", namespaces=[], labels="tier=spot")
    assert view.moves["movable"]["lines"][0] == "0 of 12 running pods may move."
    send(session, view, type="set-movable", namespaces=[], labels="tier in (spot)")
    assert "'tier in (spot)' is not KEY=VALUE; write for example tier=spot" in view.problem
    assert view.moves["movable"]["labels"] == "tier=spot"


def test_the_pods_that_may_move_are_kept_in_the_plan_file(tmp_path):
    file = tmp_path / "room.dralab.yaml"
    session = Session("sample:h100-busy", sketch=read_sketch("sample:h100-busy/eight-pairs"), file=file)
    view = PlanView(session)
    say(view, type="set-movable", namespaces=["batch"], labels="tier=spot")
    session.close()
    again = Session(file=file)
    again.close()
    Widget.close_all()
    assert again.drawing.movable == session.drawing.movable


def test_the_moves_for_one_pod_are_not_shown_for_two(busy):
    """Fleet asks for two pods, for which no room was looked for."""
    session, view = busy
    session.show_mode("fleet")
    assert view.moves["fix"] == MAKE_ROOM
    session.fleet.set_replicas("eight-pairs", 2)
    session.fleet.plan()
    assert view.moves == {}


def test_a_drained_node_shows_where_its_pods_go(busy):
    session, view = busy
    send(session, view, type="add-layer", change="drain", subject="dgx-13")
    assert [(step.get("number", 0), step["words"]) for step in view.moves["steps"]] == [
        (0, "leaves dgx-13"),
        (1, "dgx-13 → dgx-14"),
        (2, "dgx-13 → dgx-14"),
    ]
    assert view.moves["steps"][0]["lines"] == ["Will not come back by itself: it has no owner."]
