"""dgx-h100: eight DGX H100 in two racks, a third of the devices in use, one management NIC that looks alike."""

from __future__ import annotations

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, claim, node, resource_slice

# (GPU bus, NIC bus, RDMA device, interface, NUMA node), in the order of the GPUs. The root is the NIC's bus less three
# (invented: the names of the root buses are not in any source that was read).
PAIRS = [
    (0x1B, 0x18, "mlx5_0", "ibp24s0", 0),
    (0x43, 0x40, "mlx5_3", "ibp64s0", 0),
    (0x52, 0x4F, "mlx5_4", "ibp79s0", 0),
    (0x61, 0x5E, "mlx5_5", "ibp94s0", 0),
    (0x9D, 0x9A, "mlx5_6", "ibp154s0", 1),
    (0xC3, 0xC0, "mlx5_9", "ibp192s0", 1),
    (0xD1, 0xCE, "mlx5_10", "ibp206s0", 1),
    (0xDF, 0xDC, "mlx5_11", "ibp220s0", 1),
]
MANAGEMENT = "0000:29:00.0"
NODES = [f"dgx-{number:02d}" for number in range(1, 9)]


def root(nic_bus: int) -> str:
    """Return the PCIe root of a NIC's bus."""
    return f"pci0000:{nic_bus - 3:02x}"


def _nics(name: str) -> list[Object]:
    number = int(name[-2:])
    found = [
        dev.dranet_nic(
            dev.CX7,
            f"0000:{bus:02x}:00.0",
            root(bus),
            numa,
            rdma=True,
            rdma_device=rdma_device,
            standard_numa=True,
            interface=dev.netdev(name, interface, f"0000:{bus:02x}:00.0", 4092, link="infiniband"),
        )
        for _, bus, rdma_device, interface, numa in PAIRS
    ]
    found.append(
        dev.dranet_nic(
            dev.CX7,
            MANAGEMENT,
            "pci0000:26",
            0,
            rdma=True,
            rdma_device="mlx5_1",
            standard_numa=True,
            interface=dev.netdev(name, "enp41s0f0np0", MANAGEMENT, 1500, ipv4=f"10.20.0.{10 + number}/24"),
        )
    )
    return sorted(found, key=lambda device: device["name"])


def _slices(name: str) -> list[Object]:
    gpus = [
        dev.nvidia_gpu(name, index, dev.H100, f"0000:{bus:02x}:00.0", root(nic_bus), numa=numa)
        for index, (bus, nic_bus, _, _, numa) in enumerate(PAIRS)
    ]
    return [
        resource_slice(dev.NVIDIA, name, gpus),
        resource_slice(dev.DRANET, name, _nics(name)),
        resource_slice(dev.CPU, name, [dev.cpu_group(numa, 112) for numa in (0, 1)]),
    ]


def gpu_and_nics(gpus: list[int], nics: list[int | str]) -> list[Held]:
    """Return what a claim holds: GPUs by index, NICs by the index of their GPU or by address."""
    addresses = [nic if isinstance(nic, str) else f"0000:{PAIRS[nic][1]:02x}:00.0" for nic in nics]
    held = [
        Held("gpu", "gpu.nvidia.com", dev.NVIDIA, tuple(f"gpu-{index}" for index in gpus)),
        Held("nic", "dranet", dev.DRANET, tuple(map(dev.dranet_name, addresses)), selector=dev.RDMA),
    ]
    return [item for item in held if item.devices]


def _held(gpus: list[int], nics: list[int | str], cpus: dict[int, int]) -> list[Held]:
    """Return what a claim holds with CPUs by NUMA node."""
    held = gpu_and_nics(gpus, nics)
    for numa, amount in cpus.items():
        consumed = {"dra.cpu/cpu": str(amount)}
        held.append(Held(f"cpu-{numa}", "dra.cpu", dev.CPU, (f"cpudevnuma{numa:03d}",), consumed=consumed))
    return held


def _claims() -> list[Object]:
    """Return claims on 21 of 64 GPUs and 21 of 72 NICs; some were placed by first fit and are badly aligned."""
    busy = [
        ("tune-0", "dgx-02", _held([0, 1], [0, 1], {0: 32})),
        ("pretrain-0", "dgx-03", _held(list(range(8)), list(range(8)), {0: 96, 1: 96})),
        ("infer-0", "dgx-04", _held([4, 5, 6, 7], [4, 5, 6, 7], {1: 64})),
        ("study-0", "dgx-05", _held([0], [1], {1: 16})),
        ("study-1", "dgx-05", _held([4], [0], {0: 16})),
        ("tune-1", "dgx-07", _held([1, 2, 6], [1, 2, 6], {0: 24, 1: 12})),
        ("tune-2", "dgx-08", _held([0, 1], [0, MANAGEMENT], {0: 32})),
    ]
    return [claim(pod, name, held) for pod, name, held in busy]


def sample() -> Sample:
    """Return the sample: dgx-01 and dgx-06 are idle, dgx-03 is full."""
    nodes = []
    for name in NODES:
        rack = "rack-a" if name in NODES[:4] else "rack-b"
        labels = {
            "fabric.topograph.run/tier-1": f"leaf-{rack[-1]}",
            "fabric.topograph.run/tier-2": "spine-1",
            "node.kubernetes.io/instance-type": "DGX-H100",
            "topology.example.com/rack": rack,
            "topology.kubernetes.io/zone": "hall-1",
        }
        nodes.append(node(name, 224, "2015Gi", labels))
    return Sample(
        name="dgx-h100",
        nodes=nodes,
        slices=[item for name in NODES for item in _slices(name)],
        classes=[*dev.nvidia_classes(), dev.dranet_class(), dev.cpu_class()],
        claims=_claims(),
    )
