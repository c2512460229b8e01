"""inference-l40s: PCIe servers with SR-IOV virtual functions beside half of the GPUs, and a small virtual machine."""

from __future__ import annotations

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, claim, node, resource_slice

# (GPU bus, root, NUMA node); buses and roots are invented, the split in NUMA nodes is measured.
GPUS = [("11", "10", 0), ("41", "40", 0), ("81", "80", 1), ("c1", "c0", 1)]
SERVERS = ["l40s-1", "l40s-2"]
MACHINE = "l40s-vm-3"


def _virtual_functions(bus: str, *, root: str, numa: int) -> list[Object]:
    """Return four virtual functions of each port of a dual-port card; the first is function 2 of the same slot."""
    found = []
    for vf in range(8):
        port = vf // 4
        function = vf + 2
        address = f"0000:{bus}:{function // 8:02x}.{function % 8}"
        physical = f"0000:{bus}:00.{port}"
        found.append(dev.sriov_vf(address, physical, f"ens3f{port}np{port}", vf % 4, root=root, numa=numa))
    return found


def _server(name: str) -> list[Object]:
    """Return a server: 192 CPUs and two GPUs a NUMA node, the dual-port NIC at NUMA node 1 under a root of its own."""
    gpus = [
        dev.nvidia_gpu(name, index, dev.L40S, f"0000:{bus}:00.0", f"pci0000:{root}", numa=numa)
        for index, (bus, root, numa) in enumerate(GPUS)
    ]
    return [
        resource_slice(dev.CPU, name, [dev.cpu_group(numa, 192) for numa in (0, 1)]),
        resource_slice(dev.NVIDIA, name, gpus),
        resource_slice(dev.SRIOV, name, _virtual_functions("a1", root="pci0000:a0", numa=1)),
    ]


def _machine() -> list[Object]:
    """Return the virtual machine: older GPU driver without NUMA nodes, single CPUs, VFs with "" and -1."""
    gpus = [
        dev.nvidia_gpu(MACHINE, index, dev.L40S, f"0000:{bus}:00.0", f"pci0000:{bus}")
        for index, bus in enumerate(("05", "06", "07", "08"))
    ]
    return [
        resource_slice(dev.CPU, MACHINE, [dev.cpu_single(index, cores_per_numa=8) for index in range(32)]),
        resource_slice(dev.NVIDIA, MACHINE, gpus),
        resource_slice(dev.SRIOV, MACHINE, _virtual_functions("0a", root="", numa=-1)),
    ]


def sample() -> Sample:
    """Return the sample: the first server is idle, the others serve models."""
    labels = {"node.kubernetes.io/instance-type": "l40s-4", "topology.kubernetes.io/zone": "edge-1"}
    vf = Held("nic", dev.SRIOV, dev.SRIOV, ("0000-a1-00-2",))
    cpus = Held("cpu", "dra.cpu", dev.CPU, ("cpudevnuma001",), consumed={"dra.cpu/cpu": "24"})
    near = [Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-2",)), vf, cpus]
    far = [
        Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-0",)),
        Held("nic", dev.SRIOV, dev.SRIOV, ("0000-a1-00-3",)),
        Held("cpu", "dra.cpu", dev.CPU, ("cpudevnuma001",), consumed={"dra.cpu/cpu": "24"}),
    ]
    single = [
        Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-0",)),
        Held("cpu", "dra.cpu", dev.CPU, tuple(f"cpudev{index:03d}" for index in range(8))),
    ]
    return Sample(
        name="inference-l40s",
        nodes=[
            *(node(name, 384, "1511Gi", labels) for name in SERVERS),
            node(MACHINE, 32, "251Gi", labels | {"node.kubernetes.io/instance-type": "l40s-vm"}),
        ],
        slices=[*(item for name in SERVERS for item in _server(name)), *_machine()],
        classes=[*dev.nvidia_classes(), dev.cpu_class(), dev.sriov_class()],
        claims=[
            claim("chat-0", SERVERS[1], near, namespace="serving"),
            claim("chat-1", SERVERS[1], far, namespace="serving"),
            claim("rerank-0", MACHINE, single, namespace="serving"),
        ],
    )
