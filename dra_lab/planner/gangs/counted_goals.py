"""Counting bounds every goal: gangs that have no place, and what those with a place cost at least."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.gang import GANGS, LEVELS
from dra_lab.planner.gangs.goal_values import priority_of
from dra_lab.planner.gangs.needs import GangNeed
from dra_lab.planner.gangs.problem import GangProblem, fewest_domains


def counted_bound(problem: GangProblem, goal: str, values: Sequence[int]) -> int:
    """Return what no plan undercuts in a goal if it keeps the goals before it; `values` are those of the plan so far.

    A gang has no place if every domain has too few pods of a kind for its gangs alone. Gangs and ordinary pods with a
    place cost at least what each costs alone on the best node.
    """
    name, priority = priority_of(goal, problem.needs)
    if name == GANGS:
        return sum(_without_place(problem, need) for need in problem.needs.gangs if need.priority == priority)
    if goal in problem.device:
        return _least(problem, values, _floors(problem, problem.device.index(goal)))
    if name == LEVELS:
        return _least(problem, values, [0 for _ in problem.needs.kinds], lambda need: _preferences(problem, need))
    return _nodes(problem, values) if name == NODES else 0


def _without_place(problem: GangProblem, need: GangNeed) -> int:
    able = 0
    for regions in problem.inside[need.required].values():
        each = [(group.kind, group.least) for group in need.groups if group.least]
        able += min(sum(problem.capacity[region][kind] for region in regions) // least for kind, least in each)
    return max(0, need.copies - able)


def _floors(problem: GangProblem, goal: int) -> list[int]:
    """Return what one pod of each kind costs at least in a goal of devices, on any node."""
    floors = [profile.floors for profile in problem.profiles]
    kinds = range(problem.kinds)
    return [min((each[goal] for mine in floors if (each := mine[kind]) is not None), default=0) for kind in kinds]


def _preferences(problem: GangProblem, need: GangNeed) -> int:
    """Return in how many domains of preferred levels a gang is in any case."""
    return sum(fewest_domains(problem, need, tier, groups) for tier, groups in need.preferences)


def _nodes(problem: GangProblem, values: Sequence[int]) -> int:
    """Return how many nodes the pods of any one kind need."""
    found = 0
    for kind in range(problem.kinds):
        most = max((profile.bound[kind] for profile in problem.profiles), default=0)
        pods = _least(problem, values, [int(kind == other) for other in range(problem.kinds)])
        found = max(found, -(-pods // most)) if most else found
    return found


def _least(
    problem: GangProblem, values: Sequence[int], pods: Sequence[int], gang: Callable[[GangNeed], int] = lambda _: 0
) -> int:
    """Return what all gangs and ordinary pods cost, without the dearest ones of those that may have no place.

    `pods` is the cost of a pod of each kind, `gang` that of a gang beside its pods.
    """
    needs, found = problem.needs, 0
    for goal, value in zip(problem.order, values, strict=True):
        name, priority = priority_of(goal, needs)
        costs: list[int] = []
        if name == GANGS:
            for need in (need for need in needs.gangs if need.priority == priority):
                own = gang(need) + sum(group.least * pods[group.kind] for group in need.groups)
                costs += [own] * need.copies
        elif name == UNPLACED:
            costs = [pods[kind] for kind, wanted in needs.ordinary for _ in range(wanted)]
        found += sum(sorted(costs)[: len(costs) - value] if costs else ())
    return found
