"""The plan of one claim, and whether each node fits, against trying every subset of devices, family by family.

With all rules mixed, and several claims a pod, they are compared in `test_all_rules_mixed`.
`DRA_LAB_RANDOM_PLANS` multiplies the number of claims.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from brute_force import BruteForce, TooLarge
from brute_force_fleets import ENDLESS, counted, proven
from checked_plans import checked_fleet, checked_plan
from msgspec.structs import replace as changed
from random_clusters import PLAIN, SHARING, random_cluster, random_fleet, random_sketch
from random_devices import CLASSES, GPU, NIC, NUMA, ROOT, TAG, device_class
from small_nodes import a_slice, cluster, device

from dra_lab import ClaimSketch, Cluster, How, KubernetesRelease, Link, Workload
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.goals import goal_order
from dra_lab.model.headroom import NodeFit
from dra_lab.model.plan import PlanStatus

TIMES = int(os.environ.get("DRA_LAB_RANDOM_PLANS", "1"))
STEP = 10
ORDERS = ((), ("roots", "unpaired", "numa"), ("unpaired",))
OTHER = "fpga.example"
CLASSES |= {OTHER: (OTHER, ())}
Drawn = tuple[Cluster, ClaimSketch]


def of_one_node(rng: random.Random) -> Drawn:
    """Draw a claim for one node."""
    return random_cluster(rng), random_sketch(rng)


def of_many_nodes(rng: random.Random) -> Drawn:
    """Draw a claim for five nodes of two kinds."""
    return random_fleet(rng), random_sketch(rng)


def of_shared_devices(rng: random.Random) -> Drawn:
    """Draw a claim with shares, capacity, lists and everything else that claims may ask for."""
    found = random_fleet(rng, 5, SHARING)
    return found, random_sketch(rng, SHARING, found)


def of_partitions(rng: random.Random) -> Drawn:
    """Draw partitions that draw on counters, one claim each, and requests for one to three of them or a NIC."""
    found = random_fleet(rng, 6, SHARING)
    claims = tuple(c for c in found.claims if not c.status.allocation.devices.results[0].share_id)
    slices = []
    for published in found.slices:
        devices = published.spec.devices
        alone = devices and tuple(changed(one, allow_multiple_allocations=None) for one in devices)
        slices.append(changed(published, spec=changed(published.spec, devices=alone)))
    drivers = [GPU] * rng.randint(1, 2) + [NIC] * rng.randint(0, 1)
    sketch = ClaimSketch(requests=tuple(asked(f"r{at}", one, rng.randint(1, 3)) for at, one in enumerate(drivers)))
    return replace(found, slices=tuple(slices), claims=claims), sketch


def of_templates(rng: random.Random) -> Drawn:
    """Draw one unit several times under numbered names, with links inside each and over all."""
    parts = [(driver, rng.choice([1, 1, 1, 2])) for driver in rng.sample((GPU, NIC, OTHER), rng.choice([1, 2, 2]))]
    inside = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        ends = tuple(rng.sample(range(len(parts)), rng.randint(1, len(parts))))
        how = rng.choice([How.TOGETHER, How.TOGETHER, How.PAIRWISE, How.APART])
        if how is not How.PAIRWISE or len(ends) > 1:
            inside.append((ends, rng.choice(["pcieRoot", "numaNode", TAG]), how, rng.random() < 0.6))
    requests, links = [], []
    for copy in range(rng.randint(2, 3)):
        requests += [asked(f"{driver[:3]}-{copy}", driver, count) for driver, count in parts]
        for number, (ends, where, how, must) in enumerate(inside):
            tied = tuple(f"{parts[end][0][:3]}-{copy}" for end in ends)
            links.append(Link(f"l{number}-{copy}", tied, where, how, must))
    names = tuple(request.name for request in requests if rng.random() < 0.9)
    if names and rng.random() < 0.4:
        where, how = rng.choice(["numaNode", TAG]), rng.choice([How.TOGETHER, How.APART])
        links.append(Link("all", names, where, how, rng.random() < 0.4))
    return _placed_at_random(rng), ClaimSketch(requests=tuple(requests), links=tuple(links))


def _placed_at_random(rng: random.Random) -> Cluster:
    roots = [f"pci0000:{n}0" for n in range(rng.randint(1, 4))]
    chances = {ROOT: (0.9, roots), NUMA: (0.8, [0, 1]), TAG: (0.7, ["a", "b"])}

    def placed(name: str):
        return device(
            name, {at: rng.choice(values) for at, (chance, values) in chances.items() if rng.random() < chance}
        )

    drivers = (GPU, NIC, OTHER)
    slices = [a_slice(driver, *(placed(f"{driver[0]}{n}") for n in range(rng.randint(2, 4)))) for driver in drivers]
    return cluster(*slices, classes=tuple(map(device_class, drivers)))


def asked(name: str, driver: str, count: int) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count))


FAMILIES: dict[str, tuple[Callable[[random.Random], Drawn], int]] = {
    "one node": (of_one_node, 90),
    "many nodes": (of_many_nodes, 90),
    "shared devices": (of_shared_devices, 90),
    "partitions": (of_partitions, 60),
    "templates": (of_templates, 60),
}
BLOCKS = [
    pytest.param(family, block, marks=[pytest.mark.long] if block else [])
    for family, (_, count) in FAMILIES.items()
    for block in range(count * TIMES // STEP)
]


@pytest.mark.parametrize(("family", "block"), BLOCKS)
def test_plan_is_brute_force(family, block):
    """Every goal has the value that trying everything finds, and each node fits as it says, now and idle."""
    compared = 0
    for number in range(block * STEP, 4 * STEP + block * STEP):
        compared += is_brute_force(family, f"{family} {number}", number)
        if compared == STEP:
            return
    raise AssertionError("too many claims were too large to try everything")


def is_brute_force(family: str, seed: str, number: int) -> bool:
    """Compare one claim; say whether everything could be tried."""
    found, sketch = FAMILIES[family][0](random.Random(seed))
    goals = ORDERS[number % len(ORDERS)] if family == "one node" else ()
    gates = {"DRAListTypeAttributes": True} if family in ("shared devices", "partitions") else {}
    release = KubernetesRelease("1.37" if number % 2 else "1.36", gates)
    try:
        now, idle = (values(here, sketch, goals, release) for here in (found, replace(found, claims=())))
    except TooLarge:
        return False
    plan = checked_plan(found, sketch, release=release, goals=goals)
    best = min((value for value in now.values() if value is not None), default=None)
    assert (counted(plan.goals) if plan.fits else None) == best, seed
    assert proven(plan), seed
    assert plan.fits or plan.shortfalls, seed
    for node_class in plan.node_classes:
        for node in node_class.nodes:
            worse = NodeFit.NO if now[node] is None else NodeFit.WORSE
            expected = NodeFit.BEST if best is not None and now[node] == best else worse
            assert (node_class.fit, node_class.fits_idle) == (expected, idle[node] is not None), f"{seed} {node}"
    assert not plan.fits or now[plan.node] == best, seed
    return True


def values(found: Cluster, sketch: ClaimSketch, goals: tuple[str, ...], release: KubernetesRelease):
    """Return the best values of every node, None for a node that does not fit."""
    models = {node: BruteForce(found, sketch, node, release, most=ENDLESS) for node in found.node_names}
    return {node: model.values_in(goal_order(goals)) for node, model in models.items()}


def test_a_gpu_that_two_requests_share_is_one_gpu_beside_a_nic():
    """The goal `unpaired` counts devices, not requests."""
    assert is_brute_force("shared devices", "shared devices 358", 358)


@pytest.mark.parametrize("block", range(6))
def test_a_preference_never_stops_a_claim(block):
    """A claim that fits without its preferred links fits with them."""
    for number in range(5):
        rng = random.Random(f"preferred {block} {number}")
        found, sketch = random_cluster(rng, PLAIN), random_sketch(rng)
        preferred = changed(sketch, links=tuple(changed(link, must=False) for link in sketch.links))
        without = checked_plan(found, changed(sketch, links=()), release="1.36")
        assert checked_plan(found, preferred, release="1.36").fits == without.fits, number


@pytest.mark.parametrize("places", [{ROOT: "pci0000:10"}, {ROOT: "pci0000:10", NUMA: 0}])
def test_a_place_is_one_whatever_else_its_devices_publish(places):
    """Two devices of one PCIe root are on one root if only one of them publishes the place of a preferred link."""
    devices = (device("g0", {**places, TAG: "a"}), device("g1", places))
    found = cluster(a_slice(GPU, *devices), classes=(device_class(GPU),))
    link = Link("near", ("gpu",), TAG, How.TOGETHER, must=False)
    plan = checked_plan(found, ClaimSketch(requests=(asked("gpu", GPU, 2),), links=(link,)))
    assert (plan.goal("roots").value, plan.goal("preferences").value) == (1, 1)


@pytest.mark.parametrize("tagged", [GPU, NIC])
def test_a_device_keeps_no_preferred_link_whose_place_it_does_not_publish(tagged):
    """It is lost although the other device of the pair, which publishes it, is on the same PCIe root."""
    found = cluster(
        *(
            a_slice(driver, device("d0", {ROOT: "pci0000:10", **({TAG: "a"} if driver == tagged else {})}))
            for driver in (GPU, NIC)
        ),
        classes=(device_class(GPU), device_class(NIC)),
    )
    link = Link("near", ("gpu", "nic"), TAG, How.PAIRWISE, must=False)
    claim = ClaimSketch(requests=(asked("gpu", GPU, 1), asked("nic", NIC, 1)), links=(link,))
    plan, fleet = checked_plan(found, claim), checked_fleet(found, [Workload("w", (claim,))])
    assert (plan.goal("roots").value, plan.goal("preferences").value) == (1, 1)
    assert [goal.value for goal in fleet.goals if goal.goal in ("roots", "preferences")] == [1, 1]


def test_without_time_nothing_is_claimed():
    """Without an allocation, a misfit or a proof, each node is reported as not decided."""
    for seed in range(5):
        found, sketch = of_many_nodes(random.Random(f"no time {seed}"))
        plan = checked_plan(found, sketch, release="1.36", time_limit=1e-9)
        assert (plan.status, plan.placements, plan.shortfalls, plan.proven) == (PlanStatus.STOPPED, (), (), False)
        undecided = [node for c in plan.node_classes if c.fit is NodeFit.UNKNOWN for node in c.nodes]
        assert sorted(undecided) == sorted(found.node_names)
