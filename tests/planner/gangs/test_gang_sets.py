"""Plans by sets of gangs against plans by pods in regions: two models of the same question."""

from __future__ import annotations

import os
import random
from collections import Counter
from itertools import takewhile

import pytest
from msgspec.structs import replace
from random_clusters import PLAIN, TREES, random_fleet, random_sketch
from random_gangs import hierarchy_of

from dra_lab.checks.gang_audit import check_gangs
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang, GangGroup
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.gangs import improve, plan_gangs

CASES = int(os.environ.get("DRA_LAB_RANDOM_GANGS", "40"))
"""How many random cases are compared; more of them with the environment variable."""

RELEASE = KubernetesRelease("1.36")


def a_case(rng: random.Random):
    """Return four to nine nodes in racks of blocks, with gangs in racks, gangs in blocks, and ordinary pods."""
    cluster = random_fleet(rng, rng.randint(4, 9), rng.choice([PLAIN, TREES]))
    places = {name: (f"b{number % 2}", f"r{rng.choice('xyz')}") for number, name in enumerate(cluster.node_names)}
    sketches = [replace(random_sketch(rng), name="claim") for _ in range(2)]
    gangs = tuple(a_gang(rng, f"g{at}", sketches) for at in range(rng.randint(1, 4)))
    claims = [*sketches, replace(random_sketch(rng), name="claim")]
    plain = [Workload(f"plain{at}", (rng.choice(claims),), rng.randint(1, 6)) for at in range(rng.choice([0, 0, 1, 2]))]
    return cluster, hierarchy_of(places), gangs, plain


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


def a_case_of_few_racks(rng: random.Random):
    """Return gangs that prefer a rack on six to twelve nodes; the first one is larger than any rack, if it may be."""
    cluster = random_fleet(rng, rng.randint(6, 12), TREES)
    places = {name: (f"b{number % 2}", f"r{rng.choice('xyz')}") for number, name in enumerate(cluster.node_names)}
    sketch = replace(random_sketch(rng, TREES), name="claim")
    fitting = Counter(places[one.node] for one in plan_fleet(cluster, [Workload("w", (sketch,), 99)]).replicas)
    in_block = sorted(count for (block, _), count in fitting.items() if block == "b0")
    larger = 1 + max(fitting.values(), default=0)
    sizes = [rng.randint(larger, max(larger, sum(in_block[-2:]))), *rng.choices(range(1, 5), k=rng.randint(0, 3))]
    groups = [GangGroup(Workload("w", (sketch,), size)) for size in sizes]
    return cluster, hierarchy_of(places), [Gang(f"g{n}", [one], "block", "rack") for n, one in enumerate(groups)], ()


def a_case_of_busy_racks(rng: random.Random):
    """Return several gangs of two kinds of pods in three racks: the largest slot often loses some pods."""
    cluster = random_fleet(rng, rng.randint(4, 8), rng.choice([PLAIN, TREES]))
    places = {name: ("b", f"r{rng.choice('xyz')}") for name in cluster.node_names}
    sketches = [replace(random_sketch(rng), name="claim") for _ in range(2)]
    groups = [GangGroup(Workload("w", (rng.choice(sketches),), rng.choice([1, 1, 2, 3]))) for _ in range(3)]
    gangs = [Gang(f"g{at}", [group], "rack", replicas=rng.choice([1, 2, 3])) for at, group in enumerate(groups)]
    return cluster, hierarchy_of(places), gangs, ()


@pytest.mark.some(40)
@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("a_case", [a_case, a_case_of_few_racks, a_case_of_busy_racks])
def test_both_models_have_the_same_values(a_case, seed, monkeypatch):
    """The goals have the same values, proven by both."""
    cluster, hierarchy, gangs, plain = a_case(random.Random(f"sets {seed}"))
    by_sets = plan_gangs(cluster, gangs, plain, hierarchies=[hierarchy], release=RELEASE)
    monkeypatch.setattr(improve, "gang_sets", lambda *_, **__: None)
    by_pods = plan_gangs(cluster, gangs, plain, hierarchies=[hierarchy], release=RELEASE)
    assert (by_sets.goals, by_sets.status) == (by_pods.goals, by_pods.status)


@pytest.mark.parametrize("seed", range(CASES))
def test_numbers_that_are_decided_late_have_the_same_values(seed, monkeypatch):
    """No goal is proven at another value if the best way is found only for the numbers of pods that a plan rests on."""
    cluster, hierarchy, gangs, plain = a_case(random.Random(f"late {seed}"))
    every = plan_gangs(cluster, gangs, plain, hierarchies=[hierarchy], release=RELEASE)
    monkeypatch.setitem(plan_gangs.__wrapped__.__globals__, "decide_all", lambda *_: None)
    late = plan_gangs(cluster, gangs, plain, hierarchies=[hierarchy], release=RELEASE)
    proven = [goal.value for goal in takewhile(lambda goal: goal.proven, late.goals)]
    assert proven == [goal.value for goal in every.goals][: len(proven)]
    assert check_gangs(cluster, late, [hierarchy], RELEASE) == ()


@pytest.mark.some(40)
@pytest.mark.parametrize("seed", range(CASES))
@pytest.mark.parametrize("a_case", [a_case, a_case_of_few_racks, a_case_of_busy_racks])
def test_bounds_by_sets_and_by_counting_hold_for_the_best_plan(a_case, seed, monkeypatch):
    """No bound of a model of sets, and none by counting, is above the value that the other model proves."""
    cluster, hierarchy, gangs, plain = a_case(random.Random(f"bounds {seed}"))
    bounds: list[tuple[str, int]] = []
    whole, counted = improve._Search._whole_gangs, improve.counted_bound

    def by_sets(self, at, goal):
        bounds.append((goal, whole(self, at, goal)))
        return bounds[-1][1]

    def by_counting(problem, goal, values):
        bounds.append((goal, counted(problem, goal, values)))
        return bounds[-1][1]

    monkeypatch.setattr(improve._Search, "_whole_gangs", by_sets)
    monkeypatch.setattr(improve, "counted_bound", by_counting)
    plan_gangs(cluster, gangs, plain, hierarchies=[hierarchy], release=RELEASE)
    monkeypatch.setattr(improve, "gang_sets", lambda *_, **__: None)
    monkeypatch.setattr(improve, "counted_bound", lambda *_: 0)
    best = plan_gangs(cluster, gangs, plain, hierarchies=[hierarchy], release=RELEASE)
    assert [(goal, bound) for goal, bound in bounds if bound > best.goal(goal).value] == []
