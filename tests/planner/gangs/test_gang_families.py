"""Gangs of real size whose number can be counted by hand: identical nodes, and racks of different free counts."""

from __future__ import annotations

import random
from dataclasses import replace as changed

import pytest
from checked_gangs import checked_gangs
from msgspec.structs import replace
from random_devices import CPU, GPU, NIC, NUMA, device_class
from random_gangs import hierarchy_of
from small_holders import a_claim, result
from small_nodes import a_slice, gpu

from dra_lab import ClaimSketch, Cluster, PodGroup, Workload, how_many_more
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.device import DeviceTaint

EACH = 8


def racks(sizes: list[list[int]]) -> tuple[Cluster, object]:
    """Return racks with 8 GPUs on every node, of which some are free: one number for each node of each rack."""
    slices, claims, places = [], [], {}
    for rack, free in enumerate(sizes):
        for number, count in enumerate(free):
            node = f"r{rack}-n{number}"
            places[node] = (f"b{rack % 3}", f"r{rack}")
            gpus = [gpu(at, f"pci0000:{at // 4}0", **{NUMA: at // 4}) for at in range(EACH)]
            slices.append(a_slice(GPU, *gpus, node=node))
            held = [result(one.name, GPU, node) for one in gpus[count:]]
            claims += [a_claim(*held, name=node)] if held else []
    classes = tuple(map(device_class, (GPU, NIC, CPU)))
    cluster = Cluster(slices=tuple(slices), classes=classes, claims=tuple(claims), name="racks")
    return cluster, hierarchy_of(places)


def gang(pods: int, gpus: int, level: str = "rack", replicas: int = 1) -> Workload:
    """Return gangs of pods with some GPUs each."""
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name=GPU, count=gpus))
    worker = PodGroup("worker", (ClaimSketch(name="claim", requests=(request,)),), count=pods)
    return Workload("train", [worker], level=level, replicas=replicas)


@pytest.mark.parametrize("seed", range(3))
def test_racks_of_different_free_counts_are_summed(seed):
    """Each rack has the whole part of its own pods divided by the size."""
    rng = random.Random(seed)
    free = [[rng.randint(0, EACH) for _ in range(rng.randint(2, 20))] for _ in range(40)]
    cluster, hierarchy = racks(free)
    found = how_many_more(cluster, gang(6, 2), hierarchies=[hierarchy])
    assert (found.count.value, found.count.bound) == (sum(sum(n // 2 for n in rack) // 6 for rack in free),) * 2


def test_a_wider_level_has_at_least_as_many():
    """One rack costs, against one block or none, the gangs that the rounding of each loses."""
    free = [[3, 2], [5, 8], [7, 1], [4, 4], [8], [2, 6]]
    cluster, hierarchy = racks(free)
    found = how_many_more(cluster, gang(4, 2), hierarchies=[hierarchy])
    blocks = [sum(n // 2 for rack in free[at::3] for n in rack) for at in range(3)]
    counted = {"rack": sum(sum(n // 2 for n in rack) // 4 for rack in free), "block": sum(n // 4 for n in blocks)}
    counted |= {"": sum(blocks) // 4, "host": sum(n // 8 for rack in free for n in rack)}
    assert {level: number.value for level, number in found.levels.items()} == counted


def test_a_plan_places_as_many_gangs_as_fit():
    """More gangs are wanted than the racks have, and the plan has all that fit, proven."""
    cluster, hierarchy = racks([[8, 8, 4], [8, 6], [2, 2, 2], [8] * 5])
    plan = checked_gangs(cluster, [gang(3, 4, replicas=20)], hierarchies=[hierarchy])
    assert (plan.placed["train"], plan.proven) == (1 + 1 + 0 + 3, True)


def test_blocks_of_one_and_of_three_racks_have_their_own_numbers():
    """Gangs of two groups fit by the nodes of their block, also if all its nodes are identical and in racks apart."""
    cluster, _ = racks([[8]] * 4)
    hierarchy = hierarchy_of({f"r{rack}-n0": ("a" if rack else "b", f"r{rack}") for rack in range(4)})
    one = gang(1, 8, "block", replicas=4)
    groups = [
        one.pods[0],
        changed(one.pods[0], name="other", count=1),
    ]
    plan = checked_gangs(cluster, [changed(one, pods=groups, prefer_level="rack")], hierarchies=[hierarchy])
    rooms = {room.members: (room.pods.value, room.replicas.value, room.replicas.bound) for room in plan.where}
    assert rooms == {("a",): (2, 1, 1), ("b",): (1, 0, 0)}


def test_a_domain_says_what_it_lacks():
    """A rack with too few free GPUs names the node where they are in use."""
    cluster, hierarchy = racks([[8, 3], [8, 8]])
    plan = checked_gangs(cluster, [gang(4, 4, replicas=2)], hierarchies=[hierarchy])
    assert plan.why == {"r0": "2 of 4; GPUs in use on r0-n1", "r1": "4 of 4"}


def test_a_domain_says_that_devices_are_tainted():
    """GPUs that the gang does not tolerate are neither free nor in use."""
    cluster, hierarchy = racks([[8, 8], [8, 8]])
    sick = DeviceTaint(key="xid", effect="NoSchedule")
    slices = [
        replace(one, spec=replace(one.spec, devices=tuple(replace(gpu, taints=(sick,)) for gpu in one.spec.devices)))
        if one.spec.node_name == "r0-n1"
        else one
        for one in cluster.slices
    ]
    plan = checked_gangs(changed(cluster, slices=tuple(slices)), [gang(4, 4)], hierarchies=[hierarchy])
    assert plan.why["r0"] == "2 of 4; GPUs with a taint that request gpu does not tolerate on r0-n1"
