"""One door to the solvers that may be chosen: minimise an integer expression, get an honest outcome."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from dra_lab.errors import SolverError
from dra_lab.planner.highs import Highs, Outcome
from dra_lab.planner.modelling import pulp
from dra_lab.planner.progress import Limits
from dra_lab.planner.variables import Expression

SOLVERS = ("HiGHS", "CBC")
"""HiGHS is the default: it tells its bound and can be cancelled; CBC is another engine to compare with."""


def minimise(
    lp: Any,
    expression: Expression,
    solver: str,
    limits: Limits,
    on_improvement: Callable[[int, int | None], None] | None = None,
    options: Mapping[str, object] | None = None,
) -> Outcome:
    """Minimise an expression over a model; afterwards every `varValue` is an integer, or None where nothing was found.

    `options` are for HiGHS alone. Raises SolverError for an unknown or failing solver, never for a model without a
    solution.
    """
    if solver not in SOLVERS:
        raise SolverError(f"solver {solver!r} is not known; use one of {', '.join(SOLVERS)}")
    if limits.reached:
        return Outcome(None, None, stopped=True)
    lp.setObjective(pulp.LpAffineExpression(_not_empty(lp, expression)))
    if solver == "CBC":
        return _cbc(lp, limits)
    engine = Highs(limits, on_improvement, options)
    lp.solve(engine)
    return engine.outcome


def _not_empty(lp: Any, expression: Expression) -> Expression:
    # For an objective without variables PuLP would add a dummy one, which no table knows.
    if isinstance(expression, int):
        return dict.fromkeys(lp.variables()[:1], 0)
    return expression


def _cbc(lp: Any, limits: Limits) -> Outcome:
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            # PuLP 3 announces that 4 will not bring CBC along; the version is pinned.
            warnings.simplefilter("ignore")
            lp.solve(pulp.PULP_CBC_CMD(msg=0, threads=1, timeLimit=limits.left))
    except pulp.PulpSolverError as error:
        raise SolverError(f"CBC failed ({error}); use the solver HiGHS") from error
    seconds = time.perf_counter() - began
    if lp.status == pulp.LpStatusInfeasible:
        return Outcome(None, None, infeasible=True, seconds=seconds)
    if lp.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        for variable in lp.variables():
            variable.varValue = None
        return Outcome(None, None, stopped=True, seconds=seconds)
    for variable in lp.variables():
        variable.varValue = round(variable.varValue or 0)
    value = round(pulp.value(lp.objective))
    proven = lp.sol_status == pulp.LpSolutionOptimal
    return Outcome(value, value if proven else None, stopped=not proven, seconds=seconds)
