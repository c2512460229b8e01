"""Pods whose partitions may be on several GPUs: what all GPUs together hold bounds how many pods there are."""

from __future__ import annotations

import dataclasses

import pytest

from dra_lab import load_cluster
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest
from dra_lab.model.fleet import NODES, UNPLACED, Workload
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.fleet import plan_fleet


def pods(profile: str, count: int, replicas: int) -> Workload:
    """Return pods with so many partitions each."""
    told = f"device.attributes['gpu.nvidia.com'].profile == '{profile}'"
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression=told)),)
    asked = ExactDeviceRequest(device_class_name="mig.nvidia.com", selectors=selectors, count=count)
    name = profile.replace(".", "-")
    return Workload(name, (ClaimSketch(name, (DeviceRequest(name="part", exactly=asked),)),), replicas)


@pytest.fixture(autouse=True)
def _no_lists(monkeypatch):
    """Nodes are looked at as if they held too many numbers of pods to list."""
    monkeypatch.setattr("dra_lab.planner.fleet.tables.MOST_VECTORS", -1)


@pytest.fixture
def idle():
    """One node with two A100 that nobody uses."""
    return dataclasses.replace(load_cluster("sample:mig"), claims=())


def test_fleet_larger_than_all_partitions_is_proven(idle):
    """Two GPUs hold four halves, two pods of two; that no third fits is proven."""
    plan = plan_fleet(idle, [pods("3g.20gb", 2, 3)], release=KubernetesRelease("1.36"), first_fit=False)
    goal = plan.goal(UNPLACED)
    assert (goal.value, goal.bound, goal.proven) == (1, 1, True)
    assert plan.goal(NODES).proven


def test_partitions_of_two_kinds_share_gpus_in_the_bound(idle):
    """Each kind of partition would fit alone; that both do not fit together is proven."""
    fleet = [pods("3g.20gb", 1, 4), pods("1g.5gb", 1, 4)]
    plan = plan_fleet(idle, fleet, release=KubernetesRelease("1.36"), objective="nodes", first_fit=False)
    assert plan.status is PlanStatus.INFEASIBLE
