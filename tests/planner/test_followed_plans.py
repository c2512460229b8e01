"""Plans of a cluster that changes claim by claim: what is remembered from before never changes the answer."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from checked_plans import checked_plan

from dra_lab import Cluster, KubernetesRelease, Plan, check, load_cluster, read_sketch
from dra_lab.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.sources import sample_path, samples

RELEASE = KubernetesRelease("1.36")
EXAMPLES = [f"sample:{sample.name}/{example}" for sample in samples() for example in sample.examples[:1]]


def holding(number: int, device: DeviceID, share: str | None) -> ResourceClaim:
    """A claim that holds one device, or a share of it."""
    result = DeviceRequestAllocationResult(
        request="one", driver=device.driver, pool=device.pool, device=device.device, share_id=share
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    return ResourceClaim(
        metadata=ObjectMeta(name=f"held-{number}", namespace="test"), status=ResourceClaimStatus(allocation=allocation)
    )


def steps(cluster: Cluster, chance: random.Random) -> list[tuple[ResourceClaim, ...]]:
    """Claims that come and go, a few at a time."""
    devices = [
        (DeviceID(s.spec.driver, s.spec.pool.name, device.name), device.allow_multiple_allocations)
        for s in cluster.slices
        for device in s.spec.devices or ()
    ]
    claims, found = list(cluster.claims), []
    for step in range(2):
        for _ in range(chance.randrange(1, 4)):
            device, shareable = chance.choice(devices)
            claims.append(holding(len(claims) + 100 * step, device, "share" if shareable else None))
        for _ in range(chance.randrange(3)):
            claims.pop(chance.randrange(len(claims)))
        found.append(tuple(claims))
    return found


def without_times(plan: Plan) -> object:
    """All of a plan, apart from what time decides: how long it took, and how far a misfit was explained."""
    fits = [(fit.status, fit.placements) for fit in (plan.first_fit, plan.first_fit_plain) if fit is not None]

    plan = replace(plan, seconds=0.0, first_fit=None, first_fit_plain=None, regrets=())
    return replace(plan, reasons=None, suggestions=()), fits


@pytest.mark.some(3)
@pytest.mark.parametrize("example", EXAMPLES)
def test_a_plan_of_a_followed_cluster_is_that_of_the_cluster_read_anew(example):
    """Layouts, states and solutions of nodes that did not change are taken over, and nothing else."""
    followed = load_cluster(example.partition("/")[0])
    sketch = read_sketch(example)
    checked_plan(followed, sketch, release=RELEASE)
    for claims in steps(followed, random.Random(example)):
        followed = followed.with_objects(claims=claims)
        anew = replace(followed)
        assert without_times(checked_plan(followed, sketch, release=RELEASE)) == without_times(
            checked_plan(anew, sketch, release=RELEASE)
        )


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_checks_of_a_followed_cluster_are_those_of_the_cluster_read_anew(example):
    """The audit skips claims that did not change, and its findings stay the same."""
    followed = load_cluster(example.partition("/")[0])
    for claims in steps(followed, random.Random(example)):
        followed = followed.with_objects(claims=claims)
        assert check(followed) == check(replace(followed))


def test_a_solution_is_not_taken_over_to_where_its_devices_are_held():
    """As many free devices of a group as before, but others: the plan takes free ones."""
    cluster = load_cluster(sample_path("two-sockets"))
    sketch = read_sketch(EXAMPLES[[e.startswith("sample:two-sockets") for e in EXAMPLES].index(True)])
    free = checked_plan(cluster, sketch, release=RELEASE)
    taken = free.placements[0].device
    held = tuple(holding(n, p.device, None) for n, p in enumerate(free.placements))
    after = checked_plan(cluster.with_objects(claims=(*cluster.claims, *held)), sketch, release=RELEASE)
    assert taken not in {placement.device for placement in after.placements}
