"""Plans for small fleets of one claim a pod against trying every allocation of every replica on every node.

With all rules mixed, and several claims a pod, they are compared in `test_all_rules_mixed_fleets`.
"""

from __future__ import annotations

import os
import random

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet, hold_to
from budgets import use_sizes
from checked_plans import checked_fleet
from random_clusters import random_workloads, small_fleet, switches

from dra_lab.model.fleet import UNPLACED
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_FLEETS", "104"))
"""How many random fleets are compared in all: a quarter each with and without shared devices, on nodes that share
devices and on nodes that do not; more of them with the environment variable."""

STEP = 26
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",))


@pytest.mark.some(2)
@pytest.mark.parametrize("block", range(-(-FLEETS // (4 * STEP))))
@pytest.mark.parametrize("sharing", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
def test_fleet_is_brute_force(block, sharing, coupled):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        seed = f"fleet {block} {drawn} {sharing} {coupled}"
        compared += is_brute_force(seed, drawn, sharing=sharing, coupled=coupled)
    assert drawn <= 2 * STEP, "too many fleets were too large to try everything"


def is_brute_force(seed, number, *, sharing, coupled):
    """Compare one fleet; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster = small_fleet(rng, switches(sharing=sharing, coupled=coupled))
    workloads = random_workloads(rng, cluster, switches(sharing=sharing))
    objective = "nodes" if number % 3 == 2 else "replicas"
    goals = ORDERS[number % len(ORDERS)]
    version = "1.37" if sharing or number % 2 else "1.36"
    release = KubernetesRelease(version, {"DRAListTypeAttributes": True} if sharing else {})
    order = fleet_order(goals, objective)
    try:
        expected = best_fleet(cluster, workloads, order, release, all_placed=objective == "nodes")
    except TooLarge:
        return False
    plan = checked_fleet(cluster, workloads, release=release, goals=goals, objective=objective, first_fit=False)
    found = tuple(goal.value for goal in plan.goals) if plan.replicas else None
    if coupled and not plan.proven:
        # More combinations than are told apart: no proof is claimed, and the bound of the first goal holds.
        assert expected is not None or not plan.replicas, f"seed {seed}"
        assert not found or (found >= expected and plan.goals[0].bound <= expected[0]), f"seed {seed}"
        return False
    hold_to(expected, plan, seed)
    return True


@pytest.mark.some(1)
@pytest.mark.parametrize("sharing", [False, True])
def test_counting_bounds_the_pods_of_fleets_that_no_model_holds(sharing, monkeypatch):
    """If models of nodes that share devices are too large, the bound of what is left holds, and is often above 0."""
    use_sizes(monkeypatch, copies=0, pod_ways=0)
    bounded = 0
    for number in range(STEP):
        seed = f"counted {number} {sharing}"
        rng = random.Random(seed)
        has = switches(sharing=sharing, coupled=True)
        cluster = small_fleet(rng, has)
        workloads = random_workloads(rng, cluster, has)
        release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
        try:
            expected = best_fleet(cluster, workloads, (UNPLACED,), release)
        except TooLarge:
            continue
        plan = checked_fleet(cluster, workloads, release=release, first_fit=False)
        bounds = [goal.bound for goal in plan.goals if goal.goal == UNPLACED]
        assert expected is None or all(bound <= expected[0] for bound in bounds), f"seed {seed}"
        bounded += any(bounds)
    assert bounded > STEP / 10
