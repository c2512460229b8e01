"""h100-pod: 16 H100 servers below four leaf switches and two spines, with the Topology that Kueue reads."""

from __future__ import annotations

from _generator import devices as dev
from _generator.dgx_h100 import PAIRS, gpu_and_nics, root
from _generator.h100_pod_queues import queues
from _generator.objects import Object, Sample, claim, cluster_object, node, resource_slice, topology

LABELS = ("topology.example.com/spine", "topology.example.com/leaf")
NODES = [f"h100-{number:02d}" for number in range(1, 17)]


def _slices(name: str) -> list[Object]:
    gpus = [
        dev.nvidia_gpu(name, index, dev.H100, f"0000:{bus:02x}:00.0", root(nic_bus), numa=numa)
        for index, (bus, nic_bus, _, _, numa) in enumerate(PAIRS)
    ]
    nics = [
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
    nics.sort(key=lambda device: str(device["name"]))
    return [resource_slice(dev.NVIDIA, name, gpus), resource_slice(dev.DRANET, name, nics)]


def _claims() -> list[Object]:
    """Return claims: each leaf has something in use, and the NICs of one idle-looking node are in use."""
    whole = list(range(8))
    busy = [
        ("train-0", 0, whole, whole),
        ("tune-0", 1, [0, 1], [0, 1]),
        ("storage-0", 4, [], [0, 1, 2, 3]),
        ("train-1", 8, whole, whole),
        ("train-2", 9, whole, whole),
        ("tune-1", 10, [0, 1, 2, 3], [0, 1, 2, 3]),
        ("study-0", 12, [7], [7]),
    ]
    return [claim(pod, NODES[at], gpu_and_nics(gpus, nics)) for pod, at, gpus, nics in busy]


def _node(at: int, name: str) -> Object:
    labels = {
        LABELS[0]: f"spine-{at // 8 + 1}",
        LABELS[1]: f"leaf-{at // 4 + 1}",
        "node.kubernetes.io/instance-type": "DGX-H100",
        "topology.kubernetes.io/zone": "hall-1",
    }
    return node(name, 224, "2015Gi", labels)


def sample() -> Sample:
    """Return the sample: the leaves have two, three, one and three idle servers."""
    flavor = {"nodeLabels": {"node.kubernetes.io/instance-type": "DGX-H100"}, "topologyName": "h100-pod"}
    return Sample(
        name="h100-pod",
        nodes=[_node(at, name) for at, name in enumerate(NODES)],
        slices=[item for name in NODES for item in _slices(name)],
        classes=[*dev.nvidia_classes(), dev.dranet_class()],
        claims=_claims(),
        topologies=[
            topology("kueue.x-k8s.io/v1beta2", "h100-pod", *LABELS),
            cluster_object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "h100", flavor),
        ],
        queues=queues(),
    )
