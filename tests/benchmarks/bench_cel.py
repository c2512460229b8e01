"""Five selectors over 90,000 devices, compiled and memoised from nothing each time; target 0.7 s."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from dra_lab.cel.matching import Matching
from dra_lab.cel.selector import compile_selector
from dra_lab.model.claims import DeviceClass, DeviceClassSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask

REPEATS = 5
DEVICES = 90_000
GPU, NIC = "gpu.nvidia.com", "dra.net"
SELECTORS = (
    'device.driver == "gpu.nvidia.com"',
    'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].productName.contains("H100")',
    'device.driver != "gpu.nvidia.com" || device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0',
    'cel.bind(a, device.attributes["resource.kubernetes.io"], has(a.numaNode) && a.numaNode < 4)',
    'device.attributes["dra.net"].?rdma.orValue(false) || device.attributes["gpu.nvidia.com"].?index.orValue(9) < 4',
)


def _gpu(index: int) -> Device:
    return Device(
        name=f"gpu-{index}",
        attributes={
            "productName": DeviceAttribute(string=("NVIDIA H100 80GB HBM3", "NVIDIA L40S", "NVIDIA H200")[index % 3]),
            "uuid": DeviceAttribute(string=f"GPU-{index:032x}"),
            "index": DeviceAttribute(int_=index % 8),
            "driverVersion": DeviceAttribute(version=("570.86.15", "580.65.6")[index % 2]),
            "resource.kubernetes.io/pcieRoot": DeviceAttribute(string=f"pci{index % 64:04x}:00"),
            "resource.kubernetes.io/numaNode": DeviceAttribute(int_=index % 8),
        },
        capacity={"memory": DeviceCapacity(value=("80Gi", "46068Mi", "141Gi")[index % 3])},
    )


def _nic(index: int) -> Device:
    return Device(
        name=f"nic-{index}",
        attributes={
            "dra.net/rdma": DeviceAttribute(bool_=index % 4 > 0),
            "dra.net/ifName": DeviceAttribute(string=f"eth{index % 16}"),
            "dra.net/mac": DeviceAttribute(string=f"{index:012x}"),
            "resource.kubernetes.io/pcieRoot": DeviceAttribute(string=f"pci{index % 64:04x}:00"),
            "dra.net/numaNode": DeviceAttribute(int_=index % 8),
        },
    )


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Print the medians beside the target."""
    devices = [(GPU, _gpu(index)) if index % 2 else (NIC, _nic(index)) for index in range(DEVICES)]
    groups = [
        (driver, [device for _, device in devices[at : at + 6] if (driver == GPU) == (device.name[0] == "g")])
        for at in range(0, DEVICES, 6)
        for driver in (GPU, NIC)
    ]

    def by_selector() -> int:
        compile_selector.cache_clear()
        selectors = [compile_selector(text) for text in SELECTORS]
        return sum(selector.matches(driver, device) for selector in selectors for driver, device in devices)

    def by_matching() -> int:
        compile_selector.cache_clear()
        everything = DeviceClass(metadata=ObjectMeta(name="any"), spec=DeviceClassSpec())
        matching = Matching(Cluster(), KubernetesRelease("1.36"), {"any": everything})
        asks = [Ask("request", 0, "any", (text,), False, 1, (), {}, False) for text in SELECTORS]
        matched = 0
        for ask in asks:
            # as plans ask: the devices of a node driver by driver, here three of each
            for driver, group in groups:
                match_of = matching.matcher(ask, driver)
                for device in group:
                    matched += bool(match_of(device))
        return matched

    compile_selector('device.driver == "warm"')
    print(f"five selectors over {DEVICES:,} devices, medians of {REPEATS}; target 0.7 s")
    print(f"  Matching.matcher  {median(_timed(by_matching) for _ in range(REPEATS)):.2f} s")
    print(f"  Selector.matches  {median(_timed(by_selector) for _ in range(REPEATS)):.2f} s")


if __name__ == "__main__":
    main()
