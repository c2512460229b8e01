"""The relaxation's bounds hold for every solution, and hold what the integer model proves, on random site classes."""

from __future__ import annotations

import itertools
import random

import pytest

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import Master
from dra_lab.planner.fleet.relaxation import LinearRelaxation
from dra_lab.planner.fleet.site_classes import SiteClass
from dra_lab.planner.fleet.starts import best_start

ORDER = (UNPLACED, "numa", "roots", NODES)


def some_classes(seed: int) -> tuple[list[SiteClass], tuple[int, int]]:
    """Return two or three site classes of few members with random patterns, and a demand."""
    chance = random.Random(seed)
    every = [counts for counts in itertools.product(range(3), repeat=2) if any(counts)]
    classes = []
    for _ in range(chance.randint(2, 3)):
        mine = chance.sample(every, chance.randint(1, 4))
        patterns = {counts: (sum(counts) + chance.randint(0, 2), sum(counts) + chance.randint(0, 3)) for counts in mine}
        classes.append(SiteClass(chance.randint(1, 3), {(0, 0): (0, 0), **patterns}))
    return classes, (chance.randint(0, 6), chance.randint(0, 6))


def best(classes: list[SiteClass], demand: tuple[int, int]) -> tuple[int, ...]:
    """Return the least values, goal by goal, of every solution there is."""
    members = [list(site_class.patterns.items()) for site_class in classes for _ in range(site_class.count)]
    found = []
    for chosen in itertools.product(*members):
        placed = [sum(counts[at] for counts, _ in chosen) for at in (0, 1)]
        if all(have <= wanted for have, wanted in zip(placed, demand, strict=True)):
            values = [sum(values[at] for _, values in chosen) for at in (0, 1)]
            found.append((sum(demand) - sum(placed), *values, sum(any(counts) for counts, _ in chosen)))
    return min(found)


@pytest.mark.parametrize("seed", range(60))
def test_master_is_brute_force(seed: int) -> None:
    """The master's goals are those of the best of all solutions, each with a proof."""
    classes, demand = some_classes(seed)
    master = Master(classes, demand, ORDER, "HiGHS")
    found = master.run(best_start(master, None, Budget()), Budget())
    assert tuple(goal.value for goal in found.goals) == best(classes, demand)
    assert all(goal.proven for goal in found.goals)


@pytest.mark.parametrize("seed", range(60))
def test_no_solution_is_below_a_bound(seed: int) -> None:
    """A bound is not above the least value of its goal, the goals before it being as good as in the best solution."""
    classes, demand = some_classes(seed)
    values = best(classes, demand)
    bounds = Master(classes, demand, ORDER, "HiGHS").bounds(values, Budget())
    assert all(bound <= value for bound, value in zip(bounds, values, strict=True))


def test_a_bound_without_time_is_one() -> None:
    """A relaxation that is not solved for want of time bounds every goal by 0."""
    classes, demand = some_classes(1)
    assert LinearRelaxation(classes, demand, ORDER).bound("numa", Budget(deadline=0.0)) == 0
