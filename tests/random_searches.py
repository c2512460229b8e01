"""Random nodes and claims for the search: counters, shares, taints, lists, several attributes, alternatives, All."""

from __future__ import annotations

import random

from msgspec.structs import replace
from random_devices import NUMA, ROOT, device_class, selector, text
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
from dra_lab.model.slices import CounterSet

GPU, NIC, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
KIND = "x.example/kind"
OF_KIND = 'device.attributes["x.example"].kind == "{}"'
BAD, TOLERATED = DeviceTaint(key="bad", effect="NoSchedule"), DeviceToleration(key="bad", operator="Exists")


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
