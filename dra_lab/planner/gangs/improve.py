"""From a first solution to the best one: goal after goal by the model, with what no solution undercuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dra_lab.errors import SolverError
from dra_lab.model.fleet import UNPLACED
from dra_lab.model.gang import GANGS, LEVELS, SLOT
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import GoalBound
from dra_lab.planner.gangs.counted_goals import counted_bound
from dra_lab.planner.gangs.gang_model import GangModel
from dra_lab.planner.gangs.gang_sets import gang_sets
from dra_lab.planner.gangs.goal_values import priority_of, values_of
from dra_lab.planner.gangs.greedy import greedy, with_ordinary
from dra_lab.planner.gangs.largest_slot import decide_slot, slot_before
from dra_lab.planner.gangs.problem import GangProblem, GangSolution
from dra_lab.planner.gangs.set_items import may_be_split
from dra_lab.planner.gangs.whole_gangs import WholeGangs
from dra_lab.planner.node.solver_outcome import agreed


@dataclass
class Best:
    """The best solution so far, and its goals."""

    solution: GangSolution
    goals: list[GoalBound]


def best_solution(problem: GangProblem, solver: str, budget: Budget, goals: int | None = None) -> Best:
    """Return the best solution that was found in time, with the bounds of the first `goals` goals, None for all."""
    decide_slot(problem, budget.part(budget.shares.step))
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
        self._whole: WholeGangs | None = None
        self._tried = False
        self._by_whole = 0

    def run(self, order: Sequence[str]) -> list[GoalBound]:
        """Decide goal after goal; return what is proven of each."""
        goals = []
        open_device = False
        for at, goal in enumerate(order):
            # Behind a goal of devices that is not proven, values that compare goal after goal bound nothing.
            floors = open_device and goal in self.problem.device
            bound = self._decide(at, goal, floors=floors)
            have = self.values[at]
            goals.append(GoalBound(goal, have, self._bounded(goal, bound, have)))
            self.budget.report_step(goal, f"{goal}: best {have}, bound {bound}", have, bound)
            self._keep(goal, have, floors=floors)
            open_device = open_device or (goal in self.problem.device and not goals[-1].proven)
        # A solution that was found for a later goal may be better in one that was not proven.
        final = zip(goals, self.values, strict=False)
        return [GoalBound(g.goal, v, None if g.bound is None else agreed(g.bound, v)) for g, v in final]

    def _bounded(self, goal: str, bound: int | None, have: int) -> int | None:
        """Return a bound as far as it holds: on nodes that were not examined, any gang may fit at the best values."""
        sure, may = slot_before(self.problem) if goal == SLOT else (0, 0)
        return None if sure < may else agreed(bound, have) if self.problem.whole else 0

    def _keep(self, goal: str, value: int, *, floors: bool) -> None:
        self._kept.append((goal, value, floors))
        if self.budget.reached:
            # No model is asked any more, and to write a row of a large one takes a while.
            return
        if self._whole is not None:
            self._whole.keep(goal, value, self._by_whole)
        # With fewer ways to split a gang there is a model that bounds more.
        self._tried = self._tried and not (goal == LEVELS and self._in_fewest())
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
        self._by_whole = 0
        counted = counted_bound(self.problem, goal, self.values)
        # The sets bound later goals only if they reach the values of devices by themselves.
        by_sets = counted > 0 and goal in self.problem.device
        if self.budget.reached or (self.values[at] <= counted and not by_sets):
            return counted
        if not floors:
            counted = max(counted, self._whole_gangs(at, goal))
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

    def _whole_gangs(self, at: int, goal: str) -> int:
        """Improve a goal by the model of whole gangs, if there is one; return what no solution undercuts."""
        if goal == UNPLACED:
            return 0
        if not self._tried:
            self._tried, self._whole = True, self._made_whole()
        if self._whole is None or not self._whole.is_sure:
            return 0
        sets, budget = self._whole.sets, self.budget.part(self.budget.shares.step)
        self._by_whole, chosen = self._whole.decide(goal, self.values[at], self.solution, budget)
        # The devices of some nodes may have been found out on the way.
        self.values = values_of(self.problem, self.solution)
        solution = None if chosen is None or self.budget.cancelled else sets.solution(chosen)
        if solution is not None:
            self._improve(with_ordinary(self.problem, solution, self.budget), at)
        return self._by_whole

    def _in_fewest(self) -> bool:
        """Say whether every gang has a place, in as few domains of the levels that it prefers as can hold it."""
        needs, kept = self.problem.needs, {goal: value for goal, value, _ in self._kept}
        if not any(may_be_split(self.problem, need) for need in needs.gangs):
            return False
        if any(value for goal, value in kept.items() if priority_of(goal, needs)[0] == GANGS):
            return False
        return kept.get(LEVELS) == counted_bound(self.problem, LEVELS, self.values)

    def _made_whole(self) -> WholeGangs | None:
        """Return the model of whole gangs that bounds most, with the goals that are kept; None if there is none."""
        sets = gang_sets(self.problem, self.budget, in_two=True) if self._in_fewest() else None
        if sets is None and self._whole is None:
            sets = gang_sets(self.problem, self.budget, in_two=False)
        if sets is None:
            return self._whole
        whole = WholeGangs(sets, self.solver)
        for goal, value, _ in self._kept:
            bound = 0
            if value and goal in sets.compared:
                bound, _better = whole.decide(goal, value, self.solution, self.budget)
            whole.keep(goal, value, bound)
        return whole

    def _improve(self, solution: GangSolution, at: int) -> None:
        values = values_of(self.problem, solution)
        if values < self.values and values[: at + 1] <= self.values[: at + 1]:
            self.solution, self.values = solution, values
