"""Pools of differing devices that many nodes see, some only a zone: each node by itself, together what there is."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_of_pods, hold_to
from budgets import use_sizes
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_devices import FABRIC, GPU, NIC, RDMA, device_class, selector
from small_nodes import a_slice, device

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner.fleet import search
from dra_lab.planner.fleet.plan_fleet import fleet_order

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_POOLS", "60"))
"""How many random fleets are compared; more with the environment variable."""

RELEASE = KubernetesRelease("1.37")
ORDERS = ((), ("nodes",), ("unpaired", "nodes"))


def a_pool(devices):
    """Return the slice of a pool of which each device says itself who sees it."""
    far = a_slice(NIC, *devices, node=FABRIC)
    return replace(far, spec=replace(far.spec, node_name=None, per_device_node_selection=True))


def of_zone(made, zone: str):
    """Return a device that the nodes of a zone see, of all zones where none is named."""
    if not zone:
        return replace(made, all_nodes=True)
    there = NodeSelectorRequirement(key="zone", operator="In", values=(zone,))
    terms = (NodeSelectorTerm(match_expressions=(there,)),)
    return replace(made, node_selector=NodeSelector(node_selector_terms=terms))


def a_zoned_fleet(rng: random.Random) -> Cluster:
    """Make nodes in two zones with GPUs of their own, and NICs of two kinds that a zone sees or all nodes see."""
    names = [f"n{number}" for number in range(rng.randint(2, 4))]
    zones = {name: rng.choice("ab") for name in names}
    nodes = tuple(Node(metadata=ObjectMeta(name=name, labels={"zone": zones[name]})) for name in names)
    own = [
        a_slice(GPU, *(device(f"gpu-{at}", {"type": "gpu"}) for at in range(rng.randint(1, 3))), node=name)
        for name in names
    ]
    far = [
        of_zone(device(f"nic-{at}", {"dra.net/rdma": rng.random() < 0.5}), rng.choice(["", "", "a", "b"]))
        for at in range(rng.randint(2, 6))
    ]
    return Cluster((*own, a_pool(far)), (device_class(GPU), device_class(NIC)), nodes, name="zoned")


def a_claim(rng: random.Random) -> ClaimSketch:
    """Draw one or two requests for shared NICs, of one kind or of any, and now and then one for a GPU."""
    requests = []
    for number in range(rng.choice([1, 1, 2])):
        selectors = (selector(RDMA),) if rng.random() < 0.5 else ()
        part = ExactDeviceRequest(device_class_name=NIC, count=rng.choice([1, 1, 2]), selectors=selectors)
        requests.append(DeviceRequest(name=f"r{number}", exactly=part))
    if rng.random() < 0.6:
        requests.append(DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name=GPU, count=1)))
    tied = tuple(request.name for request in requests)
    links = (Link(name="near", requests=tied, where="numaNode", how=How.TOGETHER),) if rng.random() < 0.3 else ()
    return ClaimSketch("claim", tuple(requests), tuple(replace(link, must=False) for link in links))


@pytest.fixture
def capped(monkeypatch):
    """Count the fleets of which nodes were taken apart, and those with devices that differ or are seen by some."""
    counts, first = Counter(), search.apart

    def apart(fleet, sites, limits):
        found = first(fleet, sites, limits)
        counts["together"] += any(site.nodes for site in found)
        rows = {cap.devices for site in found for cap in site.caps}
        counts["several"] += len(rows) > 1
        counts["overlapping"] += any(set(one) & set(other) for one in rows for other in rows if one != other)
        return found

    use_sizes(monkeypatch, sharing=0)
    monkeypatch.setattr(search, "apart", apart)
    return counts


def test_fleets_on_pools_of_kinds_are_brute_force(capped):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    compared = drawn = 0
    while compared < FLEETS or capped["overlapping"] < FLEETS / 4:
        drawn += 1
        compared += is_brute_force(f"kinds {drawn}", drawn)
        assert drawn < 6 * FLEETS, "too few fleets that can be tried were drawn"


def is_brute_force(seed: str, number: int) -> bool:
    """Compare one fleet; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster = a_zoned_fleet(rng)
    workloads = [Workload(f"w{at}", (a_claim(rng),), rng.randint(1, 4)) for at in range(rng.choice([1, 2, 2, 3]))]
    objective = "nodes" if number % 4 == 3 else "replicas"
    goals = ORDERS[number % len(ORDERS)]
    order, replicas = fleet_order(goals, objective), tuple(one.replicas for one in workloads)
    claims = [{"claim": one.claims[0]} for one in workloads]
    try:
        expected = best_of_pods(cluster, claims, replicas, order, RELEASE, all_placed=objective == "nodes")
    except TooLarge:
        return False
    plan = checked_fleet(cluster, workloads, release=RELEASE, goals=goals, objective=objective, first_fit=False)
    hold_to(expected, plan, seed)
    return True


