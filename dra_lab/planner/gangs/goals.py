"""The goals of gangs: their values in a solution, and what counting says that no solution undercuts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from dra_lab.model.goals import BEYOND, DOMAINS, GANGS, LEVELS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.needs import WHOLE, GangNeed, Path
from dra_lab.planner.gangs.problem import GangProblem, GangSolution


def values_of(problem: GangProblem, solution: GangSolution) -> tuple[int, ...]:
    """Return the values of all goals of a solution, most important first."""
    needs, domains = problem.needs, set[tuple[int, Path]]()
    found = Counter(needs.wanted)
    for one in solution.instances:
        need = needs.gangs[one.need]
        found[needs.goal(GANGS, need.priority)] -= 1
        beyond = sum(row.total() - group.least for row, group in zip(one.groups, need.groups, strict=True))
        found[needs.goal(BEYOND, need.priority)] -= beyond
        for tier, groups in need.preferences:
            # Regions without a domain count as one.
            regions = {region for at in groups for region, pods in one.groups[at].items() if pods}
            found[LEVELS] += len({problem.keys[region][tier] for region in regions})
        domains |= {needs.counted(need.required, one.domain)} if need.required != WHOLE else set()
    found[UNPLACED] -= sum(row.total() for row in solution.ordinary)
    found[DOMAINS], found[NODES] = len(domains), len(solution.nodes)
    for node, counts in solution.nodes.items():
        values = problem.profiles[problem.on[node].profile].found[counts]
        found.update(dict(zip(problem.device, values, strict=True)))
    return tuple(found[goal] for goal in needs.goals)


# ---------------------------------------------------------------------- what no solution undercuts


def counted_bound(problem: GangProblem, goal: str, values: Sequence[int], budget: Budget) -> int:
    """Return what no plan undercuts in a goal if it keeps the goals before it; `values` are those of the plan so far.

    A gang has no place if every domain has too few pods of a kind for its gangs alone. Gangs and ordinary pods with a
    place cost at least what each costs alone on the best node.
    """
    needs, found = problem.needs, 0
    if goal in problem.device:
        return _least(problem, values, _floors(problem, problem.device.index(goal), budget))
    if goal == LEVELS:
        return _least(problem, values, [0] * problem.kinds, lambda need: _preferences(problem, need))
    for kind in range(problem.kinds) if goal == NODES else ():
        most = max((profile.bound[kind] for profile in problem.profiles), default=0)
        pods = _least(problem, values, [int(kind == other) for other in range(problem.kinds)])
        found = max(found, -(-pods // most)) if most else found
    for need in (need for need in needs.gangs if needs.goal(GANGS, need.priority) == goal):
        able = sum(problem.most_gangs(need, regions) for regions in problem.inside[need.required].values())
        found += max(0, need.copies - able)
    return found


def _floors(problem: GangProblem, goal: int, budget: Budget) -> list[int]:
    """Return what one pod of each kind costs at least in a goal of devices, on any node; 0 if there is no time."""
    known: list[list[int]] = [[] for _ in range(problem.kinds)]
    for profile in problem.profiles:
        if budget.reached:
            return [0] * problem.kinds
        for kind, values in enumerate(profile.floors):
            known[kind] += [values[goal]] if values is not None else []
    return [min(mine, default=0) for mine in known]


def _preferences(problem: GangProblem, need: GangNeed) -> int:
    """Return in how many domains of preferred levels a gang is at least."""
    found = 0
    for tier, groups in need.preferences:
        least, kinds = sum(need.groups[at].least for at in groups), {need.groups[at].kind for at in groups}
        numbers = []
        for regions in problem.inside[need.required].values():
            sizes = [
                sum(problem.pods_in(mine, kind) for kind in kinds) for mine in problem.parted(regions, tier).values()
            ]
            numbers += [fewest(sizes, least)] if sum(sizes) >= least else []
        found += min(numbers, default=0)
    return found


def fewest(sizes: Sequence[int], pods: int) -> int:
    """Return how few domains of some sizes hold a number of pods; all of them if they do not."""
    found = 0
    for size in sorted(sizes, reverse=True):
        if pods <= 0:
            break
        found, pods = found + 1, pods - size
    return found


def _least(
    problem: GangProblem, values: Sequence[int], pods: Sequence[int], gang: Callable[[GangNeed], int] = lambda _: 0
) -> int:
    """Return what all gangs and ordinary pods cost, without the dearest ones of those that may have no place.

    `pods` is the cost of a pod of each kind, `gang` that of a gang beside its pods.
    """
    needs, costs = problem.needs, defaultdict[str, list[int]](list)
    for need in needs.gangs:
        own = gang(need) + sum(group.least * pods[group.kind] for group in need.groups)
        costs[needs.goal(GANGS, need.priority)] += [own] * need.copies
    for kind, count in needs.ordinary:
        costs[UNPLACED] += [pods[kind]] * count
    missing = dict(zip(needs.goals, values, strict=True))
    return sum(sum(sorted(mine)[: len(mine) - missing[goal]]) for goal, mine in costs.items())
