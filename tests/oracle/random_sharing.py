"""Random small nodes with every way to share devices, and claims for them.

Counters, request policies, lists, admin access, binding conditions, taints, All, alternatives and links, all mixed,
with amounts that are whole numbers.
"""

from __future__ import annotations

import random

from random_clusters import CPU, GPU, NIC, NUMA, RDMA, ROOT, TAG, device_class, selector, text
from random_rules import CORES, SHARES, random_capacity, random_holder, random_tag, slices_of

from dra_lab.model.claims import (
    ALL,
    CapacityRequirements,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Counter as Amount
from dra_lab.model.device import (
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import CounterSet, ResourceSlice

Hardware = dict[str, tuple[list[Device], tuple[CounterSet, ...]]]


def sharing_cluster(rng: random.Random, nodes: int = 1) -> Cluster:
    """Make nodes of one or two kinds of hardware, with other devices in use on each."""
    kinds = [_hardware(rng) for _ in range(1 if nodes == 1 else 2)]
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    busy = rng.choice([0.0, 0.15, 0.3])
    for number in range(1, nodes + 1):
        for driver, (devices, sets) in rng.choice(kinds).items():
            slices.extend(slices_of(driver, f"n{number}", devices, sets, node_name=f"n{number}"))
            for device in devices:
                while rng.random() < busy:
                    claims.append(random_holder(rng, len(claims), DeviceID(driver, f"n{number}", device.name), device))
    return Cluster(tuple(slices), tuple(map(device_class, (GPU, NIC, CPU))), (), tuple(claims), name="sharing")


def _hardware(rng: random.Random) -> Hardware:
    # Small amounts, large ones with a common unit, and large ones without: the solver is exact for all of them.
    unit = rng.choice([1, 1, 2**30, 10**12 + 39])
    odd = rng.choice([0, 0, 1])
    sets = tuple(
        CounterSet(
            name=f"set-{n}",
            counters={"memory": Amount(value=rng.randint(3, 9) * unit), "slots": Amount(value=rng.randint(1, 3))},
        )
        for n in range(rng.randint(1, 2))
    )
    roots = [f"pci0000:{n}0" for n in range(rng.randint(1, 3))]
    parts = [_partition(rng, n, roots, sets, unit, odd) for n in range(rng.randint(2, 5))]
    lists = rng.random() < 0.3
    nics = [_nic(rng, n, roots, lists=lists) for n in range(rng.randint(2, 4))]
    cpus = [_cpu(rng, n) for n in range(rng.choice([0, 2, 3, 3]))]
    return {GPU: (parts, sets), NIC: (nics, ()), CPU: (cpus, ())}


def _partition(rng: random.Random, n: int, roots: list[str], sets, unit: int, odd: int) -> Device:
    draws = tuple(
        DeviceCounterConsumption(
            counter_set=found.name,
            counters={"memory": Amount(value=rng.randint(1, 5) * unit + odd * rng.randint(0, 3))}
            | ({"slots": Amount(value=rng.randint(0, 1))} if rng.random() < 0.5 else {}),
        )
        for found in rng.sample(sets, rng.choice([0, 1, 1, 1, len(sets)]))
    )
    attributes = {"type": text("gpu"), ROOT: text(rng.choice(roots)), **random_tag(rng)}
    if rng.random() < 0.4:
        attributes[NUMA] = DeviceAttribute(int_=rng.randint(0, 1))
    shareable = rng.random() < 0.25
    return Device(
        name=f"gpu-{n}",
        attributes=attributes,
        consumes_counters=draws,
        capacity={SHARES: random_capacity(rng, rng.randint(1, 3))} if rng.random() < 0.4 else {},
        allow_multiple_allocations=True if shareable else None,
        taints=(DeviceTaint(key="bad", effect="NoSchedule"),) if rng.random() < 0.1 else (),
        binding_conditions=("ready",) if rng.random() < 0.1 else (),
    )


def _nic(rng: random.Random, n: int, roots: list[str], *, lists: bool) -> Device:
    attributes = {"dra.net/rdma": DeviceAttribute(bool_=rng.random() < 0.7), **random_tag(rng)}
    if lists and rng.random() < 0.5:
        attributes[ROOT] = DeviceAttribute(strings=tuple(rng.sample(roots, rng.randint(1, len(roots)))))
    elif rng.random() < 0.9:
        attributes[ROOT] = text(rng.choice(roots))
    return Device(name=f"nic-{n}", attributes=attributes)


def _cpu(rng: random.Random, n: int) -> Device:
    attributes = {NUMA: DeviceAttribute(int_=rng.randint(0, 1)), **random_tag(rng)}
    capacity = {CORES: random_capacity(rng, rng.choice([8, 16]))}
    if rng.random() < 0.3:
        capacity[SHARES] = random_capacity(rng, rng.randint(1, 3))
    return Device(
        name=f"cpu-{n}",
        attributes=attributes,
        capacity=capacity,
        allow_multiple_allocations=rng.choice([True, True, True, None]),
    )


def sharing_sketch(rng: random.Random, cluster: Cluster) -> ClaimSketch:
    """Make a claim of one to three requests with up to two links; pairs only where no root is a list."""
    requests = tuple(_request(rng, n) for n in range(rng.randint(1, 3)))
    names = [r.name for r in requests] + [f"{r.name}/{s.name}" for r in requests for s in r.first_available]
    published = [d.attributes.get(ROOT) for s in cluster.slices for d in s.spec.devices or ()]
    hows = list(How) if not any(a is not None and a.is_list for a in published) else [How.TOGETHER, How.APART]
    links: list[Link] = []
    for number in range(rng.choice([0, 1, 1, 2])):
        how = rng.choice(hows)
        tied = tuple(rng.sample(names, min(len(names), rng.randint(1, 3))))
        where = rng.choice(["pcieRoot", "numaNode", TAG, TAG])
        if how is How.PAIRWISE:
            tied = tuple({name.split("/")[0]: name for name in tied}.values())
            if len(tied) < 2 or where == TAG or any(link.how is How.PAIRWISE for link in links):
                continue
        links.append(Link(name=f"link-{number}", requests=tied, where=where, how=how, must=rng.random() < 0.5))
    return ClaimSketch(requests=requests, links=tuple(links))


def _request(rng: random.Random, number: int) -> DeviceRequest:
    name = f"r{number}"
    if rng.random() < 0.2:
        subs = tuple(DeviceSubRequest(name=f"s{n}", **_part(rng)) for n in range(2))
        return DeviceRequest(name=name, first_available=subs)
    admin = True if rng.random() < 0.25 else None
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(admin_access=admin, **_part(rng)))


def _part(rng: random.Random) -> dict[str, object]:
    driver = rng.choice([GPU, GPU, GPU, NIC, CPU, CPU])
    part: dict[str, object] = {"device_class_name": driver}
    if driver == NIC and rng.random() < 0.3:
        part["selectors"] = (selector(RDMA),)
    # Never more CPUs than each device has in all: larger requests may be split (authoring.expand).
    keys = {CPU: [CORES, CORES, CORES, SHARES], GPU: [SHARES], NIC: []}[driver]
    if keys and rng.random() < (0.8 if driver == CPU else 0.3):
        key = rng.choice(keys)
        most = {(CPU, CORES): 6, (CPU, SHARES): 1, (GPU, SHARES): 2}[driver, key]
        part["capacity"] = CapacityRequirements(requests={key: rng.randint(0, most)})
    if rng.random() < 0.12:
        part["allocation_mode"] = ALL
    else:
        part["count"] = rng.choice([1, 1, 1, 2, 2, 3])
    if rng.random() < 0.1:
        part["tolerations"] = (DeviceToleration(key="bad", operator="Exists"),)
    return part
