"""Models that HiGHS calls infeasible after its presolve (docs/upstream) are no proof: each has a solution."""

from __future__ import annotations

from pathlib import Path

import highspy
import pulp
import pytest

from dra_lab.planner.budget import Budget
from dra_lab.planner.node.solver import minimise

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
