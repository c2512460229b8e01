"""Whenever the time ends, the best of the nodes that were seen comes back, with its devices and bounds that hold."""

from __future__ import annotations

import random
import time
from itertools import count

import pytest
from budgets import use_sizes
from checked_plans import checked_plan
from random_clusters import random_fleet, random_sketch

from dra_lab.model.plan import NodeFit, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.words.plan_document import answer_sentence

RELEASE = KubernetesRelease("1.36")
NODES = 12
LIMITS = (*range(10, 90, 5), *range(90, 700, 100))


def question(seed: str):
    rng = random.Random(seed)
    return random_fleet(rng, NODES), random_sketch(rng)


@pytest.fixture(scope="module")
def answers():
    """Return (whole plan, plans under limits) of some claims, by a clock that goes on by 1 with every look."""
    found: list[tuple[Plan, object, list[Plan]]] = []
    for seed in count():
        cluster, sketch = question(f"time {seed}")
        whole = checked_plan(cluster, sketch, release=RELEASE)
        if whole.proven and whole.fits and len(whole.fitting_nodes) > 1 and any(goal.value for goal in whole.goals):
            ticks = count()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(time, "monotonic", lambda ticks=ticks: next(ticks))
                plans = [checked_plan(cluster, sketch, release=RELEASE, time_limit=limit) for limit in LIMITS]
            found.append((whole, plans))
        if len(found) == 4:
            return found
    raise AssertionError


def test_what_comes_back_is_an_allocation(answers):
    """An answer that is called feasible has devices, and they keep every rule."""
    for _, plans in answers:
        for plan in plans:
            if plan.fits:
                assert plan.placements


def test_no_bound_is_above_the_best(answers):
    """As long as the goals before agree, a bound is at most the best value, and what is called proven is the best."""
    for whole, plans in answers:
        for plan in plans:
            for goal in plan.goals:
                best = whole.goal(goal.goal)
                assert not goal.proven or goal.value == best
                assert goal.bound is None or goal.bound <= best
                if goal.value != best:
                    break


@pytest.mark.long
def test_a_proof_leaves_no_goal_out():
    """A plan that is called the best tells every goal, also where no time was left to count the damage again."""
    proven = 0
    for seed in range(10):
        cluster, sketch = question(f"whole {seed}")
        whole = checked_plan(cluster, sketch, release=RELEASE)
        for limit in range(20, 400, 20):
            ticks = count()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(time, "monotonic", lambda ticks=ticks: next(ticks))
                plan = checked_plan(cluster, sketch, release=RELEASE, time_limit=limit)
            if plan.status is PlanStatus.OPTIMAL:
                proven += 1
                assert plan.goals == whole.goals, limit
                break
    assert proven > 2


def test_nodes_that_were_seen_are_not_lost(answers):
    """Where the time ended while nodes were looked at, the best of those that were seen is the answer."""
    plans = [plan for _, plans in answers for plan in plans]
    partly = [p for p in plans if p.fits and any(c.fit is NodeFit.UNKNOWN for c in p.node_classes)]
    assert partly
    assert all(plan.status is PlanStatus.FEASIBLE for plan in partly)


def test_what_is_not_decided_is_said(answers):
    """The sentence names the first goal that is open with its gap, or the nodes that were not looked at."""
    for _, plans in answers:
        for plan in plans:
            sentence = answer_sentence(plan)
            if plan.status is PlanStatus.FEASIBLE:
                assert "best so far, not proven (" in sentence
            if plan.status is PlanStatus.STOPPED:
                assert "not decided, raise the time limit" in sentence


def test_more_time_is_never_less_of_an_answer_in_the_end(answers):
    """The largest limit gives what no limit gives."""
    for whole, plans in answers:
        assert plans[-1].fits
        assert plans[-1].goal("alternatives") == whole.goal("alternatives")


@pytest.mark.long
def test_remembered_values_come_with_devices(monkeypatch):
    """A question that is asked again, with less time, is answered with devices wherever it is called feasible."""
    use_sizes(monkeypatch, solved_alone=0)
    answered = 0
    for seed in range(12):
        cluster, sketch = question(f"again {seed}")
        if not checked_plan(cluster, sketch, release=RELEASE).fits:
            continue
        for limit in (*range(5, 120, 10), *range(120, 400, 70)):
            ticks = count()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(time, "monotonic", lambda ticks=ticks: next(ticks))
                plan = checked_plan(cluster, sketch, release=RELEASE, time_limit=limit)
            if plan.fits:
                answered += 1
                assert plan.placements, f"{seed} {limit}"
    assert answered > 20
