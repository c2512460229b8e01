"""Process time to open the trace of a long search, folded, and to show one of its steps; target: 1 s for 10^6 steps."""

from __future__ import annotations

import time

from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.node_trace import trace_claims
from tests.benchmarks.bench_first_fit import device_of, fleet
from tests.benchmarks.mixed_cluster import GPU, NIC, slice_of
from tests.benchmarks.timing import seconds

R137 = KubernetesRelease("1.37")


def short_node(gpus: int, nics: int) -> Cluster:
    """Make a node with GPUs and NICs, one of each on a PCIe root as far as there are NICs."""
    slices = [
        slice_of("n1", driver, tuple(device_of(driver, "n1", number) for number in range(count)))
        for driver, count in ((GPU, gpus), (NIC, nics))
    ]
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


def unlike(kinds: int, each: int) -> tuple[Cluster, ResourceClaim]:
    """Make a node and a claim that does not fit, whose search has no parts that repeat: no two devices are alike."""
    names = tuple(f"request-{kind}" for kind in range(kinds + 1))
    devices = tuple(
        Device(
            name=f"d{kind}-{number}",
            attributes={
                "kind": DeviceAttribute(int_=kind),
                "x.example/a": DeviceAttribute(string=f"a{kind}-{number}"),
                "x.example/b": DeviceAttribute(string=f"b{kind}-{number}"),
            },
        )
        for kind in range(kinds)
        for number in range(each)
    )
    requests = tuple(
        DeviceRequest(
            name=name,
            exactly=ExactDeviceRequest(
                device_class_name="gpu",
                selectors=(DeviceSelector(cel=CELDeviceSelector(expression=_KIND.format(number))),),
            ),
        )
        for number, name in enumerate(names)
    )
    constraints = tuple(DeviceConstraint(requests=names, distinct_attribute=f"x.example/{a}") for a in "ab")
    claim = DeviceClaim(requests=requests, constraints=constraints)
    return (
        Cluster(slices=(slice_of("n1", GPU, devices),), classes=fleet(1, 1).classes, name="unlike"),
        ResourceClaim(metadata=ObjectMeta(name="claim"), spec=ResourceClaimSpec(devices=claim)),
    )


_KIND = 'device.attributes["gpu.nvidia.com"].kind == {}'


def main() -> None:
    """Trace searches of growing length and print the process time of each."""
    searches = [(short_node(count, count - 1), pairs(count)) for count in (8, 9, 10)]
    for node, claim in (*searches, unlike(6, 6)):
        trace = trace_claims(node, "n1", [claim], R137, step_limit=10**12)
        steps = trace.counts.steps
        opened = seconds(lambda: trace_claims(node, "n1", [claim], R137, step_limit=10**12), time.process_time)  # noqa: B023
        shown = seconds(lambda: (trace.shown_at(steps // 2), trace.window(steps // 2, steps // 2)), time.process_time)  # noqa: B023
        print(f"trace of {steps:,} steps, folded: {opened * 1e3:.1f} ms of CPU   (target 1 s)")
        print(f"a step in the middle of {steps:,}: {shown * 1e3:.1f} ms of CPU   (target 150 ms)")


if __name__ == "__main__":
    main()
