"""The goals of gangs: their values in a solution, and what counting says that no solution undercuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dra_lab.model.goals import BEYOND, DOMAINS, GANGS, LEVELS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.levels import WHOLE
from dra_lab.planner.gangs.needs import GangNeed, Needs
from dra_lab.planner.gangs.problem import GangProblem, GangSolution


def counts_pods(goal: str) -> bool:
    """Say whether a goal counts what has no place, whatever devices the others take."""
    return goal.partition(" ")[0] in (GANGS, BEYOND, UNPLACED)


def priority_of(goal: str, needs: Needs) -> tuple[str, int]:
    """Return what a goal counts without its priority, and the priority."""
    name, _, number = goal.partition(" ")
    return name, int(number) if number else next(iter(needs.priorities), 0)


def wanted(needs: Needs, goal: str) -> int:
    """Return what a goal counts if nothing has a place: gangs, pods beyond their minimum, or ordinary pods."""
    name, priority = priority_of(goal, needs)
    mine = [need for need in needs.gangs if need.priority == priority]
    if name == GANGS:
        return sum(need.copies for need in mine)
    if name == BEYOND:
        return sum(need.copies * (group.most - group.least) for need in mine for group in need.groups)
    return sum(pods for _, pods in needs.ordinary)


# ---------------------------------------------------------------------- values


def values_of(problem: GangProblem, solution: GangSolution) -> tuple[int, ...]:
    """Return the values of all goals of a solution, most important first."""
    rows = [problem.profiles[problem.on[node].profile].found[counts] for node, counts in solution.nodes.items()]
    sums = map(sum, zip(*rows, strict=True)) if rows else (0 for _ in problem.device)
    device = dict(zip(problem.device, sums, strict=True))
    return tuple(device[goal] if goal in device else _value(problem, solution, goal) for goal in problem.needs.goals)


def _value(problem: GangProblem, solution: GangSolution, goal: str) -> int:
    needs = problem.needs
    name, priority = priority_of(goal, needs)
    mine = [one for one in solution.instances if needs.gangs[one.need].priority == priority]
    if name == GANGS:
        return wanted(needs, goal) - len(mine)
    if name == BEYOND:
        pods = sum(row.total() for one in mine for row in one.groups)
        return wanted(needs, goal) - pods + sum(group.least for one in mine for group in needs.gangs[one.need].groups)
    if name == UNPLACED:
        return wanted(needs, goal) - sum(row.total() for row in solution.ordinary)
    if name == LEVELS:
        domains = 0
        for one in solution.instances:
            for tier, groups in needs.gangs[one.need].preferences:
                # Regions without a domain count as one.
                regions = {region for at in groups for region, pods in one.groups[at].items() if pods}
                domains += len({problem.keys[region][tier] for region in regions})
        return domains
    if name == DOMAINS:
        used = {needs.counted(needs.gangs[one.need].required, one.domain) for one in solution.instances}
        return sum(tier != WHOLE for tier, _ in used)
    assert name == NODES, "every goal is counted"
    return len(solution.nodes)


# ---------------------------------------------------------------------- what no solution undercuts


def counted_bound(problem: GangProblem, goal: str, values: Sequence[int], budget: Budget) -> int:
    """Return what no plan undercuts in a goal if it keeps the goals before it; `values` are those of the plan so far.

    A gang has no place if every domain has too few pods of a kind for its gangs alone. Gangs and ordinary pods with a
    place cost at least what each costs alone on the best node.
    """
    name, priority = priority_of(goal, problem.needs)
    if name == GANGS:
        mine = [need for need in problem.needs.gangs if need.priority == priority]
        domains = [problem.inside[need.required].values() for need in mine]
        able = [sum(problem.most_gangs(need, one) for one in each) for need, each in zip(mine, domains, strict=True)]
        return sum(max(0, need.copies - most) for need, most in zip(mine, able, strict=True))
    if goal in problem.device:
        return _least(problem, values, _floors(problem, problem.device.index(goal), budget))
    if name == LEVELS:
        return _least(problem, values, [0] * problem.kinds, lambda need: _preferences(problem, need))
    nodes = 0
    for kind in range(problem.kinds) if name == NODES else ():
        most = max((profile.bound[kind] for profile in problem.profiles), default=0)
        pods = _least(problem, values, [int(kind == other) for other in range(problem.kinds)])
        nodes = max(nodes, -(-pods // most)) if most else nodes
    return nodes


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
    needs, found = problem.needs, 0
    for goal, value in zip(problem.needs.goals, values, strict=True):
        name, priority = priority_of(goal, needs)
        costs: list[int] = []
        if name == GANGS:
            for need in (need for need in needs.gangs if need.priority == priority):
                own = gang(need) + sum(group.least * pods[group.kind] for group in need.groups)
                costs += [own] * need.copies
        elif name == UNPLACED:
            costs = [pods[kind] for kind, count in needs.ordinary for _ in range(count)]
        found += sum(sorted(costs)[: len(costs) - value] if costs else ())
    return found
