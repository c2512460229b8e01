"""One fact has one wording: values of goals, a plan's proof, what kube-scheduler takes."""

from __future__ import annotations

import pytest
from small_plans import a_plan, busy_cluster

from dra_lab.model.plan import FirstFit, FirstFitStatus, GoalValue, PlanStatus
from dra_lab.pictures.report import report_page
from dra_lab.words.facts import goal_words, proof_words, taken_words
from dra_lab.words.plan_document import answer_sentence, plan_text
from dra_lab.words.shown import in_html, in_words
from dra_lab.words.verdict import tiles

VALUES = [
    (GoalValue("unpaired", 1, of=2), "1 of 2 GPUs paired"),
    (GoalValue("unpaired", 1), "1 GPU unpaired"),
    (GoalValue("numa", 2), "2 NUMA nodes"),
    (GoalValue("numa", 2, unknown=1), "1 NUMA node, NUMA node of 1 device unknown"),
    (GoalValue("preferences", 1), "1 preferred link broken"),
    (GoalValue("damage", 3, at_most=True), "at most 3 copies fewer fit beside it"),
]


@pytest.mark.parametrize(("goal", "words"), VALUES)
def test_a_value_of_a_goal_has_one_wording(goal, words):
    """The number stands before its caption; devices of unknown place are counted beside the places."""
    assert goal_words(goal) == words


@pytest.mark.parametrize("show", [answer_sentence, plan_text, in_words, in_html])
def test_every_form_of_an_answer_has_the_same_words(show):
    """Pairs, proof and kube-scheduler's choice read the same in the sentence, the terminal and the notebook."""
    shown = show(a_plan())
    missing = [
        words
        for words in ("2 of 2 GPUs paired, 2 PCIe roots, proven optimal", "kube-scheduler pairs only 1 of 2 GPUs")
        if words not in shown
    ]
    assert missing == []


def test_the_report_and_the_figures_have_the_same_words():
    """The heading of the page is the sentence, and number and caption of a figure are its words."""
    page = report_page(busy_cluster(), a_plan())
    found = [f"{tile.value} {tile.caption}" for tile in tiles(a_plan())]
    assert f"<h1>{answer_sentence(a_plan(), busy_cluster())}</h1>" in page
    assert "2 of 2 GPUs paired" in found


def test_an_unproven_plan_names_what_is_open_with_its_bound():
    """The bound is in the words of the goal: of pairs it is the most that could be paired."""
    goals = (GoalValue("numa", 3, 1), GoalValue("unpaired", 1, 0, of=2))
    words = proof_words(a_plan(status=PlanStatus.FEASIBLE, goals=goals))
    assert words == "best so far, not proven (3 NUMA nodes, bound 1; 1 of 2 GPUs paired, bound 2 of 2)"


def test_a_search_that_was_stopped_is_not_known():
    """The number of steps says how far it came."""
    assert taken_words(a_plan(), FirstFit(FirstFitStatus.STOPPED, steps=7)) == "not known, stopped after 7 steps"
