"""Where devices sit: published first, derived from facts, unknown otherwise."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from msgspec.structs import replace
from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic

from dra_lab import load_cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.names import DeviceID
from dra_lab.topology.locality import device_names, localities, skipped_devices
from dra_lab.topology.node_tree import node_graph, node_tree
from dra_lab.topology.places import DISTANCES, Locality, Place, distance, level_value, pair_paths


def places(world, node: str = "n1"):
    """Return the localities of a node by device name."""
    return {found.device.device: found for found in localities(world, node).values()}


def gpus(*devices):
    return a_slice("gpu.nvidia.com", *devices)


def nics(*devices):
    return a_slice("dra.net", *devices)


def listed(driver: str, key: str, **values):
    """Return a slice with a device that publishes a list."""
    return a_slice(driver, Device(name="a", attributes={key: DeviceAttribute(**values)}))


CPUS = a_slice("dra.cpu", device("cpudevnuma000", {NUMA: 0, "socketID": 1, "numCPUs": 8}))
PLACES = {
    "a published NUMA node wins": ((gpus(gpu(0, "r0", **{NUMA: 1})), nics(nic("a", "r0", 0))), "gpu-0", "numaNode", 1),
    "NICs on the same root": ((gpus(gpu(0, "r0")), nics(nic("a", "r0", 0))), "gpu-0", "numaNode", (0, "derived")),
    "NICs that disagree": ((gpus(gpu(0, "r0")), nics(nic("a", "r0", 0), nic("b", "r0", 1))), "gpu-0", "numaNode", None),
    "a derived node is no evidence": ((gpus(gpu(0, "r0"), gpu(1, "r0")),), "gpu-1", "numaNode", None),
    "-1 is not known": ((nics(nic("a", "r0", -1)),), "a", "numaNode", None),
    "an empty root is not known": ((nics(device("a", {ROOT: ""})),), "a", "pcieRoot", None),
    "true is no number": ((nics(device("a", {NUMA: 1}), device("b", {NUMA: True})),), "b", "numaNode", None),
    "CPUs of the NUMA node": ((gpus(gpu(0, "r0", **{NUMA: 0})), CPUS), "gpu-0", "socket", (1, "derived")),
    "the first node of a list": ((listed("dra.net", NUMA, ints=(1, 0)),), "a", "numaNode", 1),
    "several roots are no place": ((listed("dra.cpu", ROOT, strings=("r0", "r1")),), "a", "pcieRoot", None),
    "a driver that no profile knows": ((a_slice("new.example.org", device("x", {NUMA: 1})),), "x", "numaNode", 1),
}


@pytest.mark.parametrize("rule", PLACES)
def test_a_device_has_this_place(rule):
    """The value of a level, with "derived" where no driver publishes it; None where it is not known."""
    slices, name, level, expected = PLACES[rule]
    place = places(cluster(*slices))[name].place(level)
    found = None if place is None else (place.value, "derived") if place.derived else place.value
    assert found == expected


@pytest.mark.parametrize(
    ("names", "shown"),
    [(("rdma0", "rdma1"), ("rdma0", "rdma1")), (("rdma0", "rdma0"), ("a", "b")), (("rdma0", ""), ("rdma0", "b"))],
)
def test_a_device_has_the_name_that_people_know_it_by_if_no_other_has_it(names, shown):
    devices = [device(own, {"dra.net/ifName": name} if name else {}) for own, name in zip("ab", names, strict=True)]
    assert tuple(device_names(cluster(nics(*devices)), "n1").values()) == shown


def test_a_derived_place_names_what_it_is_derived_from():
    world = cluster(gpus(gpu(0, "r0")), nics(nic("a", "r0", 0)))
    assert places(world)["gpu-0"].numa_node.source == "from the NICs on the same PCIe root (dra.net/numaNode)"


@pytest.mark.parametrize(
    ("sample", "name", "expected"),
    [("eks-p4d", "gpu-7", (1, True)), ("eks-p4d", "pci-0000-10-1b-0", (0, False)), ("oke-gb200", "gpu-3", (1, True))],
)
def test_devices_of_real_machines_have_their_documented_place(sample, name, expected):
    world = load_cluster(f"sample:{sample}")
    place = places(world, world.node_names[0])[name].numa_node
    assert (place.value, place.derived) == expected


def test_a_link_to_an_attribute_sees_what_is_published_and_nothing_else():
    bare = gpu(0, "r0")
    found = places(cluster(gpus(bare), nics(nic("a", "r0", 0))))["gpu-0"]
    values = [level_value(found, where, bare) for where in ("numaNode", NUMA, "gpu.nvidia.com/type", "x.io/y")]
    assert values == [0, None, "gpu", None]


def test_devices_of_an_incomplete_pool_are_skipped_with_a_reason():
    """kube-scheduler does not look at an incomplete pool; its devices are shown all the same."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0"), count=2))
    assert [(s.id.device, s.reason) for s in skipped_devices(world, "n1")] == [("gpu-0", "pool incomplete")]
    assert "gpu-0" in places(world)


