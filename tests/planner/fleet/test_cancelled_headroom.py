"""If no time is left, the bound of "how many more" counts published devices, and still holds."""

from __future__ import annotations

import random
import threading

import pytest
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import mixed_cluster, workloads
from brute_force import TooLarge
from brute_force_questions import most_pods
from random_clusters import random_sketch, small_fleet, switches

from dra_lab import KubernetesRelease, Workload, how_many_more


def bound_at_once(cluster, workload) -> int:
    """Return the bound of a question that is cancelled before it begins."""
    cancel = threading.Event()
    cancel.set()
    return how_many_more(cluster, workload, release="1.37", cancel=cancel).count.bound


@pytest.mark.some(4)
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("sharing", [False, True])
def test_bounds_of_clusters_that_were_never_read_hold(sharing, coupled, part):
    """On nodes whose devices no selector was evaluated on, no set of pods is larger than the sum of the bounds."""
    for number in range(10):
        rng = random.Random(f"unread {part} {number} {sharing} {coupled}")
        cluster = small_fleet(rng, switches(sharing=sharing, coupled=coupled))
        sketch = random_sketch(rng, switches(sharing=sharing), cluster)
        try:
            expected = most_pods(cluster, sketch, KubernetesRelease("1.37"))
        except TooLarge:
            continue
        assert expected <= bound_at_once(cluster, Workload("w", sketch)), number


def test_bound_is_what_counting_allows_at_once():
    """A pair needs a GPU and a NIC: no node has more pairs than it has free devices of the scarcer kind."""
    cluster, pair = irregular_cluster(20, 8), Workload("pair", drawn_pairs(1))
    assert how_many_more(cluster, pair, release="1.37").count.bound <= bound_at_once(cluster, pair) < 20 * 8


def test_cpus_beside_gpus_do_not_make_the_bound_endless():
    """CPUs shared without limit leave the bound of the GPUs."""
    assert bound_at_once(mixed_cluster(5), workloads((1, 1, 1), must=False)[0]) <= 5 * 2
