"""Topology files of real machines: the GPUs, NICs, roots and NUMA nodes that are documented of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from small_nodes import SHARED, real_cluster

from dra_lab.sources.foreign import Inventory, make_cluster, read_inventory, with_overlay
from dra_lab.topology import localities

FILES = SHARED / "real-data" / "topologies"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the topology files of real machines are not at hand")

KNOWN = {"hwloc-nvidia-dgx2.xml", "nccl-aws-p4d.xml", "nccl-azure-ndv5.xml"}


def read(name: str) -> Inventory:
    """Read one of the files."""
    return read_inventory(FILES / name)


def test_every_file_is_read():
    """Each file there is one that these tests know, and is read without a finding that matters."""
    names = {path.name for path in Path(FILES).iterdir()}
    assert names >= KNOWN
    for name in names:
        assert read(name).of("gpu")


def test_dgx2_gpus_and_roots():
    """A DGX-2 has 16 V100 on the roots 2b, 4e, ae and d7, four on each; its 12 other functions are NVSwitches."""
    found = read("hwloc-nvidia-dgx2.xml")
    roots = Counter(gpu.text("pcieRoot") for gpu in found.of("gpu"))
    assert roots == {"pci0000:2b": 4, "pci0000:4e": 4, "pci0000:ae": 4, "pci0000:d7": 4}
    assert {(gpu.text("vendor"), gpu.text("device")) for gpu in found.of("gpu")} == {("10de", "1db8")}
    assert (len(found.of("nic")), len(found.of("other"))) == (0, 12)


def test_dgx2_numa_nodes_and_switches():
    """Two NUMA nodes with eight GPUs each; two GPUs behind each of eight switches."""
    found = read("hwloc-nvidia-dgx2.xml")
    assert Counter(gpu.value("numaNode") for gpu in found.of("gpu")) == {0: 8, 1: 8}
    assert [node.socket for node in found.cpu_nodes] == [0, 1]
    assert set(Counter(gpu.text("switch") for gpu in found.of("gpu")).values()) == {2}


def test_p4d_pairs():
    """A p4d has 8 GPUs and 4 EFAs, a NIC and two GPUs behind each of four switches, two switches a NUMA node."""
    found = read("nccl-aws-p4d.xml")
    kinds = Counter((device.text("switch"), device.kind) for device in found.devices)
    assert sorted(kinds.values()) == [1, 1, 1, 1, 2, 2, 2, 2]
    assert Counter(nic.value("numaNode") for nic in found.of("nic")) == {0: 2, 1: 2}
    assert [len(node.cpus or ()) for node in found.cpu_nodes] == [48, 48]


def test_azure_ndv5_pairs():
    """An ND H100 v5 has 8 GPUs and 8 NICs in domains of their own, one pair behind each synthetic switch, no roots."""
    found = read("nccl-azure-ndv5.xml")
    gpus = ["0001", "0002", "0003", "0008", "0009", "000a", "000b", "000c"]
    assert [gpu.text("address")[:4] for gpu in found.of("gpu")] == gpus
    pairs = {(gpu.text("switch"), gpu.text("address")[:4]) for gpu in found.of("gpu")}
    assert {(nic.text("switch"), gpus[int(nic.text("address")[:4]) - 101]) for nic in found.of("nic")} == pairs
    assert found.roots == ()


def test_p4d_file_completes_the_real_slices():
    """Laid over the recorded p4d slices, the file gives every GPU the switch of its NIC; nothing contradicts."""
    world = with_overlay(
        real_cluster("eks-p4d"), read("nccl-aws-p4d.xml"), nodes=[real_cluster("eks-p4d").node_names[0]]
    )
    found = {place.device.device: place for place in localities(world, world.node_names[0]).values()}
    assert found["gpu-0"].switch.value == found["pci-0000-10-1b-0"].switch.value == "ffff:ff:01.0"
    assert [finding for finding in world.findings if finding.rule == "overlay-contradiction"] == []


def test_made_p4d_slices_agree_with_the_real_ones():
    """What is made from the file has the names, models and addresses that the drivers really published."""
    made, real = make_cluster(read("nccl-aws-p4d.xml")), real_cluster("eks-p4d")

    def published(cluster, driver, *names):
        slices = [slice_ for slice_ in cluster.slices if slice_.spec.driver == driver]
        return {
            device.name: tuple(attribute.value for name in names if (attribute := device.lookup(name, driver)))
            for slice_ in slices
            for device in slice_.spec.devices or ()
        }

    bus, product = "resource.kubernetes.io/pciBusID", "gpu.nvidia.com/productName"
    assert published(made, "gpu.nvidia.com", bus, product) == published(real, "gpu.nvidia.com", bus, product)
    nics = ("dra.net/pciAddress", "dra.net/pciDevice", "dra.net/pciVendor", "dra.net/rdma", "dra.net/numaNode")
    here, there = published(made, "dra.net", *nics), published(real, "dra.net", *nics)
    assert here == {name: there[name] for name in here}
