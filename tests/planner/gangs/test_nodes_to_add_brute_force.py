"""Nodes to add for small gangs on small trees against trying every node and every way."""

from __future__ import annotations

import os
import random

import pytest
from brute_force import TooLarge
from brute_force_nodes import BruteForceNodes
from checked_gangs import broken_gangs
from random_node_types import random_node_case

from dra_lab import KubernetesRelease, nodes_to_add
from dra_lab.model.plan import PlanStatus

CASES = int(os.environ.get("DRA_LAB_RANDOM_NODES", "40"))
"""How many random cases are compared; more of them with the environment variable."""

STEP = 4
RELEASE = KubernetesRelease("1.36")


BLOCKS = [0, *(pytest.param(block, marks=pytest.mark.long) for block in range(1, -(-CASES // STEP)))]


@pytest.mark.parametrize("block", BLOCKS)
def test_nodes_to_add_are_brute_force(block):
    """The cost is the least that trying everything finds, proven; and the plan with these nodes keeps every rule."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += is_brute_force(f"nodes {block} {drawn}")
    assert drawn <= 6 * STEP, "too many cases were too large to try everything"


def is_brute_force(seed: str) -> bool:
    """Compare one case; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster, hierarchy, gangs, workloads, types = random_node_case(rng, RELEASE)
    places = {node: hierarchy.path_of(node) for node in cluster.node_names}
    try:
        expected = BruteForceNodes(cluster, places, gangs, workloads, types, RELEASE).least()
    except TooLarge:
        return False
    if expected is None and rng.random() < 0.8:
        return False
    found = nodes_to_add(cluster, [*gangs, *workloads], types=types, hierarchies=[hierarchy], release=RELEASE)
    assert found.proven, f"seed {seed}"
    if expected is None:
        assert found.status is PlanStatus.INFEASIBLE, f"seed {seed}: {found.added}, nothing helps"
        return True
    assert (found.cost, found.bound) == (expected, expected), f"seed {seed}: {found.status} {found.added}"
    assert found.plan is not None
    assert sum(found.plan.placed.values()) == sum(one.replicas for one in (*gangs, *workloads)), f"seed {seed}"
    assert broken_gangs(found.cluster, found.plan, found.hierarchies, RELEASE) == [], f"seed {seed}"
    return True
