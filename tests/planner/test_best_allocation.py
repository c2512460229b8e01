"""The best allocation against trying every subset of devices."""

from __future__ import annotations

import os
import random

import pytest
from exhaustive_plans import Exhaustive, random_cluster, random_sketch
from msgspec.structs import replace

from dra_lab.checks.plans import check_plan
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner import make_plan
from dra_lab.planner.plan_claim import goal_order

RELEASE = KubernetesRelease("1.36")
CASES = int(os.environ.get("DRA_LAB_RANDOM_PLANS", "360"))
ORDERS = ((), ("roots", "unpaired", "numa"), ("unpaired",))


@pytest.mark.parametrize("start", range(0, CASES, 45))
def test_optimum_is_brute_force(start):
    """Every goal has the value that trying all subsets finds, and a misfit is one for them too."""
    for seed in range(start, min(start + 45, CASES)):
        rng = random.Random(seed)
        cluster, sketch = random_cluster(rng), random_sketch(rng)
        goals = ORDERS[seed % len(ORDERS)]
        plan = make_plan(cluster, sketch, release=RELEASE, goals=goals)
        expected = Exhaustive(cluster, sketch).best(goal_order(goals)).values
        found = tuple(goal.value for goal in plan.goals) if plan.fits else None
        assert found == expected, f"seed {seed}: {found} instead of {expected}"
        assert plan.status is (PlanStatus.OPTIMAL if plan.fits else PlanStatus.INFEASIBLE), f"seed {seed}"
        assert check_plan(cluster, plan, RELEASE) == (), f"seed {seed}"
        assert plan.fits or plan.shortfalls, f"seed {seed}"


def test_preference_never_stops():
    """A claim that fits without its preferred links fits with them."""
    for seed in range(1000, 1060):
        rng = random.Random(seed)
        cluster, sketch = random_cluster(rng), random_sketch(rng)
        preferred = replace(sketch, links=tuple(replace(link, must=False) for link in sketch.links))
        without = make_plan(cluster, replace(sketch, links=()), release=RELEASE)
        assert make_plan(cluster, preferred, release=RELEASE).fits == without.fits, f"seed {seed}"
