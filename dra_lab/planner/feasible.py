"""Whether a problem has any allocation: by counting alone, else by the solver without a goal."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.budget import Budget
from dra_lab.planner.constraints import build_model
from dra_lab.planner.merged_requests import MergedRequests, merge_requests
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.recount import minimise_exactly, read_taken
from dra_lab.planner.solution import Solution
from dra_lab.planner.variables import Model


def find_allocation(problem: AllocationProblem, budget: Budget, *, solver: str = "HiGHS") -> Solution:
    """Find any allocation, or the proof that there is none; neither when time or a person ended the search."""
    merged = merge_requests(problem)
    one = problem if merged is None else merged.problem
    if hopeless(one):
        return Solution(infeasible=True)
    model = build_model(Model(one))
    outcome = minimise_exactly(model, 0, solver, budget)
    taken = None if outcome.value is None else read_taken(model)
    return as_written(Solution(taken, infeasible=outcome.infeasible), merged)


def is_feasible(problem: AllocationProblem, budget: Budget, *, solver: str = "HiGHS") -> bool | None:
    """Say whether there is any allocation; None when time or a person ended the search before it was known."""
    found = find_allocation(problem, budget, solver=solver)
    return False if found.infeasible else None if found.taken is None else True


def hopeless(problem: AllocationProblem) -> bool:
    """Say whether some request cannot be served by counting alone, which needs no solver."""
    least: Counter[int] = Counter()
    for indices in problem.requests:
        needs = [problem.need(ask) for ask in indices if ask not in problem.impossible and is_enough(problem, ask)]
        if not needs:
            return True
        least[problem.claim_of(indices[0])] += min(needs)
    return max(least.values(), default=0) > MAX_DEVICES


def is_enough(problem: AllocationProblem, ask: int) -> bool:
    """Say whether a node has the devices that an ask takes, and it takes any."""
    have = sum(group.size for group in problem.groups if ask in group.asks)
    return 0 < problem.need(ask) <= have


def as_written(found: Solution, merged: MergedRequests | None) -> Solution:
    """Return a solution with the devices of the requests as they were written."""
    if merged is None or found.taken is None:
        return found
    return replace(found, taken=merged.devices_back(found.taken))
