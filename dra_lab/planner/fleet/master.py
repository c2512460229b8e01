"""The master: how often a fleet takes what its nodes may hold, as columns and rows, goal by goal, with bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from msgspec.structs import replace as changed

from dra_lab.errors import SolverError
from dra_lab.model.goals import FLEET_GOALS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.node.solver import LinearProgram, minimise_rows
from dra_lab.planner.node.solver_outcome import Array, Outcome, Rows, agreed
from dra_lab.planner.places.counting import Counts

_OPTIONS = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on a model that is all columns: each goal then begins from the one before."""

Row = Any
"""Names a row. The sum of what columns take of it is not above its limit."""


@dataclass(frozen=True, slots=True)
class MasterColumn:
    """What may be taken `most` times: `pods` by workload with `values` of the goals of devices, and a number of nodes.

    `rows` has what it takes of each row; what is below 0, it gives.
    """

    most: int
    pods: Counts
    values: Values
    nodes: int
    rows: Mapping[Row, int]


class MasterModel:
    """Rows over whole columns, and the costs of every goal; a row is added for every goal that is kept at a value.

    Solutions are levels: how often each column is taken.
    """

    def __init__(self, rows: Rows, costs: Mapping[str, Array], offsets: Mapping[str, int]) -> None:
        """Pass the rows to the solver; `offsets` are what goals count if nothing is taken, 0 by default."""
        self._costs, self._offsets, self._program = costs, offsets, LinearProgram(rows)

    def _offset(self, goal: str) -> int:
        return self._offsets.get(goal, 0)

    def value(self, goal: str, levels: Array) -> int:
        """Return the value of a goal in a solution."""
        return round(float(self._costs[goal] @ levels)) + self._offset(goal)

    def keep(self, goal: str, value: int) -> bool:
        """Demand from now on that a goal is not above a value; say whether that can be at all."""
        if not self._costs[goal].any():
            return self._offset(goal) <= value
        self._program.add_row(-math.inf, value - self._offset(goal), self._costs[goal])
        return True

    def bound(self, goal: str, budget: Budget) -> int:
        """Return what no solution undercuts in a goal, by the linear relaxation."""
        cost = self._costs[goal]
        if not cost.any() or budget.reached:
            return self._offset(goal) if not cost.any() else 0
        try:
            return max(0, self._program.bound(cost, budget, self._offset(goal)) or 0)
        except SolverError:
            return 0

    def minimise(self, goal: str, start: Array | None, solver: str, budget: Budget) -> tuple[Outcome, Array | None]:
        """Minimise a goal over whole numbers; return what was shown, and the levels that were found."""
        rows = changed(self._program.rows, cost=self._costs[goal], offset=float(self._offset(goal)), start=start)
        return minimise_rows(rows, solver, budget, _OPTIONS)


def fleet_model(
    columns: Sequence[MasterColumn],
    limits: Mapping[Row, int],
    demand: Sequence[int],
    order: Sequence[str],
    worth: Sequence[int],
) -> MasterModel:
    """Return a model with the rows of the limits, then those of the demand.

    `worth` is what one replica of each workload without a place counts.
    """
    size, device = len(columns), device_goals(order)
    pods = np.array([column.pods for column in columns], float).reshape(size, len(demand))
    values = np.array([column.values for column in columns], float).reshape(size, len(device))
    costs: dict[str, Array] = {goal: values[:, at] for at, goal in enumerate(device)}
    costs[UNPLACED] = -(pods @ np.array(worth, float))
    costs[NODES] = np.array([column.nodes for column in columns], float)
    number = {name: at for at, name in enumerate(limits)}
    entries = [(number[name], at, factor) for at, column in enumerate(columns) for name, factor in column.rows.items()]
    kind, at = np.nonzero(pods.T)
    own = np.array(entries, float).reshape(len(entries), 3)
    wanted = np.stack([len(limits) + kind, at, pods[at, kind]], axis=1)
    upper = [*limits.values(), *demand]
    rows = rows_of([column.most for column in columns], np.concatenate([own, wanted]), [-math.inf] * len(upper), upper)
    return MasterModel(rows, costs, {UNPLACED: int(np.dot(demand, worth))})


def rows_of(most: Sequence[int], entries: Array, lower: Sequence[float], upper: Sequence[float]) -> Rows:
    """Return rows over columns of 0 to `most`; `entries` has a row, a column and a factor in each of its rows."""
    row = entries[:, 0].astype(np.int32)
    by_row = np.argsort(row, kind="stable")
    return Rows(
        cost=np.zeros(len(most)),
        offset=0.0,
        least=np.zeros(len(most)),
        most=np.array(most, float),
        begin=np.append(0, np.cumsum(np.bincount(row, minlength=len(upper)))).astype(np.int32),
        column=entries[by_row, 1].astype(np.int32),
        factor=entries[by_row, 2],
        lower=np.array(lower, float),
        upper=np.array(upper, float),
        start=None,
    )


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
