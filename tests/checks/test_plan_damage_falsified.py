"""A plan whose `damage` was changed is found out, whether it is too low or too high; a right one never is."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from checked_plans import checked_plan
from kept_cases import kept_case
from random_clusters import SHARING, random_fleet, random_sketch
from random_devices import GPU, device_class
from small_nodes import a_slice, cluster, device

from dra_lab.checks.plans import check_plan
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ALL, CapacityRequirements, DeviceRequest, ExactDeviceRequest, ResourceClaim
from dra_lab.model.device import DeviceCapacity
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import DAMAGE, Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch

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
        found = random_fleet(rng, nodes, SHARING)
        sketch = random_sketch(rng, SHARING, found)
    else:
        found, sketch = random_fleet(rng, nodes), random_sketch(rng)
    release = KubernetesRelease(rng.choice(["1.35", "1.36", "1.37"]))
    return found, release, checked_plan(found, sketch, release=release)


@pytest.mark.parametrize("first", range(0, SEEDS * EACH, EACH))
def test_a_changed_damage_is_found_out(first):
    """The referee counts every damage again that is not told as "at most", and finds each change."""
    for seed in range(first, first + EACH):
        found, release, plan = a_plan(seed)
        goal = plan.goal(DAMAGE) if plan.placements else None
        if goal is None or any(value.at_most for value in plan.goals):
            continue
        assert check_plan(found, plan, release) == (), seed
        for value in {max(0, goal - 1), goal + 1} - {goal}:
            rules = {finding.rule for finding in check_plan(found, with_damage(plan, value), release)}
            assert "plan-goal" in rules, f"seed {seed}: {value} instead of {goal}"


def a_kept_plan(seed: int, version: str):
    """Return the cluster, the release and the plan of a kept case."""
    found, (pod,) = kept_case(f"damage {seed}")
    release = KubernetesRelease(version)
    return found, release, checked_plan(found, pod.claims[0], release=release)


@pytest.mark.parametrize(
    ("seed", "version"),
    [(123, "1.36"), (663, "1.37"), (808, "1.37"), (842, "1.36"), (1454, "1.36"), (1611, "1.37")],
)
def test_overdrawn_counters_and_shares_without_end_are_counted(seed, version):
    """A pool with an overdrawn counter gives no device that draws on it; shares without end are never used up."""
    found, release, plan = a_kept_plan(seed, version)
    changed = with_damage(plan, plan.goal(DAMAGE) + 1)
    assert "plan-goal" in {finding.rule for finding in check_plan(found, changed, release)}


def test_damage_to_shares_without_end_is_reported_as_at_most():
    """A number that comes from the cap at which counting stops is no exact one: as many replicas fit as before."""
    plan = a_kept_plan(1927, "1.36")[2]
    assert next(goal for goal in plan.goals if goal.goal == DAMAGE).at_most


def test_a_claim_that_this_release_gives_up_loses_no_replica():
    """Before 1.36 a request for capacity is never served, so a first fit without its capacity costs no replica."""
    plan = a_plan(615)[2]
    assert plan.first_fit.goal(DAMAGE) == 0


@pytest.mark.parametrize(("damage", "found"), [(1, set()), (0, {"plan-goal"}), (2, {"plan-goal"})])
def test_thousands_of_shares_are_counted(damage, found):
    """A device that 3,000 replicas can share loses one of them to a plan."""
    cpu = device("cpu-0", {}, capacity={"cores": DeviceCapacity(value=3000)}, allow_multiple_allocations=True)
    where = cluster(a_slice(GPU, cpu), classes=(device_class(GPU),))
    share = ExactDeviceRequest(device_class_name=GPU, capacity=CapacityRequirements(requests={"cores": "1"}))
    release = KubernetesRelease("1.36")
    plan = checked_plan(where, ClaimSketch(requests=(DeviceRequest(name="r", exactly=share),)), release=release)
    assert {finding.rule for finding in check_plan(where, with_damage(plan, damage), release)} == found


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
    plan = checked_plan(where, ClaimSketch(requests=(DeviceRequest(name="gpu", exactly=everything),)), release=release)
    assert [placement.device.device for placement in plan.placements] == ["gpu-1"]
    assert check_plan(where, plan, release) == ()
    assert check_plan(where, with_damage(plan, 0), release) != ()
