"""One fact has one wording: values of goals, a plan's proof, what kube-scheduler takes."""

from __future__ import annotations

import pytest
from small_plans import a_plan

from dra_lab.model.goals import GoalValue
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import PlanStatus
from dra_lab.words.facts import goal_words, proof_words, taken_words

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


def test_an_unproven_plan_names_what_is_open_with_its_bound():
    """The bound is in the words of the goal: of pairs it is the most that could be paired."""
    goals = (GoalValue("numa", 3, 1), GoalValue("unpaired", 1, 0, of=2))
    words = proof_words(a_plan(status=PlanStatus.FEASIBLE, goals=goals))
    assert words == "best so far, not proven (3 NUMA nodes, bound 1; 1 of 2 GPUs paired, bound 2 of 2)"


def test_a_search_that_was_stopped_is_not_known():
    """The number of steps says how far it came."""
    assert taken_words(a_plan(), FirstFit(FirstFitStatus.STOPPED, steps=7)) == "not known, stopped after 7 steps"
