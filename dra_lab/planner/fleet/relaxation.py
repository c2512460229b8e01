"""The linear relaxation of the master: bounds that hold for any multipliers, and where an integer solution may lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.highs import integer_bound
from dra_lab.planner.progress import Limits
from dra_lab.planner.states.columns import Array

_WHOLE = 1e-6


@dataclass(frozen=True, slots=True)
class Rack:
    """Sites that offer the same patterns: how many members there are, and each pattern's values.

    `patterns` maps numbers of replicas, by workload, to the values of the goals of devices; `nodes` says how many nodes
    a pattern uses where that is not one.
    """

    count: int
    patterns: Mapping[Counts, Values]
    nodes: Mapping[Counts, int] = field(default_factory=dict)


class Relaxation:
    """The master without integrality: minimise one goal after the other, each kept at a value that is given.

    Its bound is the Lagrangian one: whatever the multipliers of demand and of the goals that are kept, no solution is
    below them times what is wanted plus the cheapest pattern of every member at what is left of its costs. So it does
    not rest on how exactly the linear problem was solved.
    """

    def __init__(self, racks: Sequence[Rack], demand: Sequence[int], order: Sequence[str]) -> None:
        """Lay out the columns, one for each pattern of each rack."""
        self.racks, self.demand = racks, tuple(demand)
        rows = [
            (number, counts, values, rack.nodes.get(counts, 1))
            for number, rack in enumerate(racks)
            for counts, values in rack.patterns.items()
            if any(counts)
        ]
        self.columns: list[tuple[int, Counts]] = [(number, counts) for number, counts, _, _ in rows]
        self._rack = np.array([row[0] for row in rows], np.int64)
        self._members = np.array([rack.count for rack in racks], np.int64)
        self._counts = np.array([row[1] for row in rows], float).reshape(len(rows), len(self.demand))
        device = device_goals(order)
        values = np.array([row[2] for row in rows], float).reshape(len(rows), len(device))
        self._costs: dict[str, Array] = {goal: values[:, at] for at, goal in enumerate(device)}
        self._costs[UNPLACED] = -self._counts.sum(axis=1)
        self._costs[NODES] = np.array([row[3] for row in rows], float)
        self.taken: Array = np.zeros(len(rows))
        self.kept: tuple[tuple[str, int], ...] = ()
        self._engine = self._passed()

    def _passed(self) -> Any:
        """Return the solver with the rows of racks and demand."""
        columns, racks, kinds = len(self.columns), len(self.racks), len(self.demand)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = columns, racks + kinds
        model.col_cost_ = np.zeros(columns)
        model.col_lower_ = np.zeros(columns)
        model.col_upper_ = self._members[self._rack].astype(float)
        model.row_lower_ = np.full(racks + kinds, -math.inf)
        model.row_upper_ = np.array([*self._members, *self.demand], float)
        at, kind = np.nonzero(self._counts)
        place = np.concatenate([np.arange(columns), at])
        index = np.concatenate([self._rack, racks + kind])
        factors = np.concatenate([np.ones(columns), self._counts[at, kind]])
        order = np.argsort(place, kind="stable")
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=columns))]).astype(
            np.int32
        )
        model.a_matrix_.index_ = index[order].astype(np.int32)
        model.a_matrix_.value_ = factors[order]
        engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in {"output_flag": False, "threads": 1, "presolve": "off"}.items():
            engine.setOptionValue(option, value)
        engine.passModel(model)
        return engine

    def keep(self, goal: str, value: int) -> None:
        """Demand from now on that a goal is not above a value."""
        self.kept = (*self.kept, (goal, value))
        columns = len(self.columns)
        upper = value - self._constant(goal)
        self._engine.addRow(-math.inf, upper, columns, np.arange(columns, dtype=np.int32), self._costs[goal])

    def bound(self, goal: str, limits: Limits) -> int:
        """Return what no solution undercuts in a goal, the goals kept being kept; `taken` is the solution found."""
        cost, columns = self._costs[goal], len(self.columns)
        if not cost.any() or limits.reached:
            return self._constant(goal) if not cost.any() else 0
        self._engine.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost)
        if limits.left is not None:
            # HiGHS counts from the start of its first run.
            self._engine.setOptionValue("time_limit", self._engine.getRunTime() + limits.left)
        if self._engine.run() == highspy.HighsStatus.kError:
            return 0
        solution = self._engine.getSolution()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        if solution.value_valid and self._engine.getInfo().primal_solution_status == feasible:
            self.taken = np.array(solution.col_value)
        prices = np.array(solution.row_dual) if solution.dual_valid else np.zeros(self._engine.getNumRow())
        return max(0, integer_bound(self._lagrangian(cost, prices) + self._constant(goal)) or 0)

    def _lagrangian(self, cost: Array, prices: Array) -> float:
        racks, kinds = len(self.racks), len(self.demand)
        demand = np.minimum(prices[racks : racks + kinds], 0)
        left = cost - self._counts @ demand
        total = float(demand @ np.array(self.demand, float))
        for (goal, value), price in zip(self.kept, np.minimum(prices[racks + kinds :], 0), strict=True):
            left = left - price * self._costs[goal]
            total += float(price) * (value - self._constant(goal))
        cheapest = np.zeros(racks)
        np.minimum.at(cheapest, self._rack, left)
        return total + float(cheapest @ self._members)

    def _constant(self, goal: str) -> int:
        return sum(self.demand) if goal == UNPLACED else 0

    def whole(self) -> tuple[list[dict[Counts, int]], tuple[int, ...]]:
        """Return the whole part of the solution found, and the racks of which a part is not whole."""
        chosen: list[dict[Counts, int]] = [{} for _ in self.racks]
        down = np.floor(self.taken + _WHOLE)
        for at in np.flatnonzero(down):
            number, counts = self.columns[at]
            chosen[number][counts] = int(down[at])
        broken = self._rack[np.flatnonzero(self.taken - down > _WHOLE)]
        return chosen, tuple(dict.fromkeys(broken.tolist()))
