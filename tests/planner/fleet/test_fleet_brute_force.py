"""Plans for small fleets against trying every allocation of every replica on every node, family by family.

`DRA_LAB_RANDOM_FLEETS` multiplies the number of fleets.
"""

from __future__ import annotations

import os
import random

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet, hold_to, most_alone
from cancelled import CancelledAfter
from checked_plans import checked_fleet
from drawn_fleets import FAMILIES
from random_clusters import TREES, random_fleet, random_workloads
from random_pods import a_fleet_case

from dra_lab import KubernetesRelease, how_many_more
from dra_lab.model.goals import FLEET_GOALS, NODES, UNPLACED
from dra_lab.model.plan import PlanStatus

TIMES = int(os.environ.get("DRA_LAB_RANDOM_FLEETS", "1"))
STEP = 3
BLOCKS = [
    pytest.param(family, block, marks=[pytest.mark.long] if block else [])
    for family, (_, count) in FAMILIES.items()
    for block in range(-(-count * TIMES // STEP))
]
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",), ("preferences",))


@pytest.mark.parametrize(("family", "block"), BLOCKS)
def test_fleet_is_brute_force(family, block):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += is_brute_force(family, f"{family} {block} {drawn}", block + drawn)
        assert drawn <= 12 * STEP, "too many fleets were too large to try everything"


def is_brute_force(family: str, seed: str, number: int) -> bool:
    """Compare one fleet; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster, workloads = FAMILIES[family][0](rng, number)
    objective = "nodes" if number % 3 == 2 else "replicas"
    goals = ORDERS[number % len(ORDERS)]
    release = KubernetesRelease("1.37" if number % 2 or "shared" in family else "1.36", gates(family))
    try:
        order = order_of(goals, objective)
        expected = best_fleet(cluster, workloads, order, release, all_placed=objective == "nodes")
    except TooLarge:
        return False
    plan = checked_fleet(cluster, workloads, release=release, goals=goals, objective=objective, first_fit=False)
    if "coupled" in family and not plan.proven:
        # More combinations than are told apart: no proof is claimed, and the bound of the first goal holds.
        found = tuple(goal.value for goal in plan.goals) if plan.pods else None
        assert expected is not None or not plan.pods, f"seed {seed}"
        assert not found or (found >= expected and plan.goals[0].bound <= expected[0]), f"seed {seed}"
        return False
    hold_to(expected, plan, seed)
    return True


def gates(family: str) -> dict[str, bool]:
    """Return the gates that a family needs: some of its devices publish lists."""
    return {"DRAListTypeAttributes": True} if "shared" in family else {}


def order_of(goals: tuple[str, ...], objective: str) -> tuple[str, ...]:
    """Return all goals of a fleet in the order of docs/planner.md."""
    first = (UNPLACED, NODES) if objective == "nodes" else (UNPLACED,)
    return tuple(dict.fromkeys((*first, "alternatives", "preferences", *goals, *FLEET_GOALS)))


@pytest.mark.parametrize(
    "block", [pytest.param(block, marks=[pytest.mark.long] if block else []) for block in range(207 * TIMES)]
)
def test_fleet_with_all_rules_mixed_is_brute_force(block):
    """So it is with all rules of DRA, several claims a pod and every goal."""
    for number in range(STEP * block, STEP * (block + 1)):
        case, expected = a_fleet_case(number)
        given = {"release": case.release, "goals": case.goals, "objective": case.objective, "first_fit": False}
        hold_to(expected, checked_fleet(case.cluster, case.workloads, **given), f"fleet {number}")


def test_two_shares_of_one_device_for_one_request_are_no_start():
    """First fit gives a request two shares of a device; a plan that is cancelled then keeps every rule."""
    case, _ = a_fleet_case(132)
    plan = checked_fleet(case.cluster, case.workloads, release=case.release, cancel=CancelledAfter(40))
    assert plan.status is not PlanStatus.OPTIMAL


@pytest.mark.parametrize("block", range(24))
def test_how_many_more_on_trees_is_brute_force(block):
    """As many pods, with links or without, fit on every node as trying everything finds, proven."""
    compared = 0
    for number in range(STEP * TIMES):
        rng = random.Random(f"more {block} {number}")
        cluster = random_fleet(rng, rng.randint(1, 3), TREES)
        workload = random_workloads(rng, cluster, TREES)[0]
        try:
            expected = most_alone(cluster, workload, KubernetesRelease("1.36"), 9)
        except TooLarge:
            continue
        compared += 1
        headroom = how_many_more(cluster, workload, release="1.36")
        assert (headroom.count.value, headroom.count.bound) == (expected, expected), f"more {block} {number}"
    assert compared >= 1, "too many were too large to try everything"
