"""Plans for small gangs on small trees against trying every pod on every node in every way."""

from __future__ import annotations

import dataclasses
import os
import random

import pytest
from brute_force import TooLarge
from brute_force_gangs import BruteForceGangs
from checked_gangs import checked_gangs
from random_clusters import random_sketch, small_fleet, switches
from random_gangs import hierarchy_of, random_case, random_gang, random_places, random_shared_case

from dra_lab import KubernetesRelease
from dra_lab.model.headroom import Bounded

GANGS = int(os.environ.get("DRA_LAB_RANDOM_GANGS", "80"))
"""How many random cases are compared; more of them with the environment variable."""

STEP = 10


@pytest.mark.parametrize("block", range(-(-GANGS // STEP)))
def test_gangs_are_brute_force(block):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += is_brute_force(f"gangs {block} {drawn}")
    assert drawn <= 3 * STEP, "too many cases were too large to try everything"


@pytest.mark.parametrize("block", range(-(-GANGS // (2 * STEP))))
def test_gangs_with_claims_of_groups_are_brute_force(block):
    """The goals are those of trying everything if pods of one group share claims."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += is_brute_force(f"shared {block} {drawn}", random_shared_case)
    assert drawn <= 4 * STEP, "too many cases were too large to try everything"


def is_brute_force(seed: str, case=random_case) -> bool:
    """Compare one case; say whether everything could be tried."""
    cluster, hierarchy, gangs, workloads = case(random.Random(seed))
    release = KubernetesRelease("1.36")
    try:
        expected = BruteForceGangs(cluster, gangs, workloads, [hierarchy], release).values()
    except TooLarge:
        return False
    plan = checked_gangs(cluster, gangs, workloads, hierarchies=[hierarchy], release=release)
    found = tuple(goal.value for goal in plan.goals)
    assert found == expected, f"seed {seed}: {found} instead of {expected}"
    assert plan.proven, f"seed {seed}"
    return True


@pytest.mark.parametrize("block", range(2))
def test_rooms_with_claims_of_groups_are_brute_force(block):
    """Each domain has as many pods and gangs as trying everything finds if pods of one group share claims."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += has_the_headroom(f"shared rooms {block} {drawn}", random_shared_case)
    assert drawn <= 5 * STEP, "too many cases were too large to try everything"


HEADROOM = int(os.environ.get("DRA_LAB_RANDOM_GANGS", "120"))


@pytest.mark.parametrize("block", range(-(-HEADROOM // STEP)))
def test_rooms_are_brute_force(block):
    """Each domain has as many pods of a gang, and as many such gangs, as trying everything finds."""
    compared = drawn = 0
    while compared < STEP:
        drawn += 1
        compared += has_the_headroom(f"rooms {block} {drawn}")
    assert drawn <= 4 * STEP, "too many cases were too large to try everything"


def has_the_headroom(seed: str, case=random_case) -> bool:
    """Compare the rooms of one case; say whether everything could be tried."""
    cluster, hierarchy, gangs, _ = case(random.Random(seed))
    # The number that fits is compared for whole numbers of one gang: the tables end with what all together want.
    gangs = [dataclasses.replace(gang, replicas=6) for gang in gangs[:1] if gang.is_gang]
    release = KubernetesRelease("1.36")
    if not gangs:
        return False
    try:
        brute = BruteForceGangs(cluster, gangs, (), [hierarchy], release)
        expected = [brute.headroom(gang) for gang in gangs]
    except TooLarge:
        return False
    plan = checked_gangs(cluster, gangs, hierarchies=[hierarchy], release=release)
    for gang, headrooms in zip(gangs, expected, strict=True):
        mine = {headroom.members: headroom for headroom in plan.where if headroom.workload == gang.name}
        for domain, (pods, count) in headrooms.items():
            headroom = mine[domain]
            if count or all(group.claims for group in gang.pods):
                assert headroom.pods == Bounded(pods, pods), f"seed {seed}: {domain}"
            # Where no whole gang fits, pods with only a claim that they share are in the bound alone.
            assert headroom.pods.value <= pods <= headroom.pods.bound, f"seed {seed}: {domain}"
            assert headroom.replicas == Bounded(min(6, count), min(6, count)), f"seed {seed}: {domain}"
    return True


@pytest.mark.parametrize("seed", range(30))
def test_nodes_that_share_devices_keep_every_rule(seed):
    """No pod takes what one on another node has."""
    rng = random.Random(f"coupled gangs {seed}")
    cluster, release = small_fleet(rng, switches(sharing=False, coupled=True)), KubernetesRelease("1.36")
    hierarchy = hierarchy_of(random_places(rng, cluster.node_names))
    gangs = tuple(random_gang(rng, f"g{at}", [random_sketch(rng)]) for at in range(2))
    checked_gangs(cluster, gangs, hierarchies=[hierarchy], release=release)
