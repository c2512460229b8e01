"""The linear relaxation of the master: bounds that hold for any multipliers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import mul

import numpy as np

from dra_lab.errors import SolverError
from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.site_classes import SiteClass
from dra_lab.planner.node.solver import LinearProgram
from dra_lab.planner.node.solver_outcome import Rows, integer_bound
from dra_lab.planner.states.node_state import Array


@dataclass(frozen=True)
class _Books:
    """The rows of site classes: their entries (`row`, `column`, `factor`) and their budget.

    `is_loose` says of a row, and `loose` of a site class, that a member takes many patterns (`SiteClass.rows`).
    `members` are those of each other site class.
    """

    row: Array
    column: Array
    factor: Array
    upper: Array
    is_loose: Array
    loose: Array
    members: Array

    @classmethod
    def of(cls, classes: Sequence[SiteClass], class_of: Array, counts: Array) -> _Books:
        """Lay out the rows; `class_of` and `counts` are those of each column."""
        ends = np.searchsorted(class_of, np.arange(len(classes) + 1))
        entries: list[tuple[Array, Array, Array]] = []
        upper: list[int] = []
        is_loose: list[bool] = []
        for number, found in enumerate(classes):
            mine = np.arange(ends[number], ends[number + 1])
            for weights, limit in found.rows or ((None, 1),):
                factors = np.ones(len(mine)) if weights is None else counts[mine] @ np.array(weights, float)
                entries.append((np.full(len(mine), len(upper)), mine, factors))
                upper.append(limit * found.count)
                is_loose.append(weights is not None)
        empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        row, column, factor = (np.concatenate(parts) for parts in zip(empty, *entries, strict=True))
        return cls(
            row.astype(np.int64),
            column.astype(np.int64),
            factor,
            np.array(upper, float),
            np.array(is_loose, bool),
            np.array([bool(found.rows) for found in classes], bool),
            np.array([0 if found.rows else found.count for found in classes], float),
        )


def _flat(rows: Iterable[Iterable[float]]) -> Array:
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
        classes: Sequence[SiteClass],
        demand: Sequence[int],
        order: Sequence[str],
        worth: Sequence[int],
    ) -> None:
        """Lay out the columns, one for each pattern of each site class."""
        self.classes, self.demand, self._worth = classes, tuple(demand), tuple(worth)
        patterns = [[row for row in site_class.patterns.items() if any(row[0])] for site_class in classes]
        each = list(zip(classes, patterns, strict=True))
        rows = [row for mine in patterns for row in mine]
        self._class_of = np.repeat(np.arange(len(classes)), list(map(len, patterns)))
        self._upper = _flat([[one.most(c) for c, _ in m] if one.rows else [one.count] * len(m) for one, m in each])
        self._demand = np.array(self.demand, float)
        self._counts = _flat(counts for counts, _ in rows).reshape(len(rows), len(self.demand))
        device = device_goals(order)
        values = _flat(values for _, values in rows).reshape(len(rows), len(device))
        self._costs: dict[str, Array] = {goal: values[:, at] for at, goal in enumerate(device)}
        self._costs[UNPLACED] = -(self._counts @ np.array(self._worth, float))
        self._costs[NODES] = _flat([site_class.each] * len(mine) for site_class, mine in each)
        self._books = _Books.of(classes, self._class_of, self._counts)
        self.kept: tuple[tuple[str, int], ...] = ()

    @cached_property
    def _program(self) -> LinearProgram:
        """Return the linear program with the rows of site classes and demand."""
        columns, books, kinds = len(self._class_of), self._books, len(self._demand)
        rows = len(books.upper)
        kind, at = np.nonzero(self._counts.T)
        row = np.concatenate([books.row, rows + kind])
        # To take nothing is feasible, and so is the last solution for the next goal: only costs change.
        return LinearProgram(
            Rows(
                cost=np.zeros(columns),
                offset=0.0,
                least=np.zeros(columns),
                most=self._upper,
                begin=np.append(0, np.cumsum(np.bincount(row, minlength=rows + kinds))).astype(np.int32),
                column=np.concatenate([books.column, at]).astype(np.int32),
                factor=np.concatenate([books.factor, self._counts[at, kind]]),
                lower=np.full(rows + kinds, -math.inf),
                upper=np.append(books.upper, self._demand),
                start=None,
            )
        )

    def keep(self, goal: str, value: int) -> None:
        """Demand from now on that a goal is not above a value."""
        self.kept = (*self.kept, (goal, value))
        self._program.add_row(-math.inf, value - self._constant(goal), self._costs[goal])

    def bound(self, goal: str, budget: Budget) -> int:
        """Return what no solution undercuts in a goal, the goals kept being kept."""
        cost = self._costs[goal]
        if not cost.any() or budget.reached:
            return self._constant(goal) if not cost.any() else 0
        try:
            found = self._program.minimise(cost, budget)
        except SolverError:
            return 0
        return max(0, integer_bound(self._lagrangian(cost, found.prices) + self._constant(goal)) or 0)

    def _lagrangian(self, cost: Array, prices: Array) -> float:
        books, rows, kinds = self._books, len(self._books.upper), len(self._demand)
        prices = np.minimum(prices, 0)
        demand = prices[rows : rows + kinds]
        left = cost - self._counts @ demand
        total = float(demand @ self._demand)
        for (goal, value), price in zip(self.kept, prices[rows + kinds :], strict=True):
            left = left - price * self._costs[goal]
            total += float(price) * (value - self._constant(goal))
        # Rows of classes whose members take many patterns have a price, a member of another takes the cheapest one.
        priced = np.where(books.is_loose, prices[:rows], 0)
        total += float(priced @ books.upper)
        np.subtract.at(left, books.column, books.factor * priced[books.row])
        loose = books.loose[self._class_of]
        total += float(np.minimum(left, 0)[loose] @ self._upper[loose])
        cheapest = np.zeros(len(self.classes))
        np.minimum.at(cheapest, self._class_of[~loose], left[~loose])
        return total + float(cheapest @ books.members)

    def _constant(self, goal: str) -> int:
        return sum(map(mul, self.demand, self._worth)) if goal == UNPLACED else 0
