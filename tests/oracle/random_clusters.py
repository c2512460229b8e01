"""Random small nodes and claims of GPUs, NICs and CPU devices, partly in use."""

from __future__ import annotations

import random
from itertools import chain

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
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec

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
