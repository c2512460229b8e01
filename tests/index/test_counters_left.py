"""Shared counters: what they no longer feed is not free, and which nodes see them."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

import dra_lab
from dra_lab import Cluster
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.release import KubernetesRelease
from dra_lab.pictures.charts.amounts import node_amounts
from dra_lab.pictures.device_states import State, device_states
from dra_lab.sketch.kind_counts import kind_counts


def test_a_partition_in_use_blocks_eight_others_everywhere():
    """Picture, table and palette show the partition in use, the eight that it blocks, and 41 free ones."""
    mig = dra_lab.load_cluster("sample:mig")
    node = mig.node_names[0]
    states = Counter(state.state for state in device_states(mig, node).values())
    assert (states[State.IN_USE], states[State.BLOCKED]) == (1, 8)
    assert (dra_lab.frame(mig)["state"] == "free").sum() == 41
    assert kind_counts(mig, KubernetesRelease("1.36"))["gpu"].possible == 41


def test_a_partition_is_a_part_of_its_gpu():
    """Two of seven slices are in use: two sevenths of a GPU, though it takes two pieces of memory whole."""
    (amounts,) = node_amounts(dra_lab.load_cluster("sample:mig"))
    assert (amounts.in_use, amounts.total) == (pytest.approx(2 / 7), pytest.approx(2))


@pytest.mark.parametrize(("release", "seen"), [("1.36", True), ("1.37", False)])
def test_an_incomplete_pool_of_another_node_with_counters_is_seen_until_1_37(release, seen):
    """In 1.36 every node sees the counters of all others, so a request for all devices gives up (semantics 3.2.3)."""
    sample = dra_lab.load_cluster("sample:mig")
    slices = []
    for node in ("a", "b"):
        for slice_ in sample.slices:
            spec = replace(slice_.spec, node_name=node, pool=replace(slice_.spec.pool, name=node))
            if node == "b" or spec.shared_counters is not None:  # the pool of `a` has its counters and no devices
                metadata = replace(slice_.metadata, name=f"{node}-{slice_.metadata.name}")
                slices.append(replace(slice_, metadata=metadata, spec=spec))
    every = ExactDeviceRequest(device_class_name="mig.nvidia.com", allocation_mode="All")
    sketch = dra_lab.ClaimSketch(requests=(DeviceRequest(name="all", exactly=every),))
    plan = dra_lab.make_plan(Cluster(slices=tuple(slices), classes=sample.classes), sketch, node="b", release=release)
    assert ["gpu.nvidia.com/a is not complete" in short.message for short in plan.shortfalls] == [seen]
