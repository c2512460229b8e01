"""Whatever moment the time for a fleet ends at, what comes back is worth what it says, and no proof is made up."""

from __future__ import annotations

import random
import time
from itertools import count

import pytest
from exhaustive_fleets import a_coupled_fleet, a_fleet, random_workloads

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.fleet import UNPLACED
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import plan_fleet

RELEASE = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
LIMITS = (*range(0, 60, 6), *range(60, 600, 60))


def question(seed: int):
    rng = random.Random(f"fleet time {seed}")
    sharing = seed % 2 == 0
    cluster = (a_coupled_fleet if seed % 4 < 2 else a_fleet)(rng, sharing=sharing)
    return cluster, random_workloads(rng, cluster, sharing=sharing)


@pytest.mark.parametrize("seed", range(12))
def test_every_moment(seed):
    """By a clock that goes on by 1 with every look: plans keep every rule and sum, bounds hold, nothing is undone."""
    cluster, fleet = question(seed)
    best = plan_fleet(cluster, fleet, release=RELEASE, first_fit=False)
    for limit in LIMITS:
        ticks = count()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "monotonic", lambda ticks=ticks: next(ticks))
            plan = plan_fleet(cluster, fleet, release=RELEASE, time_limit=limit)
        assert check_fleet(cluster, plan, RELEASE) == (), limit
        assert plan.replicas or {goal.goal for goal in plan.goals} <= {UNPLACED}
        assert plan.status is not PlanStatus.INFEASIBLE or best.status is PlanStatus.INFEASIBLE
        if best.proven:
            for mine, known in zip(plan.goals, best.goals, strict=False):
                assert mine.bound is None or mine.bound <= known.value, (limit, mine)
                assert not mine.proven or mine.value == known.value, (limit, mine)
                if mine.value != known.value:
                    break
