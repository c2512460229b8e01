"""Partitions beside those in use: what counters no longer feed is not free, on the picture, the chart, the table."""

from __future__ import annotations

from collections import Counter

import pytest

import dra_lab
from dra_lab.model.release import KubernetesRelease
from dra_lab.pictures.charts import devices_chart, node_amounts
from dra_lab.pictures.device_states import State, device_states
from dra_lab.sketch.kind_counts import kind_counts


def test_a_partition_in_use_blocks_eight_others_everywhere():
    """Picture, chart, table and palette show the partition in use, the eight that it blocks, and 41 free ones."""
    mig = dra_lab.load_cluster("sample:mig")
    node = mig.node_names[0]
    states = Counter(state.state for state in device_states(mig, node).values())
    rows = devices_chart(mig, node).to_dict()["data"]["values"]
    assert (states[State.IN_USE], states[State.BLOCKED]) == (1, 8)
    assert sum(row["state"] == "F free" for row in rows) == 41
    assert (dra_lab.devices_frame(mig)["state"] == "free").sum() == 41
    assert kind_counts(mig, KubernetesRelease("1.36"))["gpu"].possible == 41


def test_a_partition_is_a_part_of_its_gpu():
    """Two of seven slices are in use: two sevenths of a GPU, though it takes two pieces of memory whole."""
    (amounts,) = node_amounts(dra_lab.load_cluster("sample:mig"))
    assert (amounts.in_use, amounts.total) == (pytest.approx(2 / 7), pytest.approx(2))
