"""PlanView without a browser: the answer strip, the tabs, what is written and cancelled."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab.model.plan import Plan, Suggestion
from dra_lab.session import Session, read_sketch
from dra_lab.widgets.device_rows import MAX_DEVICES, device_table
from dra_lab.widgets.plan_view import PlanView, with_suggestion


def test_the_answer_strip_has_sentence_figures_and_proof(session):
    """The example's answer: where it fits, its goals, its proof, and what kube-scheduler takes."""
    view = PlanView(session)
    assert view.answer["state"] == "fits"
    assert view.answer["sentence"] == "Fits on 3 of 4 nodes now. Best on 128-17, proven optimal."
    assert view.answer["scheduler"].startswith("Without your link, kube-scheduler pairs only 1 of 2 GPUs")
    tiles = {row["caption"]: row["value"] for row in view.answer["tiles"]}
    assert tiles == {"GPUs paired": "2 of 2", "scheduler, this YAML": "2 of 2", "scheduler, no links": "1 of 2"}


def test_the_strip_of_a_claim_without_links_tells_kube_scheduler_once(session):
    """Its manifest says no more than its counts do: "without links" would be the same figure again."""
    view = PlanView(session)
    session.edit(replace(session.sketch, links=()))
    answered(session)
    captions = " ".join(row["caption"] for row in view.answer["tiles"])
    assert ("scheduler, this YAML" in captions, "scheduler, no links" in captions) == (True, False)


def test_goals_stand_beside_what_kube_scheduler_reaches(session):
    """Every goal has a row with its proof and both comparisons."""
    rows = {row["goal"]: row for row in PlanView(session).goals}
    assert list(rows) == ["alternatives", "preferences", "numa", "unpaired", "roots", "damage"]
    assert (rows["numa"]["best"], rows["numa"]["manifest"], rows["numa"]["plain"]) == (1, "1", "2")
    assert rows["numa"]["better"] == "1 better than without links"
    assert all(row["proven"] for row in rows.values())


def test_yaml_lines_carry_the_letter_of_their_request(session):
    """The lines that were written for a request are marked with its letter."""
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


def test_a_drawing_that_does_not_fit_has_reasons(session):
    """Reasons name roots and counts, and figures of a fit are gone."""
    view = PlanView(session)
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert view.answer["state"] == "misfit"
    assert "figures" not in view.answer
    assert any("pci0000:10" in row["message"] for row in view.reasons)
    assert view.goals == []
    assert view.chosen == {}


def test_the_last_answer_stays_while_the_next_is_sought(session):
    """A stale answer keeps its sentence and figures and says that it is stale."""
    view = PlanView(session)
    before = dict(view.answer)
    go = threading.Event()
    session._worker.submit(lambda stop: go.wait(10) and None)
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    stale = dict(view.answer)
    go.set()
    answered(session)
    assert stale["stale"] is True
    assert stale["sentence"] == before["sentence"]
    assert stale["progress"]["text"] == "Planning ..."
    assert "stale" not in view.answer


def test_every_device_is_in_the_table_once(session):
    """Up to a thousand devices the table has all of them, with an id each."""
    devices = PlanView(session).devices
    assert len(devices["rows"]) == len(set(devices["ids"])) == devices["total"] == 60
    assert all(len(row) == len(devices["columns"]) for row in devices["rows"])


def test_a_large_cluster_sends_one_node(session, monkeypatch):
    """Above the limit the table holds the devices of one node and says so."""
    monkeypatch.setattr("dra_lab.widgets.device_rows.MAX_DEVICES", 20)
    node = session.cluster.node_names[1]
    table = device_table(session.cluster, node)
    assert {row[1] for row in table.rows} == {node}
    assert f"the cluster has {table.total}" in table.caption
    assert MAX_DEVICES == 1000


def test_a_suggestion_adds_its_selectors_once():
    """Selectors are added to the requests that they are for; doing it again changes nothing."""
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    helped = with_suggestion(sketch, Suggestion("x", "y", selectors={"gpu": ("device.driver == 'a'",)}))
    texts = [selector.cel.expression for selector in helped.request("gpu").exactly.selectors]
    assert texts.count("device.driver == 'a'") == 1
    assert with_suggestion(helped, Suggestion("x", "y", selectors={"gpu": ("device.driver == 'a'",)})) == helped
    assert helped.request("nic") == sketch.request("nic")


def test_a_suggestion_can_be_applied_by_its_number():
    """On oke-gb200 the reasons come with selectors; applying them is one step of the drawing."""
    session = Session("sample:oke-gb200", sketch=read_sketch("sample:oke-gb200/one-pair"))
    session.plan()
    view = PlanView(session)
    assert view.answer["state"] == "misfit"
    usable = [row["id"] for row in view.suggestions if row.get("id")]
    assert usable
    before = session.sketch
    say(view, type="apply-suggestion", id=usable[0])
    assert session.sketch != before
    assert session.undo()
    say(view, type="apply-suggestion", id="99")
    assert session.sketch == before
    session.close()


def test_cancel_ends_the_search_and_says_so(session):
    """A cancelled question leaves neither a waiting strip nor an old answer that looks like the new one."""
    view = PlanView(session)
    begun = threading.Event()

    def slow(*_arguments, cancel, **_options):
        begun.set()
        assert cancel.wait(10)
        from dra_lab.errors import Cancelled

        raise Cancelled("cancelled before there was any answer")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dra_lab.planner.make_plan", slow)
        session.edit(read_sketch("sample:eks-p4d/four-pairs"))
        assert begun.wait(10)
        say(view, type="cancel")
        answered(session)
    assert (view.answer["state"], view.answer["stale"]) == ("fits", True), "the answer before stays"
    assert "cancelled" in view.answer["trouble"]


def test_a_plan_is_for_its_cluster(session):
    """The views compare the names, so the planner must write the name that was read."""
    assert isinstance(session.answer, Plan)
    assert session.answer.cluster == session.cluster.name


def test_a_question_that_waits_can_be_cancelled(session):
    """Cancelling while the question before it still stops leaves no strip that waits for ever."""
    view = PlanView(session)
    go = threading.Event()
    session._worker.submit(lambda stop: go.wait(10) and None)
    session.edit(read_sketch("sample:eks-p4d/four-pairs"))
    say(view, type="cancel")
    go.set()
    answered(session)
    assert session.stale is False
    assert "cancelled" in view.answer["trouble"]
