"""The tree and the graph of a node, and distances in it."""

from __future__ import annotations

import networkx as nx
import pytest
from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic

from dra_lab.topology import DISTANCES, distance, localities, node_graph, node_tree


@pytest.fixture
def world():
    """A node with two roots, a CPU group, and a device of unknown place."""
    return cluster(
        a_slice("gpu.nvidia.com", gpu(10, "r1"), gpu(2, "r0"), gpu(3)),
        a_slice("dra.net", nic("a", "r0", 0), nic("b", "r1", 1), nic("c", "r2", 1)),
        a_slice("dra.cpu", device("cpudevnuma000", {NUMA: 0, "socketID": 0, "numCPUs": 8})),
    )


def test_every_device_is_in_the_tree_once(world):
    """No device is lost and none is there twice."""
    devices = [found.device for found in node_tree(world, "n1").all_devices()]
    assert sorted(devices) == sorted(localities(world, "n1"))


def test_the_order_of_the_slices_does_not_matter(world):
    """The same devices give the same tree, whatever order they were read in."""
    again = cluster(*reversed(world.slices))
    assert node_tree(world, "n1") == node_tree(again, "n1")


def test_unknown_devices_have_a_branch_of_their_own(world):
    """Devices without any known level are together at the end."""
    last = node_tree(world, "n1").branches[-1]
    assert (last.level, [found.device.device for found in last.devices]) == ("unknown", ["gpu-3"])


def test_graph_is_a_tree_with_the_devices_as_leaves(world):
    """The graph is an arborescence whose leaves are exactly the devices."""
    graph = node_graph(world, "n1")
    assert nx.is_arborescence(graph)
    assert {v for v in graph if graph.out_degree(v) == 0} == set(localities(world, "n1"))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("gpu-2", "gpu-2", "device"),
        ("gpu-2", "a", "pcieRoot"),
        ("gpu-10", "c", "numaNode"),
        ("gpu-2", "gpu-10", "node"),
        ("gpu-3", "a", "unknown"),
        ("cpudevnuma000", "a", "numaNode"),
    ],
)
def test_distance_is_the_nearest_common_level(world, a: str, b: str, expected: str):
    """The nearest level that both share; unknown is never taken for far."""
    found = {item.device.device: item for item in localities(world, "n1").values()}
    assert distance(found[a], found[b]) == distance(found[b], found[a]) == expected
    assert expected in DISTANCES


def test_two_numa_nodes_on_one_socket_are_nearer_than_two_sockets():
    """With sub-NUMA clustering two NUMA nodes can share a socket."""
    cpus = [device(f"c{n}", {NUMA: n, "socketID": n // 2, "numCPUs": 8}) for n in range(4)]
    found = {i.device.device: i for i in localities(cluster(a_slice("dra.cpu", *cpus)), "n1").values()}
    assert (distance(found["c0"], found["c1"]), distance(found["c0"], found["c2"])) == ("socket", "node")


def test_a_root_named_like_a_level_is_only_a_name():
    """Text from a cluster is a value and never decides the structure."""
    odd = cluster(a_slice("gpu.nvidia.com", gpu(0, "unknown"), gpu(1, "<b>"), device("x", {ROOT: "node"})))
    assert [branch.level for branch in node_tree(odd, "n1").branches] == ["pcieRoot"] * 3
