"""What the search remembers changes neither what it takes nor how many candidates it tries; it is only faster."""

from __future__ import annotations

import random

import pytest
from exhaustive_plans import NUMA, ROOT, device_class, selector, text
from msgspec.structs import replace
from small_nodes import a_slice

from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Counter, Device, DeviceAttribute, DeviceCapacity, DeviceCounterConsumption
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import CounterSet
from dra_lab.scheduler import first_fit as door
from dra_lab.scheduler import search
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.memory import Memory

GPU, NIC, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
KIND = "x.example/kind"


class Forgetful(Memory):
    """Remembers nothing."""

    worth = False


@pytest.fixture(autouse=True)
def from_the_first_step(monkeypatch):
    monkeypatch.setattr(search, "REMEMBER_AFTER", 0)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
@pytest.mark.parametrize("few", range(0, 120, 20))
def test_a_search_with_memory_takes_the_same_devices_in_the_same_number_of_steps(monkeypatch, few, release):
    """On random nodes with counters, shares, several attributes, several claims, defects of 1.36 and without them."""
    for seed in range(few, few + 20):
        rng = random.Random(seed)
        node, claims = random_node(rng), [random_claim(rng, number) for number in range(rng.choice((1, 1, 1, 2)))]
        monkeypatch.setattr(door, "Memory", Forgetful)
        plain = run(node, claims, release)
        monkeypatch.setattr(door, "Memory", Memory)
        found = run(node, claims, release)
        assert found.status == plain.status, seed
        assert found.allocations == plain.allocations, seed
        assert found.status == "stopped" or found.steps == plain.steps, seed


def test_more_candidates_than_can_be_tried_are_counted():
    """Eight pairs of alternatives on a node that is one NIC short: 3.3 thousand million candidates, in a moment."""
    gpus = [Device(name=f"g{n}", attributes={ROOT: text(f"r{n}")}) for n in range(8)]
    nics = [Device(name=f"n{n}", attributes={ROOT: text(f"r{n}")}) for n in range(7)]
    node = Cluster(
        slices=(a_slice(GPU, *gpus, node="n1"), a_slice(NIC, *nics, node="n1")),
        classes=tuple(map(device_class, (GPU, NIC))),
    )
    requests, constraints = [], []
    for n in range(8):
        subs = tuple(DeviceSubRequest(name=name, device_class_name=GPU, count=1) for name in ("aligned", "any"))
        requests.append(DeviceRequest(name=f"gpu-{n}", first_available=subs))
        requests.append(DeviceRequest(name=f"nic-{n}", exactly=ExactDeviceRequest(device_class_name=NIC, count=1)))
        constraints.append(DeviceConstraint(requests=(f"gpu-{n}/aligned", f"nic-{n}"), match_attribute=ROOT))
    verdict = first_fit(node, "n1", [claim_of(requests, constraints)], KubernetesRelease("1.36"), step_limit=10**12)
    assert (verdict.status, verdict.steps) == ("none", 3_301_507_106)


def run(node, claims, release):
    return first_fit(node, "n1", claims, KubernetesRelease(release), step_limit=20_000, time_limit=100)


def random_node(rng: random.Random) -> Cluster:
    sort = rng.choice(("plain", "counted", "shared"))
    slices = []
    for driver, count in ((GPU, rng.randint(3, 7)), (NIC, rng.randint(3, 7)), (CPU, rng.randint(0, 2))):
        devices = [_device(rng, driver, f"d{number}", sort) for number in range(count)]
        slices.append(a_slice(driver, *devices, node="n1"))
        if driver == GPU and sort == "counted":
            books = CounterSet(name="set", counters={"memory": Counter(value=rng.randint(2, 8))})
            pool = replace(slices[-1].spec.pool, resource_slice_count=2)
            slices[-1] = replace(slices[-1], spec=replace(slices[-1].spec, pool=pool))
            spec = replace(slices[-1].spec, devices=None, shared_counters=(books,))
            slices.append(replace(slices[-1], metadata=ObjectMeta(name="counters"), spec=spec))
    return Cluster(slices=tuple(slices), classes=tuple(map(device_class, (GPU, NIC, CPU))))


def _device(rng: random.Random, driver: str, name: str, sort: str) -> Device:
    attributes = {KIND: text(rng.choice("ab"))}
    if rng.random() < 0.9:
        attributes[ROOT] = text(f"r{rng.randint(0, 3)}")
    if rng.random() < 0.8:
        attributes[NUMA] = DeviceAttribute(int_=rng.randint(0, 1))
    device = Device(name=name, attributes=attributes)
    if sort == "shared" and driver == CPU:
        capacity = {"dra.cpu/cpu": DeviceCapacity(value=rng.choice((4, 8)))}
        return replace(device, allow_multiple_allocations=True, capacity=capacity)
    if sort == "counted" and driver == GPU and rng.random() < 0.6:
        draws = DeviceCounterConsumption(counter_set="set", counters={"memory": Counter(value=rng.randint(1, 3))})
        return replace(device, consumes_counters=(draws,))
    return device


def random_claim(rng: random.Random, number: int) -> ResourceClaim:
    requests, ends = [], []
    for name in (f"r{n}" for n in range(rng.randint(2, 6))):
        driver = rng.choice((GPU, GPU, NIC, NIC, CPU))
        kind = f'device.attributes["x.example"].kind == "{rng.choice("ab")}"'
        part = {
            "device_class_name": driver,
            "selectors": (selector(kind),) if rng.random() < 0.3 else (),
            "count": rng.choice((1, 1, 1, 1, 2)),
            "capacity": CapacityRequirements(requests={"dra.cpu/cpu": rng.choice("123")}) if driver == CPU else None,
        }
        ends.append(name)
        if rng.random() < 0.45:
            subs = (DeviceSubRequest(name="x", **part), DeviceSubRequest(name="y", **{**part, "count": 1}))
            requests.append(DeviceRequest(name=name, first_available=subs))
            ends += [f"{name}/x", f"{name}/y"]
        elif rng.random() < 0.05:
            requests.append(DeviceRequest(name=name, exactly=ExactDeviceRequest(driver, allocation_mode="All")))
        else:
            admin = rng.random() < 0.05 or None
            requests.append(DeviceRequest(name=name, exactly=ExactDeviceRequest(**part, admin_access=admin)))
    one = rng.random() < 0.5
    constraints = []
    for _ in range(rng.randint(0, 4)):
        tied = tuple(rng.sample(ends, min(len(ends), rng.randint(1, 3))))
        field = "match_attribute" if rng.random() < 0.75 else "distinct_attribute"
        constraints.append(DeviceConstraint(requests=tied, **{field: ROOT if one else rng.choice((ROOT, NUMA))}))
    return claim_of(requests, constraints, number)


def claim_of(requests, constraints, number=0) -> ResourceClaim:
    devices = DeviceClaim(requests=tuple(requests), constraints=tuple(constraints))
    return ResourceClaim(metadata=ObjectMeta(name=f"c{number}"), spec=ResourceClaimSpec(devices=devices))
