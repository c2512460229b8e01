"""The master: how often a fleet takes what its nodes may hold, goal by goal, with bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dra_lab.model.goals import FLEET_GOALS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master_model import MasterModel
from dra_lab.planner.node.solver_outcome import Array, Outcome, agreed


@dataclass(frozen=True, slots=True)
class GoalBound:
    """One goal: the value of the best solution found, and the least that could still exist (None: not known)."""

    goal: str
    value: int
    bound: int | None

    @property
    def proven(self) -> bool:
        """Say whether no better value exists."""
        return self.bound is not None and self.bound >= self.value


@dataclass
class Mastered:
    """The answer of the master: the goals in order as far as they were decided, and the levels of all columns.

    `goals` ends with the first goal that is not proven, unless the caller wants all; `chosen` is None where no
    solution was found; `infeasible` says that there is none.
    """

    goals: list[GoalBound] = field(default_factory=list)
    chosen: Array | None = None
    infeasible: bool = False


@dataclass(frozen=True)
class Master:
    """A model, and all goals of the fleet in order; `exact` if no plan is missing in the model.

    The nodes, as the last goal, are not minimised if no more than the part `gap` of them may be missing.
    """

    model: MasterModel
    order: Sequence[str]
    solver: str
    exact: bool = True
    gap: float = 0.0

    def run(self, start: Array, budget: Budget, *, all_placed: bool, stop_at: Sequence[int] | None = None) -> Mastered:
        """Minimise goal after goal, each kept at its value before the next.

        `start` is a solution to begin with. With `stop_at`, it ends at the first goal that is not proven or has another
        value; without, all goals are minimised, and reported.
        """
        result, model, sure = Mastered(), self.model, True
        if all_placed and not model.keep(UNPLACED, 0):
            return Mastered(infeasible=self.exact)
        if not all_placed or not model.value(UNPLACED, start):
            result.chosen = start
        for goal in self.order:
            found = self._decided(goal, budget, result, sure=sure)
            if found is None:
                break
            result.goals.append(found)
            sure = sure and found.proven
            if stop_at is None:
                proof = "proven" if found.proven else f"bound {'unknown' if found.bound is None else found.bound}"
                text = f"{FLEET_GOALS[goal]}: best {found.value}, {proof}"
                budget.report_step(goal, text, found.value, found.bound)
            elif not sure or (stop_at and found.value != stop_at[len(result.goals) - 1]):
                break
            model.keep(goal, found.value)
        if result.chosen is not None:
            # What is found later may be better in a goal that was not proven.
            values = [model.value(goal.goal, result.chosen) for goal in result.goals]
            result.goals = [replace(g, value=min(g.value, v)) for g, v in zip(result.goals, values, strict=True)]
        return result

    def _decided(self, goal: str, budget: Budget, result: Mastered, *, sure: bool) -> GoalBound | None:
        """Minimise one goal; None where there is no solution, or none was found."""
        have = None if result.chosen is None else self.model.value(goal, result.chosen)
        late = budget.reached and have is not None
        bound = self.model.bound(goal, budget) if self.exact and not late else 0
        gap = self.gap if goal == NODES == self.order[-1] else 0.0
        if have is None or (have - bound > gap * have and not late):
            outcome, levels = self.model.minimise(goal, result.chosen, self.solver, budget)
            outcome = outcome if self.exact else Outcome(outcome.value, None)
            if outcome.infeasible or (levels is None and have is None):
                result.infeasible = outcome.infeasible and have is None
                return None
            bound = max(outcome.bound or 0, bound)
            if levels is not None and (have is None or self.model.value(goal, levels) <= have):
                result.chosen, have = levels, self.model.value(goal, levels)
        assert have is not None, "a solution is known"
        return GoalBound(goal, have, agreed(bound, have) if sure else None)
