"""From a first solution to the best one: goal after goal by the model, with what no solution undercuts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import GoalBound
from dra_lab.planner.gangs.counted_goals import counted_bound
from dra_lab.planner.gangs.gang_model import GangModel
from dra_lab.planner.gangs.goal_values import values_of
from dra_lab.planner.gangs.greedy import greedy
from dra_lab.planner.gangs.problem import GangProblem, GangSolution
from dra_lab.planner.node.solver_outcome import agreed


@dataclass
class Best:
    """The best solution so far, and its goals."""

    solution: GangSolution
    goals: list[GoalBound]


def best_solution(problem: GangProblem, solver: str, budget: Budget, goals: int | None = None) -> Best:
    """Return the best solution that was found in time, with the bounds of the first `goals` goals, None for all.

    Without a time limit, it is improved for `Shares.improve` seconds: a model of many gangs may take hours.
    """
    if budget.deadline is None:
        budget = replace(budget, deadline=time.monotonic() + budget.shares.improve)
    first = greedy(problem, budget.part(budget.shares.step), by_value=goals is None)
    search = _Search(problem, solver, budget, first)
    bounds = search.run(problem.order[:goals])
    return Best(search.solution, bounds)


class _Search:
    def __init__(self, problem: GangProblem, solver: str, budget: Budget, solution: GangSolution) -> None:
        self.problem, self.solver, self.budget = problem, solver, budget
        self.solution, self.values = solution, values_of(problem, solution)
        self._model: GangModel | None = None
        self._bounds: GangModel | None = None
        self._kept: list[tuple[str, int, bool]] = []

    def run(self, order: Sequence[str]) -> list[GoalBound]:
        """Decide goal after goal; return what is proven of each."""
        goals = []
        open_device = False
        for at, goal in enumerate(order):
            # Behind a goal of devices that is not proven, values that compare goal after goal bound nothing.
            floors = open_device and goal in self.problem.device
            bound = self._decide(at, goal, floors=floors)
            have = self.values[at]
            goals.append(GoalBound(goal, have, self._bounded(bound, have)))
            self.budget.report_step(goal, f"{goal}: best {have}, bound {bound}", have, bound)
            self._keep(goal, have, floors=floors)
            open_device = open_device or (goal in self.problem.device and not goals[-1].proven)
        # A solution that was found for a later goal may be better in one that was not proven.
        final = zip(goals, self.values, strict=False)
        return [GoalBound(g.goal, v, None if g.bound is None else agreed(g.bound, v)) for g, v in final]

    def _bounded(self, bound: int | None, have: int) -> int | None:
        """Return a bound as far as it holds: on nodes that were not examined, any gang may fit at the best values."""
        return agreed(bound, have) if self.problem.whole else 0

    def _keep(self, goal: str, value: int, *, floors: bool) -> None:
        self._kept.append((goal, value, floors))
        if self.budget.reached:
            # No model is asked any more, and to write a row of a large one takes a while.
            return
        if self._model is not None:
            self._model.keep(goal, value)
        if self._bounds is not None and self._bounds is not self._model:
            self._bounds.keep(goal, value, floors=floors)

    def _models(self) -> tuple[GangModel, GangModel] | None:
        """Return the model that plans and the one that bounds; both are one if all is known and proven so far.

        None if there was no time to make them.
        """
        if self._model is None:
            self.problem.decide_all(self.budget.part(self.budget.shares.step))
            self.values = values_of(self.problem, self.solution)
            self._model = self._made(least=False)
        if self._bounds is None:
            self._bounds = self._model if self.problem.closed else self._made(least=True)
        return None if self.budget.reached else (self._model, self._bounds)

    def _made(self, *, least: bool) -> GangModel:
        model = GangModel(self.problem, self.solver, self.budget, least=least)
        for goal, value, floors in () if self.budget.reached else self._kept:
            model.keep(goal, value, floors=least and floors)
        return model

    def _decide(self, at: int, goal: str, *, floors: bool) -> int | None:
        """Improve a goal; return what no solution undercuts that keeps the goals before."""
        counted = counted_bound(self.problem, goal, self.values)
        have = self.values[at]
        if have <= counted or self.budget.reached:
            return counted
        if floors and self._bounds is self._model:
            # The floors are rows of their own, which the plan need not keep.
            self._bounds = self._made(least=True)
        models = self._models()
        if models is None:
            return counted
        model, bounds = models
        looking = self.budget.part(self.budget.shares.step)
        bound = max(counted, bounds.relaxed(bounds.expression(goal, floors=floors), looking))
        if bound >= have or self.budget.reached:
            return bound
        model.start_from(self.solution)
        expression = model.expression(goal)
        if not isinstance(expression, int):
            outcome = model.minimise(expression, looking)
            if outcome.infeasible:
                raise SolverError("the solver finds no solution where one is known; try the solver CBC")
            if outcome.value is not None and outcome.value < have:
                self._improve(model.read(), at)
            if bounds is model and not floors and outcome.bound is not None:
                bound = max(bound, outcome.bound)
        if bounds is not model and bound < self.values[at] and not self.budget.reached:
            mine = bounds.expression(goal, floors=floors)
            outcome = bounds.minimise(mine, self.budget.part(self.budget.shares.step))
            bound = max(bound, outcome.bound or 0)
        return bound

    def _improve(self, solution: GangSolution, at: int) -> None:
        values = values_of(self.problem, solution)
        if values < self.values and values[: at + 1] <= self.values[: at + 1]:
            self.solution, self.values = solution, values
