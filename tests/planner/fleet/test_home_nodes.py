"""Nodes of several components, and nodes that take many patterns: the master and its bounds against every solution."""

from __future__ import annotations

import itertools
import random

import pytest

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import Master
from dra_lab.planner.fleet.site_classes import HomeNodes, SiteClass, few_home_nodes, home_nodes_of
from dra_lab.planner.fleet.starts import best_start

ORDERS = ((UNPLACED, "numa", NODES), (UNPLACED, NODES, "numa"))

Members = list[tuple[str, int]]
"""(node, site class) of every member."""


def some_nodes(seed: int) -> tuple[list[SiteClass], Members, tuple[int, int]]:
    """Return two or three site classes whose members are spread over a few nodes, one of them sometimes with rows."""
    chance = random.Random(seed)
    every = [counts for counts in itertools.product(range(3), repeat=2) if any(counts)]
    classes = []
    for number in range(chance.randint(2, 3)):
        count = chance.randint(1, 3)
        if number == 0 and seed % 2:
            ones = {one: (1 + chance.randint(0, 1),) for one in ((1, 0), (0, 1))}
            weights = ((chance.randint(1, 2), chance.randint(1, 2)), chance.randint(1, 4))
            classes.append(SiteClass(1, ones, 0, (((1, 0), 2), ((0, 1), 2), weights)))
            continue
        mine = chance.sample(every, chance.randint(1, 3))
        patterns = {counts: (sum(counts) + chance.randint(0, 2),) for counts in mine}
        classes.append(SiteClass(count, {(0, 0): (0,), **patterns}, 0))
    nodes = [f"node-{at}" for at in range(chance.randint(1, 3))]
    members = [
        (chance.choice(nodes), number) for number, site_class in enumerate(classes) for _ in range(site_class.count)
    ]
    return classes, members, (chance.randint(0, 5), chance.randint(0, 5))


def ways(site_class: SiteClass) -> list[tuple[tuple[int, int], int]]:
    """Return every number of replicas that a member can hold, with what it is worth."""
    if not site_class.rows:
        return [(counts, values[0]) for counts, values in site_class.patterns.items()]
    found = []
    for counts in itertools.product(range(3), repeat=2):
        if all(sum(w * n for w, n in zip(weights, counts, strict=True)) <= limit for weights, limit in site_class.rows):
            found.append((counts, counts[0] * site_class.patterns[1, 0][0] + counts[1] * site_class.patterns[0, 1][0]))
    return found


def best(
    classes: list[SiteClass], members: Members, demand: tuple[int, int], order: tuple[str, ...]
) -> tuple[int, ...]:
    """Return the least values, goal by goal, of every solution there is."""
    found = []
    for chosen in itertools.product(*(ways(classes[site_class]) for _, site_class in members)):
        placed = [sum(counts[at] for counts, _ in chosen) for at in (0, 1)]
        if all(have <= wanted for have, wanted in zip(placed, demand, strict=True)):
            nodes = {node for (node, _), (counts, _) in zip(members, chosen, strict=True) if any(counts)}
            values = {UNPLACED: sum(demand) - sum(placed), "numa": sum(v for _, v in chosen), NODES: len(nodes)}
            found.append(tuple(values[goal] for goal in order))
    return min(found)


@pytest.mark.parametrize("seed", range(80))
def test_nodes_of_components_are_brute_force(seed: int) -> None:
    """The master's goals are those of the best of all solutions, the nodes among them, each with a proof."""
    classes, members, demand = some_nodes(seed)
    order = ORDERS[seed // 2 % 2]
    master = Master(classes, demand, order, "HiGHS", home_nodes_of(members))
    found = master.run(best_start(master, None, Budget()), Budget())
    assert tuple(goal.value for goal in found.goals) == best(classes, members, demand, order)
    assert all(goal.proven for goal in found.goals)


@pytest.mark.parametrize("seed", range(80))
def test_no_solution_on_components_is_below_a_bound(seed: int) -> None:
    """A bound is not above the least value of its goal, the goals before it being as good as in the best solution."""
    classes, members, demand = some_nodes(seed)
    order = ORDERS[seed // 2 % 2]
    values = best(classes, members, demand, order)
    bounds = Master(classes, demand, order, "HiGHS", home_nodes_of(members)).bounds(values, Budget())
    assert all(bound <= value for bound, value in zip(bounds, values, strict=True))


def test_no_node_is_used_for_nothing() -> None:
    """Among nodes of different kinds, the plan uses only those that its members need."""
    classes = [SiteClass(6, {(1,): ()}, 0), SiteClass(2, {(1,): ()}, 0)]
    home_nodes = [HomeNodes(("a", "b"), {0: 2, 1: 1}), HomeNodes(("c", "d"), {0: 1})]
    assert few_home_nodes(classes, home_nodes, [{(1,): 5}, {}]) == [2, 1]
    assert few_home_nodes(classes, home_nodes, [{(1,): 1}, {(1,): 1}]) == [1, 0]
    assert few_home_nodes(classes, home_nodes, [{}, {}]) == [0, 0]
