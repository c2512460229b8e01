"""Plans by sets of gangs against plans by pods in regions: two models of the same question."""

from __future__ import annotations

import os
import random

import pytest
from msgspec.structs import replace
from random_clusters import PLAIN, TREES, random_fleet, random_sketch
from random_gangs import hierarchy_of

from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang, GangGroup
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.gangs import improve, plan_gangs

CASES = int(os.environ.get("DRA_LAB_RANDOM_GANGS", "40"))
"""How many random cases are compared; more of them with the environment variable."""

RELEASE = KubernetesRelease("1.36")


def a_case(rng: random.Random):
    """Return four to eight nodes in racks of blocks, with gangs in racks, and gangs in blocks."""
    cluster = random_fleet(rng, rng.randint(4, 8), rng.choice([PLAIN, TREES]))
    places = {name: (f"b{number % 2}", f"r{rng.choice('xy')}") for number, name in enumerate(cluster.node_names)}
    sketches = [replace(random_sketch(rng), name="claim") for _ in range(2)]
    return cluster, hierarchy_of(places), tuple(a_gang(rng, f"g{at}", sketches) for at in range(rng.randint(1, 4)))


def a_gang(rng: random.Random, name: str, sketches) -> Gang:
    """Return a gang that is whole in a rack, or in a block, with slices in its racks or in few of them."""
    whole = rng.random() < 0.5
    groups = []
    for at in range(rng.choice([1, 1, 2])):
        pods = rng.choice([1, 2, 3]) if whole else rng.choice([2, 4])
        least = rng.choice([None, 1]) if whole else None
        slices = () if whole or rng.random() < 0.4 else ((2, "rack"),)
        groups.append(GangGroup(Workload(f"w{at}", (rng.choice(sketches),), pods), least, slices=slices))
    priority = rng.choice([0, 0, 5])
    preferred = "" if whole or any(group.slices for group in groups) else rng.choice(["", "rack"])
    return Gang(name, groups, "rack" if whole else "block", preferred, "", rng.choice([1, 2]), priority)


@pytest.mark.parametrize("seed", range(CASES))
def test_both_models_have_the_same_values(seed, monkeypatch):
    """The goals have the same values, proven by both."""
    cluster, hierarchy, gangs = a_case(random.Random(f"sets {seed}"))
    by_sets = plan_gangs(cluster, gangs, hierarchies=[hierarchy], release=RELEASE)
    monkeypatch.setattr(improve, "gang_sets", lambda *_: None)
    by_pods = plan_gangs(cluster, gangs, hierarchies=[hierarchy], release=RELEASE)
    assert (by_sets.goals, by_sets.status) == (by_pods.goals, by_pods.status)
