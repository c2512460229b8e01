"""Nodes filled component by component, as those are that hold too many pods to list all their numbers."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet
from budgets import use_sizes
from checked_plans import checked_fleet
from msgspec import structs
from random_clusters import random_workloads, small_fleet, switches

from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.fleet import node_components
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_FLEETS", "520"))
"""Random fleets, as in `test_fleet_brute_force.py`, with a fifth of its number of cases."""

STEP = 26
ORDERS = ((), ("roots", "numa"), ("nodes", "numa"), ("nodes",), ("preferences", "nodes"))


@pytest.mark.some(2)
@pytest.mark.parametrize("block", range(-(-FLEETS // (10 * STEP))))
@pytest.mark.parametrize("sharing", [False, True])
def test_components_are_brute_force(block, sharing, monkeypatch):
    """Every goal has the value that trying everything finds, proven, the number of nodes among them."""
    monkeypatch.setattr(node_components, "most_vectors", lambda *_: -1)
    use_sizes(monkeypatch, replicas=-1)
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += is_brute_force(f"islands {block} {drawn} {sharing}", drawn, sharing=sharing)
    assert drawn <= 4 * STEP, "too many fleets were too large to try everything"


@pytest.mark.some(1)
@pytest.mark.parametrize("sharing", [False, True])
def test_pods_that_take_their_turn_are_within_the_bounds(sharing, monkeypatch):
    """Where the numbers of pods are too many to list, every plan keeps the rules and no bound is above the optimum."""
    use_sizes(monkeypatch, numbers=-1)
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += is_brute_force(f"turns {drawn} {sharing}", drawn, sharing=sharing, proven=False)
    assert drawn <= 4 * STEP, "too many fleets were too large to try everything"


def of_one_device(sketch: ClaimSketch) -> ClaimSketch:
    """Return a drawing's first request alone, for one device: what does not straddle components."""
    first = sketch.requests[0]
    if first.exactly is not None:
        one = structs.replace(first, exactly=structs.replace(first.exactly, count=1, allocation_mode=""))
    else:
        subs = tuple(structs.replace(sub, count=1, allocation_mode="") for sub in first.first_available)
        one = structs.replace(first, first_available=subs)
    return structs.replace(sketch, requests=(one,), links=())


def is_brute_force(seed: str, number: int, *, sharing: bool, proven: bool = True) -> bool:
    """Compare one fleet; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster = small_fleet(rng, switches(sharing=sharing))
    workloads = random_workloads(rng, cluster, switches(sharing=sharing))
    if number % 4:
        workloads = tuple(replace(w, claims=tuple(map(of_one_device, w.claims))) for w in workloads)
    objective = "nodes" if number % 5 == 4 else "replicas"
    goals = ORDERS[number % len(ORDERS)]
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True} if sharing else {})
    order = fleet_order(goals, objective)
    try:
        expected = best_fleet(cluster, workloads, order, release, all_placed=objective == "nodes")
    except TooLarge:
        return False
    plan = checked_fleet(cluster, workloads, release=release, goals=goals, objective=objective, first_fit=False)
    assert not proven or (expected is None) == (not plan.replicas), f"seed {seed}"
    assert expected is not None or not plan.replicas, f"seed {seed}"
    if expected is None or not plan.goals:
        return True
    for goal, best in zip(plan.goals, expected, strict=True):
        assert goal.bound is not None, f"seed {seed}: {goal}"
        assert goal.bound <= best <= goal.value, f"seed {seed}: {goal}, the best is {best}"
        assert goal.proven or not proven, f"seed {seed}: {goal}"
        if goal.value > best:
            break  # what comes after is another question
    return True
