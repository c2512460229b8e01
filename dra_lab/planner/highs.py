"""HiGHS as an LpSolver of our own: one passModel, honest status, bound, progress, cancel, warm start."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from dra_lab.errors import SolverError
from dra_lab.planner.modelling import pulp
from dra_lab.planner.progress import Limits

_TOLERANCE = 1e-6
_GAP = 0.9
_SCHEDULER = threading.Lock()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a solve ended with; the objective is integer and minimised.

    `value` is the incumbent's objective (None: no solution was found), `bound` the smallest integer that one
    may still have (None: unknown), `infeasible` a proof that there is no solution, `stopped` that it was ended early.
    """

    value: int | None
    bound: int | None
    infeasible: bool = False
    stopped: bool = False
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether no better integer value can exist: the solver's own "optimal" is not asked."""
        return self.value is not None and self.bound is not None and self.bound >= self.value


def integer_bound(bound: float) -> int | None:
    """Return the smallest integer that is not below a solver's bound, None for no bound at all."""
    return math.ceil(bound - _TOLERANCE) if math.isfinite(bound) else None


class Highs(pulp.LpSolver):  # type: ignore[misc]
    """HiGHS in this process, for pure integer models that minimise; the result stands in `outcome`.

    PuLP's own hand-over adds rows one by one and calls a time-limited answer "Optimal". This one passes the model at
    once, sets `varValue` to None where there is no solution, and takes the variables' present values as a start.
    """

    name = "dra_lab_highs"

    def __init__(
        self,
        limits: Limits,
        on_improvement: Callable[[int, int | None], None] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        """Keep the limits; `on_improvement(best, bound)` is called from inside the solve; `options` are HiGHS' own."""
        super().__init__(mip=True, msg=False)
        self.options = options or {}
        self.limits = limits
        self.on_improvement = on_improvement
        self.outcome = Outcome(None, None)

    def available(self) -> bool:
        """Say that it is there: highspy is a dependency."""
        return True

    def actualSolve(self, lp: Any, **_: Any) -> int:  # noqa: N802 - PuLP's name
        """Solve; PuLP calls this. Raises SolverError when HiGHS itself fails."""
        variables = lp.variables()
        engine = self._engine()
        if engine.passModel(_matrix(lp, variables)) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the model; please report the claim and the cluster")
        if variables and all(variable.varValue is not None for variable in variables):
            start = highspy.HighsSolution()
            start.col_value = [float(variable.varValue) for variable in variables]
            engine.setSolution(start)
        began = time.perf_counter()
        _run(engine)
        status, solution_status = self._read(engine, variables, time.perf_counter() - began)
        lp.assignStatus(status, solution_status)
        return int(status)

    def _engine(self) -> Any:
        engine: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        # One thread: the models are small, and HiGHS keeps one scheduler a process that a second number would break.
        options: dict[str, Any] = {
            "output_flag": False,
            "threads": 1,
            "mip_rel_gap": 0.0,
            "mip_abs_gap": _GAP,
            # On models of this size it takes three quarters of the time and finds nothing that the rest does not.
            "mip_heuristic_run_feasibility_jump": False,
        }
        options.update(self.options)
        if self.limits.left is not None:
            options["time_limit"] = self.limits.left
        for key, value in options.items():
            engine.setOptionValue(key, value)
        if self.limits.cancel is not None or self.limits.deadline is not None:
            # HiGHS may overshoot its own time limit by far, so the clock is looked at from outside as well.
            engine.cbMipInterrupt.subscribe(self._interrupt)
            engine.cbSimplexInterrupt.subscribe(self._interrupt)
        if self.on_improvement is not None:
            engine.cbMipImprovingSolution.subscribe(self._improved)
        return engine

    def _interrupt(self, event: Any) -> None:
        if self.limits.reached:
            event.interrupt()

    def _improved(self, event: Any) -> None:
        if self.on_improvement is not None and math.isfinite(event.data_out.mip_primal_bound):
            self.on_improvement(round(event.data_out.mip_primal_bound), integer_bound(event.data_out.mip_dual_bound))

    def _read(self, engine: Any, variables: list[Any], seconds: float) -> tuple[int, int]:
        status, info = engine.getModelStatus(), engine.getInfo()
        known = highspy.HighsModelStatus
        infeasible = status in (known.kInfeasible, known.kUnboundedOrInfeasible)
        feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        found = status == known.kModelEmpty or info.primal_solution_status == feasible
        values = engine.getSolution().col_value if found and variables else ()
        for index, variable in enumerate(variables):
            variable.varValue = round(values[index]) if found else None
        value = round(engine.getObjectiveValue()) if found else None
        bound = value if status == known.kModelEmpty else integer_bound(info.mip_dual_bound)
        if found and status == known.kOptimal and not math.isfinite(info.mip_dual_bound):
            bound = value
        done = infeasible or status in (known.kOptimal, known.kModelEmpty)
        self.outcome = Outcome(value, None if infeasible else bound, infeasible, not done, seconds)
        if self.outcome.proven:
            return pulp.LpStatusOptimal, pulp.LpSolutionOptimal
        if infeasible:
            return pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible
        return pulp.LpStatusNotSolved, pulp.LpSolutionIntegerFeasible if found else pulp.LpSolutionNoSolutionFound


def _run(engine: Any) -> None:
    if engine.run() != highspy.HighsStatus.kError:
        return
    with _SCHEDULER:
        # Somebody else in this process may have set HiGHS up with another number of threads.
        highspy.Highs.resetGlobalScheduler(True)
    if engine.run() != highspy.HighsStatus.kError:
        return
    # HiGHS 1.15 gives up on rare models that it has made smaller, and solves them as they are.
    engine.setOptionValue("presolve", "off")
    engine.clearSolver()
    if engine.run() == highspy.HighsStatus.kError:
        text = engine.modelStatusToString(engine.getModelStatus())
        raise SolverError(f"HiGHS failed ({text}); try the solver CBC")


def _matrix(lp: Any, variables: list[Any]) -> Any:
    """Return the whole model as one HighsLp."""
    place = {variable: index for index, variable in enumerate(variables)}
    model = highspy.HighsLp()
    model.num_col_ = len(variables)
    cost = np.zeros(len(variables))
    for variable, factor in lp.objective.items():
        cost[place[variable]] = factor
    model.col_cost_ = cost
    model.offset_ = lp.objective.constant
    model.col_lower_ = np.array([variable.lowBound for variable in variables], dtype=float)
    model.col_upper_ = np.array([variable.upBound for variable in variables], dtype=float)
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(variables)
    index, factors, start, lower, upper = [], [], [0], [], []
    for row in lp.constraints():
        for variable, factor in row.items():
            if factor:
                index.append(place[variable])
                factors.append(factor)
        start.append(len(index))
        side = -row.constant
        lower.append(-math.inf if row.sense == pulp.LpConstraintLE else side)
        upper.append(math.inf if row.sense == pulp.LpConstraintGE else side)
    model.num_row_ = len(lower)
    model.row_lower_ = np.array(lower, dtype=float)
    model.row_upper_ = np.array(upper, dtype=float)
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(start, dtype=np.int32)
    model.a_matrix_.index_ = np.array(index, dtype=np.int32)
    model.a_matrix_.value_ = np.array(factors, dtype=float)
    return model
