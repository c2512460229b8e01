"""Claims of a solver about an integer model, recounted: an outcome contains only what has been shown.

Solvers err. HiGHS with presolve calls feasible models infeasible (docs/upstream/highs-presolve.md), stock PuLP calls an
answer at the time limit "Optimal", and a solution may keep a row only within a tolerance. Therefore a solver returns a
`Claim`, and `judged` is the only function that turns a claim into an `Outcome`:

- Values count if they keep every row. Their objective is counted here.
- "Infeasible" and a bound are proofs only if they come from a solve without presolve.
- "Infeasible" is no proof if a solution is known, and a bound is none if a solution below it is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from dra_lab.planner.node.variables import pulp

Array = Any
"""A numpy array."""

_ABSOLUTE, _RELATIVE = 1e-6, 1e-9
ROUNDING = 1e-6
"""How far a row may be off, relative to its terms. Amounts that large are recounted exactly by `milp.overbooked`."""


class Outcome(Struct, frozen=True):
    """The result of a solve whose objective is integer and minimised.

    `value` is the objective of the best solution (None: none was found). `bound` is the smallest integer that a
    solution may still have (None: unknown). `infeasible` is a proof that there is no solution.
    """

    value: int | None
    bound: int | None
    infeasible: bool = False

    @property
    def proven(self) -> bool:
        """Return whether no better integer value can exist; the solver's own "optimal" does not count."""
        return self.value is not None and self.bound is not None and self.bound >= self.value


class Claim(Struct, frozen=True):
    """What a solver says about a model: values, a bound of the objective, and how the solve ended.

    `presolved` says that the solver changed the model before it looked at it.
    """

    values: Array | None = None
    bound: float | None = None
    optimal: bool = False
    infeasible: bool = False
    presolved: bool = True


