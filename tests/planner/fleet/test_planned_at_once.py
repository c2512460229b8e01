"""Nodes that share devices, too many to list: one model for all of them, proven, whatever the rules are."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from itertools import count, product

import pytest
from brute_force import TooLarge
from brute_force_fleets import hold_to
from brute_force_questions import SO_MANY, most_pods
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_clusters import random_sketch, small_fleet, switches
from random_devices import CORES, FABRIC, GPU, NIC, SHARES, TAG, TELLS, WIDE, device_class, selector
from random_pods import DrawnPod, FleetCase, a_fleet_case
from small_nodes import a_slice, device

from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Counter, DeviceCapacity, DeviceCounterConsumption
from dra_lab.model.fleet import Workload
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import CounterSet
from dra_lab.planner.budget import Sizes
from dra_lab.planner.fleet import by_option, how_many_more, most, search
from dra_lab.planner.fleet.supplies import largest_vectors

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_AT_ONCE", "20"))
"""How many random fleets are compared in each test; more with the environment variable."""

RELEASE = KubernetesRelease("1.37")
ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"))
OF = f"device.attributes['{GPU}'].part == '{{}}'"
TELLS |= {OF.format(part): lambda device, part=part: device.attributes["part"].string == part for part in "ab"}
SHAPES = {"1g": [(at, 1) for at in range(7)], "2g": [(0, 2), (2, 2), (4, 2)], "3g": [(0, 4), (4, 4)]}
"""Partitions of a GPU of eight memory slices: where they begin, and how many they take."""


@pytest.fixture(params=["ways", "copies"])
def at_once(request, monkeypatch):
    """Have all nodes that share devices planned at once, one way or the other; count how often they are."""
    made = []
    first = by_option.by_option_or_copy

    def recorded(*given):
        made.append(first(*given))
        return made[-1]

    monkeypatch.setattr(by_option, "by_option_or_copy", recorded)
    monkeypatch.setattr(search, "apart", lambda fleet, sites, limits, **_: list(sites))
    if request.param == "copies":
        for headroom in (by_option, most):
            monkeypatch.setattr(headroom, "by_option", lambda *_: None)
    return made


def draws(counter_set: str, **amounts: int) -> DeviceCounterConsumption:
    counters = {name: Counter(value=value) for name, value in amounts.items()}
    return DeviceCounterConsumption(counter_set=counter_set, counters=counters)


def a_part(name: str, profile: str, *consumed: DeviceCounterConsumption, **more):
    return device(
        name,
        {"type": "gpu", "part": profile, TAG: consumed[0].counter_set if consumed else "none"},
        consumes_counters=consumed,
        **more,
    )


def a_rack(nodes: int, nics: int, sets: tuple[CounterSet, ...], parts, driver: str = GPU) -> Cluster:
    """Make nodes with NICs of their own, and a pool of devices that all of them see."""
    far = a_slice(driver, *parts, node=FABRIC, count=2 if sets else 1)
    far = replace(far, spec=replace(far.spec, node_name=None, all_nodes=True))
    own = [a_slice(NIC, *(device(f"nic-{at}") for at in range(nics)), node=f"n{number:02}") for number in range(nodes)]
    named = tuple(Node(metadata=ObjectMeta(name=f"n{number:02}")) for number in range(nodes))
    counters = replace(far.spec, devices=None, shared_counters=sets)
    declared = [replace(far, metadata=ObjectMeta(name="counters"), spec=counters)] if sets else []
    return Cluster((*own, far, *declared), tuple(map(device_class, (GPU, NIC, WIDE))), named, name="rack")


def a_random_rack(rng: random.Random) -> Cluster:
    """Make two or three nodes before one or two GPUs, whose partitions draw on counters at random."""
    gpus = rng.randint(1, 2)
    names = ("memory", "slots")
    sets = tuple(
        CounterSet(f"gpu-{number}", {name: Counter(value=rng.randint(1, 4)) for name in names})
        for number in range(gpus)
    )
    parts = [
        a_part(
            f"part-{number}",
            rng.choice("ab"),
            *(draws(f"gpu-{at}", memory=rng.randint(0, 2), slots=rng.randint(0, 1)) for at in own),
        )
        for number in range(rng.randint(2, 5))
        for own in [rng.sample(range(gpus), rng.choice([0, 1, 1, 1, gpus]))]
    ]
    return a_rack(rng.randint(2, 3), rng.randint(1, 2), sets, parts)


def a_job(expression: str = "", many: int = 1, *, nic: bool = False, links: tuple[Link, ...] = ()) -> ClaimSketch:
    """Draw a claim for partitions that an expression selects, or any, and a NIC."""
    part = ExactDeviceRequest(
        device_class_name=GPU, count=many, selectors=(selector(expression),) if expression else ()
    )
    near = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name=NIC, count=1))
    requests = (DeviceRequest(name="part", exactly=part), *([near] if nic else []))
    return ClaimSketch("claim", requests, links)


def a_random_job(rng: random.Random) -> ClaimSketch:
    links = (Link(name="apart", requests=("part",), where=TAG, how=How.APART),) if rng.random() < 0.2 else ()
    wanted = rng.choice(["", OF.format("a"), OF.format("b")]), rng.choice([1, 1, 2])
    return a_job(*wanted, nic=rng.random() < 0.5, links=links)


def is_brute_force(case: FleetCase, best: tuple[int, ...] | None, seed: str) -> None:
    """Plan a fleet, and hold the plan to the best values."""
    plan = checked_fleet(
        case.cluster, case.workloads, release=case.release, goals=case.goals, objective=case.objective, first_fit=False
    )
    hold_to(best, plan, seed)


def compared(at_once, kind: str, draw: Callable[[random.Random], tuple[Cluster, list[ClaimSketch]]]) -> None:
    """Compare random fleets of a kind, until enough could be tried in which nodes were planned at once."""
    done = drawn = 0
    while done < FLEETS:
        drawn += 1
        rng = random.Random(f"{kind} {drawn}")
        cluster, jobs = draw(rng)
        replicas = tuple(rng.randint(1, 3) for _ in jobs)
        objective = "nodes" if drawn % 3 == 2 else "replicas"
        pods = tuple(DrawnPod({"claim": job}) for job in jobs)
        case = FleetCase(cluster, pods, replicas, RELEASE, ORDERS[drawn % len(ORDERS)], objective)
        try:
            best = case.best()
        except TooLarge:
            continue
        at_once.clear()
        is_brute_force(case, best, f"{kind} {drawn}")
        done += any(at_once)
        assert drawn < 10 * FLEETS, "too few fleets that can be tried were drawn"


def test_partitions_of_a_rack_are_brute_force(at_once):
    """On partitions that many nodes see every goal has the value of trying everything, proven; plans keep all rules."""
    compared(
        at_once,
        "rack",
        lambda rng: (a_random_rack(rng), [a_random_job(rng) for _ in range(rng.choice([1, 2, 2]))]),
    )


def a_random_store(rng: random.Random) -> tuple[Cluster, list[ClaimSketch]]:
    """Make nodes before devices with capacity to be shared, most of them equal, and pods that want shares of them."""
    sizes = [rng.randint(3, 8)] * rng.randint(1, 3) + [rng.randint(3, 8)] * rng.choice([0, 0, 1])
    stores = [
        device(
            f"store-{at}",
            {TAG: "a"},
            capacity={CORES: DeviceCapacity(value=size), **({SHARES: DeviceCapacity(value=2)} if slots else {})},
            allow_multiple_allocations=True,
        )
        for slots in [rng.random() < 0.3]
        for at, size in enumerate(sizes)
    ]
    driver = rng.choice([GPU, WIDE])
    slots = SHARES in stores[0].capacity
    jobs = [a_share(rng, driver, slots=slots) for _ in range(rng.choice([1, 2, 2]))]
    return a_rack(rng.randint(2, 3), rng.randint(1, 2), (), stores, driver), jobs


def a_share(rng: random.Random, driver: str, *, slots: bool) -> ClaimSketch:
    """Draw a claim for one or two shares, and now and then a NIC."""
    requests = []
    for at in range(rng.choice([1, 1, 1, 2])):
        wanted = {CORES: str(rng.randint(1, 5)), **({SHARES: "1"} if slots else {})}
        amounts = CapacityRequirements(requests=wanted)
        part = ExactDeviceRequest(device_class_name=driver, count=rng.choice([1, 1, 1, 2]), capacity=amounts)
        requests.append(DeviceRequest(name=f"share-{at}", exactly=part))
    if rng.random() < 0.5:
        requests.append(DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name=NIC, count=1)))
    return ClaimSketch("claim", tuple(requests), ())


def test_shares_of_a_pool_are_brute_force(at_once):
    """On devices that pods of many nodes share every goal has the value of trying everything, and is proven."""
    compared(at_once, "store", a_random_store)


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "first", [1_000, *(pytest.param(1_000 + n * FLEETS, marks=pytest.mark.long) for n in range(1, 6))]
)
def test_all_rules_at_once_are_brute_force(at_once, first):
    """With all rules mixed every goal has the value of trying everything, proven; plans keep all rules."""
    for number in range(first, first + FLEETS):
        is_brute_force(*a_fleet_case(number), f"fleet {number}")
    assert sum(map(bool, at_once)) > FLEETS / 8


@pytest.mark.parametrize("sharing", [False, True])
def test_how_many_more_at_once_is_brute_force(at_once, sharing):
    """The number of pods on nodes that share devices is what trying everything finds, proven."""
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True} if sharing else {})
    done = drawn = 0
    while done < FLEETS // 4:
        drawn += 1
        rng = random.Random(f"room at once {drawn}")
        cluster = small_fleet(rng, switches(sharing=sharing, coupled=True))
        sketch = random_sketch(rng, switches(sharing=sharing), cluster)
        try:
            expected = most_pods(cluster, sketch, release)
        except TooLarge:
            continue
        if expected < SO_MANY:
            headroom = how_many_more(cluster, Workload("w", (sketch,), 1), release=release)
            assert (headroom.count, headroom.bound) == (expected, expected), drawn
            done += 1


def test_no_proof_is_made_up_when_time_ends(at_once):
    """By a clock that goes on with every look: bounds hold, what is said to be proven is, and plans keep all rules."""
    for number in range(3):
        rng = random.Random(f"late {number}")
        cluster = a_random_rack(rng)
        jobs = [Workload(f"w{at}", (a_random_job(rng),), rng.randint(1, 3)) for at in range(2)]
        best = checked_fleet(cluster, jobs, release=RELEASE, first_fit=False)
        for limit in (1, *range(10, 200, 15)):
            with pytest.MonkeyPatch.context() as patch:
                ticks = count()
                patch.setattr(time, "monotonic", lambda ticks=ticks: next(ticks))
                plan = checked_fleet(cluster, jobs, release=RELEASE, time_limit=limit, first_fit=False)
            for mine, known in zip(plan.goals, best.goals, strict=False):
                assert mine.bound is None or mine.bound <= known.value, (number, limit, mine)
                assert not mine.proven or mine.value == known.value, (number, limit, mine)
                if mine.value != known.value:
                    break
    assert any(at_once)


def test_the_most_that_counters_feed_is_brute_force():
    """The vectors of a set of counters are those of trying all partitions, without those that others contain."""
    for seed in range(200):
        rng = random.Random(f"fed {seed}")
        amounts = tuple(rng.randint(0, 4) for _ in range(rng.randint(1, 3)))
        kinds = rng.randint(1, 3)
        roles = [
            (rng.randrange(kinds), rng.randint(1, 2), tuple((at, rng.randint(0, 2)) for at in range(len(amounts))))
            for _ in range(rng.randint(1, 4))
        ]
        every = {
            tuple(sum(n for n, role in zip(used, roles, strict=True) if role[0] == kind) for kind in range(kinds)): used
            for used in product(*(range(size + 1) for _, size, _ in roles))
            if all(
                sum(n * dict(role[2])[at] for n, role in zip(used, roles, strict=True)) <= have
                for at, have in enumerate(amounts)
            )
        }
        most = {
            one
            for one in every
            if not any(other != one and all(a <= b for a, b in zip(one, other, strict=True)) for other in every)
        }
        found = largest_vectors(roles, amounts, kinds, Sizes())
        assert found is not None
        assert set(found) == most, seed


def test_a_rack_of_gpus_is_planned_to_the_proof():
    """20 nodes before 8 GPUs with 12 partitions each: all goals are proven."""
    parts = [
        a_part(
            f"gpu-{gpu}-{profile}-{at}",
            profile,
            draws(f"gpu-{gpu}", **{f"slice-{one}": 1 for one in range(at, at + size)}),
        )
        for gpu in range(8)
        for profile, places in SHAPES.items()
        for at, size in places
    ]
    slices = {f"slice-{at}": Counter(value=1) for at in range(8)}
    cluster = a_rack(20, 2, tuple(CounterSet(f"gpu-{gpu}", slices) for gpu in range(8)), parts)
    jobs = [
        Workload("one", (a_job(OF.format("1g"), nic=True),), 16),
        Workload("two", (a_job(OF.format("2g"), nic=True),), 16),
        Workload("three", (a_job(OF.format("3g")),), 8),
    ]
    plan = checked_fleet(cluster, jobs, release=RELEASE, first_fit=False)
    assert plan.status is PlanStatus.OPTIMAL
    assert plan.goal("unplaced").value == 6
