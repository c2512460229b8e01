"""The plan that is made pod by pod, for fleets that take longer to plan than there is time."""

from __future__ import annotations

import random

import pytest
from exhaustive_fleets import a_coupled_fleet, a_fleet, random_workloads

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.fleet.bounds import Answer
from dra_lab.planner.fleet.one_by_one import one_by_one
from dra_lab.planner.fleet.placing import goals_of, open_goals
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at

RELEASE = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
ORDER = fleet_order((), "replicas")


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("sharing", [False, True])
def test_a_plan_made_pod_by_pod_keeps_every_rule(sharing, coupled):
    """Replicas that are placed one after the other fit together, and their goals are counted as the referee counts."""
    placed = 0
    for number in range(25):
        rng = random.Random(f"one by one {number} {sharing} {coupled}")
        cluster = (a_coupled_fleet if coupled else a_fleet)(rng, sharing=sharing)
        workloads = random_workloads(rng, cluster, sharing=sharing)
        fleet = look_at(cluster, workloads, RELEASE, Budget())
        replicas = one_by_one(fleet, ORDER, Budget())
        placed += len(replicas)
        counted = goals_of(fleet, replicas, ORDER, len({replica.node for replica in replicas}))
        plan = FleetPlan(
            PlanStatus.FEASIBLE if replicas else PlanStatus.STOPPED,
            workloads,
            cluster.name,
            str(RELEASE),
            replicas=replicas,
            goals=open_goals(Answer(), counted) if replicas else (),
        )
        assert check_fleet(cluster, plan, RELEASE) == (), f"{number} {sharing} {coupled}"
    assert placed > 10, "too few replicas were placed to say anything"


def test_a_poor_plan_is_replaced_by_one_made_pod_by_pod(monkeypatch):
    """With a time limit a plan places as many replicas as can be placed pod by pod, whatever the engine found."""
    for number in range(20):
        rng = random.Random(f"poor {number}")
        cluster = a_coupled_fleet(rng, sharing=False)
        workloads = random_workloads(rng, cluster, sharing=False)
        first = one_by_one(look_at(cluster, workloads, RELEASE, Budget()), ORDER, Budget())
        if len(first) > 1:
            break
    monkeypatch.setattr("dra_lab.planner.fleet.search.best_answer", lambda *_, **__: Answer())
    monkeypatch.setattr("dra_lab.planner.fleet.search.tree_tables", lambda *_: None)
    plan = plan_fleet(cluster, workloads, release=RELEASE, time_limit=60, first_fit=False)
    assert len(first) > 1
    assert [replica.placements for replica in plan.replicas] == [replica.placements for replica in first]
