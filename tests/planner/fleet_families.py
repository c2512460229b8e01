"""Random fleets over the axes on which real clusters differ, with the most pods that counting allows on them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from msgspec.structs import replace
from random_devices import CLASSES, device_class, selector
from small_holders import a_claim, result
from small_nodes import NUMA, ROOT, a_slice, device

from dra_lab import ClaimSketch, Cluster, How, KubernetesRelease, Link, Workload
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.device import Counter as Amount
from dra_lab.model.device import Device, DeviceCapacity, DeviceCounterConsumption
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.model.slices import CounterSet, ResourceSlice
from dra_lab.scheduler.first_fit import first_fit

RELEASE = KubernetesRelease("1.37")
DRIVERS = {"known": ("gpu.nvidia.com", "dra.net"), "unknown": ("gpu.example.com", "nic.example.org")}
EXTRAS = {"fpga": "fpga.example.com", "memory": "memory.example.com"}
CLASSES |= {driver: (driver, ()) for driver in (*DRIVERS["unknown"], *EXTRAS.values())}
ATTRIBUTES = {"pcieRoot": ROOT, "numaNode": NUMA}
ODD = ("slice for all nodes", "selector with two terms", "NICs on any NUMA node")
"""What is irregular: a slice that no pod asks for, the NICs of one node, or the NUMA nodes of PCIe roots."""
SLOTS = 4
"""Parts that a GPU has, each of which its smallest partition takes."""


@dataclass(frozen=True)
class Axes:
    """The axes on which families differ; `str` names the values that are not those of an ordinary cluster."""

    kind: str = "pairs"
    drivers: str = "known"
    numa: str = "all"
    roots: str = "all"
    alternatives: int = 1
    workloads: int = 1
    extra: str = "no"
    form: str = "drawn"
    missing: float = 0.0
    odd: str = "no"
    in_use: bool = False

    def __str__(self) -> str:
        """Return the axes that differ from the defaults."""
        plain = asdict(Axes())
        return " ".join(f"{key}={value}" for key, value in asdict(self).items() if value != plain[key]) or "ordinary"

    @property
    def level(self) -> str:
        """Return the nearest level that every device publishes; "" if there is none."""
        if self.kind != "pairs":
            return ""
        return "pcieRoot" if self.roots == "all" else "numaNode" if self.numa == "all" else ""


@dataclass(frozen=True)
class Fleet:
    """A cluster with the pods that are wanted, and `most`, the pods that counting allows; `exact`: all of them fit.

    `alone` is how many pods of the first workload each node holds if there is no other one, and `scale` is the largest
    multiple of its claim that a pod can have (0: not counted).
    """

    axes: Axes
    cluster: Cluster
    workloads: tuple[Workload, ...]
    templates: Mapping[str, ResourceClaim]
    most: int
    exact: bool
    alone: Mapping[str, int]
    scale: int


def draw_axes(rng: random.Random) -> Axes:
    """Return a value for each axis, the ordinary one more often than the others."""
    kind = rng.choice(["pairs", "pairs", "pairs", "pairs", "partitions", "shares"])
    alternatives = rng.choice([1, 1, 1, 2, 3, 6]) if kind == "pairs" else 1
    workloads = rng.choice([1, 1, 2, 3, 5])
    return Axes(
        kind=kind,
        drivers=rng.choice(["known", "unknown"]),
        numa=rng.choice(["all", "all", "no GPU", "none"]),
        roots=rng.choice(["all", "all", "all", "no GPU", "none"]),
        alternatives=alternatives,
        workloads=workloads,
        extra=rng.choice(["no", "no", "no", *EXTRAS]),
        form="template" if alternatives > 1 else rng.choice(["drawn", "template"]),
        missing=rng.choice([0.0, 0.2, 0.4]),
        # The models of an odd node need a minute for five workloads.
        odd=rng.choice(["no", "no", *ODD]) if kind == "pairs" and workloads < 5 else "no",
        in_use=kind == "pairs" and rng.random() < 0.3,
    )


def draw_fleet(rng: random.Random, axes: Axes, nodes: int, size: int) -> Fleet:
    """Return `nodes` nodes of `size` GPUs and NICs, of which some are missing or in use, and more pods than fit."""
    drivers = (*DRIVERS[axes.drivers], *([EXTRAS[axes.extra]] if axes.extra != "no" else []))
    slices: list[ResourceSlice] = []
    bins: list[list[int]] = []
    limits: list[int] = []
    held: list[ResourceClaim] = []
    for number in range(nodes):
        made = _NODES[axes.kind](rng, axes, f"n{number:03}", size)
        slices += made[0]
        bins.append(made[1])
        held += [a_claim(*one, name=f"held-{number}") for one in made[2:] if one]
        limits.append(rng.randint(1, size) if axes.extra != "no" else sum(made[1]))
        if axes.extra != "no":
            extra = [Device(name=f"extra-{at}") for at in range(limits[-1])]
            slices.append(a_slice(drivers[-1], *extra, node=f"n{number:03}"))
    if axes.odd == "slice for all nodes":
        slices.append(_seen_by_all(a_slice("disk.example.com", Device(name="disk"), node="disks")))
    if axes.odd == "selector with two terms":
        slices[1] = _selected(slices[1], "odd", "gone")
    zones = ((f"n{number:03}", "even" if number else "odd") for number in range(nodes))
    every = tuple(Node(metadata=ObjectMeta(name=name, labels={"zone": zone})) for name, zone in zones)
    cluster = Cluster(tuple(slices), tuple(map(device_class, drivers)), every, tuple(held), name=str(axes))
    sizes = [rng.choice([1, 2, 4] if size > 4 else [1, 2]) for _ in range(axes.workloads)]
    share = -(-(sum(map(sum, bins)) * 11) // (10 * sum(sizes))) + 1
    wanted = [(f"w{at}", count, rng.randint(1, 2 * share) if at else share) for at, count in enumerate(sizes)]
    templates = {name: _template(axes, count) for name, count, _ in wanted}
    workloads = tuple(
        Workload(name, _drawing(axes, count, templates[name]), replicas=replicas) for name, count, replicas in wanted
    )
    exact = axes.extra == "no" or axes.workloads == 1
    alone = {f"n{at:03}": count for at, count in enumerate(_alone(bins, limits, sizes[0]))}
    most = min(wanted[0][2], sum(alone.values())) if len(wanted) == 1 else _most(bins, limits, wanted)
    return Fleet(axes, cluster, workloads, templates, most, exact, alone, _scale(axes, bins, limits, sizes[0]))


def _alone(bins: list[list[int]], limits: list[int], size: int) -> list[int]:
    return [min(limit, sum(one // size for one in mine)) for mine, limit in zip(bins, limits, strict=True)]


def _scale(axes: Axes, bins: list[list[int]], limits: list[int], size: int) -> int:
    """Return the largest multiple of a claim; 0 for requests that are multiplied one by one, and for shares."""
    if axes.kind == "shares" or (axes.kind == "pairs" and axes.form == "template"):
        return 0
    devices = (2 * size if axes.kind == "pairs" else 1) + (axes.extra != "no")
    return min(MAX_DEVICES // devices, max(_alone(bins, limits, size)))


def _most(bins: list[list[int]], limits: list[int], wanted: list[tuple[str, int, int]]) -> int:
    """Return the most pods of sizes that divide one another; an upper bound for several sizes with a limit per node."""
    replicas = Counter[int]()
    for _, size, count in wanted:
        replicas[size] += count
    places = {size: sum(one // size for mine in bins for one in mine) for size in replicas}

    def packed(sizes: list[int], used: int) -> int:
        if not sizes:
            return 0
        size, rest = sizes[0], sizes[1:]
        room = min(replicas[size], places[size] - -(-used // size))
        return max((count + packed(rest, used + count * size) for count in range(room + 1)), default=0)

    return min(sum(limits), packed(sorted(replicas, reverse=True), 0))


# ---------------------------------------------------------------- nodes


def _pairs(rng: random.Random, axes: Axes, node: str, size: int):
    """Return GPUs and NICs, two per PCIe root on average, the pairs that links allow as one bin, and what is in use."""
    counted: dict[object, Counter[str]] = {}
    found, held = [], []
    for end, driver in zip(("gpu", "nic"), DRIVERS[axes.drivers], strict=True):
        devices = []
        for at in range(size):
            root = rng.randrange(max(1, size // 2)) if axes.missing else at // 2
            numa = 2 * root // max(1, size // 2)
            lost = rng.random() < axes.missing
            if lost and not axes.in_use:
                continue
            places = {ROOT: f"pci0000:{root:02x}"} if _publishes(axes.roots, end) else {}
            if axes.odd == "NICs on any NUMA node" and end == "nic" and axes.level == "pcieRoot":
                numa = rng.randrange(2)
            places |= {NUMA: numa} if _publishes(axes.numa, end) else {}
            model = {f"{driver}/model": f"m{rng.randrange(axes.alternatives)}"} if end == "gpu" else {}
            devices.append(device(f"{end}-{at}", {**places, **model}))
            if lost:
                held.append(result(f"{end}-{at}", driver, node))
                continue
            place = {"pcieRoot": root, "numaNode": numa, "": ""}[axes.level]
            counted.setdefault(place, Counter())[end] += 1
        found.append(a_slice(driver, *devices, node=node))
    return found, [sum(min(ends["gpu"], ends["nic"]) for ends in counted.values())], held


def _seen_by_all(one: ResourceSlice) -> ResourceSlice:
    return replace(one, spec=replace(one.spec, node_name=None, all_nodes=True))


def _selected(one: ResourceSlice, *zones: str) -> ResourceSlice:
    """Return a slice for the nodes of zones, with a term for each."""
    rows = (NodeSelectorRequirement("zone", "In", (zone,)) for zone in zones)
    selector = NodeSelector(tuple(NodeSelectorTerm(match_expressions=(row,)) for row in rows))
    return replace(one, spec=replace(one.spec, node_name=None, node_selector=selector))


def _publishes(axis: str, end: str) -> bool:
    return axis == "all" or (axis == "no GPU" and end == "nic")


def _partitions(rng: random.Random, axes: Axes, node: str, size: int) -> tuple[list[ResourceSlice], list[int]]:
    """Return GPUs of four slots that partitions of 1, 2 and 4 slots draw on; some GPUs have fewer slots."""
    driver, slots, parts = DRIVERS[axes.drivers][0], [], []
    for gpu in range(max(1, size // 4)):
        slots.append(rng.randint(1, SLOTS) if rng.random() < axes.missing else SLOTS)
        for part, count in ((1, SLOTS), (2, SLOTS // 2), (4, SLOTS // 4)):
            draws = (DeviceCounterConsumption(f"gpu-{gpu}", {"slots": Amount(value=part)}),)
            parts += [
                device(f"gpu-{gpu}-{part}-{at}", {f"{driver}/part": part}, consumes_counters=draws)
                for at in range(count)
            ]
    own = a_slice(driver, *parts, node=node, count=2)
    sets = tuple(CounterSet(f"gpu-{at}", {"slots": Amount(value=have)}) for at, have in enumerate(slots))
    counters = replace(own.spec, devices=None, shared_counters=sets)
    return [own, replace(own, metadata=ObjectMeta(name=f"{node}-counters"), spec=counters)], slots


def _shares(rng: random.Random, axes: Axes, node: str, size: int) -> tuple[list[ResourceSlice], list[int]]:
    """Return GPUs whose memory pods share; they differ in how much they have."""
    driver = DRIVERS[axes.drivers][0]
    have = [rng.randint(3, 9) if axes.missing else 8 for _ in range(max(1, size // 4))]
    capacities = [{f"{driver}/memory": DeviceCapacity(value=amount)} for amount in have]
    devices = [
        Device(name=f"gpu-{at}", capacity=one, allow_multiple_allocations=True) for at, one in enumerate(capacities)
    ]
    return [a_slice(driver, *devices, node=node)], have


_NODES = {"pairs": _pairs, "partitions": _partitions, "shares": _shares}


# ---------------------------------------------------------------- claims


def _template(axes: Axes, size: int) -> ResourceClaim:
    """Return a claim as Kubernetes needs it: numbered requests, and a constraint for each pair."""
    gpu, nic = DRIVERS[axes.drivers]
    requests, constraints = [], []
    if axes.kind == "pairs":
        for at in range(size):
            requests += [_gpu(axes, f"gpu-{at}"), _asked(f"nic-{at}", nic)]
            if axes.level:
                constraints.append(DeviceConstraint((f"gpu-{at}", f"nic-{at}"), match_attribute=ATTRIBUTES[axes.level]))
    elif axes.kind == "partitions":
        requests.append(_asked("gpu", gpu, selectors=(_says(gpu, "part", str(size)),)))
    else:
        requests.append(_asked("gpu", gpu, capacity=CapacityRequirements(requests={f"{gpu}/memory": size})))
    if axes.extra != "no":
        requests.append(_asked("extra", EXTRAS[axes.extra]))
    spec = ResourceClaimSpec(DeviceClaim(tuple(requests), tuple(constraints)))
    return ResourceClaim(metadata=ObjectMeta(name="claim"), spec=spec)


def _drawing(axes: Axes, size: int, template: ResourceClaim) -> ClaimSketch:
    """Return the drawing of a template, or the one that asks for all pairs at once."""
    devices = template.spec.devices
    if axes.kind != "pairs" or axes.form == "template":
        links = (Link(f"l{at}", one.requests, axes.level) for at, one in enumerate(devices.constraints))
        return ClaimSketch("claim", devices.requests, tuple(links))
    ends = tuple(_asked(name, driver, size) for name, driver in zip(("gpu", "nic"), DRIVERS[axes.drivers], strict=True))
    extra = tuple(request for request in devices.requests if request.name == "extra")
    links = (Link("pairs", ("gpu", "nic"), axes.level, How.PAIRWISE),) if axes.level else ()
    return ClaimSketch("claim", (*ends, *extra), links)


def _gpu(axes: Axes, name: str) -> DeviceRequest:
    """Return a request for a GPU, or for one of the models that there are."""
    driver = DRIVERS[axes.drivers][0]
    if axes.alternatives == 1:
        return _asked(name, driver)
    return DeviceRequest(
        name=name,
        first_available=tuple(
            DeviceSubRequest(f"m{at}", driver, selectors=(_says(driver, "model", f'"m{at}"'),))
            for at in range(axes.alternatives)
        ),
    )


def _asked(name: str, driver: str, count: int = 1, **more) -> DeviceRequest:
    return DeviceRequest(name, ExactDeviceRequest(device_class_name=driver, count=count, **more))


def _says(driver: str, name: str, value: str):
    attribute = f'device.attributes["{driver}"].{name}'
    return selector(f"has({attribute}) && {attribute} == {value}")


# ---------------------------------------------------------------- another way to place pods


def placed_by_first_fit(fleet: Fleet) -> int:
    """Return how many pods our copy of kube-scheduler places, one after the other, each on the first node that fits."""
    return sum(1 for _ in _first_fit(fleet))


def _first_fit(fleet: Fleet) -> Iterator[str]:
    cluster = fleet.cluster
    for workload in fleet.workloads:
        claim, nodes, placed = fleet.templates[workload.name], list(cluster.node_names), 0
        while nodes and placed < workload.replicas:
            verdict = first_fit(cluster, nodes[0], [claim], RELEASE)
            if verdict.allocations is None:
                nodes.pop(0)
                continue
            name = f"{workload.name}-{placed}"
            status = replace(claim.status, allocation=verdict.allocations[0])
            held = replace(claim, metadata=ObjectMeta(name=name, namespace="placed"), status=status)
            cluster = cluster.with_objects(claims=(*cluster.claims, held))
            placed += 1
            yield nodes[0]
