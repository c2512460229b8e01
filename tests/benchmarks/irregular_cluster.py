"""Nodes of which no two are wired alike: GPUs in order, NICs shuffled over the PCIe roots, a quarter of both in use."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from functools import cache

from msgspec.structs import replace

from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceSelector,
    ResourceClaim,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import ResourceSlice
from tests.benchmarks.mixed_cluster import CPU, GPU, NIC, NUMA, class_of, device_at, holder_of, request_of, slice_of

BUSY, ANYWHERE, UNKNOWN, NUMAS, CORES = 0.25, 0.2, 0.1, 2, 64
"""The share of devices in use, of NICs on any root and of unknown place, NUMA nodes, and CPUs of a NUMA node."""


@cache
def irregular_cluster(nodes: int, size: int, *, cpus: bool = False) -> Cluster:
    """Return `nodes` nodes with `size` GPUs and `size` NICs, two of each per PCIe root on average."""
    chance = random.Random(7)
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    roots = size // 2
    for number in range(nodes):
        node, order = f"node-{number:05d}", list(range(size))
        chance.shuffle(order)
        taken: list[tuple[str, str, Mapping[str, int | str]]] = []
        for driver in (GPU, NIC):
            devices = []
            for at in range(size):
                near = order[at] // 2 * 2 + at % 2 if chance.random() >= ANYWHERE else chance.randrange(size)
                root = (at if driver == GPU else near) // 2
                devices.append(device_at(f"{driver[:3]}-{at}", driver, root * NUMAS // roots, root))
                if chance.random() < BUSY:
                    taken.append((driver, devices[-1].name, {}))
            slices.append(slice_of(node, driver, tuple(devices)))
        if cpus:
            slices.append(slice_of(node, CPU, tuple(_cores(numa) for numa in range(NUMAS))))
            for numa in range(NUMAS):
                if cores := chance.randint(0, CORES):
                    taken.append((CPU, f"cpudevnuma{numa:03d}", {"dra.cpu/cpu": cores}))
        claims.append(holder_of(node, node, taken))
    classes = (class_of("gpu.nvidia.com", GPU), class_of("dranet", NIC), class_of("dra.cpu", CPU))
    return Cluster(slices=tuple(slices), classes=classes, claims=tuple(claims), name=f"irregular {nodes} x {size}")


@cache
def of_different_kinds(nodes: int, size: int) -> Cluster:
    """Return the same nodes with GPUs of two models in islands of four, and some NICs that tell no place."""
    chance = random.Random(7)
    cluster = irregular_cluster(nodes, size)
    return dataclasses.replace(cluster, slices=tuple(_kinds(chance, published) for published in cluster.slices))


def _kinds(chance: random.Random, published: ResourceSlice) -> ResourceSlice:
    devices = []
    for number, device in enumerate(published.spec.devices or ()):
        found = dict(device.attributes)
        if published.spec.driver == GPU:
            found["model"] = DeviceAttribute(string=chance.choice("ab"))
            found["island"] = DeviceAttribute(int_=number // 4)
        elif chance.random() < UNKNOWN:
            found = {name: value for name, value in found.items() if name == "dra.net/rdma"}
        devices.append(replace(device, attributes=found))
    return replace(published, spec=replace(published.spec, devices=tuple(devices)))


@cache
def with_odd_nodes(nodes: int, size: int) -> Cluster:
    """Return the same nodes; one has NICs by a selector of two terms, and all see a disk that no pod asks for."""
    gpus, nics, *others = irregular_cluster(nodes, size).slices
    names = (NodeSelectorRequirement("metadata.name", "In", (name,)) for name in (nics.spec.node_name or "", "gone"))
    selector = NodeSelector(tuple(NodeSelectorTerm(match_fields=(name,)) for name in names))
    nics = replace(nics, spec=replace(nics.spec, node_name=None, node_selector=selector))
    disks = slice_of("disks", "disk.example.com", (Device(name="disk"),))
    disks = replace(disks, spec=replace(disks.spec, node_name=None, all_nodes=True))
    return irregular_cluster(nodes, size).with_objects(slices=(gpus, nics, *others, disks))


def only_model(claim: ClaimSketch, model: str) -> ClaimSketch:
    """Return a drawing whose request for GPUs takes one model only."""
    selector = f'device.attributes["{GPU}"].model == "{model}"'
    selectors = (DeviceSelector(cel=CELDeviceSelector(expression=selector)),)
    gpu, *others = claim.requests
    assert gpu.exactly is not None
    return replace(claim, requests=(replace(gpu, exactly=replace(gpu.exactly, selectors=selectors)), *others))


def in_island(pairs: int) -> ClaimSketch:
    """Return a drawing of GPU-NIC pairs whose GPUs are in one island."""
    claim = drawn_pairs(pairs)
    return replace(claim, links=(*claim.links, Link(name="island", requests=("gpu",), where=f"{GPU}/island")))


def _cores(numa: int) -> Device:
    return Device(
        name=f"cpudevnuma{numa:03d}",
        attributes={NUMA: DeviceAttribute(int_=numa)},
        capacity={"dra.cpu/cpu": DeviceCapacity(value=str(CORES))},
        allow_multiple_allocations=True,
    )


def drawn_pairs(pairs: int, *, alone: int = 0, cpus: int = 0, where: str = "pcieRoot") -> ClaimSketch:
    """Return a drawing of GPUs and NICs one to one on a level, with as many `alone`, and CPUs of one NUMA node."""
    requests = [request_of("gpu", "gpu.nvidia.com", pairs), request_of("nic", "dranet", pairs)]
    if alone:
        requests += [request_of("gpus", "gpu.nvidia.com", alone), request_of("nics", "dranet", alone)]
    if cpus:
        requests.append(request_of("cpu", "dra.cpu", 1, cpus))
    link = Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE, where=where)
    return ClaimSketch(name="claim", requests=tuple(requests), links=(link,))


def gpus_apart(gpus: int, nics: int, where: str) -> ClaimSketch:
    """Return a drawing of GPUs and NICs of which no two are on one PCIe root or NUMA node."""
    requests = [request_of("gpu", "gpu.nvidia.com", gpus), *([request_of("nic", "dranet", nics)] if nics else [])]
    link = Link(name="apart", requests=tuple(request.name for request in requests), how=How.APART, where=where)
    return ClaimSketch(name="claim", requests=tuple(requests), links=(link,))


def numbered_pairs(pairs: int, where: str = "pcieRoot") -> ClaimSketch:
    """Return the same pairs as Kubernetes needs them in a template: numbered requests, a constraint for each pair."""
    requests = [
        request_of(f"{kind}-{at}", device_class, 1)
        for at in range(pairs)
        for kind, device_class in (("gpu", "gpu.nvidia.com"), ("nic", "dranet"))
    ]
    links = tuple(Link(name=f"pair-{at}", requests=(f"gpu-{at}", f"nic-{at}"), where=where) for at in range(pairs))
    return ClaimSketch(name="claim", requests=tuple(requests), links=links)
