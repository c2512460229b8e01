"""Small random integer models, tried out: solvers find the optimum, and no linear bound is above it."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest

from dra_lab.planner.budget import Budget
from dra_lab.planner.node.solver import LinearProgram, minimise_rows
from dra_lab.planner.node.solver_outcome import Rows

SEEDS = (*range(100), 3862, 5955)
"""On the last two the primal simplex of HiGHS gives up without a feasible start."""


def draw(seed: int) -> tuple[Rows, list[np.ndarray]]:
    """Return a model of up to four columns and rows, and all whole values that keep it."""
    rng = np.random.default_rng(seed)
    columns, count = rng.integers(1, 5), rng.integers(0, 5)
    factors = rng.integers(-3, 4, (count, columns)).astype(float)
    lower = np.where(rng.random(count) < 0.5, -inf, rng.integers(-4, 4, count))
    upper = np.where(rng.random(count) < 0.4, inf, rng.integers(0, 6, count))
    fixed = rng.random(count) < 0.2
    lower, upper = np.where(fixed, 2.0, lower), np.where(fixed, 2.0, upper)
    least = rng.integers(-1, 1, columns).astype(float)
    most = least + rng.integers(0, 4, columns)
    cost, used = rng.integers(-3, 4, columns).astype(float), factors != 0
    begin = np.append(0, np.cumsum(used.sum(axis=1))).astype(np.int32)
    column = np.nonzero(used)[1].astype(np.int32)
    rows = Rows(cost, float(rng.integers(-2, 3)), least, most, begin, column, factors[used], lower, upper, None)
    ends = (np.arange(low, high + 1) for low, high in zip(least, most, strict=True))
    every = (np.array(point, float) for point in product(*ends))
    kept = [point for point in every if ((lower <= factors @ point) & (factors @ point <= upper)).all()]
    return rows, kept


@pytest.mark.parametrize("solver", ["HiGHS", "CBC"])
def test_the_optimum_of_a_small_model_is_found_and_proven(solver):
    """A solver returns the least objective of all values, or the proof that there are none."""
    for seed in SEEDS[:: 1 if solver == "HiGHS" else 5]:
        rows, kept = draw(seed)
        outcome, values = minimise_rows(rows, solver, Budget())
        best = min(map(rows.value_of, kept), default=None)
        assert (outcome.value, outcome.bound, outcome.infeasible) == (best, best, not kept), seed
        assert (values is None) is (not kept)


def test_the_bound_of_a_linear_program_is_below_the_optimum_also_with_more_rows():
    """Costs change and a row is added; without a feasible start the bound is that of a start from nothing."""
    for seed in SEEDS:
        rows, kept = draw(seed)
        if not kept:
            continue
        program, best = LinearProgram(rows), min(map(rows.value_of, kept))
        found = program.bound(rows.cost, Budget(), rows.offset)
        assert found is not None
        assert found <= best, seed
        program.add_row(-inf, best - rows.offset, rows.cost)
        other = rows.cost[::-1].copy()
        least = min(round(float(other @ point)) for point in kept if rows.value_of(point) == best)
        again = program.bound(other, Budget())
        assert again is not None
        assert again <= least, seed
