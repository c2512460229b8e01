"""A plan's proof and kube-scheduler's first fit in words."""

from __future__ import annotations

from small_plans import a_plan

from dra_lab.model.plan import FirstFit, FirstFitStatus, GoalValue, PlanStatus
from dra_lab.pictures.words import first_fit_words, proof_words


def test_an_unproven_plan_names_its_gap():
    """The first goal that is not proven gives the gap."""
    told = proof_words(a_plan(status=PlanStatus.FEASIBLE, goals=(GoalValue("numa", 3, 1),)))
    assert told == "best so far, not proven, gap 2"


def test_first_fit_that_is_not_recorded_says_so():
    """Verdicts from documentation are marked."""
    stopped = FirstFit(FirstFitStatus.STOPPED, steps=7, recorded=False)
    assert first_fit_words(stopped) == "stopped after 7 steps (from documentation, not recorded)"
