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
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import CounterSet
from dra_lab.scheduler import first_fit as door
from dra_lab.scheduler import search
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.memory import Memory

GPU, NIC, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
KIND = "x.example/kind"
OF_KIND = 'device.attributes["x.example"].kind == "{}"'
R136, R137 = KubernetesRelease("1.36"), KubernetesRelease("1.37")
LISTS = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
BAD, TOLERATED = DeviceTaint(key="bad", effect="NoSchedule"), DeviceToleration(key="bad", operator="Exists")


class Forgetful(Memory):
    """Remembers nothing."""

    worth = False


@pytest.fixture(autouse=True)
def from_the_first_step(monkeypatch):
    monkeypatch.setattr(search, "REMEMBER_AFTER", 0)


@pytest.mark.parametrize("release", [R136, R137, LISTS], ids=str)
@pytest.mark.parametrize("few", range(0, 80, 20))
def test_a_search_with_memory_takes_the_same_devices_in_the_same_number_of_steps(monkeypatch, few, release):
    """On random nodes with counters, shares, taints, lists, several attributes and claims, with and without defects."""
    for seed in range(few, few + 20):
        rng = random.Random(seed)
        node, claims = random_node(rng), [random_claim(rng, number) for number in range(rng.choice((1, 1, 1, 2)))]
        plain, found = both_ways(monkeypatch, node, claims, release)
        assert found.status == plain.status, seed
        assert found.allocations == plain.allocations, seed
        assert found.status == "stopped" or found.steps == plain.steps, seed


def test_all_tries_a_tainted_device_only_while_nobody_has_it(monkeypatch):
    """No request ahead can be given the tainted device, but whether it is taken changes what All tries."""
    gpus = (
        Device(name="d0", attributes={KIND: text("a")}, taints=(BAD,)),
        Device(name="d1", attributes={KIND: text("b")}),
    )
    node = Cluster(slices=(a_slice(GPU, *gpus, node="n1"),), classes=tuple(map(device_class, (GPU, NIC))))
    tolerating = ExactDeviceRequest(GPU, tolerations=(TOLERATED,))
    every = ExactDeviceRequest(GPU, selectors=(selector(OF_KIND.format("a")),), allocation_mode="All")
    parts = (tolerating, every, ExactDeviceRequest(NIC))
    claim = claim_of([DeviceRequest(name=f"r{n}", exactly=part) for n, part in enumerate(parts)], ())
    plain, found = both_ways(monkeypatch, node, [claim], R136)
    assert (found.steps, plain.steps) == (3, 3)


def test_values_that_are_held_are_told_apart_where_the_gate_for_lists_is_on(monkeypatch):
    """With the GPU of root b two NICs come in question, with that of root a one."""
    gpus = [Device(name=f"g{root}", attributes={ROOT: text(root)}) for root in "ab"]
    nics = [Device(name=f"n{n}", attributes={ROOT: text(root)}) for n, root in enumerate("abb")]
    cpus = [Device(name=f"c{n}") for n in range(2)]
    slices = (a_slice(driver, *devices, node="n1") for driver, devices in ((GPU, gpus), (NIC, nics), (CPU, cpus)))
    node = Cluster(slices=tuple(slices), classes=tuple(map(device_class, (GPU, NIC, CPU))))
    asked = {"gpu": GPU, "between": CPU, "nic": NIC, "cpu": CPU}
    requests = [DeviceRequest(name=name, exactly=ExactDeviceRequest(driver)) for name, driver in asked.items()]
    constraints = [DeviceConstraint(requests=ends, match_attribute=ROOT) for ends in (("gpu", "nic"), ("nic", "cpu"))]
    plain, found = both_ways(monkeypatch, node, [claim_of(requests, constraints)], LISTS)
    assert found.steps == plain.steps


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


def both_ways(monkeypatch, node, claims, release):
    """Return the verdicts of a search without memory and of one with it."""
    found = []
    for memory in (Forgetful, Memory):
        monkeypatch.setattr(door, "Memory", memory)
        found.append(first_fit(node, "n1", claims, release, step_limit=20_000, time_limit=100))
    return found


def random_node(rng: random.Random) -> Cluster:
    sort = rng.choice(("plain", "counted", "shared", "tainted", "listed"))
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
        roots = tuple(f"r{number}" for number in rng.sample(range(4), rng.choice((1, 1, 2))))
        attributes[ROOT] = DeviceAttribute(strings=roots) if sort == "listed" else text(roots[0])
    if rng.random() < 0.8:
        attributes[NUMA] = DeviceAttribute(int_=rng.randint(0, 1))
    taints = (BAD,) if sort == "tainted" and rng.random() < 0.4 else ()
    device = Device(name=name, attributes=attributes, taints=taints)
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
        part = {
            "device_class_name": driver,
            "selectors": (selector(OF_KIND.format(rng.choice("ab"))),) if rng.random() < 0.3 else (),
            "tolerations": (TOLERATED,) if rng.random() < 0.5 else (),
            "count": rng.choice((1, 1, 1, 1, 2)),
            "capacity": CapacityRequirements(requests={"dra.cpu/cpu": rng.choice("123")}) if driver == CPU else None,
        }
        ends.append(name)
        if rng.random() < 0.45:
            last = {"count": 1} if rng.random() < 0.9 else {"count": None, "allocation_mode": "All"}
            subs = (DeviceSubRequest(name="x", **part), DeviceSubRequest(name="y", **{**part, **last}))
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
