"""A plan whose `damage` was changed is found out, whether it is too low or too high; a right one never is."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from exhaustive_plans import GPU, device_class, random_fleet, random_sketch
from exhaustive_sharing import sharing_cluster, sharing_sketch
from small_nodes import a_slice, cluster, device

from dra_lab.checks.held_plan import HeldPlan
from dra_lab.checks.plan_damage import Others
from dra_lab.checks.plans import check_plan
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ALL, DeviceRequest, ExactDeviceRequest, ResourceClaim
from dra_lab.model.device import DeviceCapacity
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import DAMAGE, Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner import make_plan

SEEDS = 10
EACH = 20


def with_damage(plan: Plan, value: int) -> Plan:
    """Return a plan that says another number, as well proven as before."""
    goals = (
        replace(g, value=value, bound=value if g.proven else g.bound) if g.goal == DAMAGE else g for g in plan.goals
    )
    return replace(plan, goals=tuple(goals))


def a_plan(seed: int):
    """Return a random cluster, a release and a plan, with shares, counters and lists in half of them."""
    rng = random.Random(f"damage {seed}")
    nodes = rng.randint(1, 3)
    if rng.random() < 0.5:
        found = sharing_cluster(rng, nodes)
        sketch = sharing_sketch(rng, found)
    else:
        found, sketch = random_fleet(rng, nodes), random_sketch(rng)
    release = KubernetesRelease(rng.choice(["1.35", "1.36", "1.37"]))
    return found, release, make_plan(found, sketch, release=release)


@pytest.mark.parametrize("first", range(0, SEEDS * EACH, EACH))
def test_a_changed_damage_is_found_out(first):
    """The referee counts the damage of most plans again, and finds each change of those."""
    counted, left = 0, 0
    for seed in range(first, first + EACH):
        found, release, plan = a_plan(seed)
        goal = plan.goal(DAMAGE) if plan.placements else None
        if goal is None or any(value.at_most for value in plan.goals):
            continue
        assert check_plan(found, plan, release) == (), seed
        held = HeldPlan(found, plan, release)
        if Others(held).lost(held) is None:
            left += 1
            continue
        counted += 1
        for value in {max(0, goal - 1), goal + 1} - {goal}:
            rules = {finding.rule for finding in check_plan(found, with_damage(plan, value), release)}
            assert "plan-goal" in rules, f"seed {seed}: {value} instead of {goal}"
    assert left <= counted + 1


def test_all_does_not_mean_a_partly_used_device_before_1_37():
    """On 1.36, All means the one GPU that has all of its memory left; so the damage of taking it is 1."""
    memory = {"memory": DeviceCapacity(value="80Gi")}
    gpus = (
        device("gpu-0", {"type": "gpu"}, capacity=memory, allow_multiple_allocations=True),
        device("gpu-1", {"type": "gpu"}, capacity=memory),
    )
    share = DeviceRequestAllocationResult(
        request="r",
        driver=GPU,
        pool="n1",
        device="gpu-0",
        share_id="00000000-0000-0000-0000-000000000001",
        consumed_capacity={"memory": "20Gi"},
    )
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=(share,))))
    holder = ResourceClaim(metadata=ObjectMeta(name="holder", namespace="default"), status=status)
    where = cluster(a_slice(GPU, *gpus), classes=(device_class(GPU),), claims=(holder,))
    everything = ExactDeviceRequest(device_class_name=GPU, allocation_mode=ALL)
    release = KubernetesRelease("1.36")
    plan = make_plan(where, ClaimSketch(requests=(DeviceRequest(name="gpu", exactly=everything),)), release=release)
    assert [placement.device.device for placement in plan.placements] == ["gpu-1"]
    assert check_plan(where, plan, release) == ()
    assert check_plan(where, with_damage(plan, 0), release) != ()
