"""A solver's claim is a proof only if it has been shown: recounted values, and no proof from a presolved model."""

from __future__ import annotations

from pathlib import Path

import highspy
import numpy as np
import pulp
import pytest
from budgets import CancelledAfter

from dra_lab.planner.budget import Budget, Shares, Sizes
from dra_lab.planner.node import solver
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.solver_outcome import Claim, Rows, judged

MODELS = Path(__file__).parents[2] / "docs" / "upstream"
OPTIMA = {"small_86x101.mps": 260, "min_57x53.lp": 0, "false.mps": 910}


def read_model(path: Path) -> tuple[pulp.LpProblem, object]:
    """Read a model file into PuLP by way of HiGHS, and return it with its objective."""
    reader = highspy.Highs()
    reader.setOptionValue("output_flag", False)
    reader.readModel(str(path))
    given = reader.getLp()
    lp = pulp.LpProblem(path.stem.replace("-", "_"), pulp.LpMinimize)
    columns = [
        lp.add_variable(f"x_{at:04d}", int(low), int(high), pulp.LpInteger)
        for at, (low, high) in enumerate(zip(given.col_lower_, given.col_upper_, strict=True))
    ]
    rows = [{} for _ in range(given.num_row_)]
    start, index, factors = given.a_matrix_.start_, given.a_matrix_.index_, given.a_matrix_.value_
    for column, variable in enumerate(columns):
        for at in range(start[column], start[column + 1]):
            rows[index[at]][variable] = round(factors[at])
    for number, row in enumerate(rows):
        for sense, side in ((1, given.row_lower_[number]), (-1, given.row_upper_[number])):
            if abs(side) < highspy.kHighsInf:
                lp.addConstraint(
                    pulp.LpConstraint(pulp.LpAffineExpression(row), sense, rhs=round(side)), f"r_{number}_{sense}"
                )
    return lp, pulp.LpAffineExpression(
        {variable: round(cost) for variable, cost in zip(columns, given.col_cost_, strict=True) if cost}
    )


@pytest.mark.parametrize("solver", ["HiGHS", "CBC"])
@pytest.mark.parametrize("name", OPTIMA)
def test_models_that_presolve_calls_infeasible_are_solved(name, solver):
    """A feasible model that HiGHS' presolve calls infeasible gets its optimum, proven, from each solver."""
    lp, objective = read_model(MODELS / name)
    outcome = minimise(lp, objective, solver, Budget())
    assert (outcome.value, outcome.bound, outcome.infeasible) == (OPTIMA[name], OPTIMA[name], False)


@pytest.mark.parametrize("looks", [1, 400, 1_600, 6_400, 25_600])
@pytest.mark.parametrize("name", OPTIMA)
def test_what_was_found_before_a_cancel_proves_nothing_wrong(name, looks):
    """An answer that does not wait for HiGHS to end has no value below the optimum, and no bound above it."""
    lp, objective = read_model(MODELS / name)
    budget = Budget(cancel=CancelledAfter(looks), sizes=Sizes(waited=0), shares=Shares(solver=0.0))
    outcome = minimise(lp, objective, "HiGHS", budget)
    bound, value = (OPTIMA[name] if found is None else found for found in (outcome.bound, outcome.value))
    assert bound <= OPTIMA[name] <= value


# ---------------------------------------------------------------- claims that lie


def small(start: int | None = None) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    """Make a model with the optimum 2: x + y >= 2, minimise x + y, both from 0 to 3."""
    lp = pulp.LpProblem("small", pulp.LpMinimize)
    both = [lp.add_variable(name, 0, 3, pulp.LpInteger) for name in ("x", "y")]
    lp.addConstraint(pulp.lpSum(both) >= 2, "two")
    lp.setObjective(pulp.lpSum(both))
    for variable in both:
        variable.varValue = start
    return lp, both


def values(*given: float) -> np.ndarray:
    return np.array(given, dtype=float)


def test_values_that_break_a_row_are_no_solution():
    """Values that do not keep every row are dropped, together with the bound that came with them."""
    outcome, found = judged(Rows.of(small()[0]), Claim(values(0, 1), 1.0, optimal=True, presolved=False))
    assert (outcome.value, outcome.bound, outcome.stopped, found) == (None, None, True, None)


