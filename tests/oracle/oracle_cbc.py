"""CBC, called through PuLP without presolve; a solution counts only after every row of it was recounted in integers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import pulp

PLAIN = ["presolve off", "preprocess off"]
"""Presolve of solvers was seen to be wrong, so the oracle does without it."""

GOALS = ("preferences", "numa", "unpaired", "roots")
"""The goals of a pod, in the order that is documented; NODES follows them, or is before them if it is asked for."""

NODES = "nodes"
SECONDS = 20.0
"""The time for all goals of a model."""


class UnknownError(Exception):
    """The oracle does not know: the model is too large, or CBC did not finish."""


@dataclass(frozen=True)
class Found:
    """The value of a solution that keeps every row; `best` says that CBC found no better one in the whole tree."""

    value: int
    best: bool


def maximum(model: pulp.LpProblem, goal: pulp.LpAffineExpression, seconds: float) -> Found | None:
    """Maximise an integer goal; the variables then have integer values.

    Every model of the oracle has a solution, so "infeasible" is no answer: it is None, as is the end of the time.
    """
    model.sense = pulp.LpMaximize
    model.setObjective(goal)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PuLP 3 announces that 4 will not bring CBC along.
        try:
            model.solve(pulp.PULP_CBC_CMD(msg=0, timeLimit=seconds, options=PLAIN))
        except pulp.PulpSolverError:
            return None
    if model.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return None
    for variable in model.variables():
        variable.varValue = round(variable.varValue or 0)
    if not kept(model):
        return None
    return Found(counted(goal), model.sol_status == pulp.LpSolutionOptimal)


def counted(expression: pulp.LpAffineExpression) -> int:
    """Return the value of an expression, in integers."""
    return int(expression.constant) + sum(int(factor) * int(v.varValue) for v, factor in expression.items())


def kept(model: pulp.LpProblem) -> bool:
    """Say whether the values of the variables keep every bound and every row of a model."""
    bounds = all(
        (v.lowBound is None or v.varValue >= v.lowBound) and (v.upBound is None or v.varValue <= v.upBound)
        for v in model.variables()
    )
    kept_by = {
        pulp.LpConstraintLE: lambda value: value <= 0,
        pulp.LpConstraintEQ: lambda value: value == 0,
        pulp.LpConstraintGE: lambda value: value >= 0,
    }
    return bounds and all(kept_by[row.sense](counted(row)) for row in model.constraints.values())


class Optimum:
    """A model that always has a solution; what is found of one goal is kept when the next one is asked for."""

    def __init__(self, name: str) -> None:
        self.model, self.ends, self._numbers = pulp.LpProblem(name), time.monotonic() + SECONDS, count()

    def integer(self, most: int | None = None) -> pulp.LpVariable:
        """Return a new variable from 0 to `most`."""
        return pulp.LpVariable(f"x{next(self._numbers)}", 0, most, pulp.LpInteger)

    def most(self, expression: pulp.LpAffineExpression) -> int:
        """Return the most that an expression can be, and keep it there from now on."""
        if not expression:
            return int(expression.constant)
        found = maximum(self.model, expression, max(0.1, self.ends - time.monotonic()))
        if found is None or not found.best:
            raise UnknownError
        self.model += expression == found.value
        return found.value

    def least(self, expression: pulp.LpAffineExpression) -> int:
        """Return the least that an expression can be, and keep it there from now on."""
        return -self.most(-expression)

    def least_goals(self, placed: int, *, nodes_first: bool = False) -> tuple[tuple[str, int], ...]:
        """Return the goals in order with their least values for a number of placed pods, as far as CBC is done."""
        self.model += self.placed() == placed
        found: list[tuple[str, int]] = []
        try:
            for name in self._order(nodes_first):
                found.append((name, self.least(self.nodes() if name == NODES else self.goal(name))))
        except UnknownError:
            pass
        return tuple(found)

    @staticmethod
    def _order(nodes_first: bool) -> Sequence[str]:
        return (NODES, *GOALS) if nodes_first else (*GOALS, NODES)

    def placed(self, number: int | None = None) -> pulp.LpAffineExpression:
        """Return the pods of one workload, or of all, that are on a node."""
        raise NotImplementedError

    def goal(self, name: str) -> pulp.LpAffineExpression:
        """Return the sum of a goal over all pods."""
        raise NotImplementedError

    def nodes(self) -> pulp.LpAffineExpression:
        """Return the nodes with a pod."""
        raise NotImplementedError
