"""First fit of a claim on 5,000 nodes with 8 GPUs and 8 NICs; target 50 ms with known states, 1 s cold."""

from __future__ import annotations

import random
from collections.abc import Callable

from msgspec.structs import replace

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
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.scheduler.identical_nodes import NodeStates
from tests.benchmarks.mixed_cluster import GPU, NIC, class_of, device_at, holder_of, slice_of
from tests.benchmarks.timing import median_seconds

RELEASE = KubernetesRelease()


def device_of(driver: str, node: str, number: int) -> Device:
    """Return a GPU or NIC with a PCIe root and a UUID of its own."""
    found = device_at(f"{driver.partition('.')[0]}-{number}", driver, number // 4, number)
    uuid = {"uuid": DeviceAttribute(string=f"{node}-{driver}-{number}")}
    capacity = {"memory": DeviceCapacity(value="80Gi")} if driver == GPU else {}
    return replace(found, attributes={**found.attributes, **uuid}, capacity=capacity)


def fleet(nodes: int, states: int, seed: int = 1) -> Cluster:
    """Make nodes with 8 GPUs and 8 NICs each, their devices in use in one of `states` ways."""
    rng = random.Random(seed)
    patterns = [tuple(rng.random() < 0.3 for _ in range(16)) for _ in range(states)]
    slices, claims = [], []
    for number in range(nodes):
        node = f"node-{number:05}"
        for offset, driver in enumerate((GPU, NIC)):
            devices = tuple(device_of(driver, node, index) for index in range(8))
            slices.append(slice_of(node, driver, devices))
            used = patterns[number % states][8 * offset : 8 * offset + 8]
            claims += [
                holder_of(f"{node}-{d.name}", node, [(driver, d.name, {})])
                for d, taken in zip(devices, used, strict=True)
                if taken
            ]
    classes = (class_of("gpu", GPU), class_of("nic", NIC))
    return Cluster(slices=tuple(slices), classes=classes, claims=tuple(claims), name="fleet")


def aligned_claim() -> ResourceClaim:
    """Make a claim for two GPUs, each with an RDMA NIC on its PCIe root."""
    rdma = (DeviceSelector(CELDeviceSelector('device.attributes["dra.net"].rdma == true')),)
    requests, constraints = [], []
    for number in range(2):
        gpu, nic = f"gpu-{number}", f"nic-{number}"
        requests.append(DeviceRequest(name=gpu, exactly=ExactDeviceRequest(device_class_name="gpu")))
        requests.append(DeviceRequest(name=nic, exactly=ExactDeviceRequest(device_class_name="nic", selectors=rdma)))
        constraints.append(DeviceConstraint(requests=(gpu, nic), match_attribute=PCIE_ROOT))
    devices = DeviceClaim(requests=tuple(requests), constraints=tuple(constraints))
    return ResourceClaim(metadata=ObjectMeta(name="claim"), spec=ResourceClaimSpec(devices=devices))


def _median(name: str, target: str, run: Callable[[], object]) -> None:
    print(f"{name}: {median_seconds(run) * 1e3:.1f} ms   ({target})")


def main() -> None:
    """Build the fleet and print the medians."""
    nodes = 5000
    cluster, claims = fleet(nodes, states=100), [aligned_claim()]
    _ = cluster.allocated
    _median("first fit on one node", "no target", lambda: first_fit(cluster, "node-00000", claims, RELEASE))
    known = NodeStates(cluster, RELEASE)
    print(f"{nodes:,} nodes, {len(known.groups(claims))} groups of equal nodes")

    def on_every_node(states: NodeStates) -> None:
        for group in states.groups(claims):
            first_fit(cluster, group[0], claims, RELEASE)

    _median("first fit on every node, cold", "target 1 s", lambda: on_every_node(NodeStates(cluster, RELEASE)))
    _median("first fit on every node, equal nodes known", "target 50 ms", lambda: on_every_node(known))


if __name__ == "__main__":
    main()
