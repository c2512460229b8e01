"""gb200-nvl72: two racks of 18 nodes with four GPUs each; a job of 16 nodes fits in neither rack."""

from __future__ import annotations

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, claim, cordoned, node, resource_slice, topology, uid

RACKS = ("a", "b")
NODES = {rack: [f"nvl-{rack}{number:02d}" for number in range(1, 19)] for rack in RACKS}
CORDONED = ("nvl-b17", "nvl-b18")
GPU_DOMAINS = ("0008", "0009", "0018", "0019")


def tray(name: str) -> list[Object]:
    """Return the slices of a compute tray: four GPUs, and the channel and daemon of the compute-domain driver."""
    gpus = [
        dev.nvidia_gpu(name, index, dev.GB200, f"{domain}:06:00.0", f"pci{domain}:00")
        for index, domain in enumerate(GPU_DOMAINS)
    ]
    return [
        resource_slice(dev.COMPUTE_DOMAIN, name, dev.compute_domain_devices()),
        resource_slice(dev.NVIDIA, name, gpus),
    ]


def gpus_held(pod: str, name: str, gpus: range, namespace: str = "training") -> Object:
    """Return the claim of a pod on some GPUs of its node."""
    held = Held("gpu", "gpu.nvidia.com", dev.NVIDIA, tuple(f"gpu-{index}" for index in gpus))
    return claim(pod, name, [held], namespace=namespace)


def channel_held(pod: str, name: str) -> Object:
    """Return the claim of a pod on the channel of its node."""
    held = Held("channel", dev.CHANNEL_CLASS, dev.COMPUTE_DOMAIN, ("channel-0",))
    return claim(pod, name, [held], named="channel")


def _claims() -> list[Object]:
    """Return a job on eight trays of rack a, and three pods with one GPU each in rack b."""
    job = [(f"pretrain-{rank}", name) for rank, name in enumerate(NODES["a"][:8])]
    return [
        *(gpus_held(pod, name, range(4)) for pod, name in job),
        *(channel_held(pod, name) for pod, name in job),
        *(gpus_held(f"chat-{at}", NODES["b"][at * 4], range(1), "serving") for at in range(3)),
    ]


def _node(rack: str, name: str) -> Object:
    labels = {
        "fabric.topograph.run/tier-0": f"leaf-{rack}",
        "fabric.topograph.run/tier-1": "spine-1",
        "node.kubernetes.io/instance-type": "GB200-NVL72",
        "nvidia.com/gpu.clique": f"{uid('NVLink domain', rack)}.0",
        "topology.kubernetes.io/zone": "hall-1",
    }
    made = node(name, 144, "881Gi", labels, architecture="arm64")
    return cordoned(made) if name in CORDONED else made


def sample() -> Sample:
    """Return the sample: ten trays are free in rack a, 13 of the 16 that are not cordoned in rack b."""
    names = [name for rack in RACKS for name in NODES[rack]]
    return Sample(
        name="gb200-nvl72",
        nodes=[_node(rack, name) for rack in RACKS for name in NODES[rack]],
        slices=[item for name in names for item in tray(name)],
        classes=[*dev.nvidia_classes(), *dev.compute_domain_classes()],
        claims=_claims(),
        topologies=[
            topology("kai.scheduler/v1alpha1", "nvl72", "topology.kubernetes.io/zone", "nvidia.com/gpu.clique")
        ],
    )