def test_racks_within_a_zone_are_planned_to_the_proof(capped):
    """On 60 nodes in six zones, pods that accept any device leave those of one kind to pods that need that kind."""
    names = [f"n{number:02}" for number in range(60)]
    nodes = tuple(Node(metadata=ObjectMeta(name=n, labels={"zone": f"z{int(n[1:]) % 6}"})) for n in names)
    own = [a_slice(GPU, device("gpu-0", {"type": "gpu"}), node=name) for name in names]
    far = [of_zone(device(f"zone-{at}", {"dra.net/rdma": False}), f"z{at % 6}") for at in range(24)]
    far += [of_zone(device(f"all-{at}", {"dra.net/rdma": at % 2 == 0}), "") for at in range(20)]
    cluster = Cluster((*own, a_pool(far)), (device_class(GPU), device_class(NIC)), nodes, name="zones")
    any_nic = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name=NIC, count=1))
    rdma = replace(any_nic, exactly=replace(any_nic.exactly, selectors=(selector(RDMA),)))
    gpu = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name=GPU, count=1))
    workloads = [Workload("any", (ClaimSketch(requests=(any_nic, gpu)),), 34)]
    workloads.append(Workload("rdma", (ClaimSketch(requests=(rdma, gpu)),), 20))
    plan = checked_fleet(cluster, workloads, release=RELEASE, first_fit=False)
    assert capped["together"] == 1
    # 34 others take all that are not RDMA, and 10 of 20 have one of the 10 that are
    assert (len(plan.replicas), plan.proven) == (44, True)


def ten_racks() -> tuple[Cluster, list[Workload]]:
    """Make 100 nodes in ten racks, two NICs that each rack sees and 15 that all see; and more pods than there are."""
    names = [f"n{number:03}" for number in range(100)]
    nodes = tuple(Node(metadata=ObjectMeta(name=n, labels={"zone": f"z{int(n[1:]) % 10}"})) for n in names)
    own = [a_slice(GPU, device("gpu-0", {"type": "gpu"}), node=name) for name in names]
    far = [of_zone(device(f"rack-{at}", {"dra.net/rdma": False}), f"z{at % 10}") for at in range(20)]
    far += [of_zone(device(f"all-{at}", {"dra.net/rdma": at < 8}), "") for at in range(15)]
    any_nic = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name=NIC, count=1))
    rdma = replace(any_nic, exactly=replace(any_nic.exactly, selectors=(selector(RDMA),)))
    gpu = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name=GPU, count=1))
    workloads = [Workload("any", (ClaimSketch(requests=(any_nic, gpu)),), 30)]
    workloads.append(Workload("rdma", (ClaimSketch(requests=(rdma, gpu)),), 20))
    return Cluster((*own, a_pool(far)), (device_class(GPU), device_class(NIC)), nodes, name="racks"), workloads


def test_racks_that_overlap_are_planned_to_the_proof(capped):
    """Nodes of ten racks that share devices with their own rack and with all others are planned in one model."""
    cluster, workloads = ten_racks()
    plan = checked_fleet(cluster, workloads, release=RELEASE, first_fit=False)
    # as many as there are devices: 27 others take all that are not RDMA, and 8 of 20 the 8 that are
    assert (len(plan.replicas), plan.proven) == (35, True)
    assert capped["together"] == 1
