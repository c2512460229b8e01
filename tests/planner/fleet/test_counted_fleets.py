"""Fleets whose number of pods can be counted by hand: all pods that fit are placed, and that is proven."""

from __future__ import annotations

import random

import pytest
from benchmarks.mixed_cluster import mixed_cluster, workloads
from checked_plans import checked_fleet
from drawn_fleets import PART, a_part, a_rack, asked, draws, zoned
from msgspec.structs import replace
from random_devices import CORES, CPU, GPU, NIC, NUMA, RDMA, ROOT, SHARES, TAG, device_class, slices_of, text
from sharing_nodes import amounts, ask, node
from small_holders import a_claim, result
from small_nodes import a_slice, cluster, device, gpu, nic

from dra_lab import ClaimSketch, Cluster, How, Link, Workload, how_many_more, largest_job
from dra_lab.model.claims import ALL
from dra_lab.model.device import Counter, Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.goals import UNPLACED
from dra_lab.model.slices import CounterSet

SHAPES = {"a": [(at, 1) for at in range(7)], "b": [(0, 4), (4, 4)]}
"""Partitions of a GPU of eight memory slices: where they begin, and how many they take."""


def pods(name: str, replicas: int, *requests, links: tuple[Link, ...] = ()) -> Workload:
    return Workload(name, ClaimSketch("claim", requests, links), replicas=replicas)


def zones():
    """60 nodes in six zones: 34 others take all NICs without RDMA, and 10 of 20 pods the 10 with it."""
    far = [(device(f"zone-{at}", {"dra.net/rdma": False}), f"z{at % 6}") for at in range(24)]
    far += [(device(f"all-{at}", {"dra.net/rdma": at % 2 == 0}), "") for at in range(20)]
    nodes = {f"n{at:02}": f"z{at % 6}" for at in range(60)}
    return zoned(nodes, [1] * 60, far), [some_nics(34), rdma_nics(20)], 44


def some_nics(replicas: int) -> Workload:
    return pods("any", replicas, asked("nic", NIC), asked("gpu", GPU))


def rdma_nics(replicas: int) -> Workload:
    return pods("rdma", replicas, asked("nic", NIC, 1, RDMA), asked("gpu", GPU))


def partitions():
    """20 nodes before 8 GPUs of eight memory slices: 8 halves leave 4 slices on each for 16 pods of one."""
    parts = [
        a_part(f"gpu-{gpu}-{kind}-{at}", kind, draws(f"gpu-{gpu}", **{f"slice-{n}": 1 for n in range(at, at + size)}))
        for gpu in range(8)
        for kind, places in SHAPES.items()
        for at, size in places
    ]
    slices = {f"slice-{at}": Counter(value=1) for at in range(8)}
    on = a_rack(20, 2, parts, tuple(CounterSet(f"gpu-{at}", slices) for at in range(8)))
    halves = pods("half", 20, asked("part", GPU, 1, PART.format("b")))
    return on, [halves, pods("small", 16, asked("part", GPU, 1, PART.format("a")), asked("nic", NIC))], 28


def busy_partitions():
    """80 nodes of four GPUs, of which each is one device or the other; what is held is gone."""
    chance, held, slices = random.Random(1), [], []
    for number in range(80):
        name, sets = f"n{number:02}", tuple(CounterSet(f"set-{n}", {"slot": Counter(value=1)}) for n in range(4))
        parts = [
            Device(name=f"{n}-{half}", consumes_counters=(draws(f"set-{n}", slot=1),))
            for n in range(4)
            for half in "ab"
        ]
        own = a_slice(GPU, *parts, node=name, count=2)
        counters = replace(own.spec, devices=None, shared_counters=sets)
        slices += [own, replace(own, metadata=replace(own.metadata, name=f"{name}-counters"), spec=counters)]
        held += [result(f"{n}-a", GPU, name) for n in range(4) if chance.random() < 0.5]
    return node(*slices, claims=(a_claim(*held),)), [pods("w", 320, asked("r", GPU))], 320 - len(held)


PAIRS = {
    "3111-1111": ([1] * 8, [3, 1, 1, 1, 1, 1, 1, 1]),
    "six roots": ([0, 1, 0, 1, 2, 1], [3, 3, 0, 1, 2, 1]),
    "fifteen roots": ([2, 1, 2, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 1, 1, 1, 0, 2, 0, 0, 1, 4, 3, 2, 1]),
}
"""Servers that were called full, proven, although more pairs fit: the GPUs and NICs on each PCIe root."""


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_that_counting_finds_is_placed(name, more):
    """On each root as many pairs fit as it has of the rarer device."""
    gpus, nics = (
        [{ROOT: f"r{at:02}", NUMA: int(2 * at >= len(row))} for at, count in enumerate(row) for _ in range(count)]
        for row in PAIRS[name]
    )
    on = node(
        a_slice(GPU, *(device(f"gpu-{at}", place) for at, place in enumerate(gpus))),
        a_slice(NIC, *(device(f"nic-{at}", place) for at, place in enumerate(nics))),
    )
    most = sum(map(min, *PAIRS[name]))
    wanted = pods("pairs", most + more, asked("gpu", GPU), asked("nic", NIC), links=(Link("l", ("gpu", "nic")),))
    plan = checked_fleet(on, [wanted], release="1.36", first_fit=False)
    assert (len(plan.pods), plan.goal(UNPLACED).proven) == (min(most, most + more), True)


