"""The least cost of nodes to add, by counting the pods that each domain has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from dra_lab.planner.gangs.add_problem import AddProblem
from dra_lab.planner.gangs.needs import GangNeed, Path


def counted_cost(problem: AddProblem) -> int:
    """Return what no answer undercuts: gangs without a domain need new nodes, in the domain where they cost least."""
    return max((_cost_of(problem, need) for need in problem.base.needs.gangs), default=0)


def _cost_of(problem: AddProblem, need: GangNeed) -> int:
    base = problem.base
    slots: dict[int, list[int]] = {}
    for number, slot in enumerate(problem.slots):
        slots.setdefault(slot.region, []).append(number)
    have = [[0] * base.kinds for _ in problem.keys]
    for (region, profile), nodes in base.cells.items():
        bound = base.profiles[profile].bound
        have[region] = [n + len(nodes) * most for n, most in zip(have[region], bound, strict=True)]
    lacking, prices = need.copies, list[Fraction]()
    wanted = pods_of(need)
    for regions in parted(problem, range(len(problem.keys)), need.required).values():
        free = {kind: sum(have[region][kind] for region in regions) for kind in wanted}
        scarce = min(wanted, key=lambda kind: free[kind] // wanted[kind])
        there = free[scarce] // wanted[scarce]
        lacking -= there
        mine = [problem.slots[at] for region in regions for at in slots.get(region, ())]
        each = [base.profiles[slot.profile].bound[scarce] for slot in mine]
        most = (free[scarce] + sum(slot.most * n for slot, n in zip(mine, each, strict=True))) // wanted[scarce]
        if min(most, need.copies) > there:
            slope = slope_of(
                wanted[scarce], free[scarce], max(each), min(most, need.copies) - there, problem.sizes.add_steps
            )
            prices.append(slope * min(slot.cost for slot, n in zip(mine, each, strict=True) if n))
    return math.ceil(lacking * min(prices)) if lacking > 0 and prices else 0


def parted(problem: AddProblem, regions: Iterable[int], tier: int) -> dict[Path, list[int]]:
    """Return regions by their domain of a tier, without those that are in none."""
    found: dict[Path, list[int]] = {}
    for region in sorted(regions):
        path = problem.keys[region][tier]
        if path is not None:
            found.setdefault(path, []).append(region)
    return found


def pods_of(need: GangNeed) -> dict[int, int]:
    """Return the pods of each kind that a gang needs."""
    found: dict[int, int] = {}
    for group in need.groups:
        if group.least:
            found[group.kind] = found.get(group.kind, 0) + group.least
    return found


def slope_of(pods: int, free: int, each: int, most: int, counted: int) -> Fraction:
    """Return how many nodes each gang beyond `free` pods needs on average at least; `counted` gangs one by one."""
    left = free % pods
    steps = min(most, counted)
    found = min(Fraction(-(-(n * pods - left) // each), n) for n in range(1, steps + 1))
    return found if most == steps else min(found, Fraction(steps * pods - left, steps * each))
