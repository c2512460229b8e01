"""Nodes that hold many small pods: A100 that are partitioned by need (MIG), and GPUs that are shared by memory."""

from __future__ import annotations

import dataclasses
import random
from itertools import product

from msgspec.structs import replace

from dra_lab import load_cluster
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.model.workload import Workload
from tests.benchmarks.mixed_cluster import (
    GPU,
    NIC,
    class_of,
    cpu_request,
    holder_of,
    mixed_cluster,
    request_of,
    workloads,
)

GPUS, BUSY = 8, 0.3
"""GPUs of a node, and the share of them of which something is in use."""

HOST = "kubernetes.io/hostname"

SHARED, NETWORK = "gpu.example.com", "nic.example.com"
_A_SLICE = 64
_NICS = tuple(Device(name=f"nic-{number}") for number in range(2))


def partitioned(nodes: int) -> Cluster:
    """Return nodes with eight partitionable A100, those of the sample `mig`; of some one partition is in use."""
    sample, chance = load_cluster("sample:mig"), random.Random(5)
    counters, *published = sample.slices
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    for number in range(nodes):
        node = f"node-{number:04d}"
        sets, devices = [], []
        for pair in range(GPUS // 2):
            sets += [replace(one, name=_named(one.name, pair)) for one in counters.spec.shared_counters or ()]
            devices += [_moved(device, pair) for part in published for device in part.spec.devices or ()]
        chunks = [tuple(devices[at : at + _A_SLICE]) for at in range(0, len(devices), _A_SLICE)]
        slices.append(_slice(node, "gpu.nvidia.com", 0, len(chunks) + 1, shared_counters=tuple(sets)))
        slices += [
            _slice(node, "gpu.nvidia.com", at + 1, len(chunks) + 1, devices=chunk) for at, chunk in enumerate(chunks)
        ]
        for gpu in range(GPUS):
            if chance.random() < BUSY:
                own = [device.name for device in devices if device.name.startswith(f"gpu-{gpu}-mig-")]
                device = chance.choice(own)
                claims.append(holder_of(f"{node}-{device}", node, [("gpu.nvidia.com", device, {})]))
    return Cluster(name=f"partitioned {nodes}", slices=tuple(slices), classes=sample.classes, claims=tuple(claims))


def before_chassis(nodes: int, chassis: int) -> Cluster:
    """Return nodes with two NICs each that all see the GPUs of some chassis: eight partitionable A100 in each."""
    far = partitioned(chassis)
    pools = [replace(found, spec=replace(found.spec, node_name=None, all_nodes=True)) for found in far.slices]
    own = [
        _slice(f"host-{number:03d}", NETWORK, 0, 1, devices=tuple(Device(name=f"nic-{at}") for at in range(2)))
        for number in range(nodes)
    ]
    name = f"{nodes} before {chassis}"
    return Cluster(
        name=name, slices=(*pools, *own), classes=(*far.classes, class_of("nic", NETWORK)), claims=far.claims
    )


def sharing_nics(nodes: int, nics: int, rack: int) -> Cluster:
    """Return busy nodes with eight GPUs in racks of this size; the nodes of a rack share this number of NICs."""
    base = mixed_cluster(nodes, types=(1,))
    names = base.node_names
    pools = []
    for at in range(0, nodes, rack):
        mine = NodeSelectorRequirement(key=HOST, operator="In", values=tuple(names[at : at + rack]))
        seen = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(mine,)),))
        devices = [Device(name=f"nic-{number}") for number in range(nics)]
        chunks = [tuple(devices[first : first + _A_SLICE]) for first in range(0, nics, _A_SLICE)]
        for number, chunk in enumerate(chunks):
            one = _slice(f"rack-{at}", NIC, number, len(chunks), devices=chunk)
            pools.append(replace(one, spec=replace(one.spec, node_name=None, node_selector=seen)))
    own = [published for published in base.slices if published.spec.driver != NIC]
    hosts = tuple(Node(metadata=ObjectMeta(name=name, labels={HOST: name})) for name in names)
    return dataclasses.replace(base, slices=(*own, *pools), nodes=hosts, name=f"{nodes} share NICs")


