"""What is said to be proven is proven: status, bound, time limit and cancel."""

from __future__ import annotations

import random
import threading

import pytest
from checked_plans import checked_plan
from random_clusters import random_cluster, random_sketch

from dra_lab import ClaimSketch, KubernetesRelease
from dra_lab.errors import InputError, SolverError
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")


def plan_of(seed: int, **options):
    rng = random.Random(seed)
    return checked_plan(random_cluster(rng), random_sketch(rng), release=RELEASE, **options)


def fitting_seed() -> int:
    """Return a seed whose plan fits and has something to prove."""
    return next(seed for seed in range(100) if plan_of(seed).fits)


def test_engines_agree():
    """HiGHS and CBC find the same optimum, and CBC's is called proven only when it is."""
    for seed in range(20, 30):
        highs, cbc = plan_of(seed), plan_of(seed, solver="CBC")
        assert [goal.value for goal in highs.goals] == [goal.value for goal in cbc.goals], f"seed {seed}"
        assert highs.status is cbc.status


def test_cancelled_before_the_start():
    """A plan cancelled before it began is STOPPED as well."""
    cancel = threading.Event()
    cancel.set()
    assert plan_of(fitting_seed(), cancel=cancel).status is PlanStatus.STOPPED


def test_cancelled_after_the_first_answer():
    """A plan cancelled after its first goal keeps the answer and says which goals are not proven."""
    cancel = threading.Event()

    def stop(progress):
        if progress.stage == "alternatives":
            cancel.set()

    seed = next(s for s in range(300) if (p := plan_of(s)).fits and p.goal("roots").value > 1)
    plan = plan_of(seed, goals=("damage",), cancel=cancel, progress=stop)
    assert plan.status is PlanStatus.FEASIBLE
    assert plan.placements
    assert plan.goals[0].proven
    assert not all(goal.proven for goal in plan.goals)
    assert plan.first_fit is None


def test_progress_tells_each_goal():
    """Progress names every goal in order, with its best value and bound."""
    reports = []
    plan = plan_of(fitting_seed(), progress=reports.append)
    goals = [step for step in reports if step.stage in {goal.goal for goal in plan.goals}]
    assert [step.stage for step in goals] == [goal.goal for goal in plan.goals]
    assert all(step.best == step.bound for step in goals)


def test_unknown_solver_goal_and_node():
    """What is not known is refused with the choices."""
    with pytest.raises(SolverError, match="HiGHS, CBC"):
        plan_of(fitting_seed(), solver="GLPK")
    with pytest.raises(InputError, match="numa, unpaired, roots"):
        plan_of(1, goals=("speed",))
    with pytest.raises(InputError, match="no node 'n9'"):
        plan_of(1, node="n9")


def test_empty_drawing():
    """A drawing without requests has an EMPTY plan and no nodes."""
    plan = checked_plan(random_cluster(random.Random(1)), ClaimSketch(), release=RELEASE)
    assert plan.status is PlanStatus.EMPTY
    assert plan.node_classes == ()
