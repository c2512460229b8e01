"""Random small clusters in which everything occurs that a rule of DRA is about, all mixed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

from msgspec.structs import replace
from random_clusters import CPU, FABRIC, GPU, NIC, NUMA, RDMA, ROOT, TAG, selector, text

from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import DeviceClass, DeviceClassSpec, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    ObjectMeta,
)
from dra_lab.model.slices import (
    CounterSet,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)

WIDE = "wide.example"
"""The driver of many small devices, of which a claim can have too many."""

CORES, SHARES, BY_NAME = "cores", "shares", "example.com/gpu"
PART_A = f'device.attributes["{WIDE}"].part == "a"'
PART_B = f'device.attributes["{WIDE}"].part == "b"'
CLASSES = {GPU: (GPU, ()), NIC: (NIC, ()), CPU: (CPU, ()), WIDE: (WIDE, ()), "rdma": (NIC, (RDMA,)), "named": (GPU, ())}
"""The classes: the driver, and further selectors; `named` is the one of the extended resource BY_NAME."""


def _is_rdma(device: Device) -> bool | None:
    found = device.attributes.get("dra.net/rdma")
    return None if found is None else bool(found.bool_)


TELLS = {
    RDMA: _is_rdma,
    PART_A: lambda device: device.attributes["part"].string == "a",
    PART_B: lambda device: device.attributes["part"].string == "b",
}
"""What every selector says of a device, None where it fails."""

_ONE_OF = re.compile(r'has\((device\.attributes\["([^"]+)"\]\.(\w+))\) && \1 (==|in) (.*)')


def selects(expression: str, device: Device) -> bool | None:
    """Return what a selector says of a device, None if it fails: one of `TELLS`, or "the attribute is one of these"."""
    if expression in TELLS:
        return TELLS[expression](device)
    _, domain, name, test, values = _ONE_OF.fullmatch(expression).groups()
    attribute = device.attributes.get(f"{domain}/{name}")
    return attribute is not None and attribute.value in json.loads(values if test == "in" else f"[{values}]")


def mixed_cluster(rng: random.Random, nodes: int) -> Cluster:
    """Make nodes of one or two kinds of hardware, pools that several see, pools that are broken, taints and holders."""
    names = [f"n{number}" for number in range(1, nodes + 1)]
    kinds = [_hardware(rng) for _ in range(min(2, nodes))]
    slices: list[ResourceSlice] = []
    for name in names:
        for driver, (devices, sets) in rng.choice(kinds).items():
            slices.extend(slices_of(driver, name, devices, sets, node_name=name))
    if rng.random() < 0.6:
        slices.extend(_far(rng, names))
    if rng.random() < 0.3:
        slices.extend(_broken(rng, rng.choice(names)))
    zones = {name: rng.choice("ab") for name in names}
    found = tuple(_node(name, zones[name], plugin=rng.random() < 0.1) for name in names)
    rules = tuple(_rule(rng, n, names) for n in range(rng.choice([0, 0, 1, 2])))
    holders = tuple(_holders(rng, slices, rng.choice([0.0, 0.1, 0.25])))
    return Cluster(tuple(slices), _classes(), found, holders, rules, name="mixed")


def _classes() -> tuple[DeviceClass, ...]:
    return tuple(
        DeviceClass(
            metadata=ObjectMeta(name=name),
            spec=DeviceClassSpec(
                selectors=tuple(map(selector, (f'device.driver == "{driver}"', *texts))),
                extended_resource_name=BY_NAME if name == "named" else None,
            ),
        )
        for name, (driver, texts) in CLASSES.items()
    )


def _node(name: str, zone: str, *, plugin: bool) -> Node:
    status = NodeStatus(allocatable={BY_NAME: "4"} if plugin else {})
    labels = {"kubernetes.io/hostname": name, "zone": zone}
    return Node(metadata=ObjectMeta(name=name, labels=labels), status=status)


# ---------------------------------------------------------------- devices


def _hardware(rng: random.Random) -> dict[str, tuple[list[Device], tuple[CounterSet, ...]]]:
    roots = [f"pci0000:{n}0" for n in range(rng.randint(1, 3))]
    lists = rng.random() < 0.3
    sets, gpus = _gpus(rng, roots)
    nics = [_nic(rng, n, roots, lists=lists) for n in range(rng.randint(1, 4))]
    cpus = [_cpu(rng, n) for n in range(rng.choice([0, 2, 3, 3]))]
    return {GPU: (gpus, sets), NIC: (nics, ()), CPU: (cpus, ()), WIDE: (_wide(rng), ())}


def _gpus(rng: random.Random, roots: list[str]) -> tuple[tuple[CounterSet, ...], list[Device]]:
    """Make whole GPUs, or partitions that draw on counters: small amounts, large ones with a common unit or without."""
    if rng.random() < 0.35:
        return (), [_gpu(rng, n, roots, ()) for n in range(rng.randint(2, 4))]
    unit, odd = rng.choice([1, 1, 2**30, 10**12 + 39]), rng.choice([0, 0, 1])
    sets = tuple(
        CounterSet(
            f"set-{n}",
            {"memory": Counter(value=rng.randint(3, 9) * unit), "slots": Counter(value=rng.randint(1, 3))},
        )
        for n in range(rng.randint(1, 2))
    )
    drawn = [
        tuple(
            DeviceCounterConsumption(
                counter_set=found.name,
                counters={"memory": Counter(value=rng.randint(1, 5) * unit + odd * rng.randint(0, 3))}
                | ({"slots": Counter(value=rng.randint(0, 1))} if rng.random() < 0.5 else {}),
            )
            for found in rng.sample(sets, rng.choice([0, 1, 1, 1, len(sets)]))
        )
        for _ in range(rng.randint(2, 5))
    ]
    return sets, [_gpu(rng, n, roots, draws) for n, draws in enumerate(drawn)]


def _gpu(rng: random.Random, n: int, roots: list[str], draws: tuple[DeviceCounterConsumption, ...]) -> Device:
    attributes = {"type": text("gpu"), **random_tag(rng)}
    if rng.random() < 0.9:
        attributes[ROOT] = text(rng.choice(roots))
    if rng.random() < 0.4:
        attributes[NUMA] = DeviceAttribute(int_=rng.randint(0, 1))
    return Device(
        name=f"gpu-{n}",
        attributes=attributes,
        consumes_counters=draws,
        capacity={SHARES: random_capacity(rng, rng.randint(1, 3))} if rng.random() < 0.4 else {},
        allow_multiple_allocations=True if rng.random() < 0.25 else None,
        taints=(_taint(rng),) if rng.random() < 0.2 else (),
        binding_conditions=("ready",) if rng.random() < 0.05 else (),
    )


def _taint(rng: random.Random) -> DeviceTaint:
    effect = rng.choice(["NoSchedule", "NoSchedule", "NoExecute", "None"])
    return DeviceTaint(key=rng.choice(["bad", "worse"]), effect=effect, value=rng.choice(["", "x"]))


def _nic(rng: random.Random, n: int, roots: list[str], *, lists: bool) -> Device:
    attributes = random_tag(rng)
    if rng.random() < 0.95:
        attributes["dra.net/rdma"] = DeviceAttribute(bool_=rng.random() < 0.7)
    if lists and rng.random() < 0.5:
        attributes[ROOT] = DeviceAttribute(strings=tuple(rng.sample(roots, rng.randint(1, len(roots)))))
    elif rng.random() < 0.9:
        attributes[ROOT] = text(rng.choice(roots))
    if rng.random() < 0.3:
        attributes["dra.net/numaNode"] = DeviceAttribute(int_=rng.randint(0, 1))
    return Device(name=f"nic-{n}", attributes=attributes)


def _cpu(rng: random.Random, n: int) -> Device:
    capacity = {CORES: random_capacity(rng, rng.choice([8, 16]))}
    if rng.random() < 0.3:
        capacity[SHARES] = random_capacity(rng, rng.randint(1, 3))
    return Device(
        name=f"cpu-{n}",
        attributes={NUMA: DeviceAttribute(int_=rng.randint(0, 1)), **random_tag(rng)},
        capacity=capacity,
        allow_multiple_allocations=rng.choice([True, True, True, None]),
    )


def _wide(rng: random.Random) -> list[Device]:
    if rng.random() < 0.4:
        return []
    parts = {"a": rng.choice([3, 16, 17, 17, 32, 33]), "b": rng.choice([1, 15, 16, 17])}
    return [
        Device(name=f"{part}-{n:02}", attributes={"part": text(part)})
        for part, size in parts.items()
        for n in range(size)
    ]


def random_tag(rng: random.Random) -> dict[str, DeviceAttribute]:
    """Return no tag, one text, a version, or a list of texts."""
    choice = rng.random()
    if choice < 0.15:
        return {}
    if choice < 0.4:
        return {TAG: text(rng.choice("abc"))}
    if choice < 0.45:
        return {TAG: DeviceAttribute(version="1.0.0")}
    return {TAG: DeviceAttribute(strings=tuple(rng.sample("abc", rng.randint(1, 3))))}


def random_capacity(rng: random.Random, value: int) -> DeviceCapacity:
    """Return a capacity with any request policy, or without."""
    default = rng.choice([0, 1, 2, value])
    kind = rng.choice(["", "default", "range", "steps", "values"])
    lowest = CapacityRequestPolicyRange(min=rng.randint(0, 3), max=rng.randint(3, value + 3))
    steps = CapacityRequestPolicyRange(min=rng.randint(0, 2), step=rng.randint(1, 4))
    policies = {
        "": None,
        "default": CapacityRequestPolicy(default=default),
        "range": CapacityRequestPolicy(default=default, valid_range=lowest),
        "steps": CapacityRequestPolicy(default=default, valid_range=steps),
        "values": CapacityRequestPolicy(default=default, valid_values=tuple(sorted(rng.sample(range(1, 17), 3)))),
    }
    return DeviceCapacity(value=value, request_policy=policies[kind])


# ---------------------------------------------------------------- pools


def slices_of(
    driver: str, pool: str, devices: list[Device], sets: tuple[CounterSet, ...], **where: object
) -> Iterator[ResourceSlice]:
    """Yield the slices of a pool: its devices, and its counters where there are any."""
    if not devices:
        return
    told = ResourcePool(name=pool, generation=1, resource_slice_count=2 if sets else 1)
    spec = ResourceSliceSpec(driver=driver, pool=told, devices=tuple(devices), **where)  # type: ignore[arg-type]
    yield ResourceSlice(metadata=ObjectMeta(name=f"{pool}-{driver}-devices"), spec=spec)
    if sets:
        counters = replace(spec, devices=None, shared_counters=sets)
        yield ResourceSlice(metadata=ObjectMeta(name=f"{pool}-{driver}-counters"), spec=counters)


def _zones(rng: random.Random) -> NodeSelector:
    """Make a node selector of one term, now and then of two, which kube-scheduler gives up at."""
    terms = [rng.choice([("a",), ("b",), ("a", "b")]) for _ in range(rng.choice([1, 2, 2]))]
    return NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="zone", operator="In", values=zones),))
            for zones in terms
        )
    )


def _far(rng: random.Random, nodes: list[str]) -> Iterator[ResourceSlice]:
    """Make a pool that several nodes see: all of them, those that a selector names, or each device by itself."""
    driver = rng.choice([GPU, GPU, GPU, NIC, CPU])
    devices, sets = _hardware(rng)[driver]
    how = rng.choice(["all", "selector", "selector", "selector", "each"])
    if rng.random() < 0.15:
        devices = [replace(device, binds_to_node=True) for device in devices]
    if how == "each":
        devices = [_of_some(rng, device, nodes) for device in devices]
    where = {"all": {"all_nodes": True}, "each": {"per_device_node_selection": True}}
    places = where.get(how) or {"node_selector": _zones(rng)}
    for made in slices_of(driver, FABRIC, devices, sets, **places):
        # counters are no devices of their own: seen by all, as the API demands one way to choose the nodes
        counters = made.spec.devices is None and how == "each"
        yield (
            replace(made, spec=replace(made.spec, all_nodes=True, per_device_node_selection=None)) if counters else made
        )


def _of_some(rng: random.Random, device: Device, nodes: list[str]) -> Device:
    kind = rng.choice(["all", "one", "selector"])
    if kind == "all":
        return replace(device, all_nodes=True)
    return replace(device, node_name=rng.choice(nodes)) if kind == "one" else replace(device, node_selector=_zones(rng))


def _broken(rng: random.Random, node: str) -> Iterator[ResourceSlice]:
    """Make a second pool on a node that is not whole, is invalid, or of which an old generation is still there."""
    driver = rng.choice([GPU, NIC, CPU])
    devices = _hardware(rng)[driver][0]
    devices = [replace(device, consumes_counters=()) for device in devices]
    made = slices_of(driver, f"{node}-more", devices, (), node_name=node)
    kind = rng.choice(["lacking", "surplus", "twice", "counter", "old", "gone"])
    for found in made:
        pool, own = found.spec.pool, found.spec.devices or ()
        more = replace(found, metadata=ObjectMeta(name=f"{found.name}-2"))
        if kind == "lacking":
            yield replace(found, spec=replace(found.spec, pool=replace(pool, resource_slice_count=2)))
        elif kind == "surplus":
            yield found
            yield replace(more, spec=replace(more.spec, devices=(Device(name="odd"),)))
        elif kind == "twice":
            yield replace(found, spec=replace(found.spec, devices=(*own, own[0])))
        elif kind == "counter":
            use = DeviceCounterConsumption(counter_set="nowhere", counters={"x": Counter(value=1)})
            yield replace(found, spec=replace(found.spec, devices=(*own, Device(name="odd", consumes_counters=(use,)))))
        else:
            # the newer generation has fewer devices, here or on no node at all: then the whole pool is gone
            newer = replace(more.spec, pool=replace(pool, generation=2), devices=own[:1])
            count = 2 if kind == "gone" else 1
            yield replace(found, spec=replace(found.spec, pool=replace(pool, resource_slice_count=count)))
            yield replace(more, spec=replace(newer, node_name=node if kind == "old" else "elsewhere"))


# ---------------------------------------------------------------- taints and holders


def _rule(rng: random.Random, number: int, nodes: list[str]) -> DeviceTaintRule:
    """Make a rule about a driver, a pool, a device, or several of them at once."""
    wanted = DeviceTaintSelector(
        driver=rng.choice([None, GPU, NIC, CPU]),
        pool=rng.choice([None, None, *nodes, FABRIC]),
        device=rng.choice([None, "gpu-0", "nic-1", "cpu-0"]),
    )
    spec = DeviceTaintRuleSpec(taint=_taint(rng), device_selector=wanted)
    return DeviceTaintRule(metadata=ObjectMeta(name=f"rule-{number}"), spec=spec)


def _holders(rng: random.Random, slices: list[ResourceSlice], busy: float) -> Iterator[ResourceClaim]:
    number = 0
    for published in slices:
        for device in published.spec.devices or ():
            rate = busy / 10 if published.spec.driver == WIDE else busy
            while rng.random() < rate:
                held = DeviceID(published.spec.driver, published.spec.pool.name, device.name)
                yield random_holder(rng, number, held, device)
                number += 1


def random_holder(rng: random.Random, number: int, held: DeviceID, device: Device) -> ResourceClaim:
    """Return a claim that holds a device: alone, as a share, or with admin access."""
    share = bool(device.allow_multiple_allocations) and rng.random() < 0.8
    result = DeviceRequestAllocationResult(
        request="r",
        **held._asdict(),
        admin_access=True if rng.random() < 0.1 else None,
        share_id=f"00000000-0000-0000-0000-{number:012d}" if share else None,
        consumed_capacity={key: rng.randint(0, 4) for key in device.capacity} if share else {},
    )
    return ResourceClaim(
        metadata=ObjectMeta(name=f"holder-{number}", namespace="default"),
        status=ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,)))),
    )
