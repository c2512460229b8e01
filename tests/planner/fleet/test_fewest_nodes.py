"""The objective "nodes": all replicas on the fewest nodes, against trying every allocation on every node."""

from __future__ import annotations

import os
import random

import pytest
from brute_force import TooLarge
from brute_force_fleets import best_fleet
from checked_plans import checked_fleet
from random_clusters import random_workloads, small_fleet, switches

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease

FLEETS = int(os.environ.get("DRA_LAB_RANDOM_FEWEST", "40"))
"""How many random fleets are compared; more with the environment variable."""


@pytest.mark.parametrize("sharing", [False, True])
def test_fewest_nodes_are_brute_force(sharing):
    """The nodes used are the fewest that hold all replicas, proven; where none do, that is proven."""
    compared = drawn = fits = 0
    while compared < FLEETS // 2:
        drawn += 1
        rng = random.Random(f"fewest {drawn} {sharing}")
        cluster = small_fleet(rng, switches(sharing=sharing))
        workloads = random_workloads(rng, cluster, switches(sharing=sharing))
        release = KubernetesRelease("1.37", {"DRAListTypeAttributes": True} if sharing else {})
        try:
            best = best_fleet(cluster, workloads, (UNPLACED, NODES), release, all_placed=True)
        except TooLarge:
            continue
        plan = checked_fleet(cluster, workloads, release=release, objective="nodes", first_fit=False)
        assert plan.proven, f"fleet {drawn}"
        assert (plan.status is PlanStatus.INFEASIBLE) == (best is None), f"fleet {drawn}"
        if best is not None:
            assert (len(plan.nodes), plan.goal(NODES).value) == (best[1], best[1]), f"fleet {drawn}"
            fits += 1
        compared += 1
    assert fits
