"""Goals and links have one row each, and what a row says is the same in a model, for one allocation and in a table."""

from __future__ import annotations

import random

import pytest
from brute_force import COUNTED
from random_clusters import random_cluster, random_sketch

from dra_lab.index.node_index import node_index
from dra_lab.model.plan import DAMAGE, GOALS
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LINK_KINDS, How
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.node.goal_table import GOAL_RULES, goal_values, objectives
from dra_lab.planner.node.link_rows import LINK_ROWS
from dra_lab.planner.node.milp import build_model, minimise_exactly
from dra_lab.planner.node.variables import Model
from dra_lab.planner.scan import scan_nodes
from dra_lab.planner.states.columns import Columns, columns_of

RELEASE = KubernetesRelease("1.37")
ROWS = 6
"""Allocations of each claim that are counted in all three ways."""


def problem_of(rng: random.Random) -> AllocationProblem:
    """Return the problem of a random claim on a random node."""
    cluster, drawn = random_cluster(rng), random_sketch(rng)
    rules = Rules(cluster, drawn, RELEASE, node_index(cluster, RELEASE).matching)
    return scan_nodes(rules, Budget()).problem("n1")


def table_of(problem: AllocationProblem) -> Columns | None:
    """Return every allocation of a problem as far as links and numbers decide; None where there are too many."""
    part = CopyPart(0, "", (0, len(problem.asks)), (0, len(problem.requests)), (0, len(problem.links)), problem.paired)
    return columns_of(problem, part, COUNTED, Sizes().pod_ways)


def in_a_model(problem: AllocationProblem, taken: dict[tuple[int, int], int]) -> list[int | None]:
    """Return the least value of each goal in a model that takes exactly this; None where its rows forbid it."""
    found = []
    for at in range(len(COUNTED)):
        model = build_model(Model(problem))
        goal = objectives(model, COUNTED)[at]
        for pair, variable in model.take.items():
            model.require(variable == taken.get(pair, 0), "taken", str(pair))
        found.append(minimise_exactly(model, goal.expression, "HiGHS", Budget()).value)
    return found


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_a_goal_has_one_value_however_it_is_counted(start):
    """A row of the table of options has in every goal what its allocation has, and what a model says of it."""
    compared = 0
    for seed in range(start, start + 50):
        rng = random.Random(f"goal table {seed}")
        problem = problem_of(rng)
        table = table_of(problem)
        if table is None or not len(table.takes):
            continue
        for at in rng.sample(range(len(table.takes)), min(ROWS, len(table.takes))):
            taken = {pair: count for pair, count in zip(table.pairs, table.takes[at].tolist(), strict=True) if count}
            counted = goal_values(problem, taken)
            assert table.values[at].tolist() == [counted[goal] for goal in COUNTED], f"seed {seed}"
            modelled = in_a_model(problem, taken)
            # Not every row of the table has the capacity that is asked for.
            if None not in modelled:
                assert modelled == [counted[goal] for goal in COUNTED], f"seed {seed}"
                compared += 1
    assert compared > 10


def test_every_goal_has_a_row():
    """The planner counts every goal that is named, but the one that is about other replicas."""
    assert set(GOAL_RULES) == set(GOALS) - {DAMAGE}


def test_every_kind_of_link_has_a_row():
    """Each way to tie has words, and rows in a model."""
    assert set(LINK_KINDS) == set(LINK_ROWS) == set(How)
