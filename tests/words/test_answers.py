"""The answer as a sentence, as text, as plain values and as tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed
from small_plans import HOSTILE, a_plan, busy_cluster, first_fit, goals, hostile_cluster, hostile_plan, taken

from dra_lab.findings import Finding, Severity
from dra_lab.model.goals import GoalValue
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import PlanStatus, plan_of_pod
from dra_lab.model.sketch import ClaimSketch
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.document import as_text
from dra_lab.words.frames import frame
from dra_lab.words.plan_document import plan_parts
from dra_lab.words.plan_json import plan_json

PLAIN = first_fit(taken(gpu=("gpu-0", "gpu-1"), nic=("a", "b")), goals(0, 0, 2, 1, 2))


def test_without_claims_the_answer_does_not_speak_of_now():
    """What is in use is not known then, so the devices only look free."""
    unknown = replace(busy_cluster(), claims=(), claims_known=False)
    sentence = answer_sentence(a_plan(), unknown)
    assert sentence.startswith("Fits on 2 of 3 nodes if nothing is in use (no claims were read). Best on n1")


def test_with_claims_of_some_namespaces_the_answer_says_so():
    """With `--read-namespace`, claims of other namespaces may hold devices, so it is unknown where it fits now."""
    cluster = busy_cluster()
    partly = Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", "only those of team-a were read")
    sentence = answer_sentence(a_plan(), replace(cluster, findings=(*cluster.findings, partly)))
    assert sentence.startswith(
        "Fits on 2 of 3 nodes if other namespaces use nothing (their claims were not read). Best on n1"
    )
    assert " now" not in sentence


def test_an_answer_that_is_as_good_says_so():
    same = changed(PLAIN, goals=goals(0, 0, 2, 0, 2))
    sentence = answer_sentence(a_plan(first_fit=same, first_fit_plain=same))
    assert sentence.endswith("With or without your link, kube-scheduler picks an equally good set.")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (FirstFitStatus.NONE, "finds nothing"),
        (FirstFitStatus.ERROR, "gives up the pod (why)"),
        (FirstFitStatus.STOPPED, "was not followed to the end: the search was stopped after 9 steps"),
    ],
)
def test_a_search_without_a_result_is_not_called_worse(status, words):
    plan = a_plan(first_fit=None, first_fit_plain=FirstFit(status, message="why", steps=9))
    assert f"Without your link, kube-scheduler {words}." in answer_sentence(plan)


def test_what_is_not_proven_says_which_goal_is_open():
    open_goals = (GoalValue("alternatives", 0, 0, proven=True), GoalValue("numa", 2, 1))
    sentence = answer_sentence(a_plan(status=PlanStatus.FEASIBLE, goals=open_goals))
    assert "best so far, not proven (2 NUMA nodes, bound 1)" in sentence


def test_nothing_drawn_and_nothing_known_have_their_own_sentences():
    empty = plan_of_pod(PlanStatus.EMPTY, ClaimSketch())
    stopped = plan_of_pod(PlanStatus.STOPPED, ClaimSketch())
    assert answer_sentence(empty) == "Nothing is drawn yet."
    assert answer_sentence(stopped).startswith("Not answered")


def test_hostile_texts_cannot_steer_a_terminal():
    """Escape sequences and marks that turn the direction of writing are replaced, line ends included."""
    plan = hostile_plan()
    escaped = replace(plan, findings=(replace(plan.findings[0], message="\x1b[2J\nforged: line\u202e"),))
    text = as_text(plan_parts(escaped, hostile_cluster())) + "\n"
    assert not any(character in text for character in ("\x1b", "\u202e"))
    assert "\nforged" not in text


def test_plain_values_are_the_same_on_every_run_and_carry_the_regret():
    plan = a_plan(first_fit_plain=PLAIN, seconds=1.0)
    text = json.dumps(plan_json(plan))
    assert text == json.dumps(plan_json(replace(plan, seconds=2.0)))
    assert json.loads(text)["firstFitPlain"]["regret"] == {"unpaired": 1}
    assert json.loads(text)["devices"][0]["device"] == "gpu-0"


def test_every_device_of_every_node_has_a_row_with_its_state():
    rows = frame(busy_cluster())
    states = dict(zip(rows["device"], rows["state"], strict=True))
    assert states["gpu.nvidia.com/n1/gpu-3"] == "in use"
    assert states["gpu.nvidia.com/n1/gpu-4"] == "tainted"
    assert states["dra.cpu/n1/cpudevnuma001"] == "shared"
    assert states["lost.example.org/n1/x"] == "skipped"
    assert states["gpu.nvidia.com/n1/gpu-0"] == "free"


def test_a_plan_has_a_row_for_each_chosen_device():
    rows = frame(a_plan())
    assert list(rows[rows["request"] == "gpu"]["device"]) == ["gpu.nvidia.com/n1/gpu-0", "gpu.nvidia.com/n1/gpu-2"]
    assert set(rows["node"]) == {"n1"}


def test_unknown_places_are_none_and_numbers_stay_whole():
    rows = frame(busy_cluster())
    places = rows[rows["node"] == "n1"].set_index("device")["numa_node"]
    assert places["gpu.nvidia.com/n1/gpu-4"] is None
    assert repr(places["dra.net/n1/a"]) == "0"


def test_a_table_in_a_notebook_shows_hostile_names_as_text():
    html = frame(hostile_cluster()).to_html()
    assert "<img" not in html
    assert HOSTILE.split()[0].replace("<", "&lt;") in html