class Rows(Struct, frozen=True, dict=True):
    """A PuLP model as arrays: `factor` of `column` for each entry, by rows that begin at `begin`.

    `start` are the values that the variables have before the solve, None if some variable has none.
    """

    cost: Array
    offset: float
    least: Array
    most: Array
    begin: Array
    column: Array
    factor: Array
    lower: Array
    upper: Array
    start: Array | None

    @classmethod
    def of(cls, lp: Any, variables: Sequence[Any] | None = None) -> Rows:
        """Return the arrays of a PuLP model whose variables are all integers with finite bounds.

        `variables` are those of the model, if they are known: PuLP looks through all rows for them.
        """
        variables = lp.variables() if variables is None else variables
        # By identity: the hash of PuLP's variables is a method of Python, which is slower.
        place = {id(variable): index for index, variable in enumerate(variables)}
        cost = np.zeros(len(variables))
        for variable, factor in lp.objective.items():
            cost[place[id(variable)]] = factor
        column: list[int] = []
        factors: list[float] = []
        begin, lower, upper = [0], [], []
        for row in lp.constraints():
            for variable, factor in row.items():
                if factor:
                    column.append(place[id(variable)])
                    factors.append(factor)
            begin.append(len(column))
            side = -row.constant
            lower.append(-math.inf if row.sense == pulp.LpConstraintLE else side)
            upper.append(math.inf if row.sense == pulp.LpConstraintGE else side)
        known = all(variable.varValue is not None for variable in variables)
        return cls(
            cost=cost,
            offset=lp.objective.constant,
            least=np.array([variable.lowBound for variable in variables], dtype=float),
            most=np.array([variable.upBound for variable in variables], dtype=float),
            begin=np.array(begin, dtype=np.int32),
            column=np.array(column, dtype=np.int32),
            factor=np.array(factors, dtype=float),
            lower=np.array(lower, dtype=float),
            upper=np.array(upper, dtype=float),
            start=np.array([variable.varValue for variable in variables], dtype=float) if known else None,
        )

    def as_pulp(self) -> tuple[Any, list[Any]]:
        """Return a PuLP model of these rows, and its variables in the order of the columns."""
        lp = pulp.LpProblem("rows", pulp.LpMinimize)
        bounds = zip(self.least.tolist(), self.most.tolist(), strict=True)
        found = [lp.add_variable(f"x{at}", *ends, pulp.LpInteger) for at, ends in enumerate(bounds)]
        lp.setObjective(pulp.LpAffineExpression(dict(zip(found, self.cost.tolist(), strict=True)), self.offset))
        for row, (lower, upper) in enumerate(zip(self.lower.tolist(), self.upper.tolist(), strict=True)):
            entries = slice(self.begin[row], self.begin[row + 1])
            terms = zip(self.column[entries].tolist(), self.factor[entries].tolist(), strict=True)
            expression = pulp.LpAffineExpression({found[column]: factor for column, factor in terms})
            sides = {pulp.LpConstraintGE: lower, pulp.LpConstraintLE: upper}
            for sense, side in ({pulp.LpConstraintEQ: lower} if lower == upper else sides).items():
                if math.isfinite(side):
                    lp.addConstraint(pulp.LpConstraint(expression, sense, f"r{row}_{sense + 1}", side))
        return lp, found

    @cached_property
    def _row(self) -> Array:
        return np.repeat(np.arange(len(self.lower)), np.diff(self.begin))

    def are_kept_by(self, values: Array) -> bool:
        """Return whether whole values are within their bounds and keep every row."""
        if ((values < self.least) | (values > self.most)).any():
            return False
        terms = self.factor * values[self.column]
        sums = np.bincount(self._row, terms, len(self.lower))
        slack = ROUNDING * np.bincount(self._row, np.abs(terms), len(self.lower))
        return bool(((sums >= self.lower - slack) & (sums <= self.upper + slack)).all())

    def bound_by(self, prices: Array) -> float:
        """Return what no values within the bounds and rows undercut, for any prices of the rows (Lagrange).

        A price above zero is paid for the lower side of a row, one below zero for the upper side. The bound does not
        rest on how exactly a solver found the prices.
        """
        paid = np.where(prices > 0, self.lower, self.upper)
        prices = np.where(np.isfinite(paid), prices, 0.0)
        left = self.cost - np.bincount(self.column, self.factor * prices[self._row], len(self.cost))
        most = np.where(left > 0, self.least, self.most)
        return float(prices @ np.where(np.isfinite(paid), paid, 0.0) + left @ most) + self.offset

    def value_of(self, values: Array) -> int:
        """Return the objective of whole values."""
        return round(float(self.cost @ values) + self.offset)


def integer_bound(bound: float) -> int | None:
    """Return the smallest integer that is not below a solver's bound, None for no bound at all."""
    return math.ceil(bound - max(_ABSOLUTE, _RELATIVE * abs(bound))) if math.isfinite(bound) else None


def agreed(bound: int | None, value: int) -> int | None:
    """Return a bound; None if a value below it was found: then one of the two is wrong, and nothing is proven."""
    return bound if bound is not None and bound <= value else None


def judged(rows: Rows, claim: Claim) -> tuple[Outcome, Array | None]:
    """Return what has been shown by a claim, with the whole values of its solution.

    Args:
        rows: The model, with the values that its variables had before the solve.
        claim: What the solver said.

    Returns:
        The outcome, and the values of the variables, None if the claim contains no solution of the model.
    """
    values = None if claim.values is None else np.round(claim.values)
    wrong = values is not None and not rows.are_kept_by(values)
    if wrong:
        values = None
    value = None if values is None else rows.value_of(values)
    started = rows.start is not None and rows.are_kept_by(rows.start)
    possible = [found for found in (value, rows.value_of(rows.start) if started else None) if found is not None]
    trusted = not (claim.presolved or wrong)
    if claim.infeasible:
        return Outcome(value, None, infeasible=trusted and not possible), values
    bound = integer_bound(claim.bound) if trusted and claim.bound is not None else None
    return Outcome(value, agreed(bound, min(possible)) if possible else bound), values
