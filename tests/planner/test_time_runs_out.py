"""Whenever the question about one claim is cancelled, bounds hold, and what is called proven is the best."""

from __future__ import annotations

import random
from itertools import count

import pytest
from cancelled import CancelledAfter, assert_true_goals
from checked_plans import checked_plan
from random_clusters import random_fleet, random_sketch

from dra_lab import KubernetesRelease
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")
NODES = 12
LOOKS = (*range(1, 60, 6), *range(60, 700, 160))


@pytest.fixture(scope="module")
def answers():
    """Return (whole plan, plans of cancelled questions) of some claims."""
    found = []
    for seed in count():
        rng = random.Random(f"time {seed}")
        cluster, sketch = random_fleet(rng, NODES), random_sketch(rng)
        whole = checked_plan(cluster, sketch, release=RELEASE)
        if whole.proven and whole.fits and len(whole.fitting_nodes) > 1 and any(goal.value for goal in whole.goals):
            plans = [checked_plan(cluster, sketch, release=RELEASE, cancel=CancelledAfter(looks)) for looks in LOOKS]
            found.append((whole, plans))
        if len(found) == 2:
            return found
    raise AssertionError


def test_no_bound_is_above_the_best(answers):
    """A feasible answer has devices. While the values agree, a bound is at most the best, and a proven value is it."""
    for whole, plans in answers:
        for plan in plans:
            assert bool(plan.placements) == plan.fits
            assert_true_goals(plan, whole)
            assert plan.status is not PlanStatus.OPTIMAL or plan.goals == whole.goals


def test_what_is_not_decided_is_said(answers):
    """The answer in words says that it is not proven, or not decided."""
    for _, plans in answers:
        for plan in plans:
            if plan.status is PlanStatus.FEASIBLE:
                assert "not proven" in str(plan)
            if plan.status is PlanStatus.STOPPED:
                assert "not decided" in str(plan)


def test_a_late_cancel_changes_nothing_of_the_first_goal(answers):
    """The last cancel gives what no cancel gives."""
    for whole, plans in answers:
        assert plans[-1].fits
        assert plans[-1].goal("alternatives") == whole.goal("alternatives")
