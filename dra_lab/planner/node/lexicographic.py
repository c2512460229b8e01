"""Solve one problem in stages: each goal is minimised and fixed at its proven value before the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.model.goals import DAMAGE, GoalValue
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import (
    AllocationProblem,
    NodeSolution,
    Taken,
    counted,
    devices_of,
    report_goal,
)
from dra_lab.planner.node.goal_table import Objective, goal_values, objectives
from dra_lab.planner.node.merged_requests import merge_requests
from dra_lab.planner.node.milp import build_model, hopeless, minimise_exactly
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.node.variables import Expression, Model, OneOf, total

if TYPE_CHECKING:
    from dra_lab.planner.replicas import FurtherReplicas

SEARCH_WEIGHT = 5


class _Run(Struct):
    """One staged solve of `problem` while it goes on.

    `others` knows of further replicas on the node (goal `damage`); once they are in the model, the claim's own asks are
    the first `mine`.
    """

    problem: AllocationProblem
    model: Model
    goals: tuple[Objective, ...]
    solver: str
    budget: Budget
    others: FurtherReplicas | None
    done: list[GoalValue] = field(default_factory=list)
    have: Taken = ()
    mine: int | None = None

    def minimise(self, expression: Expression, have: int | None = None) -> Outcome:
        """Minimise, and keep the better allocation."""
        outcome = minimise_exactly(self.model, expression, self.solver, self.budget, have)
        if outcome.value is not None and (have is None or outcome.value <= have):
            takes = {key: int(variable.varValue or 0) for key, variable in self.model.take.items()}
            found = devices_of(self.model.problem, takes)
            self.have = tuple(row for row in found if self.mine is None or row[0] < self.mine)
        return outcome

    def value(self, objective: Objective) -> int:
        """Return a goal of the allocation that was found, by what it takes."""
        if isinstance(objective.expression, int):
            return objective.expression
        return goal_values(self.problem, counted(self.problem, self.have))[objective.goal]

    def conclude(self, goal: str, value: int, bound: int) -> None:
        """Note a goal that is decided."""
        self.done.append(GoalValue(goal, value, bound, proven=bound >= value))
        report_goal(self.budget, self.done[-1])


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
    one = problem if merged is None else merged.problem
    if hopeless(one):
        return NodeSolution(infeasible=True)
    model = build_model(Model(one))
    order = [goal for goal in order if goal != DAMAGE or others is not None]
    goals = objectives(model, order, damage=others.before[1] if others is not None else 0)
    run = _Run(one, model, goals, solver, budget, others)
    # Any good allocation, all goals in one weighted sum: only the stages after it prove anything.
    weighted = total(SEARCH_WEIGHT ** (len(order) - at) * goal.expression for at, goal in enumerate(goals))
    outcome = run.minimise(weighted)
    if outcome.value is None:
        return NodeSolution(infeasible=outcome.infeasible)
    worse = False
    for position, goal in enumerate(order):
        if goal == DAMAGE:
            _damage(run)
        else:
            _stage(run, position, least)
        done = run.done[-1]
        worse = best is not None and done.proven and done.value > best[position]
        if worse or not done.proven:
            break
        if best is not None and done.value < best[position]:
            best = None
    late = () if worse else [GoalValue(goal.goal, run.value(goal)) for goal in run.goals[len(run.done) :]]
    taken = run.have
    if merged is not None:
        taken = devices_of(problem, merged.hand_back(counted(one, taken)))
    return NodeSolution(taken, (*run.done, *late), worse=worse)


def _stage(run: _Run, position: int, least: tuple[int, ...]) -> None:
    """Decide one goal and fix it if it is proven."""
    objective = run.goals[position]
    value = run.value(objective)
    known = least[:position] == tuple(stage.value for stage in run.done)
    bound = least[position] if known and position < len(least) else 0
    if value > bound:
        bound = max(bound, run.minimise(objective.expression, value).bound or 0)
        value = min(value, run.value(objective))
    run.conclude(objective.goal, value, bound)
    if bound >= value and position + 1 < len(run.goals):
        run.model.require(objective.expression <= value)


def _damage(run: _Run) -> None:
    """Goal 7: as many further replicas as can be beside this one, the goals before kept; from the most downwards.

    Where this one keeps every preferred link it is one of those that fit, so that it does a damage of 1 at least.
    """
    assert run.others is not None
    least, most = run.others.before
    kept = any(stage.goal == "preferences" and not stage.value for stage in run.done)
    floor = run.others.least(kept=kept)
    if run.others.plain or not run.others.modelled:
        run.conclude(DAMAGE, floor if run.others.plain else most, floor)
        return
    for count in range(most - floor, -1, -1):
        outcome = _with_copies(run, count) if count else None
        if outcome is None or not outcome.infeasible:
            after = count if outcome is not None and outcome.value is not None else 0
            run.conclude(DAMAGE, most - after, max(floor, least - count))
            return


def _with_copies(run: _Run, count: int) -> Outcome:
    """Look for an allocation with the values reached so far beside which a number of replicas fits; keep it if so."""
    assert run.others is not None
    copies = run.others.with_copies(count)
    model = build_model(Model(copies.problem))
    order = [goal.goal for goal in run.goals]
    goals = objectives(OneOf(model, copies, 0), order, damage=run.others.before[1])
    reached = {stage.goal: stage.value for stage in run.done}
    for goal in goals:
        if goal.goal in reached:
            model.require(goal.expression == reached[goal.goal])
    trial = replace(run, model=model, goals=goals, mine=copies.parts[0].asks[1], budget=run.others.bounded)
    outcome = trial.minimise(0)
    if outcome.value is not None:
        run.model, run.goals, run.have, run.mine = model, goals, trial.have, trial.mine
    return outcome
