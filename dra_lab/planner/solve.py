"""Solve one problem in stages: each goal is minimised and fixed at its proven value before the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from dra_lab.model.plan import DAMAGE, GOALS, GoalValue
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.budget import Budget
from dra_lab.planner.constraints import build_model
from dra_lab.planner.goal_table import Objective, goal_values, objectives
from dra_lab.planner.merged_requests import MergedRequests, merge_requests
from dra_lab.planner.outcome import Outcome
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.recount import Taken, minimise_exactly, read_taken
from dra_lab.planner.variables import Expression, Model, total

if TYPE_CHECKING:
    from dra_lab.planner.replicas import Others

SEARCH_WEIGHT = 5


@dataclass(frozen=True, slots=True)
class StageResult:
    """One goal: its value in the allocation found, the best value still possible (None: unknown), proven or not."""

    goal: str
    value: int
    bound: int | None
    proven: bool


@dataclass(frozen=True)
class Solution:
    """What is known of one problem.

    `taken` lists (index of the ask, device) in the claim's order, None where no allocation was found; `infeasible` is a
    proof that there is none; `worse` says that it is proven worse than the values it was compared with (the later goals
    are then not decided); `copied` that it is known from equal hardware and `taken` does not name this node's devices.
    """

    taken: Taken | None = None
    stages: tuple[StageResult, ...] = ()
    infeasible: bool = False
    worse: bool = False
    copied: bool = False

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven best."""
        return self.taken is not None and all(stage.proven for stage in self.stages)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Return the goals' values in order of importance."""
        return tuple([stage.value for stage in self.stages])

    @cached_property
    def goals(self) -> tuple[GoalValue, ...]:
        """Return the goals as a plan tells them."""
        return tuple([GoalValue(stage.goal, stage.value, stage.bound, stage.proven) for stage in self.stages])


@dataclass
class _Run:
    """One staged solve of `problem` while it goes on.

    `others` knows of further replicas on the node (goal `damage`); once they are in the model, the claim's own asks are
    the first `mine`.
    """

    problem: AllocationProblem
    model: Model
    goals: tuple[Objective, ...]
    solver: str
    budget: Budget
    best: tuple[int, ...] | None
    least: tuple[int, ...] = ()
    done: list[StageResult] = field(default_factory=list)
    have: Taken | None = None
    others: Others | None = None
    mine: int | None = None


def solve_problem(
    problem: AllocationProblem,
    order: Sequence[str],
    budget: Budget,
    *,
    solver: str = "HiGHS",
    best: tuple[int, ...] | None = None,
    least: tuple[int, ...] = (),
    others: Others | None = None,
) -> Solution:
    """Find the best allocation of one claim on one node, goal by goal, with a proof for each.

    `order` names the goals, most important first; `best` are values that another node reached: the solve ends as soon
    as this node is proven worse; `least` are values known to be unbeatable (a proof where they are reached). It ends at
    the first goal that is not proven; the later goals then carry the value that the allocation found has, unproven.
    The goal `damage` needs `others`; without, it is left out. Raises SolverError when the solver fails.
    """
    merged = merge_requests(problem)
    found = _solve(problem if merged is None else merged.problem, order, budget, solver, best, least, others)
    return _as_written(found, merged)


def _as_written(found: Solution, merged: MergedRequests | None) -> Solution:
    """Return a solution with the devices of the requests as they were written."""
    if merged is None or found.taken is None:
        return found
    return replace(found, taken=merged.devices_back(found.taken))


def _solve(
    problem: AllocationProblem,
    order: Sequence[str],
    budget: Budget,
    solver: str,
    best: tuple[int, ...] | None,
    least: tuple[int, ...],
    others: Others | None,
) -> Solution:
    if hopeless(problem):
        return Solution(infeasible=True)
    model = build_model(Model(problem))
    order = [goal for goal in order if goal != DAMAGE or others is not None]
    goals = objectives(model, order, damage=others.most if others is not None else 0)
    run = _Run(problem, model, goals, solver, budget, best, least, others=others)
    outcome = _first(run)
    if outcome.infeasible:
        return Solution(infeasible=True)
    if outcome.value is None:
        return Solution()
    for position, goal in enumerate(order):
        if not (_damage(run) if goal == DAMAGE else _stage(run, position, run.goals[position])):
            break
        if best is not None and run.done[-1].value != best[position]:
            if run.done[-1].value > best[position]:
                return Solution(run.have, tuple(run.done), worse=True)
            run.best = best = None
    rest = run.goals[len(run.done) :]
    values = _values(run)
    late = (StageResult(goal.goal, values[goal.goal], None, False) for goal in rest)
    return Solution(run.have, (*run.done, *late))


def find_allocation(problem: AllocationProblem, budget: Budget, *, solver: str = "HiGHS") -> Solution:
    """Find any allocation, or the proof that there is none; neither when time or a person ended the search."""
    merged = merge_requests(problem)
    one = problem if merged is None else merged.problem
    if hopeless(one):
        return Solution(infeasible=True)
    run = _Run(one, build_model(Model(one)), (), solver, budget, None)
    outcome = _minimise(run, 0)
    found = Solution(run.have if outcome.value is not None else None, infeasible=outcome.infeasible)
    return _as_written(found, merged)


