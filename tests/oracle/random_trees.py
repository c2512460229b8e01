"""Small random clusters whose nodes are trees of NUMA nodes and PCIe roots, and pods for them."""

from __future__ import annotations

import random

from msgspec.structs import replace
from random_clusters import CPU, GPU, NIC, NUMA, RDMA, ROOT, TAG, device_class, selector
from random_clusters import _holder as holder
from random_clusters import _slice as published

from dra_lab.model.claims import CapacityRequirements, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.fleet import Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch, How, Link

ORDERS = ((), ("nodes",), ("roots", "numa"), ("unpaired", "nodes"), ("nodes", "roots"), ("numa",))
"""Goals that come first, for fleets in turn."""


def tree_cluster(rng: random.Random, *, kinds: bool = False) -> Cluster:
    """Make one to three nodes of one or two NUMA nodes and up to three roots, with devices that are partly in use.

    With `kinds`, some NICs have RDMA, some devices have a tag, and some tell no place.
    """
    slices, claims = [], []
    for number in range(rng.randint(1, 3)):
        node = f"n{number}"
        numas = rng.randint(1, 2)
        roots = [(f"pci0000:{at}0", rng.randrange(numas)) for at in range(rng.randint(1, 3))]
        found = {
            driver: [_device(driver, name, at, rng.choice(roots)) for at in range(rng.randint(0, 4))]
            for driver, name in ((GPU, "gpu"), (NIC, "nic"))
        }
        if kinds:
            found.update({driver: [_changed(rng, device) for device in found[driver]] for driver in (GPU, NIC)})
        if rng.random() < 0.5:
            found[CPU] = [
                Device(
                    name=f"cpu-{numa}",
                    attributes={NUMA: DeviceAttribute(int_=numa)},
                    capacity={"dra.cpu/cpu": DeviceCapacity(value=rng.choice([8, 16]))},
                    allow_multiple_allocations=True,
                )
                for numa in range(numas)
            ]
        for driver, devices in found.items():
            if devices:
                slices.append(published(driver, node, devices))
            for device in devices:
                if rng.random() < 0.2:
                    claims.append(holder(rng, len(claims), DeviceID(driver, node, device.name)))
    classes = tuple(map(device_class, (GPU, NIC, CPU)))
    return Cluster(slices=tuple(slices), classes=classes, claims=tuple(claims), name="trees")


def _device(driver: str, name: str, number: int, place: tuple[str, int]) -> Device:
    numa = "dra.net/numaNode" if driver == NIC else NUMA
    attributes = {ROOT: DeviceAttribute(string=place[0]), numa: DeviceAttribute(int_=place[1])}
    return Device(name=f"{name}-{number}", attributes=attributes)


def _changed(rng: random.Random, device: Device) -> Device:
    """Return a device with or without RDMA and a tag, and sometimes without its root or any place."""
    lost = rng.choice([(), (), (), (ROOT,), (ROOT, NUMA, "dra.net/numaNode")])
    tags = {TAG: DeviceAttribute(string=rng.choice("ab"))} if rng.random() < 0.8 else {}
    kept = {name: value for name, value in device.attributes.items() if name not in lost}
    return replace(device, attributes={**kept, **tags, "dra.net/rdma": DeviceAttribute(bool_=rng.random() < 0.5)})


def tree_workloads(rng: random.Random) -> tuple[Workload, ...]:
    """Make one to three kinds of pods: linked one to one, as numbered requests, together, preferred, or not at all."""
    found = []
    for number in range(rng.choice([1, 1, 2, 3])):
        claim = rng.choice([_drawn, _numbered, _alternatives])(rng)
        found.append(Workload(f"w{number}", (claim,), rng.randint(1, 4)))
    return tuple(found)


def _exactly(name: str, driver: str, count: int = 1) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count))


def _with_cpus(rng: random.Random) -> tuple[DeviceRequest, ...]:
    if rng.random() < 0.6:
        return ()
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": rng.choice([2, 5, 8])})
    return (DeviceRequest(name="cpu", exactly=ExactDeviceRequest(device_class_name=CPU, capacity=capacity)),)


def _drawn(rng: random.Random) -> ClaimSketch:
    gpus, nics = rng.choice([(1, 1), (2, 2), (2, 1), (1, 0), (2, 0), (1, 2), (3, 3)])
    requests = [_exactly("gpu", GPU, gpus), *([_exactly("nic", NIC, nics)] if nics else []), *_with_cpus(rng)]
    links = []
    ends = ("gpu", "nic") if nics else ("gpu",)
    if rng.random() < 0.7:
        how = (
            rng.choice([How.PAIRWISE, How.TOGETHER])
            if nics and max(gpus, nics) % min(gpus, nics) == 0
            else How.TOGETHER
        )
        links.append(Link(name="near", requests=ends, how=how, must=rng.random() < 0.7))
    if rng.random() < 0.4:
        every = tuple(request.name for request in requests)
        links.append(Link(name="numa", requests=every, where="numaNode", must=rng.random() < 0.6))
    return ClaimSketch(name="claim", requests=tuple(requests), links=tuple(links))


