"""two-sockets: two small servers to learn on."""

from __future__ import annotations

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, claim, node, resource_slice

# (GPU bus, root, NUMA node); the buses of the cards are invented.
GPUS = [("0000:11:00.0", "10", 0), ("0000:21:00.0", "20", 0), ("0000:91:00.0", "90", 1), ("0000:a1:00.0", "a0", 1)]
RDMA_NICS = [("0000:22:00.0", "20", 0), ("0000:92:00.0", "90", 1), ("0000:a2:00.0", "a0", 1)]


def _slices(name: str) -> list[Object]:
    gpus = [
        dev.nvidia_gpu(name, index, dev.A100_PCIE, bus, f"pci0000:{root}", numa=numa)
        for index, (bus, root, numa) in enumerate(GPUS)
    ]
    management = dev.netdev(name, "eno1", "0000:02:00.0", 1500, ipv4=f"10.0.0.{11 if name == 'lab-1' else 12}/24")
    nics = [
        dev.dranet_nic(dev.I350, "0000:02:00.0", "pci0000:00", 0, rdma=False, standard_numa=True, interface=management),
        *(
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
            for index, (address, root, numa) in enumerate(RDMA_NICS)
        ),
    ]
    cpus = [dev.cpu_group(numa, 16) for numa in (0, 1)]
    return [
        resource_slice(dev.NVIDIA, name, gpus),
        resource_slice(dev.DRANET, name, nics),
        resource_slice(dev.CPU, name, cpus),
    ]


def sample() -> Sample:
    """Return the sample: lab-1 idle, on lab-2 one GPU and one NIC of different NUMA nodes in use."""
    names = ["lab-1", "lab-2"]
    labels = {"node.kubernetes.io/instance-type": "two-socket-lab", "topology.kubernetes.io/zone": "lab"}
    held = [
        Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-0",)),
        Held("nic", "dranet", dev.DRANET, (dev.dranet_name("0000:92:00.0"),), selector=dev.RDMA),
        Held("cpu", "dra.cpu", dev.CPU, ("cpudevnuma000",), consumed={"dra.cpu/cpu": "4"}),
    ]
    return Sample(
        name="two-sockets",
        nodes=[node(name, 32, "256Gi", labels) for name in names],
        slices=[item for name in names for item in _slices(name)],
        classes=[*dev.nvidia_classes(), dev.dranet_class(), dev.cpu_class()],
        claims=[claim("notebook-0", "lab-2", held, namespace="class")],
    )
