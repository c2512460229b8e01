"""The only calls of the solvers: integer and linear models, of which only what was shown is accepted (`judged`).

HiGHS has one thread and no presolve, also at restarts: its presolve calls feasible models infeasible
(docs/upstream/highs-presolve.md). It looks at the deadline and the cancel event between its steps.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import highspy
import numpy as np
from msgspec.structs import replace

from dra_lab._workarounds import HIGHS_SCHEDULER
from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.solver_outcome import Array, Claim, Outcome, Rows, integer_bound, judged
from dra_lab.planner.node.variables import Expression, check_solver, pulp

_GAP = 0.9
_DUAL, _PRIMAL = 1, 4
"""The numbers of the dual and the primal simplex among the strategies of HiGHS."""

Options = Mapping[str, object]
"""Options of HiGHS that replace ours."""

# ---------------------------------------------------------------- integer models


def minimise(lp: Any, expression: Expression, solver: str, budget: Budget) -> Outcome:
    """Minimise an expression over a PuLP model, whose variables have the values of the start.

    Afterwards every `varValue` is an integer, or None where nothing was found.

    Args:
        lp: The model; its variables are integers with finite bounds.
        expression: What is minimised.
        solver: "HiGHS" or "CBC".
        budget: When to stop.

    Returns:
        What was shown, see `minimise_rows`.

    Raises:
        SolverError: The solver is unknown or fails; never for a model without a solution.
    """
    lp.setObjective(pulp.LpAffineExpression(expression))
    variables = lp.variables()
    outcome, values = minimise_rows(Rows.of(lp, variables), solver, budget)
    for index, variable in enumerate(variables):
        variable.varValue = None if values is None else int(values[index])
    return outcome


def minimise_rows(
    rows: Rows, solver: str, budget: Budget, options: Options | None = None
) -> tuple[Outcome, Array | None]:
    """Minimise a model of integers that is given as arrays.

    Args:
        rows: The model, with its start.
        solver: "HiGHS" or "CBC", which takes no start.
        budget: When to stop.
        options: Options for HiGHS alone.

    Returns:
        What was shown, and the whole values of the columns, None if nothing was found. "Infeasible" and the bound are
        from a solve without presolve, and the objective is counted from the values.

    Raises:
        SolverError: The solver is unknown or fails; never for a model without a solution.
    """
    check_solver(solver)
    if budget.reached:
        return Outcome(None, None), None
    if not len(rows.cost):
        value = rows.value_of(rows.cost)
        return Outcome(value, value), rows.cost
    claim = ENGINES[solver](rows, budget, options)
    outcome, values = judged(rows, claim)
    if claim.presolved and (claim.optimal or claim.infeasible) and not budget.reached:
        # Only a solve without presolve confirms it. It starts from what was found.
        known = rows if values is None else replace(rows, start=values)
        outcome, second = judged(known, _highs(known, budget))
        values = second if second is not None else values
        outcome = outcome if values is None else replace(outcome, value=rows.value_of(values))
    return outcome, values


def _highs(rows: Rows, budget: Budget, options: Options | None = None) -> Claim:
    """Return what HiGHS says of a model."""
    engine = _engine(
        {
            "mip_rel_gap": 0.0,
            "mip_abs_gap": _GAP,
            # On models of this size it takes three quarters of the time and finds nothing that the rest does not.
            "mip_heuristic_run_feasibility_jump": False,
            **(options or {}),
        }
    )
    pass_rows(engine, rows)
    if rows.start is not None:
        start = highspy.HighsSolution()
        start.col_value = rows.start.tolist()
        engine.setSolution(start)
    run_within(engine, budget)
    status, info, known = engine.getModelStatus(), engine.getInfo(), highspy.HighsModelStatus
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Claim(
        values=np.array(engine.getSolution().col_value) if found else None,
        bound=info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else None,
        optimal=status == known.kOptimal and found,
        infeasible=status in (known.kInfeasible, known.kUnboundedOrInfeasible),
        presolved=engine.getOptionValue("presolve")[1] != "off",
    )


def _cbc(rows: Rows, budget: Budget, _: Options | None = None, *, presolved: bool = False) -> Claim:
    lp, variables = rows.as_pulp()
    options = [] if presolved else ["presolve off", "preprocess off"]
    with warnings.catch_warnings():
        # PuLP 3 announces that 4 will not bring CBC along; the version is pinned.
        warnings.simplefilter("ignore")
        # No `threads`: CBC has one without it. With "-threads 1" three runs of a hundred wait until their time is over.
        try:
            lp.solve(pulp.PULP_CBC_CMD(msg=0, timeLimit=budget.left, options=options))
        except pulp.PulpSolverError as error:
            if presolved:
                raise SolverError(f"CBC failed ({error}); use the solver HiGHS") from error
            # Without its presolve, CBC 2.10 crashes on some models that have no solution.
            return _cbc(rows, budget, presolved=True)
    infeasible = lp.status == pulp.LpStatusInfeasible
    optimal = lp.sol_status == pulp.LpSolutionOptimal
    if infeasible or not (optimal or lp.sol_status == pulp.LpSolutionIntegerFeasible):
        return Claim(infeasible=infeasible, presolved=presolved)
    values = np.array([variable.varValue or 0 for variable in variables], dtype=float)
    bound = float(pulp.value(lp.objective)) if optimal else None
    return Claim(values=values, bound=bound, optimal=optimal, presolved=presolved)


ENGINES: dict[str, Callable[[Rows, Budget, Options | None], Claim]] = {"HiGHS": _highs, "CBC": _cbc}

# ---------------------------------------------------------------- linear relaxations


class LinearProgram:
    """The linear relaxation of a model in HiGHS, which is kept: costs may change, and rows may be added.

    By the primal simplex: the last solution is still feasible when costs change. The dual one then takes three times as
    long, up to a second of it in one iteration. It follows if the primal one gives up, as it may without a feasible
    start.
    """

    def __init__(self, rows: Rows) -> None:
        """Pass the model to HiGHS."""
        self.rows = rows
        self._engine = _engine({})
        pass_rows(self._engine, rows, whole=False)

    def add_row(self, lower: float, upper: float, factors: Array) -> None:
        """Add a row with a factor for each column."""
        column = np.flatnonzero(factors).astype(np.int32)
        self._engine.addRow(lower, upper, len(column), column, factors[column])
        rows = self.rows
        self.rows = replace(
            rows,
            begin=np.append(rows.begin, rows.begin[-1] + len(column)).astype(np.int32),
            column=np.append(rows.column, column),
            factor=np.append(rows.factor, factors[column]),
            lower=np.append(rows.lower, lower),
            upper=np.append(rows.upper, upper),
        )

    def bound(self, cost: Array, budget: Budget, offset: float = 0.0) -> int | None:
        """Return an integer that cost · values + offset does not undercut for whole values; None if none was found.

        It is recounted from the prices of the rows. Raises SolverError if HiGHS itself fails.
        """
        engine = self._engine
        self.rows = replace(self.rows, cost=cost, offset=offset)
        engine.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
        engine.setOptionValue("simplex_strategy", _PRIMAL)
        run_within(engine, budget)
        if engine.getModelStatus() == highspy.HighsModelStatus.kUnknown and not budget.reached:
            engine.clearSolver()
            engine.setOptionValue("simplex_strategy", _DUAL)
            run_within(engine, budget)
        solution = engine.getSolution()
        return integer_bound(self.rows.bound_by(np.array(solution.row_dual))) if solution.dual_valid else None


# ---------------------------------------------------------------- HiGHS


def _engine(options: Options) -> Any:
    engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    # One thread: the models are small, and HiGHS keeps one scheduler a process that a second number would break.
    for key, value in {"output_flag": False, "threads": 1, "presolve": "off", **options}.items():
        engine.setOptionValue(key, value)
    return engine


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


def run_within(engine: Any, budget: Budget) -> None:
    """Run HiGHS until it is done or the budget is reached. Raises SolverError if HiGHS itself fails."""

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
        failed = engine.run() == highspy.HighsStatus.kError
        if failed:
            with HIGHS_SCHEDULER:
                # Other code in this process may have set HiGHS up with another number of threads.
                highspy.Highs.resetGlobalScheduler(True)
            failed = engine.run() == highspy.HighsStatus.kError
    finally:
        for look in looks:
            look.unsubscribe(interrupt)
    if failed:
        text = engine.modelStatusToString(engine.getModelStatus())
        raise SolverError(f"HiGHS failed ({text}); try the solver CBC")