def test_values_outside_their_bounds_are_no_solution():
    """A value above the upper bound of its variable is no solution."""
    outcome, _ = judged(Rows.of(small()[0]), Claim(values(4, 0), 2.0, optimal=True, presolved=False))
    assert outcome.value is None


def test_the_objective_is_counted_anew():
    """The value of a solution is counted from its values, whatever the solver says it is."""
    outcome, _ = judged(Rows.of(small()[0]), Claim(values(1, 2), 2.0, presolved=False))
    assert outcome.value == 3


def test_optimal_after_presolve_is_no_proof():
    """The bound of a presolved solve proves nothing."""
    outcome, _ = judged(Rows.of(small()[0]), Claim(values(1, 1), 2.0, optimal=True, presolved=True))
    assert (outcome.value, outcome.bound, outcome.proven) == (2, None, False)


def test_infeasible_after_presolve_is_no_proof():
    """A presolved solve that ends as infeasible proves nothing."""
    outcome, _ = judged(Rows.of(small()[0]), Claim(infeasible=True, presolved=True))
    assert (outcome.infeasible, outcome.stopped) == (False, True)


def test_infeasible_beside_a_known_solution_is_no_proof():
    """A model whose variables already hold a solution is not infeasible, even if a solver says so."""
    outcome, _ = judged(Rows.of(small(start=1)[0]), Claim(infeasible=True, presolved=False))
    assert (outcome.infeasible, outcome.stopped) == (False, True)


def test_infeasible_beside_a_solution_of_its_own_keeps_the_solution():
    """A claim that has values and says infeasible is a solution without a bound."""
    outcome, _ = judged(Rows.of(small()[0]), Claim(values(1, 1), 2.0, infeasible=True, presolved=False))
    assert (outcome.value, outcome.bound, outcome.infeasible) == (2, None, False)


@pytest.mark.parametrize("start", [None, 1])
def test_a_bound_above_a_solution_is_none(start):
    """A bound that a solution undercuts, found or known before, is dropped."""
    found = values(1, 1) if start is None else values(3, 3)
    outcome, _ = judged(Rows.of(small(start)[0]), Claim(found, 3.0, optimal=True, presolved=False))
    assert (outcome.bound, outcome.proven) == (None, False)


@pytest.mark.parametrize(
    "lie",
    [
        Claim(infeasible=True, presolved=True),
        Claim(values(3, 3), 6.0, optimal=True, presolved=True),
        Claim(values(0, 0), 0.0, optimal=True, presolved=True),
        Claim(values(2, 2), 4.0, infeasible=True, presolved=True),
    ],
    ids=["infeasible", "a worse optimum", "values that break a row", "infeasible with values"],
)
def test_what_a_presolved_solver_ends_with_is_solved_again(lie, monkeypatch):
    """Whatever a presolved solve ends with, a solve without presolve decides before anything is proven."""
    monkeypatch.setitem(solver.SOLVERS, "liar", lambda *_: lie)
    lp, both = small()
    outcome = minimise(lp, pulp.lpSum(both), "liar", Budget())
    assert (outcome.value, outcome.bound, sum(v.varValue for v in both)) == (2, 2, 2)


def test_a_model_without_a_solution_is_infeasible_after_a_confirmation(monkeypatch):
    """What is really infeasible stays a proof once a solve without presolve has confirmed it."""
    monkeypatch.setitem(solver.SOLVERS, "liar", lambda *_: Claim(infeasible=True, presolved=True))
    lp, both = small()
    lp.addConstraint(pulp.lpSum(both) <= 1, "one")
    assert minimise(lp, pulp.lpSum(both), "liar", Budget()).infeasible


@pytest.mark.parametrize("solver", ["HiGHS", "CBC"])
def test_a_model_without_variables_is_solved(solver):
    """A model without any variable, to which PuLP adds one of its own, gets the value of its constant."""
    outcome = minimise(pulp.LpProblem("nothing", pulp.LpMinimize), 0, solver, Budget())
    assert (outcome.value, outcome.bound) == (0, 0)
