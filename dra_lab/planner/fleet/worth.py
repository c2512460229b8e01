"""The most that ways of pods are worth which fit side by side, with a proof or a bound."""

from __future__ import annotations

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.engine import minimise
from dra_lab.planner.modelling import pulp
from dra_lab.planner.states.columns import Array
from dra_lab.planner.variables import total

NO_LIMIT = 10**12

_MOST_WAYS = 2_000
_LARGE = 10**7


def most_worth(free: Array, uses: Array, worth: Array, solver: str, budget: Budget) -> tuple[int, int]:
    """Return the most that ways are worth which fit side by side into what is free: at least, at most.

    0 and a large number where there are too many ways, or too large amounts, for the solver.
    """
    fits = np.flatnonzero((uses <= free).all(axis=1))
    if not len(fits):
        return 0, 0
    if len(fits) > _MOST_WAYS or free.max() > _LARGE:
        return 0, NO_LIMIT
    lp = pulp.LpProblem("ways", pulp.LpMinimize)
    used = uses[fits] > 0
    often = np.where(used, free // np.maximum(uses[fits], 1), NO_LIMIT).min(axis=1)
    chosen = [lp.add_variable(f"way_{at:05d}", 0, int(most), pulp.LpInteger) for at, most in enumerate(often)]
    for resource in np.flatnonzero(used.any(axis=0)).tolist():
        rows = [int(uses[way, resource]) * chosen[at] for at, way in enumerate(fits.tolist()) if uses[way, resource]]
        lp.addConstraint(total(rows) <= int(free[resource]), f"free_{resource:05d}")
    found = minimise(lp, -total(int(worth[way]) * chosen[at] for at, way in enumerate(fits.tolist())), solver, budget)
    least, most = 0, NO_LIMIT if found.bound is None else -found.bound
    if found.value is not None:
        times = np.array([int(variable.varValue or 0) for variable in chosen])
        # The solver rounds: what it found counts only where whole numbers say that it fits.
        if (times @ uses[fits] <= free).all():
            least = int(times @ worth[fits])
    return least, most if least <= most else NO_LIMIT
