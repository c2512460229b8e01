"""Plans of a cluster that changes claim by claim: what is remembered from before never changes the answer."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from budgets import use_shares
from checked_plans import checked_plan

from dra_lab import KubernetesRelease, Plan, load_cluster, read_sketch
from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.index import node_index
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.allocation import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner import plan_cache
from dra_lab.sources import sample_path, samples

RELEASE = KubernetesRelease("1.36")
EXAMPLES = [f"sample:{sample.name}/{example}" for sample in samples() for example in sample.examples[:1]]


@pytest.fixture(autouse=True)
def _explained(monkeypatch):
    """Let every reason be found, however slow the machine is."""
    use_shares(monkeypatch, explain=600.0, look=600.0)


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
    """All of a plan, apart from what time decides: how long it took, and whether `damage` was counted to its end."""
    fits = [(fit.status, fit.placements) for fit in (plan.first_fit, plan.first_fit_plain) if fit is not None]

    return replace(plan, seconds=0.0, first_fit=None, first_fit_plain=None, regrets=()), fits


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
        assert not anew.memo.hardware
        assert without_times(checked_plan(followed, sketch, release=RELEASE)) == without_times(
            checked_plan(anew, sketch, release=RELEASE)
        )


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_checks_of_a_followed_cluster_are_those_of_the_cluster_read_anew(example):
    """The audit skips claims that did not change, and its findings stay the same."""
    followed = load_cluster(example.partition("/")[0])
    for claims in steps(followed, random.Random(example)):
        followed = followed.with_objects(claims=claims)
        assert check_cluster(followed) == check_cluster(replace(followed))


def test_a_solution_is_not_taken_over_to_where_its_devices_are_held():
    """As many free devices of a group as before, but others: the plan takes free ones."""
    cluster = load_cluster(sample_path("two-sockets"))
    sketch = read_sketch(EXAMPLES[[e.startswith("sample:two-sockets") for e in EXAMPLES].index(True)])
    free = checked_plan(cluster, sketch, release=RELEASE)
    taken = free.placements[0].device
    held = tuple(holding(n, p.device, None) for n, p in enumerate(free.placements))
    after = checked_plan(cluster.with_objects(claims=(*cluster.claims, *held)), sketch, release=RELEASE)
    assert taken not in {placement.device for placement in after.placements}


def test_solutions_of_states_that_are_gone_are_forgotten(monkeypatch):
    """However many snapshots come, only those of states that some node is in are kept beyond a limit."""
    monkeypatch.setattr(plan_cache, "_MOST_SOLUTIONS", 0)
    read, sketch, chance = (
        load_cluster(sample_path("eks-p4d")),
        read_sketch("sample:eks-p4d/gpu-nic-pairs"),
        random.Random(1),
    )
    devices = [DeviceID(s.spec.driver, s.spec.pool.name, d.name) for s in read.slices for d in s.spec.devices or ()]
    for _ in range(12):
        held = chance.sample(devices, 6)
        read = read.with_objects(claims=tuple(holding(number, device, None) for number, device in enumerate(held)))
        checked_plan(read, sketch, release=RELEASE)
    [known] = plan_cache._latest(with_documented_classes(read), RELEASE)
    assert len(known.solutions) <= 1.25 * len(known.states)


def test_what_is_tried_for_a_misfit_does_not_displace_what_was_asked():
    """Relaxations look at the cluster too, more of them than questions are remembered: the question itself stays."""
    read, sketch = load_cluster(sample_path("eks-p4d")), read_sketch("sample:eks-p4d/five-pairs")
    assert len(checked_plan(read, sketch, release=RELEASE).reasons.relaxations) > 4
    [known] = plan_cache._latest(with_documented_classes(read), RELEASE)
    assert (known.question[0].requests, known.question[0].links) == (sketch.requests, sketch.links)


def test_selectors_that_were_typed_long_ago_are_forgotten(monkeypatch):
    """A cluster keeps a limited number of selectors, and still reports every selector that fails."""
    monkeypatch.setattr(node_index, "_MOST_ANSWERS", 2)
    read = load_cluster(sample_path("eks-p4d"))
    fails = 'device.attributes["gpu.nvidia.com"].nosuch == "x"'
    first = None
    for text in (fails, "true", "1 == 1", "2 == 2", fails):
        selectors = (DeviceSelector(cel=CELDeviceSelector(expression=text)),)
        gpu = ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=1, selectors=selectors)
        plan = checked_plan(read, ClaimSketch(requests=(DeviceRequest(name="gpu", exactly=gpu),)), release=RELEASE)
        first = first or plan
    assert without_times(plan) == without_times(first)
    assert len(plan.reasons.failures[0].devices) == 32
