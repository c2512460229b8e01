"""Fleets whose nodes are trees of NUMA nodes and PCIe roots, against trying every allocation on every node."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from budgets import use_sizes
from exhaustive_fleets import ExhaustiveNode, TooLarge, best_fleet, hold_to
from exhaustive_plans import CPU, GPU, NIC, NUMA, ROOT, device_class
from exhaustive_plans import _holder as holder
from exhaustive_plans import _slice as published

from dra_lab.model.claims import CapacityRequirements, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.fleet import Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet import how_many_more, plan_fleet
from dra_lab.planner.fleet.plan_fleet import fleet_order
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.tree_states import tree_of

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_TREES", "60"))
STEP = 30
RELEASE = KubernetesRelease("1.36")
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",))


@pytest.fixture(autouse=True)
def _no_listed_ways(monkeypatch):
    """Small fleets are planned as trees too, though their ways could be listed."""
    monkeypatch.setattr("dra_lab.planner.fleet.search.is_listed", lambda fleet, sizes: False)


@pytest.mark.parametrize("block", range(-(-FLEETS // STEP)))
@pytest.mark.parametrize("listed", [True, False])
def test_fleet_of_trees_is_brute_force(block, listed, monkeypatch):
    """Every goal has the value that trying everything finds, proven, whether numbers are all listed or modelled."""
    if not listed:
        use_sizes(monkeypatch, tree_steps=0)
    compared = drawn = trees = 0
    while compared < STEP:
        drawn += 1
        seed = f"tree {listed} {block} {drawn}"
        rng = random.Random(seed)
        cluster, workloads = tree_cluster(rng), tree_workloads(rng)
        objective = "nodes" if drawn % 3 == 2 else "replicas"
        goals = ORDERS[drawn % len(ORDERS)]
        order = fleet_order(goals, objective)
        try:
            expected = best_fleet(cluster, workloads, order, version="1.36", all_placed=objective == "nodes")
        except TooLarge:
            continue
        compared += 1
        trees += tree_of(look_at(cluster, workloads, RELEASE, Budget())) is not None
        plan = plan_fleet(cluster, workloads, release=RELEASE, goals=goals, objective=objective, first_fit=False)
        hold_to(expected, plan, cluster, RELEASE, seed)
    assert trees > STEP // 2, "too few of the fleets are planned as trees"


def test_how_many_more_on_trees_is_brute_force():
    """As many pods fit on every node as trying everything finds, proven."""
    compared = 0
    for number in range(FLEETS):
        rng = random.Random(f"more {number}")
        cluster, workload = tree_cluster(rng), tree_workloads(rng)[0]
        try:
            nodes = [
                ExhaustiveNode(
                    cluster, [replace(workload, replicas=9)], node, ("roots",), sharing=False, version="1.36"
                )
                for node in cluster.node_names
            ]
        except TooLarge:
            continue
        compared += 1
        room = how_many_more(cluster, workload, release=RELEASE)
        expected = sum(max(counts[0] for (counts, *_) in node.best) for node in nodes)
        assert (room.count, room.bound) == (expected, expected), f"more {number}"
    assert compared > FLEETS // 2, "too many were too large to try everything"


def test_thousands_of_small_pods_fit_on_one_node():
    """Pods of a tenth of a CPU are counted and placed like others: as many as the CPUs of the node are tenths."""
    cores = [
        Device(
            name=f"cpu-{numa}",
            attributes={NUMA: DeviceAttribute(int_=numa)},
            capacity={"dra.cpu/cpu": DeviceCapacity(value=64)},
            allow_multiple_allocations=True,
        )
        for numa in range(2)
    ]
    cluster = Cluster(slices=(published(CPU, "n0", cores),), classes=(device_class(CPU),), name="small pods")
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": "100m"})
    request = DeviceRequest(name="cpu", exactly=ExactDeviceRequest(device_class_name=CPU, capacity=capacity))
    workload = Workload("small", ClaimSketch(name="claim", requests=(request,)), 2_000)
    room = how_many_more(cluster, workload, release=RELEASE)
    plan = plan_fleet(cluster, [workload], release=RELEASE, first_fit=False)
    assert (room.count, room.bound, len(plan.replicas)) == (1_280, 1_280, 1_280)
    assert plan.proven


def tree_cluster(rng: random.Random) -> Cluster:
    """Make one to three nodes of one or two NUMA nodes and up to three roots, with devices that are partly in use."""
    slices, claims = [], []
    for number in range(rng.randint(1, 3)):
        node = f"n{number}"
        numas = rng.randint(1, 2)
        roots = [(f"pci0000:{at}0", rng.randrange(numas)) for at in range(rng.randint(1, 3))]
        found = {
            driver: [_device(driver, name, at, rng.choice(roots)) for at in range(rng.randint(0, 4))]
            for driver, name in ((GPU, "gpu"), (NIC, "nic"))
        }
        if rng.random() < 0.5:
            found[CPU] = [
                Device(
                    name=f"cpu-{numa}",
                    attributes={NUMA: DeviceAttribute(int_=numa)},
                    capacity={"dra.cpu/cpu": DeviceCapacity(value=rng.choice([8, 16]))},
                    allow_multiple_allocations=True,
                )
                for numa in range(numas)
            ]
        for driver, devices in found.items():
            if devices:
                slices.append(published(driver, node, devices))
            for device in devices:
                if rng.random() < 0.2:
                    claims.append(holder(rng, len(claims), DeviceID(driver, node, device.name)))
    classes = tuple(map(device_class, (GPU, NIC, CPU)))
    return Cluster(slices=tuple(slices), classes=classes, claims=tuple(claims), name="trees")


def _device(driver: str, name: str, number: int, place: tuple[str, int]) -> Device:
    numa = "dra.net/numaNode" if driver == NIC else NUMA
    attributes = {ROOT: DeviceAttribute(string=place[0]), numa: DeviceAttribute(int_=place[1])}
    return Device(name=f"{name}-{number}", attributes=attributes)


def tree_workloads(rng: random.Random) -> tuple[Workload, ...]:
    """Make one to three kinds of pods: linked one to one, as numbered requests, together, preferred, or not at all."""
    found = []
    for number in range(rng.choice([1, 1, 2, 3])):
        claim = rng.choice([_drawn, _numbered, _alternatives])(rng)
        found.append(Workload(f"w{number}", (claim,), rng.randint(1, 4)))
    return tuple(found)


def _exactly(name: str, driver: str, count: int = 1) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count))


def _with_cpus(rng: random.Random) -> tuple[DeviceRequest, ...]:
    if rng.random() < 0.6:
        return ()
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": rng.choice([2, 5, 8])})
    return (DeviceRequest(name="cpu", exactly=ExactDeviceRequest(device_class_name=CPU, capacity=capacity)),)


def _drawn(rng: random.Random) -> ClaimSketch:
    gpus, nics = rng.choice([(1, 1), (2, 2), (2, 1), (1, 0), (2, 0), (1, 2), (3, 3)])
    requests = [_exactly("gpu", GPU, gpus), *([_exactly("nic", NIC, nics)] if nics else []), *_with_cpus(rng)]
    links = []
    ends = ("gpu", "nic") if nics else ("gpu",)
    if rng.random() < 0.7:
        how = (
            rng.choice([How.PAIRWISE, How.TOGETHER])
            if nics and max(gpus, nics) % min(gpus, nics) == 0
            else How.TOGETHER
        )
        links.append(Link(name="near", requests=ends, how=how, must=rng.random() < 0.7))
    if rng.random() < 0.4:
        every = tuple(request.name for request in requests)
        links.append(Link(name="numa", requests=every, where="numaNode", must=rng.random() < 0.6))
    return ClaimSketch(name="claim", requests=tuple(requests), links=tuple(links))


def _numbered(rng: random.Random) -> ClaimSketch:
    pairs, alone = rng.randint(1, 2), rng.random() < 0.3
    requests, links = [], []
    for at in range(pairs):
        requests += [_exactly(f"gpu-{at}", GPU), _exactly(f"nic-{at}", NIC)]
        links.append(Link(name=f"pair-{at}", requests=(f"gpu-{at}", f"nic-{at}")))
    if alone:
        requests.append(_exactly("more", GPU))
    return ClaimSketch(name="claim", requests=(*requests, *_with_cpus(rng)), links=tuple(links))


def _alternatives(rng: random.Random) -> ClaimSketch:
    first = DeviceSubRequest(name="two", device_class_name=GPU, count=2)
    second = DeviceSubRequest(name="one", device_class_name=rng.choice([GPU, NIC]), count=1)
    request = DeviceRequest(name="any", first_available=(first, second))
    return ClaimSketch(name="claim", requests=(request, *_with_cpus(rng)))
