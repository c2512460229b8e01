"""Which set of gangs each domain has, goal after goal, with a bound.

A set has its gangs whole. So the relaxation cannot put parts of a gang on the best nodes of many domains.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from itertools import count
from typing import Any

import highspy
import numpy as np

from dra_lab.errors import SolverError
from dra_lab.model.fleet import UNPLACED
from dra_lab.model.gang import BEYOND, GANGS
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.gang_sets import Chosen, GangSets
from dra_lab.planner.gangs.worth import priority_of, wanted_beyond
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise, run_within
from dra_lab.planner.node.solver_outcome import ROUNDING, Outcome, integer_bound
from dra_lab.planner.states.columns import Array

_PRIMAL = 4
"""The number of the primal simplex among the strategies of HiGHS."""

_OPTIONS = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}


class WholeGangs:
    """The model of sets of gangs in classes of domains: a relaxation that grows by the sets it needs, and an exact one.

    `is_sure` says that it still bounds plans: it bounds all goals of devices so far by the values that were kept.
    """

    def __init__(self, sets: GangSets, solver: str) -> None:
        """Begin without goals that are kept."""
        self.sets, self.solver = sets, solver
        self.is_sure = True
        self._beside: dict[str, int] = {}
        self._kept: list[tuple[str, int]] = []
        self._closed: dict[str, int] = {}
        self._left: Array = np.zeros(sets.packed.shape)
        self._least = -math.inf
        self._engine: Any = None
        self._columns: list[tuple[int, int] | None] = []
        self._known: set[tuple[int, int]] = set()

    def constant(self, goal: str) -> int:
        """Return what a goal has beside the costs of the sets."""
        needs = self.sets.problem.needs
        name, priority = priority_of(goal, needs)
        if name == GANGS:
            return sum(need.copies for need in needs.gangs if need.priority == priority)
        if name == BEYOND:
            return wanted_beyond(needs, priority)
        return self._beside.get(goal, 0)

    def keep(self, goal: str, value: int, bound: int) -> None:
        """Demand from now on that a goal is not above a value; `bound` is what this model knows of it."""
        # What a set costs is compared goal after goal. It bounds a plan that is as good in the goals before.
        if goal in self.sets.compared and bound < value:
            self.is_sure = False
        # A set may have been closed for a value that no plan reaches.
        self.is_sure = self.is_sure and self._closed.get(goal, value) >= value
        if goal == UNPLACED and not value:
            self._beside = self._of_ordinary()
        self._kept.append((goal, value))
        self._engine = None

    def _of_ordinary(self) -> dict[str, int]:
        """Return what all ordinary pods cost at least, each alone on the best node."""
        problem = self.sets.problem
        found = [0] * len(problem.device)
        for kind, wanted in problem.needs.ordinary:
            single = tuple(int(kind == other) for other in range(problem.kinds))
            each = [values for one in problem.profiles if one.least and (values := one.least.get(single))]
            found = [have + wanted * more for have, more in zip(found, min(each), strict=True)] if each else found
        return dict(zip(problem.device, found, strict=True))

    def decide(self, goal: str, have: int, start: Chosen, budget: Budget) -> tuple[int, Chosen | None]:
        """Return what no plan undercuts in a goal that keeps those before, and the sets of a better plan, if any.

        `have` is the value of the plan so far, and `start` are its sets.
        """
        best: Chosen | None = None
        bound = 0
        while not budget.reached:
            bound = max(bound, self._relaxed(goal, have, best or start, budget))
            if bound >= have or budget.reached:
                break
            found, mine = self._solved(goal, have, best or start, budget)
            if found is None:
                bound = max(bound, mine)
                break
            if not self._learn(found, budget):
                best, have = found, self._value(goal, found)
                bound = max(bound, mine)
        return bound, best

    def _value(self, goal: str, chosen: Chosen) -> int:
        cost = self.sets.cost(goal)
        return self.constant(goal) + sum(int(cost[key]) * times for key, times in chosen.items())

    def _learn(self, keys: Iterable[tuple[int, int]], budget: Budget) -> bool:
        """Find out what the sets cost that are only bounded in the classes of some; say whether there were any."""
        wrong = {number for number, at in keys if not self.sets.are_exact(number, at)}
        for number in wrong:
            if not budget.reached:
                self.sets.learn(number)
        self._forget(wrong)
        return bool(wrong)

    # ------------------------------------------------------------------ the relaxation

    def _relaxed(self, goal: str, have: int, start: Chosen, budget: Budget) -> int:
        """Return the bound of the relaxation, and close the sets that no plan with the value `have` has."""
        if self._engine is None:
            self._begin()
        engine, cost = self._engine, self.sets.cost(goal)
        costs = np.array([0 if key is None else cost[key] for key in self._columns], float)
        engine.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
        best, left = self._priced(goal, np.zeros(engine.getNumRow()))
        more: list[tuple[int, int]] = list(start)
        while not budget.reached:
            self._append(goal, more)
            try:
                run_within(engine, budget)
            except SolverError:
                break
            solution = engine.getSolution()
            if not solution.dual_valid or budget.reached:
                break
            found, reduced = self._priced(goal, np.minimum(np.array(solution.row_dual), 0))
            if found >= best:
                best, left = found, reduced
            more = self._entering(reduced)
            if not more:
                taken = zip(self._columns, solution.col_value, strict=True)
                more = [key for key, value in taken if key is not None and value > ROUNDING]
                if not self._learn(more, budget):
                    break
                best, left = self._priced(goal, np.zeros(engine.getNumRow()))
        self._left = left - left.min(axis=1, keepdims=True)
        self._least = best + self.constant(goal)
        # No plan as good as `have` has a set by which the bound rises above it.
        self.sets.open &= self._least + self._left <= have + ROUNDING * max(1, abs(have))
        self._closed[goal] = have
        return max(0, integer_bound(self._least) or 0)

    def _begin(self) -> None:
        """Make the solver with the rows: domains of each class, gangs of each kind, goals kept; and single gangs."""
        engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options = {"output_flag": False, "threads": 1, "presolve": "off", "simplex_strategy": _PRIMAL}
        for option, value in options.items():
            engine.setOptionValue(option, value)
        copies = [need.copies for need in self.sets.needs]
        kept = [value - self.constant(goal) for goal, value in self._kept]
        for upper in (*self.sets.numbers, *copies, *kept):
            engine.addRow(-math.inf, float(upper), 0, np.zeros(0, np.int32), np.zeros(0))
        single = np.flatnonzero(self.sets.sets.sum(axis=1) == 1).tolist()
        before = [key for key in self._columns if key is not None]
        before = before or [(number, at) for number in range(len(self.sets.numbers)) for at in single]
        self._engine, self._columns, self._known = engine, [], set()
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
        factors = np.concatenate([domains, self.sets.sets[sets].T, *kept]).T
        at, row = np.nonzero(factors)
        starts = np.searchsorted(at, np.arange(len(columns))).astype(np.int32)
        cost = np.zeros(len(columns)) if goal is None else self.sets.cost(goal)[classes, sets].astype(float)
        most = self.sets.numbers[classes].astype(float)
        none = np.zeros(len(columns))
        self._engine.addCols(len(columns), cost, none, most, len(at), starts, row.astype(np.int32), factors[at, row])

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

        It holds for any prices up to 0: each domain has the set of which least is left.
        """
        sets, first = self.sets, len(self.sets.numbers)
        gangs, kept = prices[first : first + len(sets.needs)], prices[first + len(sets.needs) :]
        left = sets.cost(goal) - (sets.sets @ gangs)[None]
        total = float(gangs @ np.array([need.copies for need in sets.needs], float))
        for (name, value), price in zip(self._kept, kept, strict=True):
            if price:
                left = left - price * sets.cost(name)
                total += float(price) * (value - self.constant(name))
        left = np.where(sets.open, left, math.inf)
        left[:, 0] = 0
        return total + float(left.min(axis=1) @ sets.numbers), left

    def _entering(self, left: Array) -> list[tuple[int, int]]:
        """Return the sets that the relaxation lacks: in each class the one of which least is left."""
        keys = enumerate(left.argmin(axis=1).tolist())
        return [(number, at) for number, at in keys if at and (number, at) not in self._known]

    # ------------------------------------------------------------------ the integer model

    def _solved(self, goal: str, have: int, start: Chosen, budget: Budget) -> tuple[Chosen | None, int]:
        """Return the sets of a better plan, None if none was found, and the bound if the model had all sets."""
        worth = np.where(self.sets.open, self._left, math.inf)
        worth[:, 0] = math.inf
        for step in count():
            order = np.argsort(worth, axis=None, kind="stable")[: budget.sizes.domain_columns << (2 * step)]
            keys = [divmod(int(at), worth.shape[1]) for at in order if worth.flat[at] < math.inf]
            every = len(keys) == int((worth < math.inf).sum())
            mine = dict.fromkeys([*keys, *(key for key in start if self.sets.open[key])])
            outcome, chosen = self._minimised(goal, mine, start, budget)
            bound = outcome.bound or 0 if every else 0
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
        for number, key in enumerate(keys):
            variable = lp.add_variable(f"s_{number}", 0, int(self.sets.numbers[key[0]]), pulp.LpInteger)
            variable.varValue = start.get(key, 0)
            variables[key] = variable
            rows.setdefault(("class", key[0]), {})[variable] = 1
            for need in np.flatnonzero(self.sets.sets[key[1]]).tolist():
                rows.setdefault(("gang", need), {})[variable] = int(self.sets.sets[key[1], need])
            for at, (name, _) in enumerate(self._kept):
                if cost := int(self.sets.cost(name)[key]):
                    rows.setdefault(("kept", at), {})[variable] = cost
        limits = {("class", at): int(number) for at, number in enumerate(self.sets.numbers)}
        limits |= {("gang", at): need.copies for at, need in enumerate(self.sets.needs)}
        limits |= {("kept", at): value - self.constant(name) for at, (name, value) in enumerate(self._kept)}
        for row, factors in rows.items():
            lp.addConstraint(pulp.LpAffineExpression(factors) <= limits[row], "_".join(map(str, row)))
        costs = self.sets.cost(goal)
        mine = {variable: int(costs[key]) for key, variable in variables.items() if costs[key]}
        expression = pulp.LpAffineExpression(mine, constant=self.constant(goal)) if mine else self.constant(goal)
        outcome = minimise(lp, expression, self.solver, budget, options=_OPTIONS)
        return outcome, {key: int(v.varValue) for key, v in variables.items() if v.varValue}
