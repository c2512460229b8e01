"""The only calls of the solvers: minimise an integer expression, and accept only what was shown (`outcome`)."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import highspy
import numpy as np
from msgspec.structs import replace

from dra_lab._workarounds import HIGHS_SCHEDULER
from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver_outcome import Claim, Outcome, Rows, integer_bound, judged
from dra_lab.planner.node.variables import Expression

_GAP = 0.9


class Highs(pulp.LpSolver):  # type: ignore[misc]
    """HiGHS in this process, for pure integer models that minimise; what it says of the model is in `claim`.

    PuLP's own interface adds rows one by one and calls a time-limited answer "Optimal". This one passes the model at
    once and takes the start of the rows. HiGHS runs without presolve, also at restarts, because presolve calls feasible
    models infeasible (docs/upstream/highs-presolve.md).
    """

    name = "dra_lab_highs"

    def __init__(
        self,
        rows: Rows,
        budget: Budget,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the model as arrays and its budget.

        Args:
            rows: The model that PuLP hands over, as arrays.
            budget: When to stop.
            options: Options of HiGHS that replace ours.
        """
        super().__init__(mip=True, msg=False)
        self.rows = rows
        self.options = options or {}
        self.budget = budget
        self.claim = Claim()

    def available(self) -> bool:
        """Say that it is there: highspy is a dependency."""
        return True

    def actualSolve(self, lp: Any, **_: Any) -> int:  # noqa: N802 - PuLP's name
        """Solve if there is time left; PuLP calls this. Raises SolverError if HiGHS itself fails."""
        lp.assignStatus(pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound)
        if self.budget.reached:
            return int(pulp.LpStatusNotSolved)
        engine = self._engine()
        pass_rows(engine, self.rows)
        if self.rows.start is not None:
            start = highspy.HighsSolution()
            start.col_value = self.rows.start.tolist()
            engine.setSolution(start)
        run_within(engine, self.budget)
        self.claim = _claim(engine, presolved=engine.getOptionValue("presolve")[1] != "off")
        return int(pulp.LpStatusNotSolved)

    def _engine(self) -> Any:
        engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        # One thread: the models are small, and HiGHS keeps one scheduler a process that a second number would break.
        options: dict[str, Any] = {
            "output_flag": False,
            "threads": 1,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": _GAP,
            "presolve": "off",
            # On models of this size it takes three quarters of the time and finds nothing that the rest does not.
            "mip_heuristic_run_feasibility_jump": False,
        }
        options.update(self.options)
        for key, value in options.items():
            engine.setOptionValue(key, value)
        return engine


def relaxed_bound(rows: Rows, budget: Budget) -> int | None:
    """Return an integer that no solution of a model undercuts, by its linear relaxation; None if none was found."""
    engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in {"output_flag": False, "threads": 1, "presolve": "off", "solve_relaxation": True}.items():
        engine.setOptionValue(option, value)
    pass_rows(engine, rows)
    run_within(engine, budget)
    solution = engine.getSolution()
    return integer_bound(rows.bound_by(np.array(solution.row_dual))) if solution.dual_valid else None


def _claim(engine: Any, *, presolved: bool) -> Claim:
    """Return what HiGHS says of the model that it has run."""
    status, info = engine.getModelStatus(), engine.getInfo()
    known = highspy.HighsModelStatus
    infeasible = status in (known.kInfeasible, known.kUnboundedOrInfeasible)
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Claim(
        values=np.array(engine.getSolution().col_value) if found else None,
        bound=info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else None,
        optimal=status == known.kOptimal and found,
        infeasible=infeasible,
        presolved=presolved,
    )


def run_within(engine: Any, budget: Budget) -> None:
    """Run HiGHS until it is done or the budget is reached.

    Raises SolverError if HiGHS itself fails.
    """

    def interrupt(event: Any) -> None:
        if budget.reached:
            event.interrupt()

    if budget.left is not None:
        # HiGHS counts from the start of its first run.
        engine.setOptionValue("time_limit", engine.getRunTime() + budget.left)
    # HiGHS may overshoot its own time limit by far, so the clock is looked at from outside as well.
    limited = budget.cancel is not None or budget.deadline is not None
    looks = (engine.cbMipInterrupt, engine.cbSimplexInterrupt) if limited else ()
    for look in looks:
        look.subscribe(interrupt)
    try:
        _run(engine)
    finally:
        for look in looks:
            look.unsubscribe(interrupt)


def _run(engine: Any) -> None:
    if engine.run() != highspy.HighsStatus.kError:
        return
    with HIGHS_SCHEDULER:
        # Other code in this process may have set HiGHS up with another number of threads.
        highspy.Highs.resetGlobalScheduler(True)
    if engine.run() != highspy.HighsStatus.kError:
        return
    text = engine.modelStatusToString(engine.getModelStatus())
    raise SolverError(f"HiGHS failed ({text}); try the solver CBC")


def pass_rows(engine: Any, rows: Rows, *, whole: bool = True) -> None:
    """Give HiGHS a model whose variables are all integers, or none is. Raises SolverError if it refuses.

    Arrays are read as they are; set on a HighsLp they are copied number by number, which takes ten times as long.
    """
    by_row, minimised, columns = 2, 1, len(rows.cost)
    passed = engine.passModel(
        *(columns, len(rows.lower), len(rows.column), by_row, minimised, rows.offset),
        *(rows.cost, rows.least, rows.most, rows.lower, rows.upper, rows.begin, rows.column, rows.factor),
        np.full(columns, whole, np.int32),
    )
    if passed == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the model; please report the claim and the cluster")


_UNPRESOLVED = ["presolve off", "preprocess off"]


def minimise(
    lp: Any,
    expression: Expression,
    solver: str,
    budget: Budget,
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
    variables = lp.variables()
    if budget.cancelled:
        return Outcome(None, None, stopped=True)
    rows = Rows.of(lp, variables)
    if not variables:
        value = rows.value_of(rows.cost)
        return Outcome(value, value)
    began = time.perf_counter()
    claim = SOLVERS[solver](lp, rows, budget, options)
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
    options: Mapping[str, object] | None = None,
) -> Claim:
    """Return what HiGHS says of a model."""
    engine = Highs(rows, budget, options)
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
        # No `threads`: CBC has one without it. With "-threads 1" three runs of a hundred wait until their time is over.
        lp.solve(pulp.PULP_CBC_CMD(msg=0, timeLimit=budget.left, options=options))
    infeasible = lp.status == pulp.LpStatusInfeasible
    optimal = lp.sol_status == pulp.LpSolutionOptimal
    if infeasible or not (optimal or lp.sol_status == pulp.LpSolutionIntegerFeasible):
        return Claim(infeasible=infeasible, presolved=presolved)
    values = np.array([variable.varValue or 0 for variable in lp.variables()], dtype=float)
    bound = float(pulp.value(lp.objective)) if optimal else None
    return Claim(values=values, bound=bound, optimal=optimal, presolved=presolved)


SOLVERS: dict[str, Callable[..., Claim]] = {"HiGHS": _highs, "CBC": _cbc}
"""HiGHS is the default, because it reports its bound and can be cancelled. CBC is another engine to compare with."""
