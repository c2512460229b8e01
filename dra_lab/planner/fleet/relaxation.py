"""The linear relaxation of the master: bounds that hold for any multipliers, and where an integer solution may lie."""

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
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.site_classes import HomeNodes, SiteClass
from dra_lab.planner.node.solver import LinearProgram
from dra_lab.planner.node.solver_outcome import ROUNDING, Rows, integer_bound
from dra_lab.planner.states.node_state import Array


@dataclass(frozen=True)
class _Books:
    """The rows of site classes: their entries (`row`, `column`, `factor`) and their budget.

    `is_loose` says of a row, and `loose` of a site class, that a member takes many patterns (`SiteClass.rows`).
    `members` are those of each other site class that has no home nodes.
    """

    row: Array
    column: Array
    factor: Array
    upper: Array
    is_loose: Array
    loose: Array
    members: Array

    @classmethod
    def of(
        cls, classes: Sequence[SiteClass], home_nodes: Sequence[HomeNodes], class_of: Array, counts: Array
    ) -> _Books:
        """Lay out the rows; `class_of` and `counts` are those of each column."""
        ends = np.searchsorted(class_of, np.arange(len(classes) + 1))
        at_home: dict[int, list[tuple[int, int]]] = {}
        for kind, home in enumerate(home_nodes):
            for number, members in home.classes.items():
                at_home.setdefault(number, []).append((len(class_of) + kind, members))
        entries: list[tuple[Array, Array, Array]] = []
        upper: list[int] = []
        is_loose: list[bool] = []
        for number, found in enumerate(classes):
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
        loose = np.array([bool(found.rows) for found in classes], bool)
        inside = [0 if n in at_home or found.rows else found.count for n, found in enumerate(classes)]
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
        classes: Sequence[SiteClass],
        demand: Sequence[int],
        order: Sequence[str],
        home_nodes: Sequence[HomeNodes] = (),
        worth: Sequence[int] = (),
    ) -> None:
        """Lay out the columns, one for each pattern of each site class, then one for each kind of home nodes."""
        self.classes, self.demand, self.home_nodes = classes, tuple(demand), tuple(home_nodes)
        self._worth = tuple(worth) or (1,) * len(demand)
        patterns = [[row for row in site_class.patterns.items() if any(row[0])] for site_class in classes]
        each = list(zip(classes, patterns, strict=True))
        rows = [row for mine in patterns for row in mine]
        self._patterns: list[Counts] = [counts for counts, _ in rows]
        self._class_of = np.repeat(np.arange(len(classes)), list(map(len, patterns)))
        self._upper = _flat([[one.most(c) for c, _ in m] if one.rows else [one.count] * len(m) for one, m in each])
        self._home_nodes = np.array([home.count for home in home_nodes], float)
        self._demand = np.array(self.demand, float)
        self._counts = _flat(counts for counts, _ in rows).reshape(len(rows), len(self.demand))
        device = device_goals(order)
        values = _flat(values for _, values in rows).reshape(len(rows), len(device))
        nobody = np.zeros(len(home_nodes))
        self._costs: dict[str, Array] = {goal: np.append(values[:, at], nobody) for at, goal in enumerate(device)}
        self._costs[UNPLACED] = np.append(-(self._counts @ np.array(self._worth, float)), nobody)
        used = _flat([site_class.each] * len(mine) for site_class, mine in each)
        self._costs[NODES] = np.append(used, np.ones(len(home_nodes)))
        self._books = _Books.of(classes, home_nodes, self._class_of, self._counts)
        self.taken: Array = np.zeros(len(rows))
        self.nodes: Array = np.zeros(len(home_nodes))
        self.kept: tuple[tuple[str, int], ...] = ()

    @cached_property
    def _program(self) -> LinearProgram:
        """Return the linear program with the rows of site classes and demand."""
        columns, books, kinds = (
            len(self._patterns) + len(self.home_nodes),
            self._books,
            len(self._demand),
        )
        rows = len(books.upper)
        kind, at = np.nonzero(self._counts.T)
        row = np.concatenate([books.row, rows + kind])
        # To take nothing is feasible, and so is the last solution for the next goal: only costs change.
        return LinearProgram(
            Rows(
                cost=np.zeros(columns),
                offset=0.0,
                least=np.zeros(columns),
                most=np.append(self._upper, self._home_nodes),
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
        """Return what no solution undercuts in a goal, the goals kept being kept; `taken` is the solution found."""
        cost = self._costs[goal]
        if not cost.any() or budget.reached:
            return self._constant(goal) if not cost.any() else 0
        try:
            found = self._program.minimise(cost, budget)
        except SolverError:
            return 0
        if found.values is not None:
            self.taken, self.nodes = np.split(found.values, [len(self._patterns)])
        return max(0, integer_bound(self._lagrangian(cost, found.prices) + self._constant(goal)) or 0)

    def _lagrangian(self, cost: Array, prices: Array) -> float:
        books, rows, kinds, columns = (
            self._books,
            len(self._books.upper),
            len(self._demand),
            len(self._patterns),
        )
        prices = np.minimum(prices, 0)
        demand = prices[rows : rows + kinds]
        left = cost.copy()
        left[:columns] -= self._counts @ demand
        total = float(demand @ self._demand)
        for (goal, value), price in zip(self.kept, prices[rows + kinds :], strict=True):
            left = left - price * self._costs[goal]
            total += float(price) * (value - self._constant(goal))
        # Rows of classes whose members take many patterns have a price, a member of another takes the cheapest one.
        priced = np.where(books.is_loose, prices[:rows], 0)
        total += float(priced @ books.upper)
        np.subtract.at(left, books.column, books.factor * priced[books.row])
        loose = books.loose[self._class_of]
        total += float(np.minimum(left[:columns], 0)[loose] @ self._upper[loose])
        cheapest = np.zeros(len(self.classes))
        np.minimum.at(cheapest, self._class_of[~loose], left[:columns][~loose])
        total += float(cheapest @ books.members)
        cheapest_in = [sum(n * cheapest[at] for at, n in home.classes.items()) for home in self.home_nodes]
        inside = left[columns:] + np.array(cheapest_in)
        return total + float(np.minimum(inside, 0) @ self._home_nodes)

    def _constant(self, goal: str) -> int:
        return sum(map(mul, self.demand, self._worth)) if goal == UNPLACED else 0

    def whole(self) -> tuple[list[dict[Counts, int]], tuple[int, ...]]:
        """Return the whole part of the solution found, and the site classes of which a part is not whole."""
        chosen: list[dict[Counts, int]] = [{} for _ in self.classes]
        down = np.floor(self.taken + ROUNDING)
        for at in np.flatnonzero(down):
            chosen[self._class_of[at]][self._patterns[at]] = int(down[at])
        broken = self._class_of[np.flatnonzero(self.taken - down > ROUNDING)]
        return chosen, tuple(dict.fromkeys(broken.tolist()))
