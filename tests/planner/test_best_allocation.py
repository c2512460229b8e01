"""The best allocation against trying every subset of devices; with all rules mixed in `test_all_rules_mixed`."""

from __future__ import annotations

import os
import random
from dataclasses import replace as changed

import pytest
from brute_force import BruteForce
from brute_force_fleets import counted, proven
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import random_cluster, random_fleet, random_sketch

from dra_lab.model.plan import NodeFit, goal_order
from dra_lab.model.release import KubernetesRelease

RELEASES = tuple(map(KubernetesRelease, ("1.36", "1.37")))
"""Releases that serve amounts, which the brute force knows; `test_every_release` has the others."""

CASES = int(os.environ.get("DRA_LAB_RANDOM_PLANS", "90"))
ORDERS = ((), ("roots", "unpaired", "numa"), ("unpaired",))


@pytest.mark.parametrize("start", range(0, CASES, 45))
def test_optimum_is_brute_force(start):
    """Every goal has the value that trying all subsets finds, and a misfit is one for them too."""
    for seed in range(start, min(start + 45, CASES)):
        rng = random.Random(seed)
        cluster, sketch = random_cluster(rng), random_sketch(rng)
        goals = ORDERS[seed % len(ORDERS)]
        plan = checked_plan(cluster, sketch, release=RELEASES[seed % 2], goals=goals)
        expected = BruteForce(cluster, sketch, "n1", RELEASES[seed % 2]).values_in(goal_order(goals))
        found = counted(plan.goals) if plan.fits else None
        assert found == expected, f"seed {seed}: {found} instead of {expected}"
        assert proven(plan), f"seed {seed}"
        assert plan.fits or plan.shortfalls, f"seed {seed}"


def test_preference_never_stops():
    """A claim that fits without its preferred links fits with them."""
    for seed in range(1000, 1030):
        rng = random.Random(seed)
        cluster, sketch = random_cluster(rng), random_sketch(rng)
        preferred = replace(sketch, links=tuple(replace(link, must=False) for link in sketch.links))
        without = checked_plan(cluster, replace(sketch, links=()), release=RELEASES[seed % 2])
        assert checked_plan(cluster, preferred, release=RELEASES[seed % 2]).fits == without.fits, f"seed {seed}"


@pytest.mark.parametrize("start", range(0, CASES // 3, 15))
def test_every_node_is_decided_rightly(start):
    """Which nodes fit, as well as the best or worse, now and idle, is what trying all subsets on each node says."""
    for seed in range(start, start + 15):
        rng = random.Random(f"fleet {seed}")
        cluster, sketch = random_fleet(rng), random_sketch(rng)
        plan = checked_plan(cluster, sketch, release=RELEASES[seed % 2])
        order = goal_order(())
        values, idle = (
            {node: BruteForce(here, sketch, node, RELEASES[seed % 2]).values_in(order) for node in cluster.node_names}
            for here in (cluster, changed(cluster, claims=()))
        )
        best = min((value for value in values.values() if value is not None), default=None)
        for node_class in plan.node_classes:
            for node in node_class.nodes:
                worst = NodeFit.NO if values[node] is None else NodeFit.WORSE
                expected = NodeFit.BEST if best is not None and values[node] == best else worst
                assert (node_class.fit, node_class.fits_idle) == (expected, idle[node] is not None), f"{seed} {node}"
        equal = {node for node, value in values.items() if value == best} if best else {""}
        assert plan.node in equal, f"seed {seed}"
