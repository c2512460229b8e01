"""Hardware put together from known devices, against looking at every device of every node."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import TREES, random_fleet, random_workloads, small_fleet, switches
from small_nodes import NUMA, a_slice, cluster, gpu, nic
from small_plans import GPU, NIC, request

from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.known_devices import KnownDevices
from dra_lab.planner.states.survey import idle_layout


def put_together(kind):
    """Yield the hardware of nodes of random clusters, as looking finds it and as it is put together, where it is."""
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
                yield number, name, looked_at, found
            devices.learn(name, looked_at)


@pytest.mark.parametrize("kind", ["trees", "exclusive"])
def test_put_together_is_looked_at(kind):
    """A node's hardware that is put together from devices of other nodes is the one that looking at the node finds."""
    every = [*put_together(kind)]
    for number, name, looked_at, found in every:
        assert replace(found, kinds=()) == looked_at, f"{kind} {number} {name}"
    assert len(every) >= 5, "too few nodes are put together"


@pytest.mark.parametrize("kind", ["trees", "exclusive"])
def test_groups_of_one_kind_differ_in_their_devices_alone(kind):
    """Each group has a number, and groups with one number agree in all but their devices, on all nodes."""
    known = {}
    for number, name, _, found in put_together(kind):
        for at, group in zip(found.kinds, found.problem.groups, strict=True):
            bare = replace(group, devices=())
            assert known.setdefault((number, at), bare) == bare, f"{kind} {number} {name}"


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
