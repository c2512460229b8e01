"""Partitions beside those in use: what counters no longer feed is not free, on the picture, the chart, the palette."""

from __future__ import annotations

import dataclasses
import random

import pytest
from small_holders import a_claim, result

from dra_lab.index.counters_left import without_counters
from dra_lab.index.pools import pools_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.gates import gates_of
from dra_lab.model.release import KubernetesRelease
from dra_lab.pictures.charts import devices_chart, node_amounts
from dra_lab.pictures.device_states import State, device_states
from dra_lab.scheduler.candidates import held_devices, view_node
from dra_lab.scheduler.counters import Counters
from dra_lab.sketch.kind_counts import kind_counts
from dra_lab.sources import load_cluster
from dra_lab.words.frames import devices_frame

RELEASE = KubernetesRelease("1.36")


@pytest.fixture(scope="module")
def mig() -> Cluster:
    """Give two A100 in partitions, one partition of the first in use."""
    return load_cluster("sample:mig")


def with_held(mig: Cluster, seed: int) -> Cluster:
    """Return the cluster with some partitions in use, drawn at random: often more than there are counters for."""
    dice = random.Random(seed)
    pool = mig.slices[0].spec.pool.name
    names = dice.sample([d.name for s in mig.slices for d in s.spec.devices or ()], dice.randint(0, 5))
    return dataclasses.replace(mig, claims=(a_claim(*(result(name, pool=pool) for name in names)),))


def test_a_partition_lacks_counters_exactly_where_the_scheduler_cannot_book_it(mig):
    """The allocator's own counters, built again for every free partition, give the same result."""
    gates, node = gates_of(RELEASE), mig.node_names[0]
    for cluster in (with_held(mig, seed) for seed in range(40)):
        view = view_node(cluster, node, pools_of(cluster, node, gates), held_devices(cluster, gates), gates)
        free = [one for one in view.candidates if one.counted and one.id not in cluster.allocated.exclusive]
        refused = {one.id for one in free if not Counters(view, defects=False).book(one)}
        assert without_counters(cluster).keys() == refused


def test_nothing_that_says_free_counts_them(mig):
    """Picture, chart, table and palette tell the partition in use from the eight that it blocks."""
    node = mig.node_names[0]
    states = [state.state for state in device_states(mig, node).values()]
    rows = devices_chart(mig, node).to_dict()["data"]["values"]
    assert (states.count(State.IN_USE), states.count(State.BLOCKED)) == (1, 8)
    assert sum(row["state"] == "F free" for row in rows) == 41
    assert (devices_frame(mig)["state"] == "free").sum() == 41
    assert kind_counts(mig, RELEASE)["gpu"].possible == 41


def test_a_partition_is_a_part_of_its_gpu(mig):
    """Two of seven slices are in use: two sevenths of a GPU, though it takes two pieces of memory whole."""
    (amounts,) = node_amounts(mig)
    assert amounts.in_use == pytest.approx(2 / 7)
    assert amounts.total == pytest.approx(2)


def test_with_nothing_in_use_nothing_lacks(mig):
    """An idle node lacks no counters."""
    assert not without_counters(dataclasses.replace(mig, claims=()))
