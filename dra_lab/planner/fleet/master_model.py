"""The integer model of a fleet as columns and rows, its linear relaxation, and the bounds of both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from dra_lab.errors import SolverError
from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.node.solver import LinearProgram, minimise_rows
from dra_lab.planner.node.solver_outcome import Array, Outcome, Rows

_OPTIONS = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on a model that is all columns: each goal then begins from the one before."""

Row = Any
"""Names a row. The sum of what columns take of it is not above its limit."""


@dataclass(frozen=True, slots=True)
class Column:
    """What may be taken `most` times: `pods` by workload with `values` of the goals of devices, and a number of nodes.

    `rows` has what it takes of each row; what is below 0, it gives.
    """

    most: int
    pods: Counts
    values: Values
    nodes: int
    rows: Mapping[Row, int]


class MasterModel:
    """Columns, the rows of their limits and of the `demand`, and a row for every goal that is kept at a value.

    Solutions are levels: how often each column is taken.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        limits: Mapping[Row, int],
        demand: Sequence[int],
        order: Sequence[str],
        worth: Sequence[int],
    ) -> None:
        """Lay out all arrays; `worth` is what one replica of each workload without a place counts."""
        size, device = len(columns), device_goals(order)
        pods = np.array([column.pods for column in columns], float).reshape(size, len(demand))
        values = np.array([column.values for column in columns], float).reshape(size, len(device))
        self._costs: dict[str, Array] = {goal: values[:, at] for at, goal in enumerate(device)}
        self._costs[UNPLACED] = -(pods @ np.array(worth, float))
        self._costs[NODES] = np.array([column.nodes for column in columns], float)
        self._wanted = int(np.dot(demand, worth))
        self._program = LinearProgram(_rows(columns, limits, pods, demand))

    def _offset(self, goal: str) -> int:
        return self._wanted if goal == UNPLACED else 0

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
            return max(0, self._program.minimise(cost, budget, self._offset(goal)).bound or 0)
        except SolverError:
            return 0

    def minimise(self, goal: str, start: Array | None, solver: str, budget: Budget) -> tuple[Outcome, Array | None]:
        """Minimise a goal over whole numbers; return what was shown, and the levels that were found."""
        rows = replace(self._program.rows, cost=self._costs[goal], offset=float(self._offset(goal)), start=start)
        return minimise_rows(rows, solver, budget, _OPTIONS)


def _rows(columns: Sequence[Column], limits: Mapping[Row, int], pods: Array, demand: Sequence[int]) -> Rows:
    """Return the rows of the limits, then those of the demand."""
    number = {name: at for at, name in enumerate(limits)}
    entries = [(number[name], at, factor) for at, column in enumerate(columns) for name, factor in column.rows.items()]
    kind, at = np.nonzero(pods.T)
    own = np.array(entries, float).reshape(len(entries), 3)
    row = np.concatenate([own[:, 0], len(limits) + kind]).astype(np.int32)
    by_row = np.argsort(row, kind="stable")
    size = len(limits) + len(demand)
    return Rows(
        cost=np.zeros(len(columns)),
        offset=0.0,
        least=np.zeros(len(columns)),
        most=np.array([column.most for column in columns], float),
        begin=np.append(0, np.cumsum(np.bincount(row, minlength=size))).astype(np.int32),
        column=np.concatenate([own[:, 1], at]).astype(np.int32)[by_row],
        factor=np.concatenate([own[:, 2], pods[at, kind]])[by_row],
        lower=np.full(size, -math.inf),
        upper=np.array([*limits.values(), *demand], float),
        start=None,
    )
