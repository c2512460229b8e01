"""Random small nodes and claims, and the best allocation found by trying every subset of devices: no solver."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product

from msgspec.structs import replace

from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import (
    ALL,
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity, DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.sketch import ClaimSketch, How, Link, asks, covers
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.topology.locality import localities

GPU, NIC, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
ROOT, NUMA, TAG = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode", "x.example/tag"
FABRIC = "fabric"
"""The pool whose devices several nodes see."""

RDMA = 'device.attributes["dra.net"].rdma == true'
KINDS = {GPU: "gpu", NIC: "nic", CPU: "cpu"}
COUNTED = ("alternatives", "preferences", "numa", "unpaired", "roots")
"""The goals of the devices that are taken; what remains for others (`damage`) is tried elsewhere."""


def counted(goals) -> tuple[int, ...]:
    """Return the values of the goals that are tried here."""
    return tuple(goal.value for goal in goals if goal.goal in COUNTED)


def proven(plan) -> bool:
    """Say whether the goals that are tried here are proven, or the misfit is."""
    if not plan.fits:
        return plan.status is PlanStatus.INFEASIBLE
    return all(goal.proven for goal in plan.goals if goal.goal in COUNTED)


def text(value: str) -> DeviceAttribute:
    return DeviceAttribute(string=value)


def selector(expression: str) -> DeviceSelector:
    return DeviceSelector(cel=CELDeviceSelector(expression=expression))


def device_class(name: str) -> DeviceClass:
    spec = DeviceClassSpec(selectors=(selector(f'device.driver == "{name}"'),))
    return DeviceClass(metadata=ObjectMeta(name=name), spec=spec)


def random_cluster(rng: random.Random, node: str = "n1") -> Cluster:
    """Make a node of up to four GPUs, four NICs and three CPU devices over a few roots, partly in use."""
    roots = [f"pci0000:{n}0" for n in range(rng.randint(1, 3))]

    def place(chance: float = 0.9) -> dict[str, DeviceAttribute]:
        found = {ROOT: text(rng.choice(roots))} if rng.random() < chance else {}
        if rng.random() < 0.4:
            found[TAG] = text(rng.choice("ab"))
        return found

    gpus = [
        Device(
            name=f"gpu-{n}", attributes={"type": text("gpu"), **place(), **_numa(rng, NUMA, 0.4)}, taints=_taint(rng)
        )
        for n in range(rng.randint(1, 4))
    ]
    nics = [
        Device(
            name=f"nic-{n}",
            attributes={
                "dra.net/rdma": DeviceAttribute(bool_=rng.random() < 0.7),
                **place(),
                **_numa(rng, "dra.net/numaNode", 0.7),
            },
        )
        for n in range(rng.randint(1, 4))
    ]
    cpus = [
        Device(
            name=f"cpu-{n}",
            attributes=_numa(rng, NUMA, 0.9),
            capacity={"dra.cpu/cpu": DeviceCapacity(value=rng.choice([8, 16]))},
            allow_multiple_allocations=True,
        )
        for n in range(rng.randint(0, 3))
    ]
    slices = tuple(
        _slice(driver, node, devices) for driver, devices in ((GPU, gpus), (NIC, nics), (CPU, cpus)) if devices
    )
    claims = tuple(
        claim
        for n, (driver, device) in enumerate(
            chain(((GPU, d) for d in gpus), ((NIC, d) for d in nics), ((CPU, d) for d in cpus))
        )
        if rng.random() < 0.2 and (claim := _holder(rng, n, DeviceID(driver, node, device.name))) is not None
    )
    return Cluster(slices=slices, classes=tuple(map(device_class, (GPU, NIC, CPU))), claims=claims, name="random")


def random_fleet(rng: random.Random, nodes: int = 5) -> Cluster:
    """Make nodes of two kinds of hardware, with other names, roots and devices in use on each."""
    kinds = [random_cluster(rng) for _ in range(2)]
    slices: list[ResourceSlice] = []
    claims: list[ResourceClaim] = []
    for number in range(nodes):
        node, kind = f"n{number}", rng.choice(kinds)
        renamed = rng.random() < 0.5
        for published in kind.slices:
            devices = [_moved(device, node) if renamed else device for device in published.spec.devices or ()]
            slices.append(_slice(published.spec.driver, node, devices))
            for device in devices:
                if rng.random() < 0.25:
                    held = DeviceID(published.spec.driver, node, device.name)
                    claims.append(_holder(rng, len(claims), held))
    return Cluster(slices=tuple(slices), classes=kinds[0].classes, claims=tuple(claims), name="fleet")


def _moved(device: Device, node: str) -> Device:
    root = device.attributes.get(ROOT)
    if root is None:
        return device
    return replace(device, attributes={**device.attributes, ROOT: text(f"{root.string}-{node}")})


def _numa(rng: random.Random, name: str, chance: float) -> dict[str, DeviceAttribute]:
    return {name: DeviceAttribute(int_=rng.randint(0, 1))} if rng.random() < chance else {}


def _taint(rng: random.Random) -> tuple[DeviceTaint, ...]:
    return (
        (DeviceTaint(key="bad", effect=rng.choice(["NoSchedule", "NoExecute", "None"])),) if rng.random() < 0.1 else ()
    )


def _slice(driver: str, node: str, devices: list[Device]) -> ResourceSlice:
    pool = ResourcePool(name=node, generation=1, resource_slice_count=1)
    spec = ResourceSliceSpec(driver=driver, pool=pool, node_name=node, devices=tuple(devices))
    return ResourceSlice(metadata=ObjectMeta(name=f"{node}-{driver}"), spec=spec)


def _holder(rng: random.Random, number: int, device: DeviceID) -> ResourceClaim:
    share = device.driver == CPU
    result = DeviceRequestAllocationResult(
        request="r",
        driver=device.driver,
        pool=device.pool,
        device=device.device,
        share_id=f"00000000-0000-0000-0000-{number:012d}" if share else None,
        consumed_capacity={"dra.cpu/cpu": rng.choice([4, 6, 8])} if share else {},
    )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=(result,)))
    metadata = ObjectMeta(name=f"holder-{number}", namespace="default")
    return ResourceClaim(metadata=metadata, status=ResourceClaimStatus(allocation=allocation))


def random_sketch(rng: random.Random) -> ClaimSketch:
    """Make a claim of one to three requests with up to two links; pairwise links never form a ring."""
    requests = tuple(_request(rng, n) for n in range(rng.randint(1, 3)))
    names = [r.name for r in requests] + [f"{r.name}/{s.name}" for r in requests for s in r.first_available]
    links: list[Link] = []
    for number in range(rng.choice([0, 1, 1, 2])):
        how = rng.choice(list(How))
        tied = tuple(rng.sample(names, min(len(names), rng.randint(1, 3))))
        if how is How.PAIRWISE:
            tied = tuple({name.split("/")[0]: name for name in tied}.values())
            others = [link for link in links if link.how is How.PAIRWISE]
            if len(tied) < 2 or any(len(_ends(tied) & _ends(other.requests)) > 1 for other in others):
                continue
        where = rng.choice(["pcieRoot", "numaNode", TAG])
        links.append(Link(name=f"link-{number}", requests=tied, where=where, how=how, must=rng.random() < 0.5))
    return ClaimSketch(requests=requests, links=tuple(links))


def _ends(references: tuple[str, ...]) -> set[str]:
    return {reference.split("/")[0] for reference in references}


def _request(rng: random.Random, number: int) -> DeviceRequest:
    name = f"r{number}"
    if rng.random() < 0.25:
        subs = tuple(DeviceSubRequest(name=f"s{n}", **_part(rng)) for n in range(rng.randint(1, 2)))
        return DeviceRequest(name=name, first_available=subs)
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(**_part(rng)))


def _part(rng: random.Random) -> dict[str, object]:
    driver = rng.choice([GPU, GPU, NIC, NIC, CPU])
    part: dict[str, object] = {"device_class_name": driver}
    if driver == CPU:
        part["capacity"] = CapacityRequirements(requests={"dra.cpu/cpu": rng.choice([2, 5, 8])})
        part["count"] = rng.choice([1, 1, 2])
    elif rng.random() < 0.1:
        part["allocation_mode"] = ALL
    else:
        part["count"] = rng.choice([1, 1, 2, 2, 3])
    if driver == NIC and rng.random() < 0.4:
        part["selectors"] = (selector(RDMA),)
    return part


def sees(node: str, device: DeviceID, published: Device) -> bool:
    """Say whether a node sees a device: of its own pool, or of the pool that nodes share."""
    return device.pool == node or (device.pool == FABRIC and published.node_name in (None, node))


@dataclass(frozen=True)
class Best:
    """The least values of the goals, in order, over all allocations that keep every rule; None where there is none."""

    values: tuple[int, ...] | None


class Exhaustive:
    """Every allocation of one claim on the node of a random cluster."""

    def __init__(self, cluster: Cluster, sketch: ClaimSketch, node: str = "n1") -> None:
        self.cluster, self.sketch = cluster, sketch
        self.places = localities(cluster, node)
        everything = {
            DeviceID(s.spec.driver, s.spec.pool.name, d.name): d for s in cluster.slices for d in s.spec.devices or ()
        }
        self.devices = {device: d for device, d in everything.items() if sees(node, device, d)}
        self.ways = [ask for request in sketch.requests for ask in asks(request)]
        kinds = {
            KINDS[device.driver]
            for ask in self.ways
            for device, published in everything.items()
            if self._matches(ask, device, published)
        }
        self.paired = {"gpu", "nic"} <= kinds

    def matches(self, ask, device: DeviceID) -> bool:
        return self._matches(ask, device, self.devices[device])

    @staticmethod
    def _matches(ask, device: DeviceID, published: Device) -> bool:
        rdma = published.attributes.get("dra.net/rdma")
        return ask.device_class_name == device.driver and (not ask.selectors or bool(rdma and rdma.bool_))

    def usable(self, device: DeviceID) -> bool:
        tainted = any(t.effect in ("NoSchedule", "NoExecute") for t in self.devices[device].taints)
        return not tainted and device not in self.cluster.allocated.exclusive

    def left(self, device: DeviceID):
        taken = self.cluster.allocated.consumed.get(device, {}).get("dra.cpu/cpu", 0)
        return parse_quantity(self.devices[device].capacity["dra.cpu/cpu"].value) - taken

    def holds(self, ask, device: DeviceID) -> bool:
        return not ask.capacity or parse_quantity(ask.capacity["dra.cpu/cpu"]) <= self.left(device)

    def value(self, device: DeviceID, where: str):
        if where == TAG:
            found = self.devices[device].attributes.get(TAG)
            return found.string if found else None
        place = self.places[device].place(where)
        return place.value if place else None

    def choices(self, request) -> Iterator[tuple[object, tuple[DeviceID, ...]]]:
        for ask in asks(request):
            fitting = [d for d in self.devices if self.matches(ask, d) and self.holds(ask, d)]
            if ask.all_devices:
                if fitting and all(self.usable(device) for device in fitting):
                    yield ask, tuple(fitting)
            else:
                yield from ((ask, taken) for taken in combinations(filter(self.usable, fitting), ask.count))

    def allocations(self) -> Iterator[list[tuple[object, tuple[DeviceID, ...]]]]:
        for picked in product(*(list(self.choices(request)) for request in self.sketch.requests)):
            alone = [d for _, taken in picked for d in taken if d.driver != CPU]
            if len(alone) == len(set(alone)) and self.capacity_holds(picked) and self.must_hold(picked):
                yield list(picked)

    def capacity_holds(self, picked) -> bool:
        for cpu in (d for d in self.devices if d.driver == CPU):
            asked = [parse_quantity(ask.capacity["dra.cpu/cpu"]) for ask, taken in picked if cpu in taken]
            if sum(asked) > self.left(cpu) and asked:
                return False
        return True

    def must_hold(self, picked) -> bool:
        return all(self.lost(link, picked) == 0 and self.known(link, picked) for link in self.sketch.links if link.must)

    def known(self, link: Link, picked) -> bool:
        return all(
            self.value(device, link.where) is not None for _, taken in self.tied(link, picked) for device in taken
        )

    def tied(self, link: Link, picked):
        return [(ask, taken) for ask, taken in picked if any(covers(reference, ask) for reference in link.requests)]

    def lost(self, link: Link, picked) -> int:
        tied = self.tied(link, picked)
        if link.how is How.PAIRWISE:
            return self.groups_lost(link, [taken for _, taken in tied])
        values = [self.value(device, link.where) for _, taken in tied for device in taken]
        if None in values:
            return 1
        return int(len(set(values)) > 1 if link.how is How.TOGETHER else len(set(values)) < len(values))

    def groups_lost(self, link: Link, parts: list[tuple[DeviceID, ...]]) -> int:
        if len(parts) < 2:
            return 0
        groups = min(map(len, parts))
        if any(len(part) % groups for part in parts):
            return groups
        return groups - self.most_groups(link.where, parts, [len(part) // groups for part in parts])

    def most_groups(self, where: str, parts, shares: list[int]) -> int:
        """Try every way to form one group after the other."""
        best = 0
        for group in product(*(combinations(part, share) for part, share in zip(parts, shares, strict=True))):
            values = {self.value(device, where) for members in group for device in members}
            if len(values) == 1 and None not in values:
                rest = [tuple(d for d in part if d not in members) for part, members in zip(parts, group, strict=True)]
                best = max(best, 1 + self.most_groups(where, rest, shares))
                if best == len(parts[0]) // shares[0]:
                    break
        return best

    def goals(self, picked) -> dict[str, int]:
        chosen = {device for _, taken in picked for device in taken}
        numa = [self.value(d, "numaNode") for d in chosen]
        gpus = [self.value(d, "pcieRoot") for d in chosen if d.driver == GPU]
        nics = [self.value(d, "pcieRoot") for d in chosen if d.driver == NIC]
        known = {root for root in gpus if root is not None}
        unpaired = sum(max(0, gpus.count(root) - nics.count(root)) for root in known) + gpus.count(None)
        return {
            "alternatives": sum(ask.rank for ask, _ in picked),
            "preferences": sum(self.lost(link, picked) for link in self.sketch.links if not link.must),
            "numa": len({n for n in numa if n is not None}) + numa.count(None),
            "unpaired": unpaired if self.paired else 0,
            "roots": len({r for r in gpus + nics if r is not None}) + (gpus + nics).count(None),
        }

    def best(self, order: tuple[str, ...]) -> Best:
        order = tuple(goal for goal in order if goal in COUNTED)
        found = (tuple(self.goals(picked)[goal] for goal in order) for picked in self.allocations())
        return Best(min(found, default=None))
