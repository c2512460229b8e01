"""Random clusters of real size as plain numbers, and the objects that publish them; no planner is asked.

A cluster is 1 to 50 nodes of 4 to 16 PCIe roots on one or two NUMA nodes, with 0 to 4 GPUs and 0 to 4 NICs per root,
CPUs that pods share, and devices in use at random. `Free` counts what is free; the objects say the same in API fields.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from random_devices import CPU, GPU, NIC, NUMA, ROOT, device_class, text

from dra_lab.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Counter as Amount
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity, DeviceCounterConsumption
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import PlacedPod, Placement
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.slices import CounterSet, ResourcePool, ResourceSlice, ResourceSliceSpec

CORES = "dra.cpu/cpu"
PROFILE = "profile"

PROFILES = {
    "1g": (1, tuple((n, n + 1) for n in range(7))),
    "2g": (2, ((0, 2), (2, 4), (4, 6))),
    "3g": (3, ((0, 4), (4, 8))),
    "7g": (7, ((0, 8),)),
}
"""Partitions of a GPU: compute slices each takes of 7, and the memory slices of 8 (from, to) of each position."""


@dataclass(frozen=True)
class Part:
    """One device: its name, its kind (a driver), root, NUMA node, and for a partition its GPU, profile and position."""

    name: str
    driver: str
    numa: int
    root: int = -1
    cores: int = 0
    gpu: int = -1
    profile: str = ""
    position: int = 0


@dataclass
class Free:
    """What is free on a node: devices per root, cores per CPU device, partitions in use per GPU."""

    numa: tuple[int, ...]
    gpus: list[int]
    nics: list[int]
    cores: list[tuple[int, int]] = field(default_factory=list)
    split: dict[int, tuple[int, list[tuple[str, int]]]] = field(default_factory=dict)
    """For each partitioned GPU its root and the (profile, position) of the partitions in use."""

    def count(self, kind: str) -> int:
        """Return the free devices of a kind, cores of CPUs, or the most partitions that fit at once."""
        if kind == "gpu":
            return sum(self.gpus) + sum(_partitions_left(used) for _, used in self.split.values())
        return sum(self.nics) if kind == "nic" else sum(left for _, left in self.cores)

    @property
    def roots(self) -> list[tuple[int, int, int]]:
        """Return (NUMA node, free GPUs, free NICs) of each root."""
        return list(zip(self.numa, self.gpus, self.nics, strict=True))

    def on_numa(self) -> list[tuple[int, int, list[tuple[int, int]], list[int]]]:
        """Return free GPUs, free NICs, (GPUs, NICs) of each root, and free cores of each CPU device, per NUMA node."""
        found = []
        for numa in sorted(set(self.numa) | {numa for numa, _ in self.cores}):
            mine = [(g, n) for at, g, n in self.roots if at == numa]
            left = [cores for at, cores in self.cores if at == numa]
            found.append((sum(g for g, _ in mine), sum(n for _, n in mine), mine, left))
        return found


@dataclass
class Node:
    """A node as published: its parts, and what pods hold of them (for CPUs the cores, else 1)."""

    name: str
    numa: tuple[int, ...]
    parts: tuple[Part, ...]
    held: Counter[str] = field(default_factory=Counter)

    @cached_property
    def by_name(self) -> dict[tuple[str, str], Part]:
        """Return the parts by driver and name."""
        return {(part.driver, part.name): part for part in self.parts}

    def free(self, more: Iterable[Placement] = ()) -> Free:
        """Return what is free beside what is held, and beside the placements of a plan's pods on this node."""
        held = Counter(self.held)
        for placement in more:
            part = self.by_name[placement.device.driver, placement.device.device]
            cores = int(parse_quantity(placement.consumed.get(CORES, 0)))
            held[part.name] += cores if part.driver == CPU else 1
        found = Free(self.numa, [0] * len(self.numa), [0] * len(self.numa))
        for part in self.parts:
            if part.driver == CPU:
                found.cores.append((part.numa, part.cores - held[part.name]))
            elif part.profile:
                _, used = found.split.setdefault(part.gpu, (part.root, []))
                if held[part.name]:
                    used.append((part.profile, part.position))
            elif not held[part.name]:
                mine = found.gpus if part.driver == GPU else found.nics
                mine[part.root] += 1
        return found