def _numbered(rng: random.Random) -> ClaimSketch:
    pairs, alone = rng.randint(1, 2), rng.random() < 0.3
    requests, links = [], []
    for at in range(pairs):
        requests += [_exactly(f"gpu-{at}", GPU), _exactly(f"nic-{at}", NIC)]
        links.append(Link(name=f"pair-{at}", requests=(f"gpu-{at}", f"nic-{at}")))
    if alone:
        requests.append(_exactly("more", GPU))
    return ClaimSketch(name="claim", requests=(*requests, *_with_cpus(rng)), links=tuple(links))


def _alternatives(rng: random.Random) -> ClaimSketch:
    first = DeviceSubRequest(name="two", device_class_name=GPU, count=2)
    second = DeviceSubRequest(name="one", device_class_name=rng.choice([GPU, NIC]), count=1)
    request = DeviceRequest(name="any", first_available=(first, second))
    return ClaimSketch(name="claim", requests=(request, *_with_cpus(rng)))


def linked_workloads(rng: random.Random, *, kinds: bool = False) -> tuple[Workload, ...]:
    """Make one or two kinds of pods with one or two links on PCIe roots or NUMA nodes; `kinds` as in `tree_cluster`."""
    found = []
    for number in range(rng.choice([1, 2] if kinds else [1, 1, 2])):
        claim = rng.choice([_linked, _linked, _pairs])(rng)
        if kinds:
            tagged = rng.random() < 0.4
            links = tuple(replace(link, where=TAG) if tagged and not link.kind.paired else link for link in claim.links)
            claim = replace(claim, links=links)
            claim = replace(claim, requests=tuple(_picky(rng, request) for request in claim.requests))
        found.append(Workload(f"w{number}", (claim,), rng.randint(1, 4)))
    return tuple(found)


def _picky(rng: random.Random, request: DeviceRequest) -> DeviceRequest:
    """Let some requests for NICs ask for RDMA."""
    if request.exactly is None or request.exactly.device_class_name != NIC or rng.random() < 0.5:
        return request
    return replace(request, exactly=replace(request.exactly, selectors=(selector(RDMA),)))


def _linked(rng: random.Random) -> ClaimSketch:
    gpus, nics = rng.choice([(1, 1), (2, 2), (2, 1), (2, 0), (1, 2), (3, 0), (2, 2), (3, 3)])
    requests = [_exactly("gpu", GPU, gpus), *([_exactly("nic", NIC, nics)] if nics else [])]
    if rng.random() < 0.3:
        capacity = CapacityRequirements(requests={"dra.cpu/cpu": rng.choice([2, 5, 8])})
        exactly = ExactDeviceRequest(device_class_name=CPU, capacity=capacity)
        requests.append(DeviceRequest(name="cpu", exactly=exactly))
    names = [request.name for request in requests]
    links = []
    for at in range(rng.choice([1, 1, 2])):
        how = rng.choice(list(How))
        where = rng.choice(["pcieRoot", "numaNode", "numaNode"])
        able = names if where == "numaNode" and how is not How.PAIRWISE else [name for name in names if name != "cpu"]
        ends = rng.sample(able, rng.randint(1, len(able)))
        if how is How.PAIRWISE and (len(able) < 2 or max(gpus, nics) % min(gpus, nics)):
            how = How.TOGETHER
        elif how is How.PAIRWISE:
            ends = able
        # Only one preferred link may pair the same requests.
        must = rng.random() < 0.6 or (how is How.PAIRWISE and bool(links))
        links.append(Link(name=f"l{at}", requests=tuple(ends), how=how, where=where, must=must))
    return ClaimSketch(name="claim", requests=tuple(requests), links=tuple(links))


def _pairs(rng: random.Random) -> ClaimSketch:
    pairs = rng.randint(1, 2)
    where = rng.choice(["pcieRoot", "numaNode"])
    requests, links = [], []
    for at in range(pairs):
        requests += [_exactly(f"gpu-{at}", GPU), _exactly(f"nic-{at}", NIC)]
        links.append(Link(name=f"pair-{at}", requests=(f"gpu-{at}", f"nic-{at}"), where=where))
    if rng.random() < 0.5:
        ends = tuple(f"gpu-{at}" for at in range(pairs))
        apart = rng.choice(["pcieRoot", "numaNode"])
        how = rng.choice([How.APART, How.TOGETHER])
        links.append(Link(name="gpus", requests=ends, how=how, where=apart, must=rng.random() < 0.6))
    return ClaimSketch(name="claim", requests=tuple(requests), links=tuple(links))
