"""HiGHS as an LpSolver of our own: one passModel, no presolve, progress, cancel, warm start, and what it claims."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import highspy
import numpy as np

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.modelling import pulp
from dra_lab.planner.outcome import Claim, Rows, integer_bound

_GAP = 0.9
_SCHEDULER = threading.Lock()


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
        on_improvement: Callable[[int, int | None], None] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the model as arrays and its budget.

        Args:
            rows: The model that PuLP hands over, as arrays.
            budget: When to stop.
            on_improvement: Called as `on_improvement(best, bound)` from inside the solve.
            options: Options of HiGHS that replace ours.
        """
        super().__init__(mip=True, msg=False)
        self.rows = rows
        self.options = options or {}
        self.budget = budget
        self.on_improvement = on_improvement
        self.claim = Claim()

    def available(self) -> bool:
        """Say that it is there: highspy is a dependency."""
        return True

    def actualSolve(self, lp: Any, **_: Any) -> int:  # noqa: N802 - PuLP's name
        """Solve; PuLP calls this. Raises SolverError if HiGHS itself fails."""
        engine = self._engine()
        if engine.passModel(_model(self.rows)) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the model; please report the claim and the cluster")
        if self.rows.start is not None:
            start = highspy.HighsSolution()
            start.col_value = self.rows.start.tolist()
            engine.setSolution(start)
        run_within(engine, self.budget)
        self.claim = _claim(engine, presolved=engine.getOptionValue("presolve")[1] != "off")
        lp.assignStatus(pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound)
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
        if self.on_improvement is not None:
            engine.cbMipImprovingSolution.subscribe(self._improved)
        return engine

    def _improved(self, event: Any) -> None:
        if self.on_improvement is not None and math.isfinite(event.data_out.mip_primal_bound):
            self.on_improvement(round(event.data_out.mip_primal_bound), integer_bound(event.data_out.mip_dual_bound))


def relaxed_bound(rows: Rows, budget: Budget) -> int | None:
    """Return an integer that no solution of a model undercuts, by its linear relaxation; None if none was found."""
    engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in {"output_flag": False, "threads": 1, "presolve": "off", "solve_relaxation": True}.items():
        engine.setOptionValue(option, value)
    engine.passModel(_model(rows))
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
    """Run HiGHS until it is done or the budget is reached. Raises SolverError if HiGHS itself fails."""

    def interrupt(event: Any) -> None:
        if budget.reached:
            event.interrupt()

    if budget.left is not None:
        # HiGHS counts from the start of its first run.
        engine.setOptionValue("time_limit", engine.getRunTime() + budget.left)
    # HiGHS may overshoot its own time limit by far, so the clock is looked at from outside as well.
    asked = budget.cancel is not None or budget.deadline is not None
    looks = (engine.cbMipInterrupt, engine.cbSimplexInterrupt) if asked else ()
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
    with _SCHEDULER:
        # Other code in this process may have set HiGHS up with another number of threads.
        highspy.Highs.resetGlobalScheduler(True)
    if engine.run() != highspy.HighsStatus.kError:
        return
    text = engine.modelStatusToString(engine.getModelStatus())
    raise SolverError(f"HiGHS failed ({text}); try the solver CBC")


def _model(rows: Rows) -> Any:
    """Return the whole model as one HighsLp."""
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(rows.cost), len(rows.lower)
    model.col_cost_, model.offset_ = rows.cost, rows.offset
    model.col_lower_, model.col_upper_ = rows.least, rows.most
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(rows.cost)
    model.row_lower_, model.row_upper_ = rows.lower, rows.upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = rows.begin
    model.a_matrix_.index_ = rows.column
    model.a_matrix_.value_ = rows.factor
    return model