@pytest.mark.parametrize("made", [zones, partitions, busy_partitions])
def test_as_many_pods_are_placed_as_counting_says(made):
    """No more pods fit, and every goal is proven."""
    on, wanted, most = made()
    plan = checked_fleet(on, wanted, release="1.37", first_fit=False)
    assert (len(plan.pods), plan.proven) == (most, True)


@pytest.mark.long
def test_five_kinds_of_pods_are_planned_to_the_proof():
    """A node of eight GPUs and ten NICs holds 425 combinations of small pods, and every goal is still proven."""
    kinds = ((1, 1, 4), (1, 1, 8), (2, 1, 8), (1, 2, 8), (2, 2, 12))
    wanted = workloads((6, 6, 3, 3, 3), must=False, kinds=kinds)
    plan = checked_fleet(mixed_cluster(3, types=(2,)), wanted, release="1.36", time_limit=60, first_fit=False)
    assert plan.proven


def cpus(*cores: int) -> Cluster:
    """Return a node for each number of CPUs, which its two NUMA nodes have each."""
    slices = []
    for number, count in enumerate(cores):
        each = [
            Device(
                name=f"cpu-{numa}",
                attributes={NUMA: DeviceAttribute(int_=numa)},
                capacity={"dra.cpu/cpu": DeviceCapacity(value=count)},
                allow_multiple_allocations=True,
            )
            for numa in range(2)
        ]
        slices += slices_of(CPU, f"n{number}", each, node_name=f"n{number}")
    return Cluster(slices=tuple(slices), classes=(device_class(CPU),), name="cpus")


def with_cpus(amount: str) -> Workload:
    return pods("small", 2_000, ask("cpu", CPU, capacity=amounts(**{"dra.cpu/cpu": amount})))


def test_a_node_is_not_bounded_by_pods_that_found_a_place_on_another_one():
    """Two nodes hold 128 and 80 pods of one CPU, and either may have all of the few pods that are tried first."""
    headroom = how_many_more(cpus(64, 40), with_cpus("1"), release="1.36")
    assert (headroom.count.value, headroom.count.bound) == (208, 208)


def test_largest_job_may_be_the_most_that_a_claim_may_hold():
    """Ten times three devices fit on a node of 30, and eleven times are more than the 32 devices of a claim."""
    on = node(a_slice(GPU, *(device(f"gpu-{at}") for at in range(30))))
    job = largest_job(on, ClaimSketch("claim", tuple(asked(name, GPU) for name in "abc")), release="1.36")
    assert (job.scale, job.scale_bound) == (10, 10)


@pytest.mark.long
def test_thousands_of_small_pods_fit_on_one_node():
    """Pods of a tenth of a CPU are counted and placed like others: as many as the CPUs of the node are tenths."""
    on, small = cpus(64), with_cpus("100m")
    headroom = how_many_more(on, small, release="1.36")
    plan = checked_fleet(on, [small], release="1.36", first_fit=False)
    assert (headroom.count.value, headroom.count.bound, len(plan.pods), plan.proven) == (1_280, 1_280, 1_280, True)


def nothing_matches():
    """No node has 20 GPUs, however many ways there are to take 11 of 22 NICs."""
    on = cluster(
        a_slice(GPU, gpu(0, "root-0")),
        a_slice(NIC, *(nic(f"nic-{at}", f"root-{at}") for at in range(22))),
        classes=tuple(map(device_class, (GPU, NIC))),
    )
    return on, pods("w", 1, asked("gpu", GPU, 20), asked("nic", NIC, 11), links=(Link("near", ("gpu", "nic")),))


def all_of_none():
    """All of a kind of which there is none is no number at all: a link to it bounds nothing."""
    gpus = a_slice(GPU, *(replace(gpu(n), attributes={TAG: text("a")}) for n in range(2)))
    tied = Link("tied", ("g", "c"), where=TAG, how=How.TOGETHER)
    return node(gpus), pods("w", 1, ask("g"), asked("c", CPU, 0, allocation_mode=ALL), links=(tied,))


def too_much_consumed():
    """A device of which 3 of 2 shares are consumed serves no pod, even one that asks for 0 of them."""
    capacity = {CORES: DeviceCapacity(value=16), SHARES: DeviceCapacity(value=2)}
    cpus = a_slice(CPU, Device(name="cpu", capacity=capacity, allow_multiple_allocations=True))
    uuid = "00000000-0000-0000-0000-000000000001"
    holder = a_claim(result("cpu", CPU, share_id=uuid, consumed_capacity={CORES: 4, SHARES: 3}))
    return node(cpus, claims=(holder,)), pods("w", 1, ask("r", CPU, capacity=amounts(cores=2, shares=0)))


@pytest.mark.parametrize("made", [nothing_matches, all_of_none, too_much_consumed])
def test_no_more_pods_fit_where_none_can(made):
    """The count is 0, and so is its bound."""
    on, workload = made()
    headroom = how_many_more(on, workload, release="1.36")
    assert (headroom.count.value, headroom.count.bound) == (0, 0)
