"""Plans for small gangs on small trees, and nodes to add, against trying every pod on every node in every way."""

from __future__ import annotations

import dataclasses
import os
import random

import pytest
from brute_force import TooLarge
from brute_force_gangs import BruteForceGangs
from brute_force_nodes import BruteForceNodes
from checked_gangs import broken_gangs, checked_gangs
from random_clusters import random_sketch, small_fleet, switches
from random_gangs import hierarchy_of, random_case, random_gang, random_places, random_shared_case
from random_node_types import random_node_case

from dra_lab import KubernetesRelease, nodes_to_add
from dra_lab.model.headroom import Bounded
from dra_lab.model.plan import PlanStatus

GANGS = int(os.environ.get("DRA_LAB_RANDOM_GANGS", "80"))
"""How many random cases are compared; more of them with the environment variable."""

RELEASE = KubernetesRelease("1.36")
STEP = 10
DRAWN = {"gangs": random_case, "claims of groups": random_shared_case}
"""Gangs, and gangs of which pods of one group share claims."""


def compared(question, family: str, block: int, enough: int = STEP) -> None:
    """Compare cases until enough of them could be tried."""
    done = drawn = 0
    while done < enough:
        drawn += 1
        done += question(f"{family} {block} {drawn}", DRAWN[family])
        assert drawn <= 5 * STEP, "too many cases were too large to try everything"


@pytest.mark.parametrize("block", range(-(-GANGS // STEP)))
@pytest.mark.some(3)
@pytest.mark.parametrize("family", DRAWN)
def test_gangs_are_brute_force(family, block):
    """Every goal has the value that trying everything finds, proven; and every plan keeps every rule."""
    compared(is_brute_force, family, block)


@pytest.mark.parametrize("block", range(-(-GANGS // STEP)))
@pytest.mark.some(3)
@pytest.mark.parametrize("family", DRAWN)
def test_rooms_are_brute_force(family, block):
    """Each domain has as many pods of a gang, and as many such gangs, as trying everything finds."""
    compared(has_the_headroom, family, block)


@pytest.mark.parametrize(
    "block", [pytest.param(block, marks=[pytest.mark.long] if block else []) for block in range(GANGS // 8)]
)
def test_nodes_to_add_are_brute_force(block):
    """The cost is the least that trying everything finds, proven; and the plan with these nodes keeps every rule."""
    compared(are_the_cheapest, "gangs", block, STEP // 2)


def is_brute_force(seed: str, case) -> bool:
    """Compare one case; say whether everything could be tried."""
    cluster, hierarchy, gangs, workloads = case(random.Random(seed))
    try:
        expected = BruteForceGangs(cluster, gangs, workloads, [hierarchy], RELEASE).values()
    except TooLarge:
        return False
    plan = checked_gangs(cluster, gangs, workloads, hierarchies=[hierarchy], release=RELEASE)
    found = tuple(goal.value for goal in plan.goals)
    assert found == expected, f"seed {seed}: {found} instead of {expected}"
    assert plan.proven, f"seed {seed}"
    return True


def has_the_headroom(seed: str, case) -> bool:
    """Compare the rooms of one case; say whether everything could be tried."""
    cluster, hierarchy, gangs, _ = case(random.Random(seed))
    # The number that fits is compared for whole numbers of one gang: the tables end with what all together want.
    gangs = [dataclasses.replace(gang, replicas=6) for gang in gangs[:1] if gang.is_gang]
    if not gangs:
        return False
    try:
        brute = BruteForceGangs(cluster, gangs, (), [hierarchy], RELEASE)
        expected = [brute.headroom(gang) for gang in gangs]
    except TooLarge:
        return False
    plan = checked_gangs(cluster, gangs, hierarchies=[hierarchy], release=RELEASE)
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


def are_the_cheapest(seed: str, _) -> bool:
    """Compare the nodes to add of one case; say whether everything could be tried."""
    rng = random.Random(seed)
    cluster, hierarchy, gangs, workloads, types = random_node_case(rng, RELEASE)
    places = {node: hierarchy.path_of(node) for node in cluster.node_names}
    try:
        expected = BruteForceNodes(cluster, places, gangs, workloads, types, RELEASE).least()
    except TooLarge:
        return False
    if expected is None and rng.random() < 0.8:
        return False
    found = nodes_to_add(cluster, [*gangs, *workloads], types=types, hierarchies=[hierarchy], release=RELEASE)
    assert found.proven, f"seed {seed}"
    if expected is None:
        assert found.status is PlanStatus.INFEASIBLE, f"seed {seed}: {found.added}, nothing helps"
        return True
    assert (found.cost, found.bound) == (expected, expected), f"seed {seed}: {found.status} {found.added}"
    assert found.plan is not None
    assert sum(found.plan.placed.values()) == sum(one.replicas for one in (*gangs, *workloads)), f"seed {seed}"
    assert broken_gangs(found.cluster, found.plan, found.hierarchies, RELEASE) == [], f"seed {seed}"
    return True


@pytest.mark.parametrize("seed", range(30))
def test_nodes_that_share_devices_keep_every_rule(seed):
    """No pod takes what one on another node has."""
    rng = random.Random(f"coupled gangs {seed}")
    cluster = small_fleet(rng, switches(sharing=False, coupled=True))
    hierarchy = hierarchy_of(random_places(rng, cluster.node_names))
    gangs = tuple(random_gang(rng, f"g{at}", [random_sketch(rng)]) for at in range(2))
    checked_gangs(cluster, gangs, hierarchies=[hierarchy], release=RELEASE)