def gpus_and_nic(replicas: int) -> tuple[Workload, ...]:
    """Return pods with two GPUs or one, and a NIC."""
    found = []
    for gpus in (2, 1):
        claim = ClaimSketch("claim", (request_of("gpu", "gpu.nvidia.com", gpus), request_of("nic", "dranet", 1)))
        found.append(Workload(f"{gpus}-gpu", (claim,), replicas=replicas))
    return tuple(found)


def with_admin_pods(nodes: int) -> tuple[Workload, ...]:
    """Return pods of three kinds, five for every node, and pods with admin access to a GPU."""
    gpu = ExactDeviceRequest(device_class_name="gpu.nvidia.com", admin_access=True)
    claim = ClaimSketch("claim", (DeviceRequest(name="gpu", exactly=gpu),))
    third = 5 * nodes // 3
    kinds = workloads((5 * nodes - 2 * third, third, third), must=False)
    return (*kinds, Workload("admin", (claim,), replicas=2 * nodes // 5))


def before_islands(nodes: int, islands: int) -> tuple[Cluster, tuple[Workload, ...]]:
    """Return nodes that share islands of eight GPUs, and pods that prefer GPUs of one island."""
    devices = [Device(name=f"gpu-{n}", attributes={"island": DeviceAttribute(int_=n // 8)}) for n in range(8 * islands)]
    pool = _slice("islands", GPU, 0, 1, devices=tuple(devices))
    pool = replace(pool, spec=replace(pool.spec, node_name=None, all_nodes=True))
    own = [_slice(f"host-{number:03d}", NIC, 0, 1, devices=_NICS) for number in range(nodes)]
    classes = (class_of("gpu.nvidia.com", GPU), class_of("dranet", NIC))
    near = Link(name="island", requests=("gpu",), where=f"{GPU}/island", must=False)
    found = []
    for gpus, replicas in ((8, nodes // 2), (3, nodes)):
        requests = (request_of("gpu", "gpu.nvidia.com", gpus), request_of("nic", "dranet", 1))
        found.append(Workload(f"{gpus}-gpu", (ClaimSketch("claim", requests, (near,)),), replicas=replicas))
    return Cluster(name=f"{nodes} before islands", slices=(pool, *own), classes=classes), tuple(found)


def before_storage(nodes: int, devices: int) -> tuple[Cluster, tuple[Workload, ...]]:
    """Return nodes that share devices of 97 Gi each, and pods of three sizes of shares with a NIC."""
    one = Device(name="", capacity={"memory": DeviceCapacity(value="97Gi")}, allow_multiple_allocations=True)
    every = tuple(replace(one, name=f"store-{number}") for number in range(devices))
    pool = _slice("stores", SHARED, 0, 1, devices=every)
    pool = replace(pool, spec=replace(pool.spec, node_name=None, all_nodes=True))
    own = [_slice(f"host-{number:03d}", NIC, 0, 1, devices=_NICS) for number in range(nodes)]
    found = []
    for size, replicas in (("13Gi", nodes), ("31Gi", 2 * nodes // 5), ("17Gi", 3 * nodes // 5)):
        capacity = CapacityRequirements(requests={"memory": size})
        share = DeviceRequest(name="share", exactly=ExactDeviceRequest(device_class_name="gpu", capacity=capacity))
        claim = ClaimSketch("claim", (share, request_of("nic", "dranet", 1)))
        found.append(Workload(size.lower(), (claim,), replicas=replicas))
    classes = (class_of("gpu", SHARED), class_of("dranet", NIC))
    return Cluster(name=f"{nodes} before storage", slices=(pool, *own), classes=classes), tuple(found)


def with_nic(workload: Workload) -> Workload:
    """Return a workload whose pods take a NIC too."""
    claim = workload.claims[0]
    nic = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="nic"))
    return Workload(workload.name, replace(claim, requests=(*claim.requests, nic)), replicas=workload.replicas)


def shared(nodes: int) -> Cluster:
    """Return nodes with eight GPUs of 80 Gi that pods share; of some a part is in use."""
    chance = random.Random(3)
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    for number in range(nodes):
        node = f"node-{number:04d}"
        devices = tuple(
            Device(
                name=f"gpu-{gpu}",
                attributes={"resource.kubernetes.io/numaNode": DeviceAttribute(int_=gpu // 4)},
                capacity={"memory": DeviceCapacity(value="80Gi")},
                allow_multiple_allocations=True,
            )
            for gpu in range(GPUS)
        )
        slices.append(_slice(node, SHARED, 0, 1, devices=devices))
        for gpu in range(GPUS):
            if chance.random() < BUSY:
                taken = {"memory": chance.choice(["3Gi", "10Gi", "40Gi", "17Gi"])}
                claims.append(holder_of(f"{node}-gpu-{gpu}", node, [(SHARED, f"gpu-{gpu}", taken)]))
    classes = (class_of("gpu", SHARED),)
    return Cluster(name=f"shared {nodes}", slices=tuple(slices), classes=classes, claims=tuple(claims))


def profiles(nodes: int) -> tuple[Workload, ...]:
    """Return pods of one partition each, for nodes of `partitioned`: 28 a node."""
    kinds = {"1g.5gb": 2 * GPUS, "2g.10gb": GPUS, "3g.20gb": GPUS // 2}
    return tuple(_workload(name, "mig.nvidia.com", count * nodes, profile=name) for name, count in kinds.items())


def shares(nodes: int, more: dict[str, int] | None = None) -> tuple[Workload, ...]:
    """Return pods of one share of memory each, for nodes of `shared`: 102 a node, and `more` of other sizes."""
    kinds = {"2Gi": 60, "5Gi": 30, "20Gi": 12, **(more or {})}
    return tuple(_workload(name, "gpu", count * nodes, memory=name) for name, count in kinds.items())


def with_whole_gpus(nodes: int) -> tuple[Workload, ...]:
    """Return pods that take all GPUs of a node, beside nine kinds with one to four GPUs and four to sixteen CPUs."""
    every = ExactDeviceRequest(device_class_name="gpu.nvidia.com", allocation_mode="All")
    whole = ClaimSketch("whole", (DeviceRequest(name="gpu", exactly=every),))
    found = [Workload("whole", whole, replicas=nodes // 5)]
    for gpus, cpus in product((1, 2, 4), (4, 8, 16)):
        part = ClaimSketch("part", (request_of("gpu", "gpu.nvidia.com", gpus), cpu_request(cpus)))
        found.append(Workload(f"{gpus}-gpu-{cpus}-cpu", part, replicas=3 * nodes // 5))
    return tuple(found)


def _workload(name: str, device_class: str, replicas: int, *, profile: str = "", memory: str = "") -> Workload:
    selector = f"device.attributes['gpu.nvidia.com'].profile == '{profile}'"
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression=selector)),) if profile else ()
    capacity = CapacityRequirements(requests={"memory": memory}) if memory else None
    exactly = ExactDeviceRequest(device_class_name=device_class, selectors=selectors, capacity=capacity)
    label = name.lower().replace(".", "-")
    return Workload(label, (ClaimSketch(label, (DeviceRequest(name="gpu", exactly=exactly),)),), replicas=replicas)


def _named(name: str, pair: int) -> str:
    return name.replace("gpu-1", f"gpu-{2 * pair + 1}") if "gpu-1" in name else name.replace("gpu-0", f"gpu-{2 * pair}")


def _moved(device: Device, pair: int) -> Device:
    uses = tuple(replace(use, counter_set=_named(use.counter_set, pair)) for use in device.consumes_counters)
    return replace(device, name=_named(device.name, pair), consumes_counters=uses)


def _slice(node: str, driver: str, number: int, count: int, **content: object) -> ResourceSlice:
    pool = ResourcePool(name=node, generation=1, resource_slice_count=count)
    spec = ResourceSliceSpec(driver=driver, pool=pool, node_name=node, **content)
    return ResourceSlice(metadata=ObjectMeta(name=f"{node}-{number}"), spec=spec)
