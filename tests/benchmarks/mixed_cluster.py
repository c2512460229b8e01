"""A mixed busy cluster: five hardware types with 8 GPUs, 8 to 10 NICs, 2 to 8 NUMA nodes; the same every time."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache

from dra_lab.model.claims import (
    AllocationResult,
    CapacityRequirements,
    CELDeviceSelector,
    DeviceAllocationResult,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.model.workload import Workload

GPU, NIC, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"

TYPES = ((2, 2, 8, 64), (2, 4, 8, 64), (2, 8, 10, 64), (4, 4, 8, 32), (8, 8, 8, 16))
"""NUMA nodes, PCIe roots, NICs, and CPUs of a NUMA node, by hardware type; GPUs are 8, spread evenly over the roots."""

BLOCK = 4
"""CPUs are in use in blocks of this many."""

KINDS = ((4, 4, 32), (2, 2, 16), (1, 1, 8))
"""GPUs, NICs and CPUs of the three kinds of claims."""


def device_at(name: str, driver: str, numa: int, root: int) -> Device:
    """Return a GPU or NIC on a PCIe root."""
    own = {"type": DeviceAttribute(string="gpu")} if driver == GPU else {"dra.net/rdma": DeviceAttribute(bool_=True)}
    places = {ROOT: DeviceAttribute(string=f"pci0000:{16 * (root + 1):02x}"), NUMA: DeviceAttribute(int_=numa)}
    if driver == NIC:
        places["dra.net/numaNode"] = DeviceAttribute(int_=numa)
    return Device(name=name, attributes={**own, **places})


def _hardware(numas: int, roots: int, nics: int, cpus: int) -> dict[str, tuple[Device, ...]]:
    numa_of = [root * numas // roots for root in range(roots)]
    gpu_roots = [n * roots // 8 for n in range(8)]
    nic_roots = [n * roots // 8 for n in range(8)] + [n % roots for n in range(nics - 8)]
    return {
        GPU: tuple(device_at(f"gpu-{n}", GPU, numa_of[root], root) for n, root in enumerate(gpu_roots)),
        NIC: tuple(device_at(f"nic-{n}", NIC, numa_of[root], root) for n, root in enumerate(nic_roots)),
        CPU: tuple(
            Device(
                name=f"cpudevnuma{numa:03d}",
                attributes={NUMA: DeviceAttribute(int_=numa)},
                capacity={"dra.cpu/cpu": DeviceCapacity(value=str(cpus))},
                allow_multiple_allocations=True,
            )
            for numa in range(numas)
        ),
    }


def slice_of(node: str, driver: str, devices: tuple[Device, ...]) -> ResourceSlice:
    """Return the only slice of a driver on a node."""
    pool = ResourcePool(name=node, generation=1, resource_slice_count=1)
    spec = ResourceSliceSpec(driver=driver, pool=pool, node_name=node, devices=devices)
    return ResourceSlice(metadata=ObjectMeta(name=f"{node}-{driver}"), spec=spec)


def class_of(name: str, driver: str) -> DeviceClass:
    """Return the class of a driver."""
    selector = DeviceSelector(cel=CELDeviceSelector(expression=f"device.driver == '{driver}'"))
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=(selector,)))


def holder_of(name: str, pool: str, taken: Iterable[tuple[str, str, Mapping[str, int | str]]]) -> ResourceClaim:
    """Return the claim that holds devices of a pool: driver and name of each, and the amounts of a shared device."""
    results = tuple(
        DeviceRequestAllocationResult(
            request="r",
            driver=driver,
            pool=pool,
            device=device,
            share_id=f"00000000-0000-4000-8000-{number:012d}" if amounts else None,
            consumed_capacity=dict(amounts),
        )
        for number, (driver, device, amounts) in enumerate(taken)
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    metadata = ObjectMeta(name=f"busy-{name}", namespace="default")
    return ResourceClaim(metadata=metadata, status=ResourceClaimStatus(allocation=allocation))


def _holder(node: str, chance: random.Random, busy: float, hardware: dict[str, tuple[Device, ...]]) -> ResourceClaim:
    taken: list[tuple[str, str, Mapping[str, int | str]]] = [
        (driver, device.name, {}) for driver in (GPU, NIC) for device in hardware[driver] if chance.random() < busy
    ]
    for device in hardware[CPU]:
        blocks = int(str(device.capacity["dra.cpu/cpu"].value)) // BLOCK
        cores = BLOCK * sum(chance.random() < busy for _ in range(blocks))
        if cores:
            taken.append((CPU, device.name, {"dra.cpu/cpu": cores}))
    return holder_of(node, node, taken)


@cache
def mixed_cluster(nodes: int, busy: float = 0.2, types: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Cluster:
    """Return `nodes` nodes of the given hardware types in turn.

    Every GPU, NIC and block of 4 CPUs is in use with the chance `busy`, each by itself.
    """
    chance = random.Random(7)
    kinds = [_hardware(*TYPES[kind]) for kind in types]
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    for number in range(nodes):
        node, hardware = f"node-{number:05d}", kinds[number % len(kinds)]
        slices.extend(slice_of(node, driver, devices) for driver, devices in hardware.items())
        if busy:
            claims.append(_holder(node, chance, busy, hardware))
    classes = (class_of("gpu.nvidia.com", GPU), class_of("dranet", NIC), class_of("dra.cpu", CPU))
    return Cluster(slices=tuple(slices), classes=classes, claims=tuple(claims), name=f"mixed {nodes}")


def workloads(
    replicas: tuple[int, ...], *, must: bool, kinds: tuple[tuple[int, int, int], ...] = KINDS
) -> tuple[Workload, ...]:
    """Return a workload of each kind; with `must`, each GPU has a NIC on its root and all are on one NUMA node."""
    found = []
    for (gpus, nics, cpus), count in zip(kinds, replicas, strict=True):
        requests = (
            request_of("gpu", "gpu.nvidia.com", gpus),
            request_of("nic", "dranet", nics),
            request_of("cpu", "dra.cpu", 1, cpus),
        )
        links = (Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE),) if must else ()
        name = f"{gpus}-gpu-{nics}-nic-{cpus}-cpu"
        found.append(Workload(name, (ClaimSketch(name="claim", requests=requests, links=links),), replicas=count))
    return tuple(found)


def cpu_request(cpus: int) -> DeviceRequest:
    """Return a request for this many CPUs of one NUMA node."""
    return request_of("cpu", "dra.cpu", 1, cpus)


def request_of(name: str, device_class: str, count: int, cpus: int = 0) -> DeviceRequest:
    """Return a request for devices, or for one device with some CPUs."""
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": cpus}) if cpus else None
    return DeviceRequest(
        name=name, exactly=ExactDeviceRequest(device_class_name=device_class, count=count, capacity=capacity)
    )
