"""The linear relaxation of the master: bounds that hold for any multipliers, and where an integer solution may lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import highspy
import numpy as np

from dra_lab.errors import SolverError
from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.homes import CouplingRow, Homes, Rack
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.node.solver import run_within
from dra_lab.planner.node.solver_outcome import ROUNDING, integer_bound
from dra_lab.planner.states.columns import Array

_PRIMAL = 4
"""The number of the primal simplex among the strategies of HiGHS."""


@dataclass(frozen=True)
class _Books:
    """The rows of racks: their entries (`row`, `column`, `factor`) and their budget.

    `is_loose` says of a row, and `loose` of a rack, that a member takes many patterns (`Rack.rows`); `members` are
    those of each other rack that has no homes.
    """

    row: Array
    column: Array
    factor: Array
    upper: Array
    is_loose: Array
    loose: Array
    members: Array

    @classmethod
    def of(cls, racks: Sequence[Rack], homes: Sequence[Homes], rack: Array, counts: Array) -> _Books:
        """Lay out the rows; `rack` and `counts` are those of each column."""
        ends = np.searchsorted(rack, np.arange(len(racks) + 1))
        at_home: dict[int, list[tuple[int, int]]] = {}
        for kind, home in enumerate(homes):
            for number, members in home.racks.items():
                at_home.setdefault(number, []).append((len(rack) + kind, members))
        entries: list[tuple[Array, Array, Array]] = []
        upper: list[int] = []
        is_loose: list[bool] = []
        for number, found in enumerate(racks):
            mine = np.arange(ends[number], ends[number + 1])
            for weights, limit in found.rows or ((None, 1),):
                factors = np.ones(len(mine)) if weights is None else counts[mine] @ np.array(weights, float)
                nodes = at_home.get(number, [])
                columns = np.append(mine, [column for column, _ in nodes])
                factors = np.append(factors, [-limit * members for _, members in nodes])
                entries.append((np.full(len(columns), len(upper)), columns, factors))
                upper.append(0 if nodes else limit * found.count)
                is_loose.append(weights is not None)
        empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        row, column, factor = (np.concatenate(parts) for parts in zip(empty, *entries, strict=True))
        loose = np.array([bool(found.rows) for found in racks], bool)
        inside = [0 if n in at_home or found.rows else found.count for n, found in enumerate(racks)]
        return cls(
            row.astype(np.int64),
            column.astype(np.int64),
            factor,
            np.array(upper, float),
            np.array(is_loose, bool),
            loose,
            np.array(inside, float),
        )


def _flat(rows: Iterable[Iterable[int]]) -> Array:
    """Return numbers row by row in one array."""
    return np.fromiter(chain.from_iterable(rows), float)


class LinearRelaxation:
    """The master without integrality: minimise one goal after the other, each kept at a value that is given.

    Its bound is the Lagrangian one, for any multipliers of demand and of the kept goals. No solution is below the
    multipliers times what is wanted plus the cheapest pattern of every member at what is left of its costs. So it does
    not rest on how exactly the linear problem was solved.
    """

    def __init__(
        self,
        racks: Sequence[Rack],
        demand: Sequence[int],
        order: Sequence[str],
        homes: Sequence[Homes] = (),
        together: Sequence[CouplingRow] = (),
    ) -> None:
        """Lay out the columns, one for each pattern of each rack, and behind them one for each kind of homes."""
        self.racks, self.demand, self.homes = racks, tuple(demand), tuple(homes)
        patterns = [[row for row in rack.patterns.items() if any(row[0])] for rack in racks]
        each = list(zip(racks, patterns, strict=True))
        rows = [row for mine in patterns for row in mine]
        self.columns: list[tuple[int, Counts]] = [(n, row[0]) for n, mine in enumerate(patterns) for row in mine]
        self._rack = np.repeat(np.arange(len(racks)), list(map(len, patterns)))
        self._upper = _flat([[rack.most(c) for c, _ in m] if rack.rows else [rack.count] * len(m) for rack, m in each])
        self._homes = np.array([home.count for home in homes], float)
        self._counts = _flat(counts for counts, _ in rows).reshape(len(rows), len(self.demand))
        # What is kept together is wanted like replicas: so much of it, and no more.
        shared = [self._needs(row) for row in together]
        self._wants = np.column_stack([self._counts, *shared])
        self._wanted = np.array([*self.demand, *(row.limit for row in together)], float)
        device = device_goals(order)
        values = _flat(values for _, values in rows).reshape(len(rows), len(device))
        nobody = np.zeros(len(homes))
        self._costs: dict[str, Array] = {goal: np.append(values[:, at], nobody) for at, goal in enumerate(device)}
        self._costs[UNPLACED] = np.append(-self._counts.sum(axis=1), nobody)
        used = _flat([rack.each] * len(mine) for rack, mine in each)
        self._costs[NODES] = np.append(used, np.ones(len(homes)))
        self._books = _Books.of(racks, homes, self._rack, self._counts)
        self.taken: Array = np.zeros(len(rows))
        self.nodes: Array = np.zeros(len(homes))
        self.kept: tuple[tuple[str, int], ...] = ()
        self._engine = self._passed()

    def _needs(self, row: CouplingRow) -> Array:
        """Return what each column takes of a sum that members of several racks keep together."""
        weights = np.zeros((len(self.racks), len(self.demand)))
        for rack, mine in row.weights.items():
            weights[rack] = mine
        return (weights[self._rack] * self._counts).sum(axis=1)

    def _passed(self) -> Any:
        """Return the solver with the rows of racks and demand."""
        columns, books, kinds = len(self.columns) + len(self.homes), self._books, len(self._wanted)
        rows = len(books.upper)
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = columns, rows + kinds
        model.col_cost_ = np.zeros(columns)
        model.col_lower_ = np.zeros(columns)
        model.col_upper_ = np.append(self._upper, self._homes)
        model.row_lower_ = np.full(rows + kinds, -math.inf)
        model.row_upper_ = np.append(books.upper, self._wanted)
        at, kind = np.nonzero(self._wants)
        place = np.concatenate([books.column, at])
        index = np.concatenate([books.row, rows + kind])
        factors = np.concatenate([books.factor, self._wants[at, kind]])
        order = np.argsort(place, kind="stable")
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=columns))]).astype(
            np.int32
        )
        model.a_matrix_.index_ = index[order].astype(np.int32)
        model.a_matrix_.value_ = factors[order]
        engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        # To take nothing is feasible, and so is the last solution for the next goal: only costs change. The primal
        # simplex goes on from there. The dual one takes three times as long, up to a second of it in one iteration.
        options = {"output_flag": False, "threads": 1, "presolve": "off", "simplex_strategy": _PRIMAL}
        for option, value in options.items():
            engine.setOptionValue(option, value)
        engine.passModel(model)
        return engine

    def keep(self, goal: str, value: int) -> None:
        """Demand from now on that a goal is not above a value."""
        self.kept = (*self.kept, (goal, value))
        columns = len(self.columns) + len(self.homes)
        upper = value - self._constant(goal)
        self._engine.addRow(-math.inf, upper, columns, np.arange(columns, dtype=np.int32), self._costs[goal])

    def bound(self, goal: str, budget: Budget) -> int:
        """Return what no solution undercuts in a goal, the goals kept being kept; `taken` is the solution found."""
        cost, columns = self._costs[goal], len(self.columns) + len(self.homes)
        if not cost.any() or budget.reached:
            return self._constant(goal) if not cost.any() else 0
        self._engine.changeColsCost(columns, np.arange(columns, dtype=np.int32), cost)
        try:
            run_within(self._engine, budget)
        except SolverError:
            return 0
        solution = self._engine.getSolution()
        feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
        if solution.value_valid and self._engine.getInfo().primal_solution_status == feasible:
            self.taken, self.nodes = np.split(np.array(solution.col_value), [len(self.columns)])
        prices = np.array(solution.row_dual) if solution.dual_valid else np.zeros(self._engine.getNumRow())
        return max(0, integer_bound(self._lagrangian(cost, prices) + self._constant(goal)) or 0)

    def _lagrangian(self, cost: Array, prices: Array) -> float:
        books, rows, kinds, columns = self._books, len(self._books.upper), len(self._wanted), len(self.columns)
        prices = np.minimum(prices, 0)
        demand = prices[rows : rows + kinds]
        left = cost.copy()
        left[:columns] -= self._wants @ demand
        total = float(demand @ self._wanted)
        for (goal, value), price in zip(self.kept, prices[rows + kinds :], strict=True):
            left = left - price * self._costs[goal]
            total += float(price) * (value - self._constant(goal))
        # Rows of racks of which a member takes many patterns have a price, a member of another takes the cheapest one.
        priced = np.where(books.is_loose, prices[:rows], 0)
        total += float(priced @ books.upper)
        np.subtract.at(left, books.column, books.factor * priced[books.row])
        loose = books.loose[self._rack]
        total += float(np.minimum(left[:columns], 0)[loose] @ self._upper[loose])
        cheapest = np.zeros(len(self.racks))
        np.minimum.at(cheapest, self._rack[~loose], left[:columns][~loose])
        total += float(cheapest @ books.members)
        inside = left[columns:] + np.array([sum(n * cheapest[at] for at, n in h.racks.items()) for h in self.homes])
        return total + float(np.minimum(inside, 0) @ self._homes)

    def _constant(self, goal: str) -> int:
        return sum(self.demand) if goal == UNPLACED else 0

    def whole(self) -> tuple[list[dict[Counts, int]], tuple[int, ...]]:
        """Return the whole part of the solution found, and the racks of which a part is not whole."""
        chosen: list[dict[Counts, int]] = [{} for _ in self.racks]
        down = np.floor(self.taken + ROUNDING)
        for at in np.flatnonzero(down):
            number, counts = self.columns[at]
            chosen[number][counts] = int(down[at])
        broken = self._rack[np.flatnonzero(self.taken - down > ROUNDING)]
        return chosen, tuple(dict.fromkeys(broken.tolist()))
