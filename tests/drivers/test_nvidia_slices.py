"""Slices as NVIDIA's driver 0.5.0 publishes them: NUMA nodes as numbers or lists, fabric partitions, and shares.

Facts: kubernetes-sigs/dra-driver-nvidia-gpu@95932046, `deviceinfo.go` and `consumable_shares.go` in
cmd/gpu-kubelet-plugin, and the guide "Fabric Manager partitioning" of v0.5.0.
"""

from __future__ import annotations

import json

import pytest

import dra_lab
from dra_lab import Link
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.release import KubernetesRelease
from dra_lab.topology.locality import localities

FORMS = {"a number": lambda numa: {"int": numa}, "a list": lambda numa: {"ints": [numa]}}
STANDARD = "resource.kubernetes.io/"


def gpu(index: int, form: str = "a number", **capacity) -> dict:
    """Return a whole GPU: two on each NUMA node, and fabric partitions across them."""
    attributes = {
        "type": {"string": "gpu"},
        "uuid": {"string": f"GPU-{index}"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "driverVersion": {"version": "580.95.5"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "addressingMode": {"string": "HMM"},
        "gpuModuleID": {"int": index + 1},
        "partition2": {"int": index % 2},
        "partition4": {"int": 2},
        f"{STANDARD}pciBusID": {"string": f"0000:{16 * index + 16:x}:00.0"},
        f"{STANDARD}pcieRoot": {"string": f"pci0000:{16 * index + 16:x}"},
        f"{STANDARD}numaNode": FORMS[form](index // 2),
    }
    shares = {"allowMultipleAllocations": True} if capacity else {}
    return {
        "name": f"gpu-{index}", "attributes": attributes, "capacity": {"memory": {"value": "81559Mi"}, **capacity}
    } | shares  # fmt: skip


@pytest.fixture
def loaded(tmp_path):
    def load(*devices: dict):
        pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": "n1", "pool": pool, "devices": devices}
        head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n1-gpu"}}
        (tmp_path / "cluster.json").write_text(json.dumps({**head, "spec": spec}))
        return dra_lab.load_cluster(str(tmp_path / "cluster.json"))

    return load


def claim(count: int, *links: Link, **more) -> dra_lab.ClaimSketch:
    exactly = ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count, **more)
    return dra_lab.ClaimSketch("pair", (DeviceRequest(name="gpu", exactly=exactly),), tuple(links))


@pytest.mark.parametrize("form", FORMS)
def test_numa_nodes_are_those_that_the_driver_publishes(form, loaded):
    """They are neither derived nor in need of a profile."""
    found = localities(loaded(*(gpu(index, form) for index in range(4))), "n1")
    assert [(one.numa_node.value, one.numa_node.derived) for one in found.values()] == [
        (0, False), (0, False), (1, False), (1, False),
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_gpus_are_kept_on_one_numa_node(form, loaded):
    """A link by NUMA node gets two GPUs of one, in either form."""
    plan = dra_lab.make_plan(
        loaded(*(gpu(index, form) for index in (0, 2, 3))), claim(2, Link("near", ("gpu",), "numaNode"))
    )
    assert [one.device.device for one in plan.placements] == ["gpu-2", "gpu-3"]


@pytest.mark.parametrize(("form", "release", "is_written"), [
    ("a number", "1.36", True), ("a list", "1.36", False), ("a list", "1.37", True),
])  # fmt: skip
def test_the_link_is_written_where_kube_scheduler_compares_it(form, release, is_written, loaded):
    """kube-scheduler 1.36 compares no lists; 1.37 does with the gate, which such a slice proves."""
    cluster = loaded(*(gpu(index, form) for index in range(4)))
    target = cluster.target_release(KubernetesRelease(release))
    text = manifest_yaml(claim(2, Link("near", ("gpu",), "numaNode")), cluster, target)
    assert ("matchAttribute: resource.kubernetes.io/numaNode" in text.text) == is_written
    assert ("does not compare lists" in " ".join(map(str, text.findings))) == (not is_written)


def test_a_constraint_on_lists_says_why_nothing_is_allocated(loaded):
    """For a manifest that names the attribute itself, the finding is that it is a list, not that it is missing."""
    cluster = loaded(*(gpu(index, "a list") for index in range(4)))
    link = Link("near", ("gpu",), f"{STANDARD}numaNode")
    found = manifest_yaml(claim(2, link), cluster, cluster.target_release("1.36")).findings
    (missing,) = (one for one in found if one.rule == "attribute-missing")
    assert missing.message.startswith("gpu publishes resource.kubernetes.io/numaNode as a list")


def test_gpus_of_one_fabric_partition(loaded):
    """With the gate FabricManagerPartitioning, a link by partition2 gets the two GPUs of one partition."""
    link = Link("fabric", ("gpu",), "gpu.nvidia.com/partition2")
    plan = dra_lab.make_plan(loaded(*(gpu(index) for index in range(4))), claim(2, link))
    assert {one.device.device for one in plan.placements} in ({"gpu-0", "gpu-2"}, {"gpu-1", "gpu-3"})


def test_shares_of_a_gpu(loaded):
    """With --consumable-shares=2 two pods share a GPU, and each takes as much memory as it requests."""
    memory = {"default": "0", "validRange": {"min": "0", "max": "81559Mi", "step": "1Mi"}}
    shares = {"default": "1", "validRange": {"min": "1", "max": "2", "step": "1"}}
    shared = gpu(
        0, memory={"value": "81559Mi", "requestPolicy": memory}, shares={"value": "2", "requestPolicy": shares}
    )
    part = claim(1, capacity=CapacityRequirements(requests={"memory": "20Gi"}))
    assert dra_lab.how_many_more(loaded(shared), dra_lab.Workload("share", part)).count.value == 2
