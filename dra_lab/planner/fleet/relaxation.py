"""The linear relaxation of the master: bounds that hold for any multipliers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from operator import mul

import numpy as np

from dra_lab.errors import SolverError
from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master_model import SiteClass
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.node.solver import LinearProgram
from dra_lab.planner.node.solver_outcome import Rows, integer_bound
from dra_lab.planner.states.node_state import Array


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
        rows = [row for mine in patterns for row in mine]
        self._class_of = np.repeat(np.arange(len(classes)), list(map(len, patterns)))
        self._members = np.array([site_class.count for site_class in classes], float)
        self._demand = np.array(self.demand, float)
        self._counts = _flat(counts for counts, _ in rows).reshape(len(rows), len(self.demand))
        device = device_goals(order)
        values = _flat(values for _, values in rows).reshape(len(rows), len(device))
        self._costs: dict[str, Array] = {goal: values[:, at] for at, goal in enumerate(device)}
        self._costs[UNPLACED] = -(self._counts @ np.array(self._worth, float))
        used = ([one.nodes_of(counts) for counts, _ in mine] for one, mine in zip(classes, patterns, strict=True))
        self._costs[NODES] = _flat(used)
        self.kept: tuple[tuple[str, int], ...] = ()

    @cached_property
    def _program(self) -> LinearProgram:
        """Return the linear program with the rows of site classes and demand."""
        columns, rows, kinds = len(self._class_of), len(self.classes), len(self._demand)
        kind, at = np.nonzero(self._counts.T)
        row = np.concatenate([self._class_of, rows + kind])
        # To take nothing is feasible, and so is the last solution for the next goal: only costs change.
        return LinearProgram(
            Rows(
                cost=np.zeros(columns),
                offset=0.0,
                least=np.zeros(columns),
                most=self._members[self._class_of],
                begin=np.append(0, np.cumsum(np.bincount(row, minlength=rows + kinds))).astype(np.int32),
                column=np.concatenate([np.arange(columns), at]).astype(np.int32),
                factor=np.concatenate([np.ones(columns), self._counts[at, kind]]),
                lower=np.full(rows + kinds, -math.inf),
                upper=np.append(self._members, self._demand),
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
        rows, kinds = len(self.classes), len(self._demand)
        prices = np.minimum(prices, 0)
        demand = prices[rows : rows + kinds]
        left = cost - self._counts @ demand
        total = float(demand @ self._demand)
        for (goal, value), price in zip(self.kept, prices[rows + kinds :], strict=True):
            left = left - price * self._costs[goal]
            total += float(price) * (value - self._constant(goal))
        cheapest = np.zeros(rows)
        np.minimum.at(cheapest, self._class_of, left)
        return total + float(cheapest @ self._members)

    def _constant(self, goal: str) -> int:
        return sum(map(mul, self.demand, self._worth)) if goal == UNPLACED else 0
