"""Plans for small fleets against trying every allocation of every replica on every node: every goal, every rule."""

from __future__ import annotations

import os
import random

import pytest
from exhaustive_fleets import TooLarge, a_fleet, best_fleet, random_workloads

from dra_lab.checks.fleets import check_fleet
from dra_lab.errors import UnsupportedFeature
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_FLEETS", "200"))
"""How many random fleets are tried, half of them with shared devices; 500 take a minute of one core."""

STEP = 20
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"))


@pytest.mark.parametrize("start", range(0, FLEETS, STEP))
@pytest.mark.parametrize("sharing", [False, True])
def test_fleet_is_brute_force(start, sharing):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    for seed in range(start // 2, (start + STEP) // 2):
        rng = random.Random(f"fleet {seed} {sharing}")
        cluster = a_fleet(rng, sharing=sharing)
        workloads = random_workloads(rng, cluster, sharing=sharing)
        objective = "nodes" if seed % 3 == 2 else "replicas"
        goals = ORDERS[seed % len(ORDERS)]
        version = "1.37" if sharing or seed % 2 else "1.36"
        release = KubernetesRelease(version, {"DRAListTypeAttributes": True} if sharing else {})
        order = fleet_order(goals, objective)
        every = {"sharing": sharing, "version": version, "all_placed": objective == "nodes"}
        try:
            expected = best_fleet(cluster, workloads, order, **every)
            plan = plan_fleet(cluster, workloads, release=release, goals=goals, objective=objective, first_fit=False)
        except (TooLarge, UnsupportedFeature):
            # More than can be tried, or admin access to devices with counters (tested by itself).
            continue
        found = tuple(goal.value for goal in plan.goals) if plan.replicas else None
        assert found == expected, f"seed {seed}: {found} instead of {expected}"
        assert plan.proven, f"seed {seed}"
        assert (plan.status is PlanStatus.INFEASIBLE) == (expected is None), f"seed {seed}"
        assert check_fleet(cluster, plan, release) == (), f"seed {seed}"
