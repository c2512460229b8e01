"""trouble: one node for each thing that goes wrong with published devices, and a healthy one to compare with."""

from __future__ import annotations

from typing import Any

from _generator import devices as dev
from _generator.objects import (
    ALLOCATED,
    Held,
    Object,
    Sample,
    attributes,
    capacity,
    claim,
    device_class,
    node,
    resource_slice,
)

NODES = [
    "n1-healthy",
    "n2-incomplete-pool",
    "n3-stale-slice",
    "n4-tainted",
    "n5-missing-attributes",
    "n6-numa-minus-one",
    "n7-unknown-counters",
    "n8-duplicate-names",
]
GPUS = [("0000:11:00.0", "10", 0), ("0000:21:00.0", "20", 0), ("0000:91:00.0", "90", 1), ("0000:a1:00.0", "a0", 1)]
NICS = [("0000:12:00.0", "10", 0), ("0000:92:00.0", "90", 1)]
FAST = 'device.driver == "dra.net" && device.attributes["dra.net"].mtu >= 9000'


def _gpus(name: str, count: int = 4, **fields: Any) -> list[Object]:
    return [
        dev.nvidia_gpu(name, index, dev.A100_PCIE, bus, f"pci0000:{root}", numa=numa, **fields)
        for index, (bus, root, numa) in enumerate(GPUS[:count])
    ]


def _nics(name: str) -> list[Object]:
    return [
        dev.dranet_nic(
            dev.CX6,
            address,
            f"pci0000:{root}",
            numa,
            rdma=True,
            rdma_device=f"mlx5_{index}",
            standard_numa=True,
            interface=dev.netdev(name, f"rdma{index}", address, 9000),
        )
        for index, (address, root, numa) in enumerate(NICS)
    ]


def _healthy(name: str) -> list[Object]:
    return [resource_slice(dev.NVIDIA, name, _gpus(name)), resource_slice(dev.DRANET, name, _nics(name))]


def _incomplete(name: str) -> list[Object]:
    """Return one of the two slices that the pool announces: the other one never came."""
    return [
        resource_slice(dev.NVIDIA, name, _gpus(name, 2), part=0, parts=2),
        resource_slice(dev.DRANET, name, _nics(name)),
    ]


def _stale(name: str) -> list[Object]:
    """Return the slice of generation 1 with four GPUs, left over beside generation 2 with two."""
    return [
        resource_slice(dev.NVIDIA, name, _gpus(name), generation=1),
        resource_slice(dev.NVIDIA, name, _gpus(name, 2), generation=2),
        resource_slice(dev.DRANET, name, _nics(name)),
    ]


def _tainted(name: str) -> list[Object]:
    """Return GPUs with a taint of each effect; only NoSchedule and NoExecute keep claims away."""
    gpus = _gpus(name)
    taints = [
        {"effect": "NoSchedule", "key": "gpu.nvidia.com/xid", "value": "79"},
        {"effect": "NoExecute", "key": "example.com/maintenance"},
        {"effect": "None", "key": "gpu.nvidia.com/unmonitored"},
    ]
    for gpu, taint in zip(gpus, taints, strict=False):
        gpu["taints"] = [taint | {"timeAdded": ALLOCATED}]
    return [resource_slice(dev.NVIDIA, name, gpus), resource_slice(dev.DRANET, name, _nics(name))]


def _missing(name: str) -> list[Object]:
    """Return GPUs without NUMA node (two without root), a NIC without root, a card and an interface without mtu."""
    gpus = [
        dev.nvidia_gpu(name, index, dev.A100_PCIE, bus, f"pci0000:{root}" if index < 2 else None)
        for index, (bus, root, _) in enumerate(GPUS)
    ]
    first, second = NICS
    plain = dev.netdev(name, "rdma0", first[0], 9000)
    nics = [
        dev.dranet_nic(dev.CX6, first[0], None, first[2], rdma=True, rdma_device="mlx5_0", interface=plain),
        # Like an EFA: RDMA, but no interface and so no mtu. A selector that reads mtu fails on it.
        dev.dranet_nic(dev.EFA, second[0], f"pci0000:{second[1]}", second[2], rdma=True, rdma_device="rdmap146s0"),
        {
            "attributes": attributes(
                {"dra.net/ifName": "cni0", "dra.net/rdma": False, "dra.net/type": "bridge", "dra.net/virtual": True}
            ),
            "name": "cni0",
        },
    ]
    return [resource_slice(dev.NVIDIA, name, gpus), resource_slice(dev.DRANET, name, nics)]


def _minus_one(name: str) -> list[Object]:
    """Return virtual functions of a virtual machine: NUMA node -1 and an empty root."""
    functions = [
        dev.sriov_vf(f"0000:0a:00.{vf + 2}", "0000:0a:00.0", "ens3f0np0", vf, root="", numa=-1) for vf in range(4)
    ]
    return [resource_slice(dev.NVIDIA, name, _gpus(name)), resource_slice(dev.SRIOV, name, functions)]


def _unknown_counters(name: str) -> list[Object]:
    """Return a pool whose second GPU consumes from a counter set that no slice declares: the whole pool is invalid."""
    gpus = _gpus(name, 2)
    for gpu, declared in zip(gpus, ("gpu-0-counter-set", "gpu-1-counter-set"), strict=True):
        gpu["consumesCounters"] = [{"counterSet": declared, "counters": capacity({"memory": "40Gi"})}]
    counters = [{"counters": capacity({"memory": "40Gi"}), "name": "gpu-0-counter-set"}]
    return [
        resource_slice(dev.NVIDIA, name, part=0, parts=2, counters=counters),
        resource_slice(dev.NVIDIA, name, gpus, part=1, parts=2),
        resource_slice(dev.DRANET, name, _nics(name)),
    ]


def _duplicates(name: str) -> list[Object]:
    """Return a pool of two slices that both hold a device gpu-1: the whole pool is invalid."""
    gpus = _gpus(name)
    return [
        resource_slice(dev.NVIDIA, name, gpus[:2], part=0, parts=2),
        resource_slice(dev.NVIDIA, name, gpus[1:], part=1, parts=2),
        resource_slice(dev.DRANET, name, _nics(name)),
    ]


def _claims() -> list[Object]:
    gone = [Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-3",))]
    maintained = [
        Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-1",), tolerate="example.com/maintenance"),
    ]
    return [
        # Its device is only in the stale slice of generation 1: nothing that is published is in use.
        claim("left-over-0", "n3-stale-slice", gone),
        claim("drain-0", "n4-tainted", maintained),
    ]


def sample() -> Sample:
    """Return the sample; the names of the nodes say what is wrong with each."""
    labels = {"node.kubernetes.io/instance-type": "two-socket-lab", "topology.kubernetes.io/zone": "lab"}
    builders = [_healthy, _incomplete, _stale, _tainted, _missing, _minus_one, _unknown_counters, _duplicates]
    return Sample(
        name="trouble",
        nodes=[node(name, 32, "256Gi", labels) for name in NODES],
        slices=[item for name, build in zip(NODES, builders, strict=True) for item in build(name)],
        classes=[*dev.nvidia_classes(), dev.dranet_class(), device_class("fast-nic", FAST), dev.sriov_class()],
        claims=_claims(),
    )
