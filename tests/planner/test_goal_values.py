"""The value of an allocation comes from its devices, even if a solver that was stopped early left other values."""

from __future__ import annotations

import random
import threading
from collections import Counter
from itertools import islice

import pytest
from brute_force import COUNTED, BruteForce
from msgspec.structs import replace
from random_clusters import random_cluster, random_sketch, random_workloads, small_fleet, switches

from dra_lab.index.node_index import node_index
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import pack
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.sites import sites_of
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.node.goal_table import goal_values
from dra_lab.planner.scan import scan_nodes

RELEASE = KubernetesRelease("1.37")


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_worth_is_what_the_goals_are(start):
    """Every goal of allocations of random claims has the value that counting their devices gives."""
    compared = 0
    for seed in range(start, start + 40):
        rng = random.Random(f"worth {seed}")
        cluster, sketch = random_cluster(rng), random_sketch(rng)
        brute = BruteForce(cluster, sketch, "n1", RELEASE)
        rules = Rules(cluster, sketch, RELEASE, node_index(cluster, RELEASE).matching)
        problem = scan_nodes(rules, Budget()).problem("n1")
        number = {ask.reference: at for at, ask in enumerate(problem.asks)}
        group_of = {device: at for at, group in enumerate(problem.groups) for device in group.devices}
        for picked in islice(brute.allocations(), 20):
            way = Counter((number[ask.reference], group_of[device]) for _, ask, taken in picked for device in taken)
            goals = brute.goals(picked)
            found = goal_values(problem, way)
            assert {goal: found[goal] for goal in COUNTED} == {goal: goals[goal] for goal in COUNTED}, f"seed {seed}"
            compared += 1
    assert compared > 20


def test_a_packing_is_reported_with_its_own_values():
    """The values of a packing are those of the devices that it takes."""
    packings = 0
    for seed in range(40):
        rng = random.Random(f"any way {seed}")
        cluster = small_fleet(rng, switches(sharing=seed % 2 == 0))
        fleet = look_at(cluster, random_workloads(rng, cluster, switches(sharing=seed % 2 == 0)), RELEASE, Budget())
        for site in sites_of(fleet, Budget()):
            counts = [int(at == 0) for at in range(len(site.parts))]
            budget = Budget(cancel=threading.Event())
            found = pack(site.problem, site.parts, counts, COUNTED, budget, solver="HiGHS")
            if found.upper is None:
                continue
            way = {(ask, group): count for ask, group, count in found.takes[0]}
            mine = goal_values(replace(site.problem, paired=site.parts[0].paired), way, range(*site.parts[0].links))
            assert found.upper == tuple(mine[goal] for goal in COUNTED), f"seed {seed}"
            packings += 1
    assert packings > 20
