"""How many more, the largest job and what is stranded, against trying everything on small random clusters."""

from __future__ import annotations

import os
import random

import pytest
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import mixed_cluster, workloads
from brute_force import TooLarge
from brute_force_questions import SO_MANY, Packings, fits_somewhere, most_pods, times
from cancelled import CancelledAfter
from msgspec.structs import replace
from random_clusters import random_sketch, small_fleet, switches

from dra_lab import KubernetesRelease, Workload, how_many_more, largest_job, stranded
from dra_lab.errors import InputError
from dra_lab.model.sketch import asks

CLUSTERS = int(os.environ.get("DRA_LAB_RANDOM_ROOMS", "80"))
"""How many random clusters are compared for each question in all; more with the environment variable."""

KINDS = [(sharing, coupled) for sharing in (False, True) for coupled in (False, True)]
PARTS = 5


def small(seed, *, sharing, coupled):
    """Return a cluster, a function that draws claims for it, and the release."""
    rng = random.Random(seed)
    cluster = small_fleet(rng, switches(sharing=sharing, coupled=coupled))
    release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True} if sharing else {})
    return cluster, lambda: random_sketch(rng, switches(sharing=sharing), cluster), release


def compared(question, part, *, sharing, coupled):
    """Ask the question of random clusters until enough could be tried."""
    done, drawn = 0, part
    while done < max(1, CLUSTERS // len(KINDS) // PARTS):
        drawn += PARTS
        done += asked(question, f"room {drawn} {sharing} {coupled}", sharing=sharing, coupled=coupled)
        assert drawn < 3 * CLUSTERS, "too many clusters were too large to try everything"


def asked(question, seed, *, sharing, coupled):
    """Ask a question of the random cluster of a seed; say whether everything could be tried."""
    return question(seed, *small(seed, sharing=sharing, coupled=coupled), sharing=sharing, coupled=coupled)


@pytest.mark.some(3)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("sharing", "coupled"), KINDS)
def test_how_many_more_is_brute_force(sharing, coupled, part):
    """The number is what trying everything finds, proven unless pods have no end."""
    compared(_more, part, sharing=sharing, coupled=coupled)


def _more(seed, cluster, draw, release, *, sharing, coupled):
    sketch = draw()
    try:
        expected = most_pods(cluster, sketch, release)
    except TooLarge:
        return False
    headroom = how_many_more(cluster, Workload("more", (sketch,)), release=release)
    assert min(headroom.count.value, SO_MANY) <= expected <= headroom.count.bound, f"seed {seed}"
    # pods without end are counted up to a number that is no proof
    assert headroom.proven or headroom.count.value > SO_MANY, f"seed {seed}"
    assert min(headroom.count.value, SO_MANY) == expected, f"seed {seed}"
    return True


@pytest.mark.some(3)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("sharing", "coupled"), KINDS)
def test_largest_job_is_brute_force(sharing, coupled, part):
    """The largest multiple that fits on a node is the one that trying each of them finds."""
    compared(_largest, part, sharing=sharing, coupled=coupled)


def _largest(seed, cluster, draw, release, *, sharing, coupled):
    sketch = draw()
    tried = range(1, SO_MANY + 1)
    fitting = [n for n in tried if fits_somewhere(cluster, times(sketch, n), release)]
    job = largest_job(cluster, sketch, release=release)
    if endless(sketch):
        assert job.scale == (1 in fitting), f"seed {seed}"
        return True
    assert job.scale in fitting or job.scale > SO_MANY or not job.scale or is_split(cluster, sketch, job.scale), seed
    assert job.scale >= max(fitting, default=0), f"seed {seed}"
    assert job.scale == job.scale_bound, f"seed {seed}"
    assert bool(job.node) == bool(job.scale), f"seed {seed}"
    return True


def bound_at_once(cluster, workload) -> int:
    """Return the bound of a question that is cancelled before it begins."""
    return how_many_more(cluster, workload, release="1.37", cancel=CancelledAfter(0)).count.bound


@pytest.mark.some(4)
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize(("sharing", "coupled"), KINDS)
def test_bounds_of_clusters_that_were_never_read_hold(sharing, coupled, part):
    """On nodes whose devices no selector was evaluated on, no set of pods is larger than the sum of the bounds."""
    for number in range(10):
        cluster, draw, _ = small(f"unread {part} {number} {sharing} {coupled}", sharing=sharing, coupled=coupled)
        sketch = draw()
        try:
            expected = most_pods(cluster, sketch, KubernetesRelease("1.37"))
        except TooLarge:
            continue
        assert expected <= bound_at_once(cluster, Workload("w", sketch)), number


