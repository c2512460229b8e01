"""Where devices sit: published first, derived from facts, unknown otherwise."""

from __future__ import annotations

import pytest
from small_nodes import NUMA, a_slice, cluster, device, gpu, nic, real_cluster

from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.topology import level_value, localities, skipped_devices


def places(world, node: str = "n1"):
    """Return the localities of a node by device name."""
    return {found.device.device: found for found in localities(world, node).values()}


def test_published_place_wins_over_a_derived_one():
    """A device that publishes its NUMA node keeps it, whatever its neighbours say."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0", **{NUMA: 1})), a_slice("dra.net", nic("a", "r0", 0)))
    assert (places(world)["gpu-0"].numa_node.value, places(world)["gpu-0"].numa_node.derived) == (1, False)


def test_numa_node_is_derived_from_the_same_root():
    """A GPU without a NUMA attribute takes the node of the NICs on its root, marked derived, with the source named."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0")), a_slice("dra.net", nic("a", "r0", 0)))
    place = places(world)["gpu-0"].numa_node
    assert (place.value, place.derived) == (0, True)
    assert place.source == "from the NICs on the same PCIe root (dra.net/numaNode)"


def test_neighbours_that_disagree_derive_nothing():
    """Two NICs on one root that name different NUMA nodes leave the GPU's unknown."""
    nics = a_slice("dra.net", nic("a", "r0", 0), nic("b", "r0", 1))
    assert places(cluster(a_slice("gpu.nvidia.com", gpu(0, "r0")), nics))["gpu-0"].numa_node is None


def test_a_negative_numa_node_is_unknown():
    """The value -1 stands for "not known" and is no place."""
    assert places(cluster(a_slice("dra.net", nic("a", "r0", -1))))["a"].numa_node is None


def test_an_empty_root_is_unknown():
    """The value "" stands for "not known" and is no place."""
    world = cluster(a_slice("dra.net", device("a", {"resource.kubernetes.io/pcieRoot": ""})))
    assert not places(world)["a"].known


def test_socket_comes_from_the_cpus_of_the_same_numa_node():
    """A GPU's socket is that of the CPU device on its NUMA node, and marked derived."""
    cpus = a_slice("dra.cpu", device("cpudevnuma000", {NUMA: 0, "socketID": 1, "numCPUs": 8}))
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0", **{NUMA: 0})), cpus)
    place = places(world)["gpu-0"].socket
    assert (place.value, place.derived) == (1, True)


def test_a_derived_place_derives_no_further_place_of_its_level():
    """A NUMA node that was derived is no evidence for others on the same root."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0"), gpu(1, "r0")))
    assert all(found.numa_node is None for found in places(world).values())


def test_the_first_item_of_a_numa_list_is_the_devices_own_node():
    """KEP-6072: a list of NUMA nodes begins with the device's own."""
    listed = Device(name="a", attributes={NUMA: DeviceAttribute(ints=(1, 0))})
    assert places(cluster(a_slice("dra.net", listed)))["a"].numa_node.value == 1


def test_a_list_of_several_roots_is_no_one_place():
    """CPUs that name all the roots near them sit at none of them."""
    listed = Device(name="a", attributes={"resource.kubernetes.io/pcieRoot": DeviceAttribute(strings=("r0", "r1"))})
    assert places(cluster(a_slice("dra.cpu", listed)))["a"].pcie_root is None


def test_level_value_reads_levels_and_full_attribute_names():
    """A link at a level sees the known locality; a link at an attribute sees what is published and nothing else."""
    bare = gpu(0, "r0")
    world = cluster(a_slice("gpu.nvidia.com", bare), a_slice("dra.net", nic("a", "r0", 0)))
    found = places(world)["gpu-0"]
    assert [level_value(found, where, bare) for where in ("numaNode", NUMA, "gpu.nvidia.com/type", "x.io/y")] == [
        0,
        None,
        "gpu",
        None,
    ]


def test_unknown_driver_is_there_with_what_the_standard_says():
    """A device of an unknown driver has kind other, and the places that the standard attributes give."""
    found = places(cluster(a_slice("new.example.org", device("x", {NUMA: 1}))))["x"]
    assert (found.kind, found.label, found.numa_node.value) == ("other", "new.example.org", 1)


def test_devices_of_an_incomplete_pool_are_skipped_with_a_reason():
    """kube-scheduler does not look at an incomplete pool; its devices are still told, with the reason."""
    world = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0"), count=2))
    assert [(s.id.device, s.reason) for s in skipped_devices(world, "n1")] == [("gpu-0", "pool incomplete")]
    assert "gpu-0" in places(world)


@pytest.mark.parametrize(
    ("name", "device_name", "numa", "derived"),
    [("eks-p4d", "gpu-7", 1, True), ("eks-p4d", "pci-0000-10-1b-0", 0, False), ("oke-gb200", "gpu-3", 1, True)],
)
def test_recorded_machines(name: str, device_name: str, numa: int, derived: bool):
    """The recorded slices give the localities that their sources describe."""
    world = real_cluster(name)
    place = places(world, world.node_names[0])[device_name].numa_node
    assert (place.value, place.derived) == (numa, derived)


def test_equal_nodes_share_what_was_worked_out_and_keep_their_own_devices():
    """Two nodes of one kind have the same places, each under its own device ids."""
    parts = [a_slice("gpu.nvidia.com", gpu(0, "r0"), gpu(1), node=node) for node in ("n1", "n2")]
    parts += [a_slice("dra.net", nic("a", "r0", numa), node=node) for node, numa in (("n1", 0), ("n2", 1))]
    world = cluster(*parts)
    for node, numa in (("n1", 0), ("n2", 1)):
        assert {found.device.pool for found in localities(world, node).values()} == {node}
        assert all(device == found.device for device, found in localities(world, node).items())
        assert places(world, node)["gpu-0"].numa_node.value == numa


def test_a_bool_and_a_number_are_different_values():
    """A device that publishes true where another publishes 1 is not taken for its equal."""
    world = cluster(a_slice("dra.net", device("a", {NUMA: 1}), device("b", {NUMA: True})))
    assert (places(world)["a"].numa_node.value, places(world)["b"].numa_node) == (1, None)