def placements_on(replicas: Sequence[PlacedPod], node: str) -> list[Placement]:
    """Return what the pods of a plan take on a node."""
    return [placement for replica in replicas if replica.node == node for placement in replica.devices]


def random_nodes(rng: random.Random, *, split: bool = False, roots: tuple[int, int] = (4, 16)) -> list[Node]:
    """Make the nodes of a cluster, of one to three kinds of hardware, each with other devices in use."""
    kinds = [_hardware(rng, split, rng.randint(*roots)) for _ in range(rng.choice([1, 1, 2, 3]))]
    busy = rng.choice([0.0, 0.1, 0.3, 0.6])
    most = 12 if split else 50
    count = rng.choice([1, 1, 1, 2, 3, rng.randint(1, 12), rng.randint(1, most)])
    nodes = []
    for number in range(count):
        numa, parts = rng.choice(kinds)
        node = Node(f"n{number:02}", numa, parts)
        _hold(rng, node, busy)
        nodes.append(node)
    return nodes


def node_of(gpus: Sequence[int], nics: Sequence[int], numa: Sequence[int], cores: Sequence[int] = ()) -> Node:
    """Make a node by the numbers of GPUs and NICs on each root; `cores` are those of one CPU device per NUMA node."""
    parts = [
        *(Part(f"gpu-{r}-{n}", GPU, numa[r], r) for r, count in enumerate(gpus) for n in range(count)),
        *(Part(f"nic-{r}-{n}", NIC, numa[r], r) for r, count in enumerate(nics) for n in range(count)),
        *(Part(f"cpu-{n}", CPU, n, cores=count) for n, count in enumerate(cores)),
    ]
    return Node("n00", tuple(numa), tuple(parts))


