"""shared-gpu: GPUs that several claims share by memory and cores (consumable capacity), beside whole ones."""

from __future__ import annotations

from typing import Any

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, Version, attributes, claim, device_class, node, resource_slice, uid

HAMI_NODE, SHARES_NODE, PLAIN_NODE = "gpu-hami", "gpu-shares", "gpu-whole"


def _policy(value: str, default: str, minimum: str, step: str) -> Object:
    """Return a capacity whose requests are rounded up to a step."""
    valid = {"max": value, "min": minimum, "step": step}
    return {"requestPolicy": {"default": default, "validRange": valid}, "value": value}


def _hami_gpu(index: int, bus: str, root: str) -> Object:
    values: dict[str, Any] = {
        "architecture": "Ampere",
        "brand": "Nvidia",
        "cudaComputeCapability": Version("8.6.0"),
        "cudaDriverVersion": Version("12.4.0"),
        "driverVersion": Version("550.144.3"),
        "minor": index,
        "pcieBusID": bus,
        "productName": "NVIDIA A10",
        "type": "hami-gpu",
        "uuid": f"GPU-{uid(HAMI_NODE, 'gpu', str(index))}",
        dev.PCIE_ROOT: root,
    }
    amounts = {"cores": _policy("100", "100", "0", "1"), "memory": _policy("23028Mi", "23028Mi", "0", "1Mi")}
    return {
        "allowMultipleAllocations": True,
        "attributes": attributes(values),
        "capacity": amounts,
        "name": f"hami-gpu-{index}",
    }


def _shared_gpu(index: int, bus: str, root: str, numa: int) -> Object:
    """Return a GPU of the NVIDIA driver with ConsumableShares: at most four shares, memory by the MiB."""
    gpu = dev.nvidia_gpu(SHARES_NODE, index, dev.A100_PCIE, bus, root, numa=numa, allowMultipleAllocations=True)
    gpu["capacity"] = {"memory": _policy("40Gi", "0", "0", "1Mi"), "shares": _policy("4", "1", "1", "1")}
    return gpu


def _share(pod: str, device: str, cores: str, memory: str) -> Object:
    held = Held("gpu", dev.HAMI, dev.HAMI, (device,), consumed={"cores": cores, "memory": memory})
    return claim(pod, HAMI_NODE, [held], namespace="serving")


def _slices() -> list[Object]:
    hami = [_hami_gpu(0, "0000:65:01.0", "pci0000:64"), _hami_gpu(1, "0000:e3:00.0", "pci0000:e2")]
    shared = [_shared_gpu(0, "0000:65:00.0", "pci0000:64", 0), _shared_gpu(1, "0000:ca:00.0", "pci0000:c9", 1)]
    whole = [
        dev.nvidia_gpu(PLAIN_NODE, 0, dev.A100_PCIE, "0000:65:00.0", "pci0000:64", numa=0),
        dev.nvidia_gpu(PLAIN_NODE, 1, dev.A100_PCIE, "0000:ca:00.0", "pci0000:c9", numa=1),
    ]
    return [
        resource_slice(dev.HAMI, HAMI_NODE, hami),
        resource_slice(dev.NVIDIA, SHARES_NODE, shared),
        resource_slice(dev.NVIDIA, PLAIN_NODE, whole),
    ]


def sample() -> Sample:
    """Return the sample: hami-gpu-0 has 20 cores left, gpu-0 of the second node two of four shares."""
    labels = {"topology.kubernetes.io/zone": "lab"}
    hami = f"device.driver == '{dev.HAMI}' && device.attributes['{dev.HAMI}'].type == 'hami-gpu'"
    first = {"memory": "10Gi", "shares": "1"}
    second = {"memory": "16Gi", "shares": "1"}
    return Sample(
        name="shared-gpu",
        nodes=[
            node(HAMI_NODE, 32, "125Gi", labels | {"node.kubernetes.io/instance-type": "a10-2"}),
            node(SHARES_NODE, 64, "251Gi", labels | {"node.kubernetes.io/instance-type": "a100-pcie-2"}),
            node(PLAIN_NODE, 64, "251Gi", labels | {"node.kubernetes.io/instance-type": "a100-pcie-2"}),
        ],
        slices=_slices(),
        classes=[*dev.nvidia_classes(), device_class(dev.HAMI, hami, extended_resource_name="nvidia.com/gpu")],
        claims=[
            _share("rerank-0", "hami-gpu-0", "50", "10Gi"),
            _share("rerank-1", "hami-gpu-0", "30", "8Gi"),
            claim("chat-0", SHARES_NODE, [Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-0",), consumed=first)]),
            claim("chat-1", SHARES_NODE, [Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-0",), consumed=second)]),
            claim("train-0", PLAIN_NODE, [Held("gpu", "gpu.nvidia.com", dev.NVIDIA, ("gpu-1",))]),
        ],
    )
