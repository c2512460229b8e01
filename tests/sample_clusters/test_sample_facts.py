"""What each sample teaches, as facts about its devices."""

from __future__ import annotations

from collections import Counter

import pytest

from dra_lab import check, load_cluster, samples
from dra_lab.drivers.profiles import profile
from dra_lab.topology.locality import localities

NAMES = [sample.name for sample in samples()]


def nodes(sample: str) -> dict[str, list]:
    """Return the localities of the devices of each node, in the order of their publication."""
    cluster = load_cluster(f"sample:{sample}")
    return {node: list(localities(cluster, node).values()) for node in cluster.node_names}


def pairs(devices: list) -> int:
    """Return the largest number of disjoint GPU-NIC pairs that share a root: for each root the smaller number."""
    gpus, nics = (Counter(one.pcie_root.value for one in devices if one.kind == kind) for kind in ("gpu", "nic"))
    return sum(min(gpus[root], count) for root, count in nics.items())


@pytest.mark.parametrize(("sample", "expected"), [("eks-p4d", 7), ("oke-gb200", 0)])
def test_gpus_and_nics_share_this_many_roots(sample, expected):
    """On a p4d there is a NIC for seven GPUs; no GPU and no NIC of a GB200 are under one root."""
    assert {pairs(devices) for devices in nodes(sample).values()} == {expected}


def test_the_management_nic_of_a_dgx_shares_its_root_with_no_gpu():
    """It looks like a compute NIC, and first fit meets it second."""
    devices = nodes("dgx-h100")["dgx-01"]
    roots = {one.pcie_root.value for one in devices if one.kind == "gpu"}
    nics = [one for one in devices if one.kind == "nic"]
    assert [number for number, one in enumerate(nics) if one.pcie_root.value not in roots] == [1]
    assert len({one.label for one in nics}) == 1


def test_the_numa_nodes_of_mi300x_have_two_names():
    """GPUs and NICs publish them under names that no constraint can match."""
    devices = [one for found in nodes("mi300x").values() for one in found if one.kind in ("gpu", "nic")]
    assert {one.numa_node.source for one in devices} == {"gpu.amd.com/numaNode", "dra.net/numaNode"}


def test_virtual_functions_are_on_one_numa_node_or_unknown():
    """They sit on NUMA node 1 of the servers; in the virtual machine their place is not known."""
    found = {
        node: {one.numa_node and one.numa_node.value for one in devices if one.kind == "nic"}
        for node, devices in nodes("inference-l40s").items()
    }
    assert found == {"l40s-1": {1}, "l40s-2": {1}, "l40s-vm-3": {None}}


def test_trouble_has_the_troubles_that_it_teaches():
    """Pools that kube-scheduler skips, taints, places that are not known, and a device that is gone."""
    found = {finding.rule for finding in check(load_cluster("sample:trouble"))}
    pools = {"pool-incomplete", "pool-invalid", "pool-stale"}
    assert found >= {*pools, "device-tainted", "device-vanished", "place-unknown"}


@pytest.mark.parametrize("name", NAMES)
def test_every_device_of_a_sample_can_be_asked_for(name):
    """Each is meant by an offer of its driver, except the devices of the ComputeDomain driver."""
    missed = set()
    for slice_ in load_cluster(f"sample:{name}").slices:
        for device in slice_.spec.devices or ():
            driver = slice_.spec.driver

            def value(key, device=device, driver=driver):
                found = device.lookup(key, driver)
                return found and found.value

            shared = bool(device.allow_multiple_allocations)
            if not any(offer.applies(value, device.capacity, shareable=shared) for offer in profile(driver, {}).offers):
                missed.add(driver)
    assert missed <= {"compute-domain.nvidia.com"}
