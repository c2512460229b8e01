"""A template that numbers its requests is planned as the drawing that asks for the same at once."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_fleet, checked_plan
from random_devices import GPU, NIC, NUMA, ROOT, device_class
from small_nodes import a_slice, cluster, device

from dra_lab import ClaimSketch, Cluster, How, Link, Workload
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.goals import DAMAGE


def a_request(name: str, driver: str, count: int = 1) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count))


def numbered(pairs: int, *, must: bool) -> ClaimSketch:
    """Write pairs of a GPU and a NIC as numbered requests, each pair on one PCIe root."""
    requests, links = [], []
    for n in range(pairs):
        requests += [a_request(f"gpu-{n}", GPU), a_request(f"nic-{n}", NIC)]
        links.append(Link(name=f"pair-{n}", requests=(f"gpu-{n}", f"nic-{n}"), must=must))
    return ClaimSketch(requests=tuple(requests), links=tuple(links))


def drawn(pairs: int, *, must: bool) -> ClaimSketch:
    """Draw the same as two requests that are paired."""
    link = Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE, must=must)
    return ClaimSketch(requests=(a_request("gpu", GPU, pairs), a_request("nic", NIC, pairs)), links=(link,))


def irregular(rng: random.Random, nodes: int, size: int) -> Cluster:
    """Make nodes with two GPUs and two NICs at each PCIe root, of which some are not there."""
    slices = []
    for node in range(nodes):
        places = [{ROOT: f"pci0000:{n // 2:02d}", NUMA: 2 * n // size} for n in range(size)]
        for driver, name in ((GPU, "gpu"), (NIC, "nic")):
            devices = [device(f"{name}-{n}", place) for n, place in enumerate(places) if rng.random() < 0.7]
            slices.append(a_slice(driver, *devices, node=f"n{node}"))
    return cluster(*slices, classes=(device_class(GPU), device_class(NIC)))


@pytest.mark.some(2)
@pytest.mark.parametrize("must", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_fleet_of_templates_has_the_goals_of_its_drawing(seed, must):
    """Replicas, links, places and nodes are the same, and as far proven."""
    rng = random.Random(f"numbered fleet {seed}")
    nodes, pairs = irregular(rng, 5, 8), rng.randint(1, 3)
    plans = [checked_fleet(nodes, [Workload("w", what(pairs, must=must), replicas=8)]) for what in (numbered, drawn)]
    first, second = ([(goal.goal, goal.value, goal.proven) for goal in plan.goals] for plan in plans)
    assert first == second


@pytest.mark.some(2)
@pytest.mark.parametrize("must", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_a_template_has_the_goals_of_its_drawing(seed, must):
    """One claim as numbered requests has the values and proofs of the claim that is drawn at once."""
    rng = random.Random(f"numbered claim {seed}")
    nodes, pairs = irregular(rng, 3, 8), rng.randint(2, 4)
    plans = [checked_plan(nodes, what(pairs, must=must)) for what in (numbered, drawn)]
    first, second = (
        (plan.node, [(goal.goal, goal.value, goal.proven) for goal in plan.goals if goal.goal != DAMAGE])
        for plan in plans
    )
    assert first == second


def test_each_numbered_request_gets_its_own_device():
    """Answers name the requests as they are written, each with a partner on its PCIe root."""
    nodes = irregular(random.Random("numbered devices"), 3, 16)
    plan = checked_plan(nodes, numbered(4, must=True))
    assert [placement.request for placement in plan.placements] == [
        f"{k}-{n}" for n in range(4) for k in ("gpu", "nic")
    ]
