"""The largest gang slot: how many pods of the largest gang still fit in each domain of its level."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.needs import Path
from dra_lab.planner.gangs.problem import GangProblem, plus


def slot_left(problem: GangProblem, nodes: Mapping[str, Counts], *, least: bool = False) -> dict[Path, int]:
    """Return for each domain how many pods surely fit beside those on nodes; with `least`, how many may fit."""
    if problem.needs.slot is None:
        return {}
    tier, keys, left = problem.needs.slot.tier, problem.keys, dict(problem.slots(least=least))
    for node, counts in nodes.items():
        region, profile, _ = problem.on[node]
        left[keys[region][tier]] -= problem.lost(profile, counts, least=least)
    return {path: pods for path, pods in left.items() if path is not None}


def slot_before(problem: GangProblem) -> tuple[int, int]:
    """Return how many pods surely fit in one domain without a plan, and how many may fit; both are kept from now on.

    The two differ if nodes share devices, or without time; then it is not known how few pods the slot may lose.
    """
    if problem.slot is None:
        sure, may = (max(slot_left(problem, {}, least=least).values(), default=0) for least in (False, True))
        problem.slot = sure, may
    return problem.slot


def largest_slot(problem: GangProblem, nodes: Mapping[str, Counts]) -> tuple[Path, int]:
    """Return the domain of the largest slot beside the pods on nodes, and how many pods fewer than before it has."""
    left = slot_left(problem, nodes)
    path = max(left, key=lambda path: left[path], default=())
    return path, max(0, slot_before(problem)[0] - left.get(path, 0))


def decide_slot(problem: GangProblem, budget: Budget) -> None:
    """Find out how many pods of the largest gang fit on a node without others, as long as there is time."""
    if problem.needs.slot is None:
        return
    kind, zero = problem.needs.slot.kind, (0,) * problem.kinds
    for number in range(len(problem.profiles)):
        while (most := problem.more(number, zero, kind, least=True)) > problem.more(number, zero, kind):
            if not problem.decide(number, plus(zero, kind, most), budget):
                break
