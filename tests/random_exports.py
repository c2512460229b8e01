"""Random drawings of many replicas on the shipped samples and on random fleets, for tests of exports."""

from __future__ import annotations

import random
from functools import cache

from random_clusters import random_fleet, random_sketch
from small_claims import request
from small_nodes import NUMA, ROOT, a_slice, device

from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, DeviceSubRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.workload import Workload
from dra_lab.shipped import samples_dir
from dra_lab.sources import load_cluster

RDMA = 'device.attributes["dra.net"].?rdma.orValue(false)'
SAMPLES = sorted(path.parent.name for path in samples_dir().glob("*/resourceslices.yaml"))
WHERE = ("numaNode", "numaNode", "pcieRoot", "socket")


@cache
def sample(name: str) -> Cluster:
    """Return a shipped sample."""
    return load_cluster(f"sample:{name}")


def random_export(seed: int) -> tuple[Cluster, list[Workload]]:
    """Return a cluster and one or two workloads: requests, alternatives and links at random.

    Two of four seeds are on a sample, the others on five random nodes with devices in use.
    """
    rng = random.Random(seed)
    if seed % 4 > 1:
        cluster = random_fleet(rng)
        names = ["f", "g"][: 1 if rng.random() < 0.75 else 2]
        return cluster, [Workload(name, (random_sketch(rng),), replicas=rng.randint(1, 5)) for name in names]
    cluster = sample(rng.choice(SAMPLES))
    drivers = {slice_.spec.driver for slice_ in cluster.slices}
    classes = [c for c in ("gpu.nvidia.com", "gpu.amd.com", "mig.nvidia.com", "dranet") if _driver(c) in drivers]
    names = ["f", "g"][: 1 if rng.random() < 0.75 else 2]
    return cluster, [Workload(name, (_sketch(rng, classes, name),), replicas=rng.randint(1, 8)) for name in names]


def _driver(device_class: str) -> str:
    return {"dranet": "dra.net", "mig.nvidia.com": "gpu.nvidia.com"}.get(device_class, device_class)


def _sketch(rng: random.Random, classes: list[str], name: str) -> ClaimSketch:
    asked = [f"r{n}" for n in range(rng.randint(1, 2))]
    requests = tuple(_request(rng, rng.choice(classes), one) for one in asked)
    links = []
    for number in range(rng.randint(0, 2)):
        how = rng.choice((How.TOGETHER, How.APART, How.PAIRWISE))
        ends = tuple(asked) if how is How.PAIRWISE else tuple(rng.sample(asked, rng.randint(1, len(asked))))
        if how is How.PAIRWISE and len(ends) < 2:
            continue
        links.append(Link(f"l{number}", ends, rng.choice(WHERE), how, must=rng.random() < 0.5))
    return ClaimSketch(name=name, requests=requests, links=tuple(links))


def _request(rng: random.Random, device_class: str, name: str) -> DeviceRequest:
    text = (RDMA,) if device_class == "dranet" and rng.random() < 0.7 else ()
    if rng.random() < 0.7:
        return request(name, device_class, rng.randint(1, 4), *text)
    selectors = tuple(DeviceSelector(cel=CELDeviceSelector(expression=one)) for one in text)
    subs = tuple(
        DeviceSubRequest(name=f"s{n}", device_class_name=device_class, count=count, selectors=selectors)
        for n, count in enumerate(sorted(rng.sample(range(1, 5), 2), reverse=True))
    )
    return DeviceRequest(name=name, first_available=subs)


def irregular_export(seed: int) -> tuple[Cluster, list[Workload]]:
    """Return one to four nodes of which no two are wired alike, and pods of up to eight GPUs and NICs with links."""
    rng = random.Random(f"heavy {seed}")
    slices: list[ResourceSlice] = []
    for node in range(rng.randint(1, 4)):
        slices += _irregular_node(rng, f"n{node}")
    classes = tuple(c for c in sample("dgx-h100").classes if c.metadata.name in ("gpu.nvidia.com", "dranet"))
    count, must = rng.choice((3, 4, 5, 6, 7, 8)), rng.random() < 0.6
    nics = count if rng.random() < 0.8 else max(1, count // 2)
    pairs = rng.random() < 0.7 and nics == count
    how = How.PAIRWISE if pairs else rng.choice((How.TOGETHER, How.APART))
    links = [Link("l", ("gpu", "nic"), rng.choice(("pcieRoot", "pcieRoot", "numaNode")), how, must=must)]
    if rng.random() < 0.3:
        links.append(Link("t", ("gpu",), "numaNode", How.TOGETHER, must=rng.random() < 0.5))
    asked = (request("gpu", "gpu.nvidia.com", count), request("nic", "dranet", nics))
    claim = ClaimSketch(name="f", requests=asked, links=tuple(links))
    cluster = Cluster(slices=tuple(slices), classes=classes, name="irregular")
    return cluster, [Workload("f", (claim,), replicas=rng.randint(1, 6))]


def _irregular_node(rng: random.Random, node: str) -> list[ResourceSlice]:
    roots = rng.choice((4, 6, 8))
    gpus: list[Device] = []
    nics: list[Device] = []
    for root in range(roots):
        place = {ROOT: f"pci0000:{root:02x}", NUMA: root * 2 // roots}
        for _ in range(rng.choice((1, 1, 2, 2))):
            gpus.append(device(f"gpu-{len(gpus)}", {"type": "gpu", **place}))
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            nics.append(device(f"nic-{len(nics):02d}", {"dra.net/rdma": True, **place}))
    rng.shuffle(nics)
    found = [a_slice("gpu.nvidia.com", *gpus, node=node)]
    return [*found, a_slice("dra.net", *nics, node=node)] if nics else found
