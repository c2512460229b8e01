"""Families of random fleets that are small enough to try everything: trees, pools that nodes share, partitions."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import structs
from msgspec.structs import replace
from random_clusters import TREES, Has, random_fleet, random_workloads, small_fleet, switches
from random_devices import CORES, CPU, FABRIC, GPU, NIC, RDMA, SHARES, TAG, TELLS, WIDE, device_class, selector
from small_nodes import a_slice, device

from dra_lab import ClaimSketch, Cluster, How, Link, Workload
from dra_lab.model.claims import ALL, CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.device import Counter, Device, DeviceCapacity, DeviceCounterConsumption
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.slices import CounterSet, ResourceSlice

Drawn = tuple[Cluster, tuple[Workload, ...]]

NUMA = "resource.kubernetes.io/numaNode"
PART = f"device.attributes['{GPU}'].part == '{{}}'"
TELLS |= {PART.format(part): lambda device, part=part: device.attributes["part"].string == part for part in "ab"}


def asked(name: str, driver: str, count: int = 1, *texts: str, **more) -> DeviceRequest:
    """Return an exact request with these selectors."""
    selectors = tuple(map(selector, texts))
    return DeviceRequest(name, ExactDeviceRequest(device_class_name=driver, count=count, selectors=selectors, **more))


def of_pods(rng: random.Random, claims: Iterable[ClaimSketch]) -> tuple[Workload, ...]:
    """Return a workload of one to four pods for each claim."""
    return tuple(Workload(f"w{at}", claim, replicas=rng.randint(1, 4)) for at, claim in enumerate(claims))


def seen_by_all(published: ResourceSlice) -> ResourceSlice:
    """Return a slice that every node sees."""
    return replace(published, spec=replace(published.spec, node_name=None, all_nodes=True))


# ---------------------------------------------------------------- nodes with all kinds of devices


def of_switches(rng: random.Random, number: int, *, has: Has) -> Drawn:
    """Draw nodes and pods with the rules of some switches."""
    cluster = small_fleet(rng, has)
    return cluster, random_workloads(rng, cluster, has - {"coupled"})


def of_trees(rng: random.Random, number: int, *, has: Has) -> Drawn:
    """Draw nodes that are trees of NUMA nodes and PCIe roots."""
    cluster = random_fleet(rng, rng.randint(1, 3), has)
    return cluster, random_workloads(rng, cluster, has)


def of_one_device(rng: random.Random, number: int, *, has: Has) -> Drawn:
    """Draw pods of which three in four ask for one device and no link, so that no pod has devices of two islands."""
    cluster, workloads = of_switches(rng, number, has=has)
    if number % 4 == 0:
        return cluster, workloads
    return cluster, tuple(Workload(w.name, map(_first_alone, w.claims), replicas=w.replicas) for w in workloads)


def _first_alone(sketch: ClaimSketch) -> ClaimSketch:
    first = sketch.requests[0]
    if first.exactly is not None:
        one = structs.replace(first, exactly=structs.replace(first.exactly, count=1, allocation_mode=""))
    else:
        subs = tuple(structs.replace(sub, count=1, allocation_mode="") for sub in first.first_available)
        one = structs.replace(first, first_available=subs)
    return structs.replace(sketch, requests=(one,), links=())


def with_special_requests(rng: random.Random, number: int, *, has: Has) -> Drawn:
    """Draw pods of which two in three have requests for all devices, or with admin access."""
    cluster, workloads = of_switches(rng, number, has=has)
    if number % 3 == 0:
        return cluster, workloads
    return cluster, tuple(_special(rng, workload, admin="admin" in has) for workload in workloads)


def _special(rng: random.Random, workload: Workload, *, admin: bool) -> Workload:
    requests = []
    for request in workload.claims[0].requests:
        part, chance = request.exactly, rng.random()
        if part is not None and part.device_class_name != CPU and chance < 0.3:
            part = replace(part, allocation_mode=ALL, count=0)
        elif part is not None and admin and chance < 0.8:
            part = replace(part, admin_access=True, device_class_name=NIC, capacity=None)
        requests.append(replace(request, exactly=part))
    return Workload(workload.name, replace(workload.claims[0], requests=tuple(requests)), replicas=workload.replicas)


# ---------------------------------------------------------------- pools that several nodes see


def of_one_pool(rng: random.Random, number: int) -> Drawn:
    """Draw two or three nodes whose GPUs or NICs are one pool of identical devices that all of them see."""
    cluster = random_fleet(rng, rng.randint(2, 3))
    driver = rng.choice(sorted({s.spec.driver for s in cluster.slices if s.spec.devices} & {GPU, NIC}))
    first = next(s for s in cluster.slices if s.spec.driver == driver and s.spec.devices)
    many = tuple(replace(first.spec.devices[0], name=f"far-{at}") for at in range(rng.randint(1, 5)))
    spec = replace(first.spec, pool=replace(first.spec.pool, name=FABRIC, resource_slice_count=1), devices=many)
    fabric = seen_by_all(replace(first, metadata=replace(first.metadata, name="far"), spec=spec))
    kept = tuple(s for s in cluster.slices if s.spec.driver != driver)
    cluster = dataclasses.replace(cluster, slices=(*kept, fabric))
    return cluster, random_workloads(rng, cluster, switches(sharing=False))


def pool_of_zones(devices: Iterable[tuple[Device, str]]) -> ResourceSlice:
    """Return the slice of a pool in which each device is seen by the nodes of its zone, or by all nodes."""
    mine = tuple(
        replace(one, node_selector=_in_zone(zone)) if zone else replace(one, all_nodes=True) for one, zone in devices
    )
    far = a_slice(NIC, *mine, node=FABRIC)
    return replace(far, spec=replace(far.spec, node_name=None, per_device_node_selection=True))


def _in_zone(zone: str) -> NodeSelector:
    there = NodeSelectorRequirement(key="zone", operator="In", values=(zone,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(there,)),))


def zoned(zones: dict[str, str], gpus: Iterable[int], far: Iterable[tuple[Device, str]]) -> Cluster:
    """Return nodes in zones with GPUs of their own, and a pool of NICs that zones or all nodes see."""
    nodes = tuple(Node(metadata=ObjectMeta(name=name, labels={"zone": zone})) for name, zone in zones.items())
    own = [
        a_slice(GPU, *(device(f"gpu-{at}", {"type": "gpu"}) for at in range(count)), node=name)
        for name, count in zip(zones, gpus, strict=True)
    ]
    return Cluster((*own, pool_of_zones(far)), tuple(map(device_class, (GPU, NIC))), nodes, name="zoned")


def of_zones(rng: random.Random, number: int) -> Drawn:
    """Draw nodes in two zones, NICs of two kinds that a zone or all nodes see, and pods that share them."""
    zones = {f"n{at}": rng.choice("ab") for at in range(rng.randint(2, 4))}
    far = [
        (device(f"nic-{at}", {"dra.net/rdma": rng.random() < 0.5}), rng.choice(["", "", "a", "b"]))
        for at in range(rng.randint(2, 6))
    ]
    cluster = zoned(zones, [rng.randint(1, 3) for _ in zones], far)
    return cluster, of_pods(rng, [_zoned_claim(rng) for _ in range(rng.choice([1, 2, 2, 3]))])


def _zoned_claim(rng: random.Random) -> ClaimSketch:
    requests = [
        asked(f"r{at}", NIC, rng.choice([1, 1, 2]), *([RDMA] if rng.random() < 0.5 else []))
        for at in range(rng.choice([1, 1, 2]))
    ]
    if rng.random() < 0.6:
        requests.append(asked("gpu", GPU))
    link = Link("near", tuple(request.name for request in requests), "numaNode", How.TOGETHER, must=False)
    return ClaimSketch("claim", tuple(requests), (link,) if rng.random() < 0.3 else ())


def of_own_and_far(rng: random.Random, number: int) -> Drawn:
    """Draw nodes with GPUs of their own, and a pool of such GPUs that all of them see, which sorts before or after."""

    def gpus(count: int) -> Iterable[Device]:
        return (device(f"gpu-{at}", {"type": "gpu", NUMA: rng.randint(0, 1)}) for at in range(count))

    names = rng.sample(("a", "e", "m", "z"), rng.randint(2, 4))
    own = [a_slice(GPU, *gpus(rng.choice([0, 1, 1, 2])), node=name) for name in names]
    far = seen_by_all(a_slice(GPU, *gpus(rng.randint(1, 3)), node=FABRIC))
    nodes = tuple(Node(metadata=ObjectMeta(name=name)) for name in sorted(names))
    link = Link("near", ("gpu",), "numaNode", How.TOGETHER, must=rng.random() < 0.5)
    claims = [
        ClaimSketch("claim", (asked("gpu", GPU, rng.choice([1, 1, 2])),), (link,) if rng.random() < 0.4 else ())
        for _ in range(rng.choice([1, 2, 2]))
    ]
    return Cluster((*own, far), (device_class(GPU),), nodes, name="own and far"), of_pods(rng, claims)


# ---------------------------------------------------------------- partitions and shares in a rack


def draws(counter_set: str, **amounts: int) -> DeviceCounterConsumption:
    """Return what a partition draws on counters."""
    counters = {name: Counter(value=value) for name, value in amounts.items()}
    return DeviceCounterConsumption(counter_set=counter_set, counters=counters)


def a_part(name: str, kind: str, *consumed: DeviceCounterConsumption) -> Device:
    """Return a partition of a kind."""
    tag = consumed[0].counter_set if consumed else "none"
    return device(name, {"type": "gpu", "part": kind, TAG: tag}, consumes_counters=consumed)


def a_rack(nodes: int, nics: int, parts: Iterable[Device], sets: tuple[CounterSet, ...] = (), driver=GPU) -> Cluster:
    """Return nodes with NICs of their own, and a pool of devices that all of them see."""
    far = seen_by_all(a_slice(driver, *parts, node=FABRIC, count=2 if sets else 1))
    own = [a_slice(NIC, *(device(f"nic-{at}") for at in range(nics)), node=f"n{number:02}") for number in range(nodes)]
    named = tuple(Node(metadata=ObjectMeta(name=f"n{number:02}")) for number in range(nodes))
    counters = replace(far.spec, devices=None, shared_counters=sets)
    declared = [replace(far, metadata=ObjectMeta(name="counters"), spec=counters)] if sets else []
    return Cluster((*own, far, *declared), tuple(map(device_class, (GPU, NIC, WIDE))), named, name="rack")


def of_partitions(rng: random.Random, number: int) -> Drawn:
    """Draw nodes before one or two GPUs, whose partitions draw on counters at random."""
    gpus, names = rng.randint(1, 2), ("memory", "slots")
    sets = tuple(
        CounterSet(f"gpu-{at}", {name: Counter(value=rng.randint(1, 4)) for name in names}) for at in range(gpus)
    )
    parts = []
    for at in range(rng.randint(2, 5)):
        own = rng.sample(range(gpus), rng.choice([0, 1, 1, 1, gpus]))
        consumed = (draws(f"gpu-{gpu}", memory=rng.randint(0, 2), slots=rng.randint(0, 1)) for gpu in own)
        parts.append(a_part(f"part-{at}", rng.choice("ab"), *consumed))
    cluster = a_rack(rng.randint(2, 3), rng.randint(1, 2), parts, sets)
    return cluster, of_pods(rng, [_partition_claim(rng) for _ in range(rng.choice([1, 2, 2]))])


def _partition_claim(rng: random.Random) -> ClaimSketch:
    links = (Link(name="apart", requests=("part",), where=TAG, how=How.APART),) if rng.random() < 0.2 else ()
    texts = rng.choice([(), (PART.format("a"),), (PART.format("b"),)])
    part = asked("part", GPU, rng.choice([1, 1, 2]), *texts)
    return ClaimSketch("claim", (part, asked("nic", NIC)) if rng.random() < 0.5 else (part,), links)


def of_shares(rng: random.Random, number: int) -> Drawn:
    """Draw nodes before devices with capacity to be shared, most of them identical, and pods that want shares."""
    sizes = [rng.randint(3, 8)] * rng.randint(1, 3) + [rng.randint(3, 8)] * rng.choice([0, 0, 1])
    slots = {SHARES: DeviceCapacity(value=2)} if rng.random() < 0.3 else {}
    stores = [
        device(
            f"store-{at}",
            {TAG: "a"},
            capacity={CORES: DeviceCapacity(value=size), **slots},
            allow_multiple_allocations=True,
        )
        for at, size in enumerate(sizes)
    ]
    driver = rng.choice([GPU, WIDE])
    cluster = a_rack(rng.randint(2, 3), rng.randint(1, 2), stores, driver=driver)
    return cluster, of_pods(rng, [_share_claim(rng, driver, slots=bool(slots)) for _ in range(rng.choice([1, 2, 2]))])


def _share_claim(rng: random.Random, driver: str, *, slots: bool) -> ClaimSketch:
    requests = []
    for at in range(rng.choice([1, 1, 1, 2])):
        wanted = {CORES: str(rng.randint(1, 5)), **({SHARES: "1"} if slots else {})}
        amounts = CapacityRequirements(requests=wanted)
        requests.append(asked(f"share-{at}", driver, rng.choice([1, 1, 1, 2]), capacity=amounts))
    if rng.random() < 0.5:
        requests.append(asked("nic", NIC))
    return ClaimSketch("claim", tuple(requests))


PLAIN, SHARED = switches(sharing=False), switches(sharing=True)
COUPLED, BOTH = switches(sharing=False, coupled=True), switches(sharing=True, coupled=True)

FAMILIES: dict[str, tuple[Callable[[random.Random, int], Drawn], int]] = {
    "plain": (partial(of_switches, has=PLAIN), 36),
    "shared": (partial(of_switches, has=SHARED), 36),
    "coupled": (partial(of_switches, has=COUPLED), 36),
    "coupled and shared": (partial(of_switches, has=BOTH), 36),
    "one device": (partial(of_one_device, has=PLAIN), 78),
    "one shared device": (partial(of_one_device, has=SHARED), 78),
    "special requests": (partial(with_special_requests, has=PLAIN), 60),
    "special shared requests": (partial(with_special_requests, has=SHARED), 60),
    "trees": (partial(of_trees, has=TREES), 240),
    "trees of kinds": (partial(of_trees, has=TREES | {"kinds"}), 120),
    "one pool": (of_one_pool, 60),
    "zones": (of_zones, 60),
    "own and far": (of_own_and_far, 60),
    "partitions": (of_partitions, 20),
    "shares": (of_shares, 20),
}
"""How a fleet of each family is drawn, and how many are compared with trying everything."""
