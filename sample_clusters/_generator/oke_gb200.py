"""oke-gb200: four Oracle Cloud BM.GPU.GB200-v3.4; GPUs and NICs never share a PCIe root."""

from __future__ import annotations

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, claim, node, resource_slice, uid

GPU_DOMAINS = ["0008", "0009", "0018", "0019"]
NIC_DOMAINS = [("0000", 0), ("0002", 0), ("0010", 1), ("0012", 1)]
NODES = ["10.140.65.31", "10.140.65.32", "10.140.65.33", "10.140.65.34"]


def _ports() -> list[tuple[str, str, int]]:
    """Return (address, root, NUMA node) of the eight ports of four dual-port cards."""
    return [(f"{domain}:03:00.{port}", f"pci{domain}:00", numa) for domain, numa in NIC_DOMAINS for port in (0, 1)]


def _place(name: str) -> dict[str, str]:
    """Return the invented network place; two nodes a rack."""
    rack = "rack-1" if name in NODES[:2] else "rack-2"
    return {
        "oke.dra.net/gpuMemoryFabricId": uid("fabric")[:8],
        "oke.dra.net/hpcIslandId": uid("island")[:8],
        "oke.dra.net/localBlockId": uid("local block")[:8],
        "oke.dra.net/networkBlockId": uid("network block")[:8],
        "oke.dra.net/rackId": rack,
    }


def _slices(name: str) -> list[Object]:
    gpus = [
        dev.nvidia_gpu(name, index, dev.GB200, f"{domain}:06:00.0", f"pci{domain}:00")
        for index, domain in enumerate(GPU_DOMAINS)
    ]
    nics = []
    for index, (address, root, numa) in enumerate(_ports()):
        interface = dev.netdev(name, f"rdma{index}", address, 9000) | {"dra.net/sriov": True, "dra.net/sriovVfs": 0}
        del interface["dra.net/alias"], interface["dra.net/ebpf"], interface["dra.net/encapsulation"]
        nics.append(dev.dranet_nic(dev.CX8, address, root, numa, rdma=True, interface=interface, extra=_place(name)))
    return [
        resource_slice(dev.COMPUTE_DOMAIN, name, dev.compute_domain_devices()),
        resource_slice(dev.NVIDIA, name, gpus),
        resource_slice(dev.DRANET, name, nics),
    ]


def _held(gpus: list[int], ports: list[int]) -> list[Held]:
    names = tuple(dev.dranet_name(_ports()[port][0]) for port in ports)
    return [
        Held("gpu", "gpu.nvidia.com", dev.NVIDIA, tuple(f"gpu-{index}" for index in gpus)),
        Held("nic", "dranet", dev.DRANET, names, selector=dev.RDMA),
    ]


def sample() -> Sample:
    """Return the sample: the first node is idle, the others hold claims on one or both NUMA nodes."""
    fabric = uid("fabric")
    labels = {
        "node.kubernetes.io/instance-type": "BM.GPU.GB200-v3.4",
        "nvidia.com/gpu.clique": f"{fabric}.1",
        "topology.kubernetes.io/region": "us-ashburn-1",
        "topology.kubernetes.io/zone": "AD-1",
    }
    busy = [
        ("decode-0", NODES[1], _held([2, 3], [4, 5, 6, 7])),
        ("prefill-0", NODES[2], _held([0], [0])),
        ("prefill-1", NODES[2], _held([1], [4])),
        ("train-0", NODES[3], _held([0, 1], [0, 1])),
        ("train-1", NODES[3], _held([2], [6, 7])),
    ]
    return Sample(
        name="oke-gb200",
        nodes=[
            node(
                name,
                144,
                "881Gi",
                labels | {"oci.oraclecloud.com/host.rack_id": _place(name)["oke.dra.net/rackId"]},
                architecture="arm64",
            )
            for name in NODES
        ],
        slices=[item for name in NODES for item in _slices(name)],
        classes=[
            *dev.nvidia_classes(),
            dev.dranet_class(),
            *dev.compute_domain_classes(),
        ],
        claims=[claim(pod, name, held) for pod, name, held in busy],
    )
