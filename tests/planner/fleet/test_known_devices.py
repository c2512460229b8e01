"""Hardware put together from known devices, against looking at every device of every node."""

from __future__ import annotations

import random

import pytest
from exhaustive_fleets import a_fleet, random_workloads
from test_trees_brute_force import tree_cluster, tree_workloads

from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.known_devices import KnownDevices
from dra_lab.planner.states.survey import idle_layout


@pytest.mark.parametrize("kind", ["trees", "exclusive"])
def test_put_together_is_looked_at(kind):
    """A node's hardware that is put together from devices of other nodes is the one that looking at the node finds."""
    put_together = 0
    for number in range(60):
        rng = random.Random(f"{kind} {number}")
        if kind == "trees":
            cluster, workloads = tree_cluster(rng), tree_workloads(rng)
        else:
            cluster = a_fleet(rng, sharing=False)
            workloads = random_workloads(rng, cluster, sharing=False)
        fleet = look_at(cluster, workloads, KubernetesRelease("1.37"), Budget())
        devices = KnownDevices(fleet.scan.rules, fleet.scan.views)
        for name in cluster.node_names:
            looked_at, found = idle_layout(fleet.scan, name), devices.layout(name)
            if found is not None:
                put_together += 1
                assert found == looked_at, f"{kind} {number} {name}"
            devices.learn(name, looked_at)
    assert put_together >= 5, "too few nodes are put together"
