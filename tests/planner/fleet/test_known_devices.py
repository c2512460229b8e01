"""Hardware put together from known devices, against looking at every device of every node."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_plan
from random_clusters import TREES, random_fleet, random_workloads, small_fleet, switches
from small_nodes import NUMA, a_slice, cluster, gpu, nic
from small_plans import GPU, NIC, request

from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
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
            cluster = random_fleet(rng, rng.randint(1, 3), TREES)
            workloads = random_workloads(rng, cluster, TREES)
        else:
            cluster = small_fleet(rng, switches(sharing=False))
            workloads = random_workloads(rng, cluster, switches(sharing=False))
        fleet = look_at(cluster, workloads, KubernetesRelease("1.37"), Budget())
        devices = KnownDevices(fleet.scan.rules, fleet.scan.views)
        for name in cluster.node_names:
            looked_at, found = idle_layout(fleet.scan, name), devices.layout(name)
            if found is not None:
                put_together += 1
                assert found == looked_at, f"{kind} {number} {name}"
            devices.learn(name, looked_at)
    assert put_together >= 5, "too few nodes are put together"


def test_a_device_refused_on_one_node_is_looked_at_again_on_another():
    """A NIC whose NUMA node follows from a GPU beside it serves a link that refuses the same NIC on another node."""
    known, other = gpu(0, "pci0000:10", **{NUMA: 0}), gpu(0, "pci0000:20", **{NUMA: 0})
    unknown = nic("nic", "pci0000:10")
    slices = (
        a_slice(GPU, other, node="a"),
        a_slice(NIC, unknown, node="a"),
        a_slice(GPU, known, node="b"),
        a_slice(GPU, known, node="c"),
        a_slice(NIC, unknown, node="c"),
    )
    link = Link("near", ("gpu", "nic"), "numaNode")
    sketch = ClaimSketch(requests=(request("gpu", GPU), request("nic", "dranet")), links=(link,))
    assert checked_plan(cluster(*slices), sketch, release=KubernetesRelease("1.36")).node == "c"
