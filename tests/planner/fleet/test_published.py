"""What counting published devices allows bounds the pods on nodes that time did not suffice for."""

from __future__ import annotations

import random
import threading

import pytest
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import cpu_request, mixed_cluster, workloads
from brute_force import TooLarge
from brute_force_questions import SO_MANY, most_pods
from random_clusters import random_sketch, small_fleet, switches

from dra_lab.model.fleet import MOST_COUNTED, Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet import how_many_more
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.published import PublishedBounds

CASES = [(sharing, coupled, part) for sharing in (False, True) for coupled in (False, True) for part in range(4)]


def cancelled() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


@pytest.mark.some(6)
@pytest.mark.parametrize(("sharing", "coupled", "part"), CASES)
def test_bounds_are_not_below_what_trying_everything_finds(sharing, coupled, part):
    """On random clusters no set of pods is larger than the sum of the bounds of all nodes."""
    for number in range(20):
        rng = random.Random(f"published {part} {number} {sharing} {coupled}")
        cluster = small_fleet(rng, switches(sharing=sharing, coupled=coupled))
        release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True} if sharing else {})
        sketch = random_sketch(rng, switches(sharing=sharing), cluster)
        try:
            expected = most_pods(cluster, sketch, release)
        except TooLarge:
            continue
        fleet = look_at(cluster, [Workload("w", sketch, SO_MANY)], release, Budget())
        assert expected <= PublishedBounds(fleet).most(cluster.node_names), f"{part} {number}"


@pytest.mark.some(6)
@pytest.mark.parametrize(("sharing", "coupled", "part"), CASES)
def test_bounds_of_clusters_that_were_never_read_hold(sharing, coupled, part):
    """On nodes whose devices no selector was evaluated on, no set of pods is larger than the sum of the bounds."""
    for number in range(20):
        rng = random.Random(f"unread {part} {number} {sharing} {coupled}")
        cluster = small_fleet(rng, switches(sharing=sharing, coupled=coupled))
        sketch = random_sketch(rng, switches(sharing=sharing), cluster)
        try:
            expected = most_pods(cluster, sketch, KubernetesRelease("1.37"))
        except TooLarge:
            continue
        assert expected <= how_many_more(cluster, Workload("w", sketch), release="1.37", cancel=cancelled()).bound


@pytest.mark.some(6)
@pytest.mark.parametrize(("sharing", "coupled", "part"), CASES)
def test_a_cancelled_question_has_bounds_that_hold(sharing, coupled, part):
    """If no time is left, the bound is not below what the same question finds with time."""
    for number in range(20):
        rng = random.Random(f"cancelled {part} {number} {sharing} {coupled}")
        cluster = small_fleet(rng, switches(sharing=sharing, coupled=coupled))
        workload = Workload("w", random_sketch(rng, switches(sharing=sharing), cluster))
        whole = how_many_more(cluster, workload, release="1.37")
        assert how_many_more(cluster, workload, release="1.37", cancel=cancelled()).bound >= whole.count, number


def test_bound_is_what_counting_allows_at_once():
    """A pair needs a GPU and a NIC: no node has more pairs than it has free devices of the scarcer kind."""
    cluster, pair = irregular_cluster(20, 8), Workload("pair", drawn_pairs(1))
    whole = how_many_more(cluster, pair, release="1.36")
    assert whole.bound <= how_many_more(cluster, pair, release="1.36", cancel=cancelled()).bound < 20 * 8


def test_cpus_beside_gpus_do_not_make_the_bound_endless():
    """CPUs shared without limit leave the bound of the GPUs."""
    cluster, workload = mixed_cluster(5), workloads((1, 1, 1), must=False)[0]
    assert how_many_more(cluster, workload, release="1.36", cancel=cancelled()).bound <= 5 * 2


def test_capacity_bounds_pods_that_share_devices():
    """Pods of 4 CPUs are bounded by the CPUs that are left."""
    cluster, workload = mixed_cluster(5), Workload("cpu", ClaimSketch("cpu", (cpu_request(4),)))
    whole = how_many_more(cluster, workload, release=KubernetesRelease("1.36", {"DRAConsumableCapacity": True}))
    fleet = look_at(cluster, [Workload("cpu", workload.claims, MOST_COUNTED)], KubernetesRelease("1.36"), Budget())
    assert PublishedBounds(fleet).most(cluster.node_names) == whole.count
