"""eks-p4d: four AWS p4d.24xlarge; two GPUs share a PCIe root with one EFA."""

from __future__ import annotations

from typing import Any

from _generator import devices as dev
from _generator.objects import ALLOCATED, Held, Object, Sample, claim, node, resource_slice

# Root bus, NUMA node, interface of the ENA on it; the ENA of root 10 carries the default route and is not published.
ROOTS = [(0x10, 0, ""), (0x20, 0, "ens65"), (0x90, 1, "ens129"), (0xA0, 1, "ens161")]
NODES = [
    "ip-192-168-128-17.ec2.internal",
    "ip-192-168-140-52.ec2.internal",
    "ip-192-168-149-201.ec2.internal",
    "ip-192-168-158-9.ec2.internal",
]
XID = {"effect": "NoSchedule", "key": "gpu.nvidia.com/xid", "timeAdded": ALLOCATED, "value": "79"}


def _gpus(name: str, tainted: dict[int, Object]) -> list[Object]:
    found = []
    for index in range(8):
        bus = f"{ROOTS[index // 2][0]:02x}"
        extra: dict[str, Any] = {"taints": [tainted[index]]} if index in tainted else {}
        address = f"0000:{bus}:{'1c' if index % 2 == 0 else '1d'}.0"
        found.append(dev.nvidia_gpu(name, index, dev.A100_SXM, address, f"pci0000:{bus}", **extra))
    return found


def _nics(name: str) -> list[Object]:
    found = []
    third = name.split("-")[3]
    for place, (bus, numa, interface) in enumerate(ROOTS):
        root = f"pci0000:{bus:02x}"
        if interface:
            address = f"0000:{bus:02x}:01.0"
            ipv4 = f"192.168.{third}.{60 + place}/19"
            device = dev.netdev(name, interface, address, 9001, ipv4=ipv4)
            found.append(dev.dranet_nic(dev.ENA, address, root, numa, rdma=False, interface=device))
        # The RDMA device name holds bus and slot in decimal.
        address = f"0000:{bus:02x}:1b.0"
        found.append(dev.dranet_nic(dev.EFA, address, root, numa, rdma=True, rdma_device=f"rdmap{bus}s27"))
    return found


def _held(gpus: list[int], efas: list[str]) -> list[Held]:
    held = [Held("gpu", "gpu.nvidia.com", dev.NVIDIA, tuple(f"gpu-{index}" for index in gpus))]
    names = tuple(dev.dranet_name(f"0000:{bus}:1b.0") for bus in efas)
    return [*held, Held("nic", "dranet", dev.DRANET, names, selector=dev.RDMA)] if efas else held


def sample() -> Sample:
    """Return the sample: the second node is idle, the fourth full, one GPU of the third is tainted."""
    labels = {
        "node.kubernetes.io/instance-type": "p4d.24xlarge",
        "topology.k8s.aws/network-node-layer-1": "nn-5d1e0aa9c3f2b8e71",
        "topology.k8s.aws/network-node-layer-2": "nn-8b72c40f1d6e9a305",
        "topology.kubernetes.io/region": "us-east-1",
        "topology.kubernetes.io/zone": "us-east-1d",
    }
    leaves = ["nn-0c95be1f7a3d4e286", "nn-0c95be1f7a3d4e286", "nn-e4a17b60d82c5f39c", "nn-e4a17b60d82c5f39c"]
    tainted = {NODES[2]: {5: XID}}
    busy = [
        ("llm-7b-0", NODES[0], _held([0, 2], ["10", "20"])),
        ("embed-0", NODES[0], _held([1], [])),
        ("eval-0", NODES[2], _held([0, 1], ["10"])),
        ("llm-70b-0", NODES[3], _held(list(range(8)), ["10", "20", "90", "a0"])),
    ]
    return Sample(
        name="eks-p4d",
        nodes=[
            node(name, 96, "1121Gi", labels | {"topology.k8s.aws/network-node-layer-3": leaf})
            for name, leaf in zip(NODES, leaves, strict=True)
        ],
        slices=[
            item
            for name in NODES
            for item in (
                resource_slice(dev.NVIDIA, name, _gpus(name, tainted.get(name, {}))),
                resource_slice(dev.DRANET, name, _nics(name)),
            )
        ],
        classes=[*dev.nvidia_classes(), dev.dranet_class()],
        claims=[claim(pod, name, held) for pod, name, held in busy],
    )
