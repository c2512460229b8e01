"""From numbers to gangs, which of the gangs that are alike has which pods in which region; and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping

from dra_lab.planner.gangs.needs import GroupNeed, Path
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance


def hand_out(
    problem: GangProblem,
    gangs: Mapping[tuple[int, Path], int],
    groups: Mapping[tuple[int, int, Path], int],
    pods: Mapping[tuple[int, int, int], int],
) -> list[Instance]:
    """Return each gang with its pods.

    Args:
        problem: The problem that was solved.
        gangs: How many gangs each need has in each domain.
        groups: How many groups with a level of their own each need has in each domain of that level.
        pods: How many pods each group of a need has in each region.

    Returns:
        The gangs, need by need and domain by domain. Slices are cut where domains of their levels end.
    """
    found = []
    for (number, path), count in sorted(gangs.items()):
        need = problem.needs.gangs[number]
        regions = problem.inside[need.required][path]
        rows: list[list[dict[int, int]]] = []
        for at, group in enumerate(need.groups):
            mine = {region: pods[number, at, region] for region in regions if (number, at, region) in pods}
            if group.required < 0:
                rows.append(list(_parts(problem, group, mine, count)))
                continue
            row: list[dict[int, int]] = []
            for inner, members in problem.inside[group.required].items():
                inside = {region: mine[region] for region in members if region in mine}
                times = groups.get((number, at, inner), 0) if set(members) & set(regions) else 0
                row.extend(_parts(problem, group, inside, times))
            rows.append(row)
        found += [Instance(number, path, [row[one] for row in rows]) for one in range(count)]
    return found


def _parts(problem: GangProblem, group: GroupNeed, pods: Mapping[int, int], gangs: int) -> Iterator[dict[int, int]]:
    """Yield the pods of each of several gangs: the minimum for all, and what is beyond it for the first ones."""
    order = sorted(pods, key=lambda region: (*(str(problem.domain(tier, region)) for _, tier in group.slices), region))
    each = [region for region in order for _ in range(pods[region])]
    beyond, first = len(each) - gangs * group.least, 0
    for _ in range(gangs):
        more = min(beyond, group.most - group.least)
        beyond -= more
        mine: dict[int, int] = {}
        for region in each[first : first + group.least + more]:
            mine[region] = mine.get(region, 0) + 1
        first += group.least + more
        yield mine


def counted(problem: GangProblem, solution: GangSolution) -> Counter[Hashable]:
    """Return a solution as the model counts it: gangs by domain, pods by region, groups by domain, nodes by pods."""
    found: Counter[Hashable] = Counter()
    for one in solution.instances:
        found["gang", one.need, one.domain] += 1
        for at, (row, group) in enumerate(zip(one.groups, problem.needs.gangs[one.need].groups, strict=True)):
            for region, pods in row.items():
                found["pods", one.need, at, region] += pods
            if group.required >= 0:
                inside = next((region for region, pods in row.items() if pods), None)
                path = first_domain(problem, one.need, at, one.domain) if inside is None else None
                path = problem.domain(group.required, inside) if inside is not None else path
                found["group", one.need, at, path] += 1
    for number, row in enumerate(solution.ordinary):
        for region, pods in row.items():
            found["plain", number, region] += pods
    for node, counts in solution.nodes.items():
        region, profile, _ = problem.on[node]
        found["nodes", region, profile, counts] += 1
    return found


def first_domain(problem: GangProblem, need: int, at: int, domain: Path) -> Path | None:
    """Return the first domain of a group's level in a domain of its gang."""
    gang = problem.needs.gangs[need]
    return next(iter(domains_inside(problem, gang.groups[at].required, problem.inside[gang.required][domain])), None)


def domains_inside(problem: GangProblem, tier: int, regions: Iterable[int]) -> dict[Path, list[int]]:
    """Return which of some regions each domain of a tier has."""
    found: dict[Path, list[int]] = {}
    for region in regions:
        path = problem.domain(tier, region)
        if path is not None:
            found.setdefault(path, []).append(region)
    return found
