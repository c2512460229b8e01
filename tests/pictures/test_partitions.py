"""Slice maps of partitioned GPUs: slices, what is chosen, what is in use, and what blocks what."""

from __future__ import annotations

import pytest
from random_devices import text
from sharing_nodes import counted, node, part
from small_nodes import a_slice, cluster

from dra_lab import DeviceID, load_cluster
from dra_lab.index.in_use import Amount, without_counters
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.device import Device, DeviceCapacity
from dra_lab.model.quantity import parse_quantity
from dra_lab.pictures.boxes import COUNTERS, SLICES
from dra_lab.pictures.device_states import OnTop, State, device_states
from dra_lab.pictures.partitions import amount_words, blockers, partitions
from dra_lab.pictures.scene import node_scene

NODE = "mig-a100"


def mig(name: str) -> DeviceID:
    return DeviceID("gpu.nvidia.com", NODE, name)


@pytest.fixture(scope="module")
def world():
    """Two A100 in MIG mode, one 2g.10gb of the first in use."""
    return load_cluster("sample:mig")


def cards(frame):
    """Yield the boxes of partitioned devices."""
    if frame.card is not None:
        yield frame
    for inner in frame.frames:
        yield from cards(inner)


def test_an_a100_has_seven_compute_and_eight_memory_slices(world):
    """They are read from the shared counters of the driver."""
    found = [(box.card.name, box.card.compute, box.card.slices) for box in cards(node_scene(world, NODE))]
    assert found == [("gpu-0", 7, 8), ("gpu-1", 7, 8)]


def test_a_partition_stands_on_its_memory_slices(world):
    """`3g.20gb` from slice 4 on takes the right half of the map."""
    found = partitions(world, NODE)[mig("gpu-0-mig-3g20gb-9-4")]
    assert (found.first, found.count, found.compute) == (4, 4, 3)


def test_the_rows_of_a_slice_map_are_profiles_large_ones_first(world):
    """A row for each profile."""
    box = next(cards(node_scene(world, NODE)))
    rows = list(dict.fromkeys(mark.lines[0] for mark in box.marks))
    assert rows == ["7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.10gb", "1g.5gb", "1g.5gb+me"]


def test_all_partitions_that_lack_counters_name_what_blocks_them(world):
    """The index and the picture have the same partitions."""
    devices = {found.id: found.device for found in devices_on(gather_pools(world, NODE))}
    found = blockers(world, devices)
    assert found.keys() == without_counters(world).keys()
    assert set(found.values()) == {(mig("gpu-0-mig-2g10gb-14-0"),)}


def test_a_blocked_partition_says_by_whom(world):
    state = device_states(world, NODE)[mig("gpu-0-mig-3g20gb-9-0")]
    words = (
        "blocked by gpu-0-mig-2g10gb-14-0 (in use by class/jupyter-0-devices-tg94x); "
        "gpu-0-counter-set/memory-slice-0: 0 of 1 left"
    )
    assert (state.state, state.why) == (State.BLOCKED, (words,))


def test_a_chosen_partition_blocks_those_beside_it(world):
    chosen = OnTop(filled={mig("gpu-1-mig-3g20gb-9-0"): "part"})
    states = device_states(world, NODE, on_top=chosen)
    assert states[mig("gpu-1-mig-7g40gb-0-0")].blockers == (mig("gpu-1-mig-3g20gb-9-0"),)
    assert states[mig("gpu-1-mig-3g20gb-9-4")].state is State.FREE


def test_partitions_without_numbered_slices_are_devices_in_a_box():
    world = node(*counted(part("a", memory="40Gi"), part("b", memory="80Gi"), memory="80Gi"))
    boxes = list(cards(node_scene(world, world.node_names[0])))
    assert [(box.branch.level, len(box.marks)) for box in boxes] == [(COUNTERS, 2)]


def test_a_slice_map_is_a_box_of_its_own(world):
    """Its level tells the drawing that rows and columns are words, not places."""
    assert {box.branch.level for box in cards(node_scene(world, NODE))} == {SLICES}


@pytest.mark.parametrize(
    ("total", "used", "words"),
    [
        ("40Gi", "16Gi", "24 of 40 Gi"),
        ("40Gi", "15872Mi", "24.5 of 40 Gi"),
        ("23028Mi", "0", "23,028 of 23,028 Mi"),
        ("100", "100", "0 of 100"),
    ],
)
def test_amounts_have_one_unit(total: str, used: str, words: str):
    assert amount_words(Amount(parse_quantity(total), parse_quantity(used))) == words


def fixed(name: str, first: int, count: int, parent: str = "GPU-1") -> Device:
    """Return a MIG partition that was made before the driver started: its memory slices are capacities."""
    slices = {f"memorySlice{at}": DeviceCapacity(value="1") for at in range(first, first + count)}
    attributes = {"type": text("mig"), "parentUUID": text(parent), "profile": text("3g.20gb")}
    return Device(name=name, attributes=attributes, capacity=slices)


def test_fixed_partitions_stand_on_the_memory_slices_that_they_publish():
    """Without shared counters the parent and the slices are attributes and capacities of the partitions."""
    made = [
        fixed("gpu-0-mig-3g20gb-9-0", 0, 4),
        fixed("gpu-0-mig-3g20gb-9-4", 4, 4),
        fixed("gpu-3-mig-x", 0, 2, "GPU-3"),
    ]
    found = partitions(cluster(a_slice("gpu.nvidia.com", *made, node="n1")), "n1")
    assert [(part.card.name, part.card.slices, part.first, part.count) for part in found.values()] == [
        ("gpu-0", 8, 0, 4),
        ("gpu-0", 8, 4, 4),
        ("gpu-3", 2, 0, 2),
    ]


def test_fixed_partitions_without_slices_are_a_group_of_their_gpu():
    """What is not published is not drawn."""
    made = [fixed("gpu-0-mig-a", 0, 0), fixed("gpu-0-mig-b", 0, 0)]
    world = cluster(a_slice("gpu.nvidia.com", *made, node="n1"))
    assert [(box.branch.level, box.card.name) for box in cards(node_scene(world, "n1"))] == [(COUNTERS, "gpu-0")]
