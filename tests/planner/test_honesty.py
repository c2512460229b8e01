"""What is said to be proven is proven: status, bound, time limit, cancel, and the traps of PuLP and HiGHS."""

from __future__ import annotations

import random
import threading
import time

import pulp
import pytest
from budgets import use_sizes
from checked_plans import checked_plan
from random_clusters import random_cluster, random_fleet, random_sketch

from dra_lab.errors import InputError, SolverError
from dra_lab.model.plan import NodeFit, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget, Progress
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.solver_outcome import integer_bound

RELEASE = KubernetesRelease("1.36")


def knapsack(items: int = 300, rows: int = 25) -> tuple[pulp.LpProblem, object]:
    """Make a model that takes HiGHS long to prove, but for which it soon has an answer."""
    rng = random.Random(2)
    lp = pulp.LpProblem("knapsack", pulp.LpMinimize)
    left_out = [lp.add_variable(f"x_{n}", 0, 1, pulp.LpInteger) for n in range(items)]
    for row in range(rows):
        weights = [rng.randint(10, 99) for _ in left_out]
        lp.addConstraint(pulp.lpDot(weights, left_out) >= 2 * sum(weights) // 3, f"row_{row}")
    return lp, pulp.lpDot([rng.randint(10, 99) for _ in left_out], left_out)


def market_split(items: int = 60, rows: int = 30) -> tuple[pulp.LpProblem, object]:
    """Make a model for which hardly any solution is ever found."""
    rng = random.Random(1)
    lp = pulp.LpProblem("split", pulp.LpMinimize)
    chosen = [lp.add_variable(f"x_{n}", 0, 1, pulp.LpInteger) for n in range(items)]
    for row in range(rows):
        weights = [rng.randint(1, 99) for _ in chosen]
        lp.addConstraint(pulp.lpDot(weights, chosen) == sum(weights) // 2, f"row_{row}")
    return lp, pulp.lpSum(chosen)


def plan_of(seed: int, **options):
    rng = random.Random(seed)
    return checked_plan(random_cluster(rng), random_sketch(rng), release=RELEASE, **options)


def fitting_seed() -> int:
    """Return a seed whose plan fits and has something to prove."""
    return next(seed for seed in range(100) if plan_of(seed).fits)


def test_time_limit_is_not_a_proof():
    """An answer at the time limit has a bound below its value and is not proven (stock PuLP calls it Optimal)."""
    lp, objective = knapsack()
    for variable in lp.variables():
        variable.varValue = 1  # everything left out is an answer to start from
    outcome = minimise(lp, objective, "HiGHS", Budget(time.monotonic() + 0.3))
    assert outcome.stopped
    assert outcome.value is not None
    assert outcome.bound is None or outcome.bound < outcome.value
    assert not outcome.proven
    assert lp.sol_status == pulp.LpSolutionIntegerFeasible


def test_no_incumbent_has_no_values():
    """A solve that ended without any solution leaves None in every variable, not zeros."""
    lp, objective = market_split()
    outcome = minimise(lp, objective, "HiGHS", Budget(time.monotonic() + 0.2))
    assert outcome.value is None
    assert not outcome.infeasible
    assert {variable.varValue for variable in lp.variables()} == {None}


@pytest.mark.parametrize("model", [knapsack, market_split])
def test_cancel_ends_a_solve(model):
    """Cancel ends a running solve that has no other limit."""
    lp, objective = model()
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    outcome = minimise(lp, objective, "HiGHS", Budget(cancel=cancel))
    assert outcome.stopped
    assert not outcome.proven


def test_gap_below_one_is_exact():
    """Proven means that the smallest integer not below the bound equals the value."""
    assert integer_bound(1.1) == 2
    assert integer_bound(2.0000000001) == 2
    assert integer_bound(float("-inf")) is None


def test_engines_agree():
    """HiGHS and CBC find the same optimum, and CBC's is called proven only when it is."""
    for seed in range(20, 30):
        highs, cbc = plan_of(seed), plan_of(seed, solver="CBC")
        assert [goal.value for goal in highs.goals] == [goal.value for goal in cbc.goals], f"seed {seed}"
        assert highs.status is cbc.status


def test_infeasible_is_reported_by_both():
    """A model without a solution is infeasible with every solver."""
    for solver in ("HiGHS", "CBC"):
        lp = pulp.LpProblem("none", pulp.LpMinimize)
        x = lp.add_variable("x_0", 0, 5, pulp.LpInteger)
        lp.addConstraint(2 * x == 7, "odd")
        assert minimise(lp, x + 0, solver, Budget()).infeasible


def test_thread_count_of_others_does_no_harm():
    """HiGHS used elsewhere in the process with another number of threads does not break the next solve."""
    other, objective = knapsack(40, 5)
    other.setObjective(objective)
    other.solve(pulp.HiGHS(msg=False, threads=2, timeLimit=1))
    lp, objective = knapsack(10, 2)
    assert minimise(lp, objective, "HiGHS", Budget()).proven


def test_no_time_at_all():
    """With no time there is no answer: STOPPED, every node unknown, nothing claimed."""
    plan = plan_of(fitting_seed(), time_limit=0.0)
    assert plan.status is PlanStatus.STOPPED
    assert not plan.proven
    assert {node_class.fit for node_class in plan.node_classes} == {NodeFit.UNKNOWN}
    assert not plan.shortfalls


def test_cancelled_before_the_start():
    """A plan cancelled before it began is STOPPED as well."""
    cancel = threading.Event()
    cancel.set()
    assert plan_of(fitting_seed(), cancel=cancel).status is PlanStatus.STOPPED


def test_cancelled_after_the_first_answer():
    """A plan cancelled after its first goal keeps the answer and says which goals are not proven."""
    cancel = threading.Event()

    def stop(progress: Progress) -> None:
        if progress.stage == "alternatives":
            cancel.set()

    seed = next(s for s in range(300) if (p := plan_of(s)).fits and (p.goal("roots") or 0) > 1)
    plan = plan_of(seed, cancel=cancel, progress=stop)
    assert plan.status is PlanStatus.FEASIBLE
    assert plan.placements
    assert plan.goals[0].proven
    assert not all(goal.proven for goal in plan.goals)
    assert plan.first_fit is None


def test_progress_tells_each_goal():
    """Progress names every goal in order, with its best value and bound."""
    reports: list[Progress] = []
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


def test_same_plan_every_time():
    """The same question has the same answer, device by device."""
    seed = fitting_seed()
    assert plan_of(seed).placements == plan_of(seed).placements


def test_damage_beyond_its_budget_is_not_proven(monkeypatch):
    """Where only one of several equally good nodes is looked at for `damage`, nothing is claimed about the others."""
    for seed in (257, 602):
        rng = random.Random(f"budget {seed}")
        cluster, sketch = random_fleet(rng, 4), random_sketch(rng)
        whole = checked_plan(cluster, sketch, release=RELEASE)
        use_sizes(monkeypatch, damaged=1)
        part = checked_plan(cluster, sketch, release=RELEASE)
        monkeypatch.undo()
        *before, damage = part.goals
        assert whole.proven
        assert part.status is PlanStatus.FEASIBLE
        assert all(goal.proven for goal in before)
        assert (damage.goal, damage.proven, damage.bound) == ("damage", False, 0)
        assert damage.value >= whole.goal("damage")


def test_a_time_limit_during_the_goals_gives_the_best_so_far():
    """Whatever moment the time ends at, no goal is called proven that is not, and no bound is above its value."""
    seed = next(s for s in range(300) if (p := plan_of(s)).fits and (p.goal("roots") or 0) > 1)
    best = plan_of(seed)
    values = {goal.goal: goal.value for goal in best.goals}
    for milliseconds in (1, 3, 5, 8, 12, 20):
        plan = plan_of(seed, time_limit=milliseconds / 1000)
        assert plan.status in (PlanStatus.STOPPED, PlanStatus.FEASIBLE, PlanStatus.OPTIMAL)
        for goal in plan.goals:
            assert goal.bound is None or goal.bound <= goal.value
            assert not goal.proven or goal.value == values[goal.goal]
        assert plan.status is not PlanStatus.OPTIMAL or all(goal.proven for goal in plan.goals)


def test_first_fit_obeys_cancel_and_limit(monkeypatch):
    """Beside a plan the scheduler's search gets what is left of the time, and the person's event."""
    from dra_lab.planner import kube_scheduler

    seed = fitting_seed()
    reports: list[dict[str, object]] = []
    real = kube_scheduler.first_fit

    def listening(*arguments, **options):
        reports.append(options)
        return real(*arguments, **options)

    monkeypatch.setattr(kube_scheduler, "first_fit", listening)
    cancel = threading.Event()
    plan_of(seed, cancel=cancel, time_limit=2.0)
    assert reports
    assert all(options["cancel"] is cancel and 0 < options["time_limit"] <= 2.0 for options in reports)