def test_nodes_of_one_kind_have_their_own_devices():
    """Two nodes whose GPUs are equal have the NUMA nodes of their own NICs."""
    parts = [a_slice("gpu.nvidia.com", gpu(0, "r0"), gpu(1), node=node) for node in ("n1", "n2")]
    parts += [a_slice("dra.net", nic("a", "r0", numa), node=node) for node, numa in (("n1", 0), ("n2", 1))]
    world = cluster(*parts)
    for node, numa in (("n1", 0), ("n2", 1)):
        assert {found.device.pool for found in localities(world, node).values()} == {node}
        assert places(world, node)["gpu-0"].numa_node.value == numa


@pytest.fixture
def world():
    """A node with two roots, a CPU group, and a device of unknown place."""
    return cluster(
        a_slice("gpu.nvidia.com", gpu(10, "r1"), gpu(2, "r0"), gpu(3)),
        a_slice("dra.net", nic("a", "r0", 0), nic("b", "r1", 1), nic("c", "r2", 1)),
        a_slice("dra.cpu", device("cpudevnuma000", {NUMA: 0, "socketID": 0, "numCPUs": 8})),
    )


def test_every_device_is_in_the_tree_once(world):
    devices = [found.device for found in node_tree(world, "n1").all_devices()]
    assert sorted(devices) == sorted(localities(world, "n1"))


def test_the_order_of_the_slices_does_not_matter(world):
    again = cluster(*reversed(world.slices))
    assert node_tree(world, "n1") == node_tree(again, "n1")


def test_unknown_devices_have_a_branch_of_their_own(world):
    last = node_tree(world, "n1").branches[-1]
    assert (last.level, [found.device.device for found in last.devices]) == ("unknown", ["gpu-3"])


def test_graph_is_a_tree_with_the_devices_as_leaves(world):
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
    found = {item.device.device: item for item in localities(world, "n1").values()}
    assert distance(found[a], found[b]) == distance(found[b], found[a]) == expected
    assert expected in DISTANCES


def test_two_numa_nodes_on_one_socket_are_nearer_than_two_sockets():
    """With sub-NUMA clustering two NUMA nodes can share a socket."""
    cpus = [device(f"c{n}", {NUMA: n, "socketID": n // 2, "numCPUs": 8}) for n in range(4)]
    found = {i.device.device: i for i in localities(cluster(a_slice("dra.cpu", *cpus)), "n1").values()}
    assert (distance(found["c0"], found["c1"]), distance(found["c0"], found["c2"])) == ("socket", "node")


def test_a_root_named_like_a_level_is_only_a_name():
    odd = cluster(a_slice("gpu.nvidia.com", gpu(0, "unknown"), gpu(1, "<b>"), device("x", {ROOT: "node"})))
    assert [branch.level for branch in node_tree(odd, "n1").branches] == ["pcieRoot"] * 3


def at(kind: str, name: str, root: str | None, numa: int | None) -> Locality:
    place = Place(root, "pcieRoot") if root else None
    return Locality(
        DeviceID(kind, "n", name),
        kind,
        name,
        pcie_root=place,
        numa_node=None if numa is None else Place(numa, "numaNode"),
    )


def test_the_nearest_pairs_are_taken_first():
    """A GPU gives up a far NIC for one at its own root, whatever the order."""
    places = [
        at("gpu", "a", "r0", 0),
        at("gpu", "b", "r1", 0),
        at("gpu", "c", "r9", 1),
        at("nic", "x", "r1", 0),
        at("nic", "y", "r2", 0),
        at("nic", "z", None, None),
    ]
    for seed in range(20):
        random.Random(seed).shuffle(places)
        gpus = [place.device.device for place in places if place.kind == "gpu"]
        found = dict(zip(gpus, pair_paths(places), strict=True))
        assert found == {"a": "numa", "b": "root", "c": "unknown"}


@pytest.mark.parametrize(("gpu", "nic", "path"), [(("r0", 0), (None, 0), "numa-any"), ((None, 0), (None, 1), "far")])
def test_that_roots_differ_is_said_only_where_both_are_known(gpu, nic, path):
    """On one NUMA node they may be on one root as well, unless both roots are published."""
    assert pair_paths([at("gpu", "a", *gpu), at("nic", "x", *nic)]) == (path,)


def test_that_numa_nodes_differ_is_said_only_where_both_are_known():
    """On one socket, without a NUMA node of each, the path is not known."""
    gpu, nic = (replace(at(kind, kind, None, None), socket=Place(0, "socket")) for kind in ("gpu", "nic"))
    assert pair_paths([gpu, nic]) == ("unknown",)


def test_several_far_pairs_have_a_range_of_their_own():
    """One far pair and several of them were measured apart; a GPU without a NIC of its own has no figure."""
    one = [at("gpu", "a", "r0", 0), at("nic", "x", "r1", 1)]
    assert pair_paths(one) == ("far",)
    two = [*one, at("gpu", "b", "r0", 0), at("nic", "y", "r1", 1), at("gpu", "c", "r0", 0)]
    assert pair_paths(two) == ("far-several", "far-several", "none")
    assert pair_paths([at("gpu", "a", "r0", 0)]) == ()