def is_feasible(problem: AllocationProblem, budget: Budget, *, solver: str = "HiGHS") -> bool | None:
    """Say whether there is any allocation; None when time or a person ended the search before it was known."""
    found = find_allocation(problem, budget, solver=solver)
    return False if found.infeasible else None if found.taken is None else True


def hopeless(problem: AllocationProblem) -> bool:
    """Say whether some request cannot be served by counting alone, which needs no solver."""
    least: Counter[int] = Counter()
    for indices in problem.requests:
        needs = [problem.need(ask) for ask in indices if ask not in problem.impossible and is_enough(problem, ask)]
        if not needs:
            return True
        least[problem.claim_of(indices[0])] += min(needs)
    return max(least.values(), default=0) > MAX_DEVICES


def is_enough(problem: AllocationProblem, ask: int) -> bool:
    """Say whether a node has the devices that an ask takes, and it takes any."""
    have = sum(group.size for group in problem.groups if ask in group.asks)
    return 0 < problem.need(ask) <= have


def _first(run: _Run) -> Outcome:
    """Find a good allocation, all goals in one weighted sum: only the stages after it prove anything."""
    weighted = total(
        SEARCH_WEIGHT ** (len(run.goals) - position) * goal.expression for position, goal in enumerate(run.goals)
    )
    return _minimise(run, weighted)


def _stage(run: _Run, position: int, objective: Objective) -> bool:
    """Decide one goal and fix it; say whether it is proven."""
    value = _values(run)[objective.goal]
    floor = objective.floor
    if run.least[:position] == tuple(stage.value for stage in run.done) and position < len(run.least):
        floor = max(floor, run.least[position])
    bound: int | None = floor
    if value > floor:
        outcome = _minimise(run, objective.expression, value)
        bound = max(floor, outcome.bound) if outcome.bound is not None else floor
        value = min(value, _values(run)[objective.goal])
    proven = _conclude(run, objective.goal, value, bound)
    if proven and position + 1 < len(run.goals):
        run.model.require(objective.expression <= value, "goal", objective.goal)
    return proven


def _conclude(run: _Run, goal: str, value: int, bound: int | None) -> bool:
    proven = bound is not None and bound >= value
    run.done.append(StageResult(goal, value, bound, proven))
    run.budget.tell(goal, f"{GOALS[goal]}: {_say(value, bound, proven=proven)}", value, bound)
    return proven


def _damage(run: _Run) -> bool:
    """Goal 7: as many further replicas as can be beside this one, the goals before kept; from the most downwards.

    Where this one keeps every preferred link it is one of those that fit, so that it does a damage of 1 at least.
    """
    assert run.others is not None
    least, most = run.others.before
    kept = any(stage.goal == "preferences" and not stage.value for stage in run.done)
    floor = int(kept and most > 0 and not run.others.endless)
    if run.others.plain or most > run.budget.sizes.beside:
        return _conclude(run, DAMAGE, floor if run.others.plain else run.others.most, floor)
    for count in range(most - floor, 0, -1):
        outcome = _beside(run, count)
        if not outcome.infeasible:
            after = count if outcome.value is not None else 0
            return _conclude(run, DAMAGE, most - after, max(floor, least - count))
    return _conclude(run, DAMAGE, most, max(floor, least))


def _beside(run: _Run, count: int) -> Outcome:
    """Look for an allocation with the values reached so far beside which a number of replicas fits; keep it if so."""
    assert run.others is not None
    problem = run.others.beside(count)
    model = build_model(Model(problem))
    own = run.others.own(model)
    order = [goal.goal for goal in run.goals]
    goals = objectives(own, order, damage=run.others.most)
    reached = {stage.goal: stage.value for stage in run.done}
    for goal in goals:
        if goal.goal in reached:
            model.require(goal.expression == reached[goal.goal], "goal", goal.goal)
    trial = replace(run, model=model, goals=goals, mine=len(own.problem.asks), budget=run.others.bounded)
    outcome = _minimise(trial, 0)
    if outcome.value is not None:
        run.model, run.goals, run.have, run.mine = model, goals, trial.have, trial.mine
    return outcome


def _say(value: int, bound: int | None, *, proven: bool) -> str:
    return f"best {value}, proven" if proven else f"best {value}, bound {'unknown' if bound is None else bound}"


def _minimise(run: _Run, expression: Expression, have: int | None = None) -> Outcome:
    """Minimise, and keep the better allocation."""
    outcome = minimise_exactly(run.model, expression, run.solver, run.budget, have)
    if outcome.value is not None and (have is None or outcome.value <= have):
        run.have = tuple(row for row in read_taken(run.model) if run.mine is None or row[0] < run.mine)
    return outcome


def _values(run: _Run) -> dict[str, int]:
    """Return the goals of the allocation that was found, by what it takes (`goal_values`)."""
    group_of = {device: number for number, group in enumerate(run.problem.groups) for device in group.devices}
    found = goal_values(run.problem, Counter((ask, group_of[device]) for ask, device in run.have or ()))
    return {goal.goal: goal.expression if isinstance(goal.expression, int) else found[goal.goal] for goal in run.goals}
