"""The goals of a solution: every goal counted from its gangs, its ordinary pods and its nodes."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.gang import BEYOND, DOMAINS, GANGS, LEVELS
from dra_lab.planner.gangs.needs import WHOLE, Needs, priorities
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance


def priority_of(goal: str, needs: Needs) -> tuple[str, int]:
    """Return what a goal counts without its priority, and the priority."""
    name, _, number = goal.partition(" ")
    levels = priorities(needs)
    return name, int(number) if number else (levels[0] if levels else 0)


def wanted_beyond(needs: Needs, priority: int) -> int:
    """Return the pods beyond the minimum that the gangs of a priority want."""
    mine = (need for need in needs.gangs if need.priority == priority)
    return sum(need.copies * (group.most - group.least) for need in mine for group in need.groups)


def values_of(problem: GangProblem, solution: GangSolution) -> tuple[int, ...]:
    """Return the values of all goals of a solution, most important first."""
    device = _device_values(problem, solution)
    return tuple(device[goal] if goal in device else _value(problem, solution, goal) for goal in problem.order)


def _device_values(problem: GangProblem, solution: GangSolution) -> Mapping[str, int]:
    sums = [0] * len(problem.device)
    for node, counts in solution.nodes.items():
        found = problem.profiles[problem.on[node][1]].found[counts]
        sums = [have + more for have, more in zip(sums, found, strict=True)]
    return dict(zip(problem.device, sums, strict=True))


def _value(problem: GangProblem, solution: GangSolution, goal: str) -> int:
    needs = problem.needs
    name, priority = priority_of(goal, needs)
    mine = [one for one in solution.instances if needs.gangs[one.need].priority == priority]
    if name == GANGS:
        return sum(need.copies for need in needs.gangs if need.priority == priority) - len(mine)
    if name == BEYOND:
        return wanted_beyond(needs, priority) - sum(_beyond(needs, one) for one in mine)
    if name == UNPLACED:
        return sum(wanted for _, wanted in needs.ordinary) - sum(sum(row.values()) for row in solution.ordinary)
    if name == LEVELS:
        return sum(domains_preferred(problem, one) for one in solution.instances)
    if name == DOMAINS:
        used = {needs.counted(needs.gangs[one.need].required, one.domain) for one in solution.instances}
        return sum(tier != WHOLE for tier, _ in used)
    assert name == NODES, "every goal is counted"
    return sum(any(counts) for counts in solution.nodes.values())


def _beyond(needs: Needs, one: Instance) -> int:
    groups = needs.gangs[one.need].groups
    return sum(sum(row.values()) - group.least for row, group in zip(one.groups, groups, strict=True))


def domains_preferred(problem: GangProblem, one: Instance) -> int:
    """Return how many domains of its preferred levels have pods of a gang, or of its groups; none counts as one."""
    found = 0
    for tier, groups in problem.needs.gangs[one.need].preferences:
        regions = {region for at in groups for region, pods in one.groups[at].items() if pods}
        found += len({problem.domain(tier, region) for region in regions})
    return found
