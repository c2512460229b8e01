"""Where devices sit: published first, derived from facts, unknown otherwise."""

from __future__ import annotations

import pytest
from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic

from dra_lab import load_cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.topology import level_value, localities, skipped_devices
from dra_lab.topology.locality import device_names


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
    """Without such a name, or with one that two devices have, it is the name in the slice."""
    devices = [device(own, {"dra.net/ifName": name} if name else {}) for own, name in zip("ab", names, strict=True)]
    assert tuple(device_names(cluster(nics(*devices)), "n1").values()) == shown


def test_a_derived_place_names_what_it_is_derived_from():
    """The source is the neighbours and their attribute."""
    world = cluster(gpus(gpu(0, "r0")), nics(nic("a", "r0", 0)))
    assert places(world)["gpu-0"].numa_node.source == "from the NICs on the same PCIe root (dra.net/numaNode)"


@pytest.mark.parametrize(
    ("sample", "name", "expected"),
    [("eks-p4d", "gpu-7", (1, True)), ("eks-p4d", "pci-0000-10-1b-0", (0, False)), ("oke-gb200", "gpu-3", (1, True))],
)
def test_devices_of_real_machines_have_their_documented_place(sample, name, expected):
    """The devices of these samples are recorded ones."""
    world = load_cluster(f"sample:{sample}")
    place = places(world, world.node_names[0])[name].numa_node
    assert (place.value, place.derived) == expected


def test_a_link_to_an_attribute_sees_what_is_published_and_nothing_else():
    """A link at a level sees the known locality."""
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
