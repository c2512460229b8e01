"""Solve one problem in stages: each goal is minimised and fixed at its proven value before the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.model.plan import DAMAGE, GoalValue
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.goal_table import Objective, goal_values, objectives
from dra_lab.planner.node.merged_requests import merge_requests
from dra_lab.planner.node.milp import build_model, hopeless, minimise_exactly, read_taken
from dra_lab.planner.node.solution import NodeSolution, Taken, counted, devices_of, report_goal
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.node.variables import Expression, Model, OneOf, total

if TYPE_CHECKING:
    from dra_lab.planner.replicas import FurtherReplicas

SEARCH_WEIGHT = 5


class _Run(Struct):
    """One staged solve of `problem` while it goes on.

    `others` knows of further replicas on the node (goal `damage`); once they are in the model, the claim's own asks are
    the first `mine`. `valued` is the latest allocation with its goals.
    """

    problem: AllocationProblem
    model: Model
    goals: tuple[Objective, ...]
    solver: str
    budget: Budget
    least: tuple[int, ...] = ()
    done: list[GoalValue] = field(default_factory=list)
    have: Taken | None = None
    others: FurtherReplicas | None = None
    mine: int | None = None
    valued: tuple[Taken | None, dict[str, int]] | None = None


def solve_problem(
    problem: AllocationProblem,
    order: Sequence[str],
    budget: Budget,
    *,
    solver: str = "HiGHS",
    best: tuple[int, ...] | None = None,
    least: tuple[int, ...] = (),
    others: FurtherReplicas | None = None,
) -> NodeSolution:
    """Find the best allocation of one claim on one node, goal by goal, with a proof for each.

    `order` names the goals, most important first. `best` are values that another node reached: the solve ends as soon
    as this node is proven worse. `least` are values known to be unbeatable, which are a proof if they are reached. It
    ends at the first goal that is not proven; the later goals then carry the value that the allocation found has,
    unproven. The goal `damage` needs `others`; without, it is left out. Raises SolverError when the solver fails.
    """
    merged = merge_requests(problem)
    found = _solve(problem if merged is None else merged.problem, order, budget, solver, best, least, others)
    if merged is None or found.taken is None:
        return found
    return replace(found, taken=devices_of(problem, merged.hand_back(counted(merged.problem, found.taken))))


def _solve(
    problem: AllocationProblem,
    order: Sequence[str],
    budget: Budget,
    solver: str,
    best: tuple[int, ...] | None,
    least: tuple[int, ...],
    others: FurtherReplicas | None,
) -> NodeSolution:
    if hopeless(problem):
        return NodeSolution(infeasible=True)
    model = build_model(Model(problem))
    order = [goal for goal in order if goal != DAMAGE or others is not None]
    goals = objectives(model, order, damage=others.most if others is not None else 0)
    run = _Run(problem, model, goals, solver, budget, least, others=others)
    outcome = _first(run)
    if outcome.infeasible:
        return NodeSolution(infeasible=True)
    if outcome.value is None:
        return NodeSolution()
    for position, goal in enumerate(order):
        if not (_damage(run) if goal == DAMAGE else _stage(run, position, run.goals[position])):
            break
        if best is not None and run.done[-1].value != best[position]:
            if run.done[-1].value > best[position]:
                return NodeSolution(run.have, tuple(run.done), worse=True)
            best = None
    rest = run.goals[len(run.done) :]
    values = _values(run)
    late = (GoalValue(goal.goal, values[goal.goal]) for goal in rest)
    return NodeSolution(run.have, (*run.done, *late))


def _first(run: _Run) -> Outcome:
    """Find a good allocation, all goals in one weighted sum: only the stages after it prove anything."""
    weighted = total(
        SEARCH_WEIGHT ** (len(run.goals) - position) * goal.expression for position, goal in enumerate(run.goals)
    )
    return _minimise(run, weighted)


def _stage(run: _Run, position: int, objective: Objective) -> bool:
    """Decide one goal and fix it; say whether it is proven."""
    value = _values(run)[objective.goal]
    known = run.least[:position] == tuple(stage.value for stage in run.done)
    floor = run.least[position] if known and position < len(run.least) else 0
    bound: int | None = floor
    if value > floor:
        outcome = _minimise(run, objective.expression, value)
        bound = max(floor, outcome.bound) if outcome.bound is not None else floor
        value = min(value, _values(run)[objective.goal])
    proven = _conclude(run, objective.goal, value, bound)
    if proven and position + 1 < len(run.goals):
        run.model.require(objective.expression <= value)
    return proven


def _conclude(run: _Run, goal: str, value: int, bound: int | None) -> bool:
    proven = bound is not None and bound >= value
    run.done.append(GoalValue(goal, value, bound, proven))
    report_goal(run.budget, run.done[-1])
    return proven


def _damage(run: _Run) -> bool:
    """Goal 7: as many further replicas as can be beside this one, the goals before kept; from the most downwards.

    Where this one keeps every preferred link it is one of those that fit, so that it does a damage of 1 at least.
    """
    assert run.others is not None
    least, most = run.others.before
    kept = any(stage.goal == "preferences" and not stage.value for stage in run.done)
    floor = run.others.least(kept=kept)
    if run.others.plain or not run.others.modelled:
        return _conclude(run, DAMAGE, floor if run.others.plain else run.others.most, floor)
    for count in range(most - floor, 0, -1):
        outcome = _with_copies(run, count)
        if not outcome.infeasible:
            after = count if outcome.value is not None else 0
            return _conclude(run, DAMAGE, most - after, max(floor, least - count))
    return _conclude(run, DAMAGE, most, max(floor, least))


def _with_copies(run: _Run, count: int) -> Outcome:
    """Look for an allocation with the values reached so far beside which a number of replicas fits; keep it if so."""
    assert run.others is not None
    copies = run.others.with_copies(count)
    model = build_model(Model(copies.problem))
    own = OneOf(model, copies, 0)
    order = [goal.goal for goal in run.goals]
    goals = objectives(own, order, damage=run.others.most)
    reached = {stage.goal: stage.value for stage in run.done}
    for goal in goals:
        if goal.goal in reached:
            model.require(goal.expression == reached[goal.goal])
    trial = replace(run, model=model, goals=goals, mine=copies.parts[0].asks[1], budget=run.others.bounded)
    outcome = _minimise(trial, 0)
    if outcome.value is not None:
        run.model, run.goals, run.have, run.mine = model, goals, trial.have, trial.mine
    return outcome


def _minimise(run: _Run, expression: Expression, have: int | None = None) -> Outcome:
    """Minimise, and keep the better allocation."""
    outcome = minimise_exactly(run.model, expression, run.solver, run.budget, have)
    if outcome.value is not None and (have is None or outcome.value <= have):
        run.have = tuple(row for row in read_taken(run.model) if run.mine is None or row[0] < run.mine)
    return outcome


def _values(run: _Run) -> dict[str, int]:
    """Return the goals of the allocation that was found, by what it takes (`goal_values`)."""
    if run.valued is not None and run.valued[0] is run.have:
        return run.valued[1]
    found = goal_values(run.problem, counted(run.problem, run.have or ()))
    values = {g.goal: g.expression if isinstance(g.expression, int) else found[g.goal] for g in run.goals}
    run.valued = (run.have, values)
    return values
