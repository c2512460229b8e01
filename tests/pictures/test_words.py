"""A plan in words."""

from __future__ import annotations

import pytest
from small_plans import a_plan, goals

from dra_lab.model.plan import FirstFit, FirstFitStatus, GoalValue, PlanStatus, Shortfall
from dra_lab.pictures.words import answer_sentence, first_fit_words


def test_a_plan_that_fits():
    """Where it fits, the best node, its goals, and how sure that is."""
    told = answer_sentence(a_plan())
    assert told == "Fits on 2 of 3 nodes now (2 when idle). Best on n1: 2 NUMA nodes, 2 PCIe roots, proven optimal."


def test_broken_wishes_are_told():
    """Preferred links that are broken and GPUs without a NIC are in the sentence."""
    told = answer_sentence(a_plan(goals=goals(0, 1, 1, 2, 1)))
    assert "1 preferred link broken, 1 NUMA node, 2 GPUs without a NIC of their own, 1 PCIe root" in told


def test_an_unproven_plan_names_its_gap():
    """The first goal that is not proven gives the gap."""
    open_goals = (GoalValue("numa", 3, 1),)
    told = answer_sentence(a_plan(status=PlanStatus.FEASIBLE, goals=open_goals))
    assert told.endswith("3 NUMA nodes, best so far, not proven, gap 2.")


def test_a_misfit_gives_the_first_reason_and_what_to_do():
    """The most important shortfall speaks."""
    reason = Shortfall("link", "pair", "Needs 5 RDMA NICs on 5 roots, no node has more than 4.", advice="Ask for 4.")
    told = answer_sentence(a_plan(status=PlanStatus.INFEASIBLE, shortfalls=(reason,)))
    assert told == "Does not fit: Needs 5 RDMA NICs on 5 roots, no node has more than 4. Ask for 4."


@pytest.mark.parametrize(("status", "words"), [(PlanStatus.EMPTY, "Nothing is drawn"), (PlanStatus.STOPPED, "stopped")])
def test_no_answer_is_no_misfit(status: PlanStatus, words: str):
    """An empty drawing and a stopped search never say "does not fit"."""
    told = answer_sentence(a_plan(status=status))
    assert words in told
    assert "not fit" not in told


def test_first_fit_that_is_not_recorded_says_so():
    """Verdicts from documentation are marked."""
    stopped = FirstFit(FirstFitStatus.STOPPED, steps=7, recorded=False)
    assert first_fit_words(stopped) == "stopped after 7 steps (from documentation, not recorded)"
