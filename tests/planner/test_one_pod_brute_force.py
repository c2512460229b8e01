"""The plan of one pod, and whether each node fits, against trying every subset of devices, family by family.

`DRA_LAB_RANDOM_PLANS` multiplies the number of pods.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from brute_force import TooLarge
from brute_force_fleets import Damage, counted, proven
from checked_plans import checked_fleet, checked_plan
from kept_cases import kept_case
from msgspec.structs import replace as changed
from random_clusters import PLAIN, SHARING, random_cluster, random_fleet, random_sketch
from random_devices import CLASSES, GPU, NIC, NUMA, ROOT, TAG, device_class
from random_pods import Case, DrawnPod, a_case
from small_nodes import a_slice, cluster, device

from dra_lab import ClaimSketch, Cluster, How, KubernetesRelease, Link, Workload
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.goals import DAMAGE, goal_order
from dra_lab.model.headroom import NodeFit
from dra_lab.model.plan import PlanStatus
from dra_lab.model.sketch import asks

TIMES = int(os.environ.get("DRA_LAB_RANDOM_PLANS", "1"))
STEP = 10
ORDERS = ((), ("roots", "unpaired", "numa"), ("unpaired",), ("damage",), ("roots", "damage", "numa"))
OTHER = "fpga.example"
CLASSES |= {OTHER: (OTHER, ())}
Drawn = tuple[Cluster, ClaimSketch]
Values = dict[str, tuple[int, ...] | None]
"""The least values of the goals on every node, None for a node that does not fit."""


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


def one_claim(family: str, draw: Callable[[random.Random], Drawn]) -> Callable[[int], Case]:
    """Return what draws the pods of one claim of a family, each the same for its number."""

    def case(number: int) -> Case:
        found, sketch = draw(random.Random(f"{family} {number}"))
        gates = {"DRAListTypeAttributes": True} if family in ("shared devices", "partitions") else {}
        release = KubernetesRelease("1.37" if number % 2 else "1.36", gates)
        goals = ORDERS[number % len(ORDERS)] if family in ("one node", "many nodes") else ()
        return Case(found, DrawnPod({"claim": sketch}), release, goals)

    return case


ONE_CLAIM = {
    "one node": (of_one_node, 90),
    "many nodes": (of_many_nodes, 90),
    "shared devices": (of_shared_devices, 90),
    "partitions": (of_partitions, 60),
    "templates": (of_templates, 60),
}
FAMILIES: dict[str, tuple[Callable[[int], Case], int]] = {
    **{family: (one_claim(family, draw), count) for family, (draw, count) in ONE_CLAIM.items()},
    "all rules": (a_case, 2_000),
}
"""How a pod of each family is drawn, and how many are compared; one block of each runs in `make test`."""


def blocks(*families: str, step: int = STEP):
    """Return the blocks of some families."""
    return [
        pytest.param(family, block, marks=[pytest.mark.long] if block else [])
        for family in families
        for block in range(FAMILIES[family][1] * TIMES // step)
    ]


# ---------------------------------------------------------------- trying everything


def values_of(case: Case, order: tuple[str, ...]) -> Values:
    return {node: model.values_in(order) for node, model in case.models.items()}


def has_admin(case: Case) -> bool:
    """Say whether some request has admin access: such pods take nothing from others, and have no `damage`."""
    parts = [ask for sketch in case.drawn.claims.values() for request in sketch.requests for ask in asks(request)]
    return any(ask.admin_access for ask in parts)


def whole_values(case: Case, order: tuple[str, ...]) -> Values | None:
    """Return the values of all goals, `damage` where it stands in their order, None where there is too much to try."""
    if has_admin(case):
        return values_of(case, order)
    try:
        return {node: Damage(model, case.drawn.claims).values_in(order) for node, model in case.models.items()}
    except TooLarge:
        return None


def best_of(values: Values) -> tuple[int, ...] | None:
    return min((value for value in values.values() if value is not None), default=None)


# ---------------------------------------------------------------- the comparison


@pytest.mark.parametrize(("family", "block"), blocks(*FAMILIES))
def test_plan_is_brute_force(family, block):
    """Every goal of the devices has the value that trying everything finds, and each node fits as it says."""
    for number in range(block * STEP, (block + 1) * STEP):
        assert_brute_force(FAMILIES[family][0](number), f"{family} {number}")


def assert_brute_force(case: Case, seed: str) -> None:
    """Compare one pod on all nodes, now and with nothing in use."""
    found, claims = case.question
    goals = tuple(goal for goal in case.goals if goal != DAMAGE)
    order = tuple(goal for goal in goal_order(goals) if goal != DAMAGE)
    now, idle = (values_of(one, order) for one in (case, replace(case, cluster=replace(case.cluster, claims=()))))
    plan, best = checked_plan(found, claims, release=case.release, goals=goals), best_of(now)
    assert (counted(plan.goals) if plan.fits else None) == best, seed
    assert proven(plan), seed
    assert not plan.fits or now[plan.node] == best, seed
    # If a device plugin serves every node, no node is asked.
    assert plan.fits or plan.shortfalls or not now, seed
    for fit in plan.node_classes:
        for node in fit.members:
            worse = NodeFit.NO if now[node] is None else NodeFit.WORSE
            expected = NodeFit.BEST if best is not None and now[node] == best else worse
            assert (fit.verdict, fit.fits_idle) == (expected, idle[node] is not None), f"{seed} {node}"


@pytest.mark.parametrize(("family", "block"), blocks("one node", "many nodes", "all rules", step=10 * STEP))
def test_damage_is_brute_force(family, block):
    """Every goal, `damage` wherever it stands, has the value that trying all replicas finds, on the first best node."""
    for number in range(block * 10 * STEP, (block + 1) * 10 * STEP, 10):
        case, seed = FAMILIES[family][0](number + number // 10 % len(ORDERS)), f"{family} {number}"
        order = goal_order(case.goals)
        found, claims = case.question
        plan = checked_plan(found, claims, release=case.release, goals=case.goals)
        expected = whole_values(case, order)
        # Further replicas without an end cannot be tried out, nor proven.
        assert plan.proven == (expected is not None) or plan.goals[-1].goal == DAMAGE, seed
        if plan.proven and expected is not None:
            best = best_of(expected)
            assert (tuple(goal.value for goal in plan.goals) if plan.fits else None) == best, seed
            assert plan.node == min((n for n, value in expected.items() if best and value == best), default=""), seed


def test_a_gpu_that_two_requests_share_is_one_gpu_beside_a_nic():
    """The goal `unpaired` counts devices, not requests."""
    assert_brute_force(FAMILIES["shared devices"][0](358), "shared devices 358")


def test_counters_in_the_trillions_are_no_misfit():
    """Amounts that differ in the tenth place leave room for two devices: the solver once proved that they do not."""
    found, (pod,) = kept_case("mixed 7594")
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True, "DRADeviceTaintRules": True})
    claims = {sketch.name: sketch for sketch in pod.claims}
    assert checked_plan(found, claims, release=release, goals=("roots", "damage")).node == "n1"


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
        undecided = [node for fit in plan.node_classes if fit.verdict is NodeFit.UNKNOWN for node in fit.members]
        assert sorted(undecided) == sorted(found.node_names)
