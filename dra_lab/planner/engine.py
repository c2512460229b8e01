"""The one way to the solvers: minimise an integer expression, and accept only what has been shown (`outcome`)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.highs import Highs
from dra_lab.planner.modelling import pulp
from dra_lab.planner.outcome import Claim, Outcome, Rows, judged
from dra_lab.planner.variables import Expression

_UNPRESOLVED = ["presolve off", "preprocess off"]


def minimise(
    lp: Any,
    expression: Expression,
    solver: str,
    budget: Budget,
    on_improvement: Callable[[int, int | None], None] | None = None,
    options: Mapping[str, object] | None = None,
) -> Outcome:
    """Minimise an expression over a model; afterwards every `varValue` is an integer, or None where nothing was found.

    `options` are for HiGHS alone. Raises SolverError for an unknown or failing solver, never for a model without a
    solution.
    """
    if solver not in SOLVERS:
        raise SolverError(f"solver {solver!r} is not known; use one of {', '.join(SOLVERS)}")
    if budget.reached:
        return Outcome(None, None, stopped=True)
    lp.setObjective(pulp.LpAffineExpression(_not_empty(lp, expression)))
    rows, variables = Rows.of(lp), lp.variables()
    if not variables:
        value = rows.value_of(rows.cost)
        return Outcome(value, value)
    began = time.perf_counter()
    claim = SOLVERS[solver](lp, rows, budget, on_improvement, options)
    outcome, values = judged(rows, claim)
    if claim.presolved and (claim.optimal or claim.infeasible) and not budget.reached:
        # Only a solve without presolve confirms it. It starts from what was found.
        known = rows if values is None else replace(rows, start=values)
        outcome, second = judged(known, _highs(lp, known, budget))
        values = second if second is not None else values
        outcome = outcome if values is None else replace(outcome, value=rows.value_of(values))
    outcome = replace(outcome, seconds=time.perf_counter() - began)
    for index, variable in enumerate(variables):
        variable.varValue = None if values is None else int(values[index])
    lp.assignStatus(*_status(outcome))
    return outcome


def _not_empty(lp: Any, expression: Expression) -> Expression:
    # For an objective without variables PuLP would add a dummy one, which no table knows.
    if isinstance(expression, int):
        return dict.fromkeys(lp.variables()[:1], 0)
    return expression


def _status(outcome: Outcome) -> tuple[int, int]:
    """Return the status of a model and of its solution, as PuLP names them."""
    if outcome.proven:
        return pulp.LpStatusOptimal, pulp.LpSolutionOptimal
    if outcome.infeasible:
        return pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible
    found = outcome.value is not None
    return pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible if found else pulp.LpSolutionNoSolutionFound


def _highs(
    lp: Any,
    rows: Rows,
    budget: Budget,
    on_improvement: Callable[[int, int | None], None] | None = None,
    options: Mapping[str, object] | None = None,
) -> Claim:
    """Return what HiGHS says of a model."""
    engine = Highs(rows, budget, on_improvement, options)
    lp.solve(engine)
    return engine.claim


def _cbc(lp: Any, _rows: Rows, budget: Budget, *_: object) -> Claim:
    """Return what CBC says of a model; without its presolve, CBC 2.10 crashes on some models that have no solution."""
    try:
        return _cbc_with(lp, budget, _UNPRESOLVED, presolved=False)
    except pulp.PulpSolverError:
        pass
    try:
        return _cbc_with(lp, budget, [], presolved=True)
    except pulp.PulpSolverError as error:
        raise SolverError(f"CBC failed ({error}); use the solver HiGHS") from error


def _cbc_with(lp: Any, budget: Budget, options: list[str], *, presolved: bool) -> Claim:
    with warnings.catch_warnings():
        # PuLP 3 announces that 4 will not bring CBC along; the version is pinned.
        warnings.simplefilter("ignore")
        lp.solve(pulp.PULP_CBC_CMD(msg=0, threads=1, timeLimit=budget.left, options=options))
    infeasible = lp.status == pulp.LpStatusInfeasible
    optimal = lp.sol_status == pulp.LpSolutionOptimal
    if infeasible or not (optimal or lp.sol_status == pulp.LpSolutionIntegerFeasible):
        return Claim(infeasible=infeasible, presolved=presolved)
    values = np.array([variable.varValue or 0 for variable in lp.variables()], dtype=float)
    bound = float(pulp.value(lp.objective)) if optimal else None
    return Claim(values=values, bound=bound, optimal=optimal, presolved=presolved)


SOLVERS: dict[str, Callable[..., Claim]] = {"HiGHS": _highs, "CBC": _cbc}
"""HiGHS is the default, because it reports its bound and can be cancelled. CBC is another engine to compare with."""
