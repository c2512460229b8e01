"""Which set of gangs each domain has, goal after goal, with a bound.

A set has its gangs whole. So the relaxation cannot put parts of a gang on the best nodes of many domains.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count
from typing import Any

import highspy
import numpy as np

from dra_lab.errors import SolverError
from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.gang import BEYOND, GANGS, LEVELS, SLOT
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.gang_model import options_of
from dra_lab.planner.gangs.gang_sets import Chosen, GangSets
from dra_lab.planner.gangs.goal_values import priority_of, wanted_beyond
from dra_lab.planner.gangs.problem import GangSolution
from dra_lab.planner.gangs.set_items import REGIONS
from dra_lab.planner.gangs.slot_sets import SlotSets
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise, run_within
from dra_lab.planner.node.solver_outcome import ROUNDING, Outcome, integer_bound
from dra_lab.planner.states.columns import Array

_PRIMAL = 4
"""The number of the primal simplex among the strategies of HiGHS."""


class WholeGangs:
    """The model of sets of gangs in classes of domains: a relaxation that grows by the sets it needs, and an exact one.

    `is_sure` says that it still bounds plans: it bounds all goals of devices so far by the values that were kept.
    """

    def __init__(self, sets: GangSets, solver: str) -> None:
        """Begin without goals that are kept."""
        self.sets, self.solver = sets, solver
        self.is_sure = True
        self._ordinary: dict[str, int] = {}
        self._kept: list[tuple[str, int]] = []
        self._closed: dict[str, int] = {}
        self._left: Array = np.zeros(sets.packed.shape)
        self._least = -math.inf
        self._engine: Any = None
        self._columns: list[tuple[int, int] | None] = []
        self._known: set[tuple[int, int]] = set()
        self._slot: SlotSets | None = None
        self._read_extras()

    def _read_extras(self) -> None:
        extras = self.sets.extras
        entries = [(at, *entry) for at, extra in enumerate(extras) for entry in extra.entries.items()]
        self._entries_of_extras = np.array(entries, np.int64).reshape(len(entries), 3).T
        self._most_of_extras = np.array([extra.most for extra in extras], float)

    def _add_slot(self, most: int) -> None:
        """Add the largest slot if it is not there; it loses no more than `most` pods."""
        need = self.sets.problem.needs.slot
        if self._slot is None and need is not None:
            self._slot, self._engine = SlotSets(self.sets, need, most), None
            self._read_extras()

    def constant(self, goal: str) -> int:
        """Return what a goal has beside the costs of the sets."""
        needs = self.sets.problem.needs
        name, priority = priority_of(goal, needs)
        if name == GANGS:
            return sum(need.copies for need in needs.gangs if need.priority == priority)
        if name == BEYOND:
            return wanted_beyond(needs, priority)
        return self._ordinary.get(goal, 0)

    def keep(self, goal: str, value: int, bound: int) -> None:
        """Demand from now on that a goal is not above a value; `bound` is what this model knows of it."""
        # The costs of sets are compared goal after goal. It bounds a plan that is as good in the goals before.
        if goal in self.sets.compared and bound < value:
            self.is_sure = False
        # A set may have been closed for a value that no plan reaches.
        self.is_sure = self.is_sure and self._closed.get(goal, value) >= value
        if goal == UNPLACED:
            self._ordinary = self.sets.ordinary.least(self.sets.problem, value)
        self._kept.append((goal, value * self._parts(goal)))
        if goal == SLOT:
            self._add_slot(value)
        if goal == LEVELS and any(item.preferred for item in self.sets.items):
            self._kept.append((REGIONS, value))
        self._engine = None

    def decide(self, goal: str, have: int, plan: GangSolution, budget: Budget) -> tuple[int, Chosen | None]:
        """Return what no plan undercuts in a goal that keeps those before, and the sets of a better plan, if any.

        `have` is the value of the plan so far.
        """
        if goal == SLOT:
            self._add_slot(have)
        start = self.sets.chosen(plan)
        start.update(() if self._slot is None else self._slot.start(plan))
        best: Chosen | None = None
        bound, parts = 0, self._parts(goal)
        # Any part of a node beyond the others is a node.
        have = (have - 1) * parts + 1
        while not budget.reached:
            bound = max(bound, self._relaxed(goal, have, best or start, budget))
            if bound >= have or budget.reached:
                break
            found, mine = self._solved(goal, have, best or start, budget)
            if found is None:
                bound = max(bound, mine)
                break
            if not self._learn(found, budget) and not (goal == SLOT and self._learn_slot(found, budget)):
                best, have = found, self._value(goal, found)
                bound = max(bound, mine)
        return -(-bound // parts), best

    def _parts(self, goal: str) -> int:
        """Return in how many parts a goal is counted."""
        return self.sets.ordinary.parts if goal == NODES else 1

    def _value(self, goal: str, chosen: Chosen) -> int:
        return self.constant(goal) + sum(self._cost(goal, key) * times for key, times in chosen.items())

    def _cost(self, goal: str, key: tuple[int, int]) -> int:
        """Return what a set, or an extra column, costs in a goal."""
        return self.sets.extras[key[1]].costs.get(goal, 0) if key[0] < 0 else int(self.sets.cost(goal)[key])

    def _extra_costs(self, goal: str) -> Array:
        return np.array([extra.costs.get(goal, 0) for extra in self.sets.extras], float)

    def _learn(self, keys: Iterable[tuple[int, int]], budget: Budget) -> bool:
        """Find out what the sets cost that are only bounded in the classes of some; say whether there were any."""
        wrong: dict[int, list[int]] = {}
        for number, at in keys:
            if number >= 0 and not self.sets.are_exact(number, at):
                wrong.setdefault(number, []).append(at)
        for number, sets in wrong.items():
            if not budget.reached:
                self.sets.learn(number, sets, budget)
        self._forget(wrong)
        return bool(wrong)

    def _learn_slot(self, chosen: Chosen, budget: Budget) -> bool:
        """Find out what is left of the largest slot that was chosen; say whether it was not known."""
        wrong = self._slot.learn(chosen, budget) if self._slot is not None else []
        self._forget(wrong)
        return bool(wrong)

    # ------------------------------------------------------------------ the relaxation

    def _relaxed(self, goal: str, have: int, start: Chosen, budget: Budget) -> int:
        """Return the bound of the relaxation, and close the sets that no plan with the value `have` has."""
        if self._engine is None:
            self._begin()
        engine, cost, extra = self._engine, self.sets.cost(goal), self._extra_costs(goal)
        mine = self._columns[len(extra) :]
        costs = np.append(extra, [0 if key is None else cost[key] for key in mine])
        engine.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
        prices = np.zeros(engine.getNumRow())
        best, left = self._priced(goal, prices)
        more = [key for key in start if key[0] >= 0]
        while not budget.reached:
            self._append(goal, more)
            try:
                run_within(engine, budget)
            except SolverError:
                break
            solution = engine.getSolution()
            if not solution.dual_valid or budget.reached:
                break
            latest = np.array(solution.row_dual)
            found, reduced = self._priced(goal, latest)
            if found >= best:
                best, left, prices = found, reduced, latest
            more = self._entering(reduced)
            if not more:
                taken = zip(self._columns, solution.col_value, strict=True)
                more = [key for key, value in taken if key is not None and value > ROUNDING]
                if not self._learn([*more, *self._next_best(reduced, len(more))], budget):
                    break
                best, left = self._priced(goal, prices)
        self._left = left - left.min(axis=1, keepdims=True)
        self._least = best + self.constant(goal)
        # No plan as good as `have` has a set by which the bound rises above it.
        self.sets.open &= self._least + self._left <= have + ROUNDING * max(1, abs(have))
        self._closed[goal] = have
        return max(0, integer_bound(self._least) or 0)

    def _begin(self) -> None:
        """Make the solver with the rows: regions of each class, those of the sets, goals kept; and single items."""
        engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options = {"output_flag": False, "threads": 1, "presolve": "off", "simplex_strategy": _PRIMAL}
        for option, value in options.items():
            engine.setOptionValue(option, value)
        kept = [(value - self.constant(goal), False) for goal, value in self._kept]
        classes = [(int(number), False) for number in self.sets.numbers]
        for upper, equal in (*classes, *self.sets.rows, *kept):
            lower = float(upper) if equal else -math.inf
            engine.addRow(lower, float(upper), 0, np.zeros(0, np.int32), np.zeros(0))
        single = np.flatnonzero(self.sets.sets.sum(axis=1) == 1).tolist()
        before = [key for key in self._columns if key is not None]
        before = before or [(number, at) for number in range(len(self.sets.numbers)) for at in single]
        self._engine, self._columns, self._known = engine, [None for _ in self.sets.extras], set()
        first = len(self.sets.numbers)
        for extra in self.sets.extras:
            kept_costs = [extra.costs.get(goal, 0) for goal, _ in self._kept]
            rows = {first + row: factor for row, factor in extra.entries.items()}
            rows |= {first + len(self.sets.rows) + at: cost for at, cost in enumerate(kept_costs) if cost}
            index, factors = np.array([*rows], np.int32), np.array([*rows.values()], float)
            engine.addCol(0.0, 0.0, float(extra.most), len(rows), index, factors)
        self._append(None, before)

    def _append(self, goal: str | None, keys: Sequence[tuple[int, int]]) -> None:
        """Give sets to the solver that it does not have."""
        columns = [key for key in keys if key not in self._known and self.sets.open[key]]
        if not columns:
            return
        self._known.update(columns)
        self._columns += columns
        classes, sets = np.array(columns).T
        domains = np.zeros((len(self.sets.numbers), len(columns)))
        domains[classes, np.arange(len(columns))] = 1
        kept = [self.sets.cost(name)[classes, sets][None] for name, _ in self._kept]
        factors = np.concatenate([domains, self._in_rows(classes, sets), *kept]).T
        at, row = np.nonzero(factors)
        starts = np.searchsorted(at, np.arange(len(columns))).astype(np.int32)
        cost = np.zeros(len(columns)) if goal is None else self.sets.cost(goal)[classes, sets].astype(float)
        most = self.sets.numbers[classes].astype(float)
        none = np.zeros(len(columns))
        self._engine.addCols(len(columns), cost, none, most, len(at), starts, row.astype(np.int32), factors[at, row])

    def _in_rows(self, classes: Array, sets: Array) -> Array:
        """Return the factors of columns in the rows of the sets."""
        found = np.zeros((len(self.sets.rows), len(sets)))
        for rows, factors in zip(self.sets.rows_of[classes].T, self.sets.factors[sets].T, strict=True):
            able = np.flatnonzero((rows >= 0) & (factors != 0))
            found[rows[able], able] += factors[able]
        if self._slot is not None:
            able = np.flatnonzero(self._slot.rows[classes] >= 0)
            mine = classes[able]
            found[self._slot.rows[mine], able] += self._slot.lost[mine, sets[able]]
        return found

    def _forget(self, classes: Container[int]) -> None:
        """Take the sets of classes out of the relaxation; they come back with what they cost."""
        for at, key in enumerate(self._columns):
            if key is not None and key[0] in classes:
                self._columns[at] = None
                self._known.discard(key)
                if self._engine is not None:
                    self._engine.changeColBounds(at, 0.0, 0.0)

    def _priced(self, goal: str, prices: Array) -> tuple[float, Array]:
        """Return what no choice undercuts for prices of gangs and goals kept, and what is left of each set's costs.

        It holds for any prices up to 0, of any sign for rows that are kept exactly: each region has the set of which
        least is left.
        """
        sets, first = self.sets, len(self.sets.numbers)
        exact = np.array([equal for _, equal in sets.rows], bool)
        rows, kept = prices[first : first + len(sets.rows)], np.minimum(prices[first + len(sets.rows) :], 0)
        rows = np.where(exact, rows, np.minimum(rows, 0))
        each = np.where(sets.rows_of >= 0, rows[sets.rows_of], 0)
        left = sets.cost(goal) - each @ sets.factors.T
        if self._slot is not None:
            mine = np.flatnonzero(self._slot.rows >= 0)
            left[mine] -= rows[self._slot.rows[mine], None] * self._slot.lost[mine]
        total = float(rows @ np.array([upper for upper, _ in sets.rows], float))
        of, at, factors = self._entries_of_extras
        extra = self._extra_costs(goal) - np.bincount(of, rows[at] * factors, len(sets.extras))
        for (name, value), price in zip(self._kept, kept, strict=True):
            if price:
                left = left - price * sets.cost(name)
                extra -= price * self._extra_costs(name)
                total += float(price) * (value - self.constant(name))
        left = np.where(sets.open, left, math.inf)
        left[:, 0] = 0
        total += float(np.minimum(extra, 0) @ self._most_of_extras)
        return total + float(left.min(axis=1) @ sets.numbers), left

    def _entering(self, left: Array) -> list[tuple[int, int]]:
        """Return the sets that the relaxation lacks: in each class the one of which least is left."""
        keys = enumerate(left.argmin(axis=1).tolist())
        return [(number, at) for number, at in keys if at and (number, at) not in self._known]

    def _next_best(self, left: Array, most: int) -> list[tuple[int, int]]:
        """Return sets of which more should be known soon: in each class the best one, of the best classes."""
        others = left[:, 1:]
        best = others.argmin(axis=1) + 1 if others.size else np.zeros(0, np.int64)
        value = left[np.arange(len(best)), best]
        order = [number for number in value.argsort().tolist() if value[number] < math.inf]
        return [(number, int(best[number])) for number in order[:most]]

    # ------------------------------------------------------------------ the integer model

    def _solved(self, goal: str, have: int, start: Chosen, budget: Budget) -> tuple[Chosen | None, int]:
        """Return the sets of a better plan, None if none was found, and the bound.

        A plan with a set that the model lacks is bounded by the relaxation and what is left of that set's costs.
        """
        left = np.where(self.sets.open, self._left, math.inf)
        left[:, 0] = math.inf
        order, able, bound = np.argsort(left, axis=None, kind="stable"), int((left < math.inf).sum()), 0
        for step in count():
            most = budget.sizes.domain_columns << (2 * step)
            keys = [divmod(int(at), left.shape[1]) for at in order[: min(most, able)]]
            every = len(keys) == able
            mine = dict.fromkeys([*keys, *(key for key in start if key[0] >= 0 and self.sets.open[key])])
            outcome, chosen = self._minimised(goal, mine, start, budget)
            others = outcome.bound or 0 if every else integer_bound(self._least + float(left.flat[order[most]])) or 0
            bound = max(bound, min(outcome.bound or 0, others))
            if outcome.value is not None and outcome.value < have:
                return chosen, bound
            if every or budget.reached:
                return None, bound
        raise AssertionError("the last model has all sets")

    def _minimised(
        self, goal: str, keys: Iterable[tuple[int, int]], start: Chosen, budget: Budget
    ) -> tuple[Outcome, Chosen]:
        """Return what the solver finds with some sets."""
        lp: Any = pulp.LpProblem("whole", pulp.LpMinimize)
        variables: dict[tuple[int, int], Any] = {}
        rows: dict[tuple[str, int], dict[Any, int]] = {}
        extras = [(-1, at) for at in range(len(self.sets.extras))]
        for number, key in enumerate((*keys, *extras)):
            most = self.sets.extras[key[1]].most if key[0] < 0 else int(self.sets.numbers[key[0]])
            variable = lp.add_variable(f"s_{number}", 0, most, pulp.LpInteger)
            variable.varValue = start.get(key, 0)
            variables[key] = variable
            for row, factor in self._entries(key):
                rows.setdefault(row, {})[variable] = factor
            for at, (name, _) in enumerate(self._kept):
                if cost := self._cost(name, key):
                    rows.setdefault(("kept", at), {})[variable] = cost
        limits = {("class", at): int(number) for at, number in enumerate(self.sets.numbers)}
        limits |= {("row", at): upper for at, (upper, _) in enumerate(self.sets.rows)}
        limits |= {("kept", at): value - self.constant(name) for at, (name, value) in enumerate(self._kept)}
        for row, factors in rows.items():
            left, equal = pulp.LpAffineExpression(factors), row[0] == "row" and self.sets.rows[row[1]][1]
            lp.addConstraint(left == limits[row] if equal else left <= limits[row], "_".join(map(str, row)))
        mine = {variable: cost for key, variable in variables.items() if (cost := self._cost(goal, key))}
        expression = pulp.LpAffineExpression(mine, constant=self.constant(goal)) if mine else self.constant(goal)
        outcome = minimise(lp, expression, self.solver, budget, options=options_of(len(variables), budget))
        return outcome, {key: int(v.varValue) for key, v in variables.items() if v.varValue}

    def _entries(self, key: tuple[int, int]) -> Iterator[tuple[tuple[str, int], int]]:
        """Yield the rows of a set or an extra column, with its factors."""
        if key[0] < 0:
            for row, factor in self.sets.extras[key[1]].entries.items():
                yield ("row", row), factor
            return
        yield ("class", key[0]), 1
        found: Counter[int] = Counter()
        for at in np.flatnonzero(self.sets.factors[key[1]]).tolist():
            found[int(self.sets.rows_of[key[0], at])] += int(self.sets.factors[key[1], at])
        if self._slot is not None:
            found[int(self._slot.rows[key[0]])] += int(self._slot.lost[key])
        yield from ((("row", row), factor) for row, factor in found.items() if row >= 0)
