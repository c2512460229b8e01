"""From a first solution to a better one: goal after goal, by counting and by the model, with what none undercuts."""

from __future__ import annotations

import time
from collections.abc import Sequence

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import GoalBound
from dra_lab.planner.gangs.goals import counted_bound, counts_pods, values_of
from dra_lab.planner.gangs.greedy import greedy
from dra_lab.planner.gangs.model import GangModel
from dra_lab.planner.gangs.problem import GangProblem, GangSolution
from dra_lab.planner.node.solver_outcome import agreed


def best_solution(
    problem: GangProblem, solver: str, budget: Budget, goals: int | None = None
) -> tuple[GangSolution, list[GoalBound]]:
    """Return the best solution that was found in time, with the bounds of the first `goals` goals, None for all.

    Without a time limit, it is improved for `Shares.improve` seconds: a model of many gangs may take hours.
    """
    if budget.deadline is None:
        budget = budget.until(time.monotonic() + budget.shares.improve)
    first = greedy(problem, budget.part(budget.shares.step), by_value=goals is None)
    search = _Search(problem, solver, budget, first)
    found = search.run(problem.needs.goals[:goals])
    return search.solution, found


class _Search:
    def __init__(self, problem: GangProblem, solver: str, budget: Budget, first: GangSolution) -> None:
        self.problem, self.solver, self.budget = problem, solver, budget
        self.solution, self.values = first, values_of(problem, first)
        self._models: dict[bool, GangModel] = {}

    def run(self, order: Sequence[str]) -> list[GoalBound]:
        """Decide goal after goal; return what is proven of each."""
        # Behind a goal of devices that is not proven, values that compare goal after goal bound nothing.
        sure, goals = True, []
        for at, goal in enumerate(order):
            bound = counted_bound(self.problem, goal, self.values, self.budget)
            if self.values[at] > bound and not self.budget.reached:
                bound = max(bound, self._decide(at, goal, sure=sure))
            have = self.values[at]
            # On nodes that were not examined, any gang may fit at the best values.
            known = 0 if self.problem.not_examined else agreed(bound, have)
            goals.append(GoalBound(goal, have, known))
            sure = sure and (goal not in self.problem.device or goals[-1].proven)
            self.budget.report_step(goal, f"{goal}: best {have}, bound {bound}", have, bound)
            # After the time is over no model is asked any more, and to write a row of a large one takes a while.
            for model in () if self.budget.reached else self._models.values():
                model.keep(goal, have)
        # A solution that was found for a later goal may be better in one that was not proven.
        final = zip(goals, self.values, strict=False)
        return [GoalBound(g.goal, v, None if g.bound is None else agreed(g.bound, v)) for g, v in final]

    def _decide(self, at: int, goal: str, *, sure: bool) -> int:
        """Improve a goal; return what no solution undercuts that keeps the goals before it, 0 if that is not known."""
        if self.problem.small:
            model, looking = self._model(at, values=True), self.budget.part(self.budget.shares.step)
            outcome = model.minimise(goal, looking, have=self.values[at])
            if outcome.infeasible:
                raise SolverError("the solver finds no solution where one is known; try the solver CBC")
            if outcome.value is not None and outcome.value < self.values[at]:
                solution = model.read()
                values = values_of(self.problem, solution)
                if values < self.values and values[: at + 1] <= self.values[: at + 1]:
                    self.solution, self.values = solution, values
            if self.problem.closed:
                return outcome.bound or 0 if sure else 0
        if not counts_pods(goal) or self.budget.reached:
            return 0
        looking = self.budget.part(self.budget.shares.step)
        return self._model(at, values=False).minimise(goal, looking, have=self.values[at]).bound or 0

    def _model(self, at: int, *, values: bool) -> GangModel:
        """Return the model that plans, or without `values` the one that bounds goals that count pods."""
        if values and values not in self._models:
            self.problem = self.problem.decided(self.budget.part(self.budget.shares.step))
            self.values = values_of(self.problem, self.solution)
        if values not in self._models:
            self._models[values] = GangModel(self.problem, self.solver, self.budget, values=values)
            before = () if self.budget.reached else self.problem.needs.goals[:at]
            for goal, value in zip(before, self.values, strict=False):
                self._models[values].keep(goal, value)
        return self._models[values]
