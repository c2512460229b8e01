"""Process time to open the trace of a long search, folded, and to show one of its steps; target: 1 s for 10^6 steps."""

from __future__ import annotations

import time
from collections.abc import Callable

from dra_lab.model.claims import (
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.scheduler.node_trace import trace_claims
from tests.benchmarks.bench_first_fit import _device, fleet

RELEASE = KubernetesRelease()


def short_node(gpus: int, nics: int) -> Cluster:
    """Make a node with GPUs and NICs, one of each on a PCIe root as far as there are NICs."""
    slices = []
    for driver, count in (("gpu.nvidia.com", gpus), ("dra.net", nics)):
        devices = tuple(_device(driver, "n1", number) for number in range(count))
        pool = ResourcePool(name="n1", generation=1, resource_slice_count=1)
        spec = ResourceSliceSpec(driver=driver, pool=pool, node_name="n1", devices=devices)
        slices.append(ResourceSlice(metadata=ObjectMeta(name=driver), spec=spec))
    return Cluster(slices=tuple(slices), classes=fleet(1, 1).classes, name="short")


def pairs(count: int) -> ResourceClaim:
    """Make a claim for GPUs, each with a NIC on its PCIe root."""
    requests, constraints = [], []
    for number in range(count):
        names = (f"gpu-{number}", f"nic-{number}")
        requests += [DeviceRequest(name=n, exactly=ExactDeviceRequest(device_class_name=n[:3])) for n in names]
        constraints.append(DeviceConstraint(requests=names, match_attribute=PCIE_ROOT))
    devices = DeviceClaim(requests=tuple(requests), constraints=tuple(constraints))
    return ResourceClaim(metadata=ObjectMeta(name="claim"), spec=ResourceClaimSpec(devices=devices))


def _seconds(run: Callable[[], object]) -> float:
    begin = time.process_time()
    run()
    return time.process_time() - begin


def main() -> None:
    """Trace searches of growing length and print the process time of each."""
    for count in (8, 9, 10):
        node, claim = short_node(count, count - 1), pairs(count)
        trace = trace_claims(node, "n1", [claim], RELEASE, step_limit=10**12)
        steps = trace.counts.steps
        opened = _seconds(lambda: trace_claims(node, "n1", [claim], RELEASE, step_limit=10**12))  # noqa: B023
        shown = _seconds(lambda: (trace.shown_at(steps // 2), trace.window(steps // 2, steps // 2)))  # noqa: B023
        print(f"trace of {steps:,} steps, folded: {opened * 1e3:.1f} ms of CPU   (target 1 s)")
        print(f"a step in the middle of {steps:,}: {shown * 1e3:.1f} ms of CPU   (target 150 ms)")


if __name__ == "__main__":
    main()
