"""Nodes with shared devices, now and with nothing in use, against trying every subset; see `test_all_rules_mixed`."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from brute_force import BruteForce
from brute_force_fleets import ENDLESS
from checked_plans import checked_plan
from random_clusters import SHARING, random_fleet, random_sketch

from dra_lab.model.plan import NodeFit, goal_order
from dra_lab.model.release import KubernetesRelease

CLUSTERS = int(os.environ.get("DRA_LAB_RANDOM_SHARING", "25"))


def release(seed: int) -> KubernetesRelease:
    return KubernetesRelease("1.37" if seed % 2 else "1.36", {"DRAListTypeAttributes": True})


@pytest.mark.parametrize("start", range(0, CLUSTERS, 25))
def test_nodes_with_shared_devices_are_decided_rightly(start):
    """Which nodes fit, now and idle, is what trying all subsets on each node says: no unequal nodes are merged."""
    for seed in range(start, start + 25):
        rng = random.Random(f"sharing fleet {seed}")
        cluster = random_fleet(rng, 5, SHARING)
        sketch, target = random_sketch(rng, SHARING, cluster), release(seed)
        plan = checked_plan(cluster, sketch, release=target)
        values = best_values(cluster, sketch, target)
        idle = best_values(replace(cluster, claims=()), sketch, target)
        best = min((value for value in values.values() if value is not None), default=None)
        for node_class in plan.node_classes:
            for node in node_class.nodes:
                worst = NodeFit.NO if values[node] is None else NodeFit.WORSE
                expected = NodeFit.BEST if best is not None and values[node] == best else worst
                assert (node_class.fit, node_class.fits_idle) == (expected, idle[node] is not None), f"{seed} {node}"


def best_values(cluster, sketch, target):
    return {
        node: BruteForce(cluster, sketch, node, target, most=ENDLESS).values_in(goal_order(()))
        for node in cluster.node_names
    }
