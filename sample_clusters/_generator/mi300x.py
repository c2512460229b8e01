"""mi300x: two bare-metal MI300X servers; the GPUs' NUMA node has AMD's name, the NICs' has DRANET's."""

from __future__ import annotations

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, claim, device_class, node, resource_slice

# (root bus, GPU bus, NIC bus, interface, NUMA node), AMD's page "Mapping NIC to GPU NUMA node".
PAIRS = [
    ("00", "05", "09", "enp9s0np0", 0),
    ("18", "2b", "23", "enp35s0np0", 0),
    ("48", "5b", "53", "enp83s0np0", 0),
    ("60", "65", "69", "enp105s0np0", 0),
    ("78", "7d", "8f", "enp143s0np0", 1),
    ("98", "a5", "9c", "enp156s0np0", 1),
    ("c8", "d5", "cd", "enp205s0np0", 1),
    ("e0", "e7", "f1", "enp241s0np0", 1),
]
MANAGEMENT = "0000:b9:00.0"
NODES = ["mi300x-1", "mi300x-2"]


def _slices(name: str) -> list[Object]:
    gpus = [
        dev.amd_gpu(i, f"0000:{gpu}:00.0", f"pci0000:{root}", numa) for i, (root, gpu, _, _, numa) in enumerate(PAIRS)
    ]
    nics = [
        dev.dranet_nic(
            dev.CX7,
            f"0000:{bus}:00.0",
            f"pci0000:{root}",
            numa,
            rdma=True,
            rdma_device=f"mlx5_{index}",
            interface=dev.netdev(name, interface, f"0000:{bus}:00.0", 9000),
        )
        for index, (root, _, bus, interface, numa) in enumerate(PAIRS)
    ]
    interface = dev.netdev(name, "eno8303", MANAGEMENT, 1500, ipv4=f"10.30.0.{NODES.index(name) + 21}/24")
    nics.append(dev.dranet_nic(dev.I350, MANAGEMENT, "pci0000:b8", 1, rdma=False, interface=interface))
    return [
        resource_slice(dev.AMD, name, gpus),
        resource_slice(dev.DRANET, name, sorted(nics, key=lambda device: device["name"])),
    ]


def sample() -> Sample:
    """Return the sample: on the second server two aligned pairs and one GPU alone are in use."""
    labels = {"node.kubernetes.io/instance-type": "MI300X-8", "topology.kubernetes.io/zone": "hall-2"}
    nics = tuple(dev.dranet_name(f"0000:{PAIRS[index][2]}:00.0") for index in (0, 1))
    pair = [
        Held("gpu", dev.AMD, dev.AMD, ("gpu-0-128", "gpu-8-136")),
        Held("nic", "dranet", dev.DRANET, nics, selector=dev.RDMA),
    ]
    alone = [Held("gpu", dev.AMD, dev.AMD, ("gpu-32-160",))]
    return Sample(
        name="mi300x",
        nodes=[node(name, 192, "1510Gi", labels) for name in NODES],
        slices=[item for name in NODES for item in _slices(name)],
        classes=[device_class(dev.AMD, "device.driver == 'gpu.amd.com'"), dev.dranet_class()],
        claims=[claim("finetune-0", NODES[1], pair), claim("serve-0", NODES[1], alone, namespace="serving")],
    )