def test_the_bound_of_what_was_never_read_is_what_counting_allows():
    """A pair needs a GPU and a NIC, and CPUs shared without limit leave the bound of the GPUs."""
    cluster, pair = irregular_cluster(20, 8), Workload("pair", drawn_pairs(1))
    assert how_many_more(cluster, pair, release="1.37").count.bound <= bound_at_once(cluster, pair) < 20 * 8
    assert bound_at_once(mixed_cluster(5), workloads((1, 1, 1), must=False)[0]) <= 5 * 2


@pytest.mark.some(1)
@pytest.mark.parametrize(("sharing", "coupled"), KINDS)
def test_values_lie_between_the_bounds_of_a_cancel(sharing, coupled):
    """Whatever look a cancel comes at, no more is counted than there is, and nothing less is called a bound."""
    open_answers = 0
    for number in range(3):
        cluster, draw, release = small(f"cancel {number} {sharing} {coupled}", sharing=sharing, coupled=coupled)
        sketch = draw()
        workload = Workload("more", (sketch,))
        headroom, job = how_many_more(cluster, workload, release=release), largest_job(cluster, sketch, release=release)
        for looks in range(1, 50, 7):
            more = how_many_more(cluster, workload, release=release, cancel=CancelledAfter(looks))
            largest = largest_job(cluster, sketch, release=release, cancel=CancelledAfter(looks))
            assert more.count.value <= headroom.count.value <= more.count.bound, (number, looks)
            assert largest.scale <= job.scale <= largest.scale_bound, (number, looks)
            assert largest.replicas.value <= job.replicas.value <= largest.replicas.bound, (number, looks)
            open_answers += not largest.proven
    assert open_answers > 3


def endless(sketch):
    """Say whether some request has nothing to multiply: then no number of times ends the search."""
    ways = [asks(request) for request in sketch.requests]
    return all(any(ask.all_devices or _nothing(ask) for ask in found) for found in ways)


def is_split(cluster, sketch, number):
    """Say whether a multiple asks for more than any device has: such requests are split, which is not tried here."""
    have = [capacity.value for s in cluster.slices for d in s.spec.devices or () for capacity in d.capacity.values()]
    asked = [amount for request in sketch.requests for ask in asks(request) for amount in ask.capacity.values()]
    return number * max(asked, default=0) > max(have, default=0)


def _nothing(ask):
    return bool(ask.capacity) and ask.count == 1 and not any(ask.capacity.values())


@pytest.mark.some(3)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("sharing", "coupled"), KINDS)
def test_stranded_is_brute_force(sharing, coupled, part):
    """On each node, and on nodes that share devices, free and usable are what trying every set of pods finds."""
    compared(_stranded, part, sharing=sharing, coupled=coupled)


def _stranded(seed, cluster, draw, release, *, sharing, coupled):
    sketches = [replace(draw(), name=f"claim-{at}") for at in range(1 + len(seed) % 2)]
    lost = stranded(cluster, sketches, release=release)
    assert sorted(node for row in lost.nodes for node in row.nodes) == sorted(cluster.node_names), f"seed {seed}"
    for row in lost.nodes:
        try:
            tried = Packings(cluster, sketches, row.nodes if row.together else row.nodes[:1], release)
        except TooLarge:
            return False
        for kind in row.kinds:
            usable = min(kind.free, tried.most[kind.kind])
            assert kind.free == tried.free[kind.kind], f"seed {seed} {row} {kind}"
            assert kind.usable <= usable <= kind.bound, f"seed {seed} {row} {kind} {usable}"
            assert kind.usable == kind.bound or (row.together and sharing), f"seed {seed} {row} {kind} {usable}"
    return True


def test_cpus_are_counted_by_one_capacity_for_all_claims():
    """The capacity that counts CPUs does not depend on which claims are on a node."""
    assert asked(_stranded, "room 188 True False", sharing=True, coupled=False)


def test_a_model_that_the_solver_gives_up_when_made_smaller_is_solved_as_it_is():
    """HiGHS 1.15 ends one of these models with an error in its presolve; the answer is that of trying everything."""
    assert asked(_stranded, "room 148 True True", sharing=True, coupled=True)


def test_without_claims_nothing_can_be_said_to_be_stranded():
    """The person is told to give a claim."""
    cluster, _, release = small("room 1", sharing=False, coupled=False)
    with pytest.raises(InputError, match="give one at least"):
        stranded(cluster, [], release=release)