def _hardware(rng: random.Random, split: bool, roots: int) -> tuple[tuple[int, ...], tuple[Part, ...]]:
    sockets = rng.choice([1, 2, 2, 2, 4])
    numa = tuple(at * sockets // roots for at in range(roots))
    even, one = rng.random() < 0.4, rng.random() < 0.4
    most = (rng.randint(1, 4), rng.randint(1, 4)) if even else (4, 4)

    def drawn(most: int, sure: bool) -> list[int]:
        return [most if sure else rng.randint(0, rng.choice([1, 2, most])) for _ in range(roots)]

    if split:
        gpus = [0] * roots
        parts = [part for root in range(min(roots, 8)) for part in _partitions(rng, root, numa[root])]
    elif one:
        gpus, parts = [rng.choice([1, 1, 1, rng.randint(0, 2)]) for _ in range(roots)], []
    else:
        gpus, parts = drawn(most[0], even and rng.random() < 0.5), []
    nics = (
        [rng.choice([0, 1, 1, 1, 2, 3, 4]) for _ in range(roots)]
        if one
        else drawn(most[1], even and rng.random() < 0.5)
    )
    node = node_of(gpus, nics, numa)
    cpus = [
        Part(f"cpu-{n}", CPU, n % sockets, cores=rng.choice([8, 24, 64]))
        for n in range(sockets * rng.choice([1, 1, 2]))
    ]
    return numa, (*parts, *node.parts, *cpus)


def _partitions(rng: random.Random, gpu: int, numa: int) -> list[Part]:
    if rng.random() < 0.2:
        return []
    return [
        Part(f"gpu-{gpu}-{profile}-{at}", GPU, numa, gpu, gpu=gpu, profile=profile, position=at)
        for profile, (_, positions) in PROFILES.items()
        for at in range(len(positions))
    ]


def _hold(rng: random.Random, node: Node, busy: float) -> None:
    for part in rng.sample(node.parts, len(node.parts)):
        if rng.random() >= busy:
            continue
        if part.driver == CPU:
            node.held[part.name] = rng.randint(1, part.cores)
        elif not part.profile or fits_with(node.free().split[part.gpu][1], part.profile, part.position):
            node.held[part.name] = 1


def _partitions_left(used: Sequence[tuple[str, int]]) -> int:
    """Return the most partitions that fit on a GPU beside those in use: the smallest ones."""
    found = list(used)
    for position in range(len(PROFILES["1g"][1])):
        if fits_with(found, "1g", position):
            found.append(("1g", position))
    return len(found) - len(used)


def fits_with(used: Sequence[tuple[str, int]], profile: str, position: int) -> bool:
    """Say whether a partition fits on a GPU beside those in use: 7 compute slices, and memory slices of its own."""
    mine = set(range(*PROFILES[profile][1][position]))
    taken = {at for name, where in used for at in range(*PROFILES[name][1][where])}
    return not mine & taken and sum(PROFILES[name][0] for name, _ in used) + PROFILES[profile][0] <= 7


# ---------------------------------------------------------------- the objects of the API


def cluster_of(nodes: Sequence[Node], name: str = "oracle") -> Cluster:
    """Return the slices of all nodes and the claims that hold what is in use."""
    slices = [found for node in nodes for found in _slices(node)]
    claims = [
        _holder(node, part, node.held[part.name]) for node in nodes for part in node.parts if node.held[part.name]
    ]
    return Cluster(tuple(slices), tuple(map(device_class, (GPU, NIC, CPU))), (), tuple(claims), name=name)


def _slices(node: Node) -> list[ResourceSlice]:
    found = []
    for driver in (GPU, NIC, CPU):
        mine = [part for part in node.parts if part.driver == driver]
        gpus = sorted({part.gpu for part in mine if part.profile})
        sets = tuple(CounterSet(name=f"gpu-{gpu}", counters=_counters(7, range(8))) for gpu in gpus)
        groups = [(tuple(map(_published, mine)), ())] + ([((), sets)] if sets else [])
        for at, (devices, counters) in enumerate(groups if mine else []):
            spec = ResourceSliceSpec(
                driver=driver,
                pool=ResourcePool(name=node.name, generation=1, resource_slice_count=len(groups)),
                node_name=node.name,
                devices=devices or None,
                shared_counters=counters or None,
            )
            found.append(ResourceSlice(metadata=ObjectMeta(name=f"{node.name}-{driver}-{at}"), spec=spec))
    return found


def _counters(compute: int, memory: Iterable[int]) -> dict[str, Amount]:
    return {"compute": Amount(value=compute)} | {f"memory-slice-{at}": Amount(value=1) for at in memory}


def _published(part: Part) -> Device:
    numa = DeviceAttribute(int_=part.numa)
    if part.driver == CPU:
        capacity = {CORES: DeviceCapacity(value=part.cores)}
        return Device(name=part.name, attributes={NUMA: numa}, capacity=capacity, allow_multiple_allocations=True)
    root = {ROOT: text(f"pci0000:{part.root:02x}")}
    if part.driver == NIC:
        return Device(
            name=part.name, attributes={"dra.net/rdma": DeviceAttribute(bool_=True), "dra.net/numaNode": numa, **root}
        )
    if not part.profile:
        return Device(name=part.name, attributes={"type": text("gpu"), NUMA: numa, **root})
    compute, positions = PROFILES[part.profile]
    draws = DeviceCounterConsumption(
        counter_set=f"gpu-{part.gpu}", counters=_counters(compute, range(*positions[part.position]))
    )
    attributes = {"type": text("mig"), PROFILE: text(part.profile), NUMA: numa, **root}
    return Device(name=part.name, attributes=attributes, consumes_counters=(draws,))


def _holder(node: Node, part: Part, amount: int) -> ResourceClaim:
    shared = part.driver == CPU
    result = DeviceRequestAllocationResult(
        request="r",
        **DeviceID(part.driver, node.name, part.name)._asdict(),
        share_id=f"00000000-0000-0000-0000-{int(node.name[1:]):012d}" if shared else None,
        consumed_capacity={CORES: amount} if shared else {},
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    name = f"holder-{node.name}-{part.driver}-{part.name}".replace(".", "-")
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="default"), status=ResourceClaimStatus(allocation=allocation)
    )
