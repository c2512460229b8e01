"""Random devices, pools, taints and holders: what `random_clusters` makes clusters of, by the switches in `has`."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator

from msgspec.structs import replace

from dra_lab.model.claims import (
    AllocationResult,
    CELDeviceSelector,
    DeviceAllocationResult,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ResourceClaim,
    ResourceClaimStatus,
)
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
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.slices import (
    CounterSet,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)

GPU, NIC, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
ROOT, NUMA, TAG = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode", "x.example/tag"
FABRIC = "fabric"
"""The pool whose devices several nodes see."""

WIDE = "wide.example"
"""The driver of many small devices, of which a claim can have too many."""

KINDS = {GPU: "gpu", NIC: "nic", CPU: "cpu"}
CPUS, CORES, SHARES, BY_NAME = "dra.cpu/cpu", "cores", "shares", "example.com/gpu"
RDMA = 'device.attributes["dra.net"].rdma == true'
PART_A = f'device.attributes["{WIDE}"].part == "a"'
PART_B = f'device.attributes["{WIDE}"].part == "b"'
CLASSES = {GPU: (GPU, ()), NIC: (NIC, ()), CPU: (CPU, ()), WIDE: (WIDE, ()), "rdma": (NIC, (RDMA,)), "named": (GPU, ())}
"""The classes: the driver, and further selectors; `named` is the one of the extended resource BY_NAME."""

Has = frozenset[str]
Hardware = dict[str, tuple[list[Device], tuple[CounterSet, ...]]]


def text(value: str) -> DeviceAttribute:
    return DeviceAttribute(string=value)


def selector(expression: str) -> DeviceSelector:
    return DeviceSelector(cel=CELDeviceSelector(expression=expression))


def device_class(name: str) -> DeviceClass:
    """Return the class of a name in CLASSES, or of a driver."""
    driver, texts = CLASSES.get(name, (name, ()))
    selectors = tuple(map(selector, (f'device.driver == "{driver}"', *texts)))
    spec = DeviceClassSpec(selectors=selectors, extended_resource_name=BY_NAME if name == "named" else None)
    return DeviceClass(metadata=ObjectMeta(name=name), spec=spec)


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


# ---------------------------------------------------------------- devices


def hardware(rng: random.Random, has: Has) -> Hardware:
    """Return the devices of a node by driver, each driver's with its counters."""
    trees = "trees" in has
    numas = rng.randint(1, 2) if trees else 0
    roots = {f"pci0000:{n}0": rng.randrange(numas) if trees else None for n in range(rng.randint(1, 3))}
    lists = "lists" in has and rng.random() < 0.3
    counted = "counters" in has and rng.random() < 0.65
    sets, draws = _counters(rng) if counted else ((), [()] * rng.randint(0 if trees else 1, 4))
    gpus = [_gpu(rng, n, roots, drawn, has) for n, drawn in enumerate(draws)]
    nics = [_nic(rng, n, roots, has, lists=lists) for n in range(rng.randint(0 if trees else 1, 4))]
    cpus = [_cpu(rng, n, has) for n in range(rng.choice((0, numas)) if trees else rng.randint(0, 3))]
    found: Hardware = {GPU: (gpus, sets), NIC: (nics, ()), CPU: (cpus, ())}
    return {**found, WIDE: (_wide(rng), ())} if "wide" in has else found


def _counters(rng: random.Random) -> tuple[tuple[CounterSet, ...], list[tuple[DeviceCounterConsumption, ...]]]:
    """Return counters, and what each of some partitions draws: small amounts, large ones with or without a unit."""
    unit, odd = rng.choice([1, 1, 2**30, 10**12 + 39]), rng.choice([0, 0, 1])
    sets = tuple(
        CounterSet(
            f"set-{n}",
            {"memory": Counter(value=rng.randint(3, 9) * unit), "slots": Counter(value=rng.randint(1, 3))},
        )
        for n in range(rng.randint(1, 2))
    )
    draws = [
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
    return sets, draws


def _gpu(rng: random.Random, n: int, roots: dict, draws: tuple[DeviceCounterConsumption, ...], has: Has) -> Device:
    place = _place(rng, roots, has, NUMA, 0.4)
    taints = (_taint(rng, has),) if "taints" in has and rng.random() < 0.1 else ()
    made = Device(name=f"gpu-{n}", attributes={"type": text("gpu"), **place}, taints=taints, consumes_counters=draws)
    if "amounts" not in has:
        return made
    return replace(
        made,
        capacity={SHARES: _capacity(rng, rng.randint(1, 3))} if rng.random() < 0.4 else {},
        allow_multiple_allocations=True if rng.random() < 0.25 else None,
        binding_conditions=("ready",) if rng.random() < 0.05 else (),
    )


def _nic(rng: random.Random, n: int, roots: dict, has: Has, *, lists: bool) -> Device:
    has_kind = "kinds" in has and ("missing" not in has or rng.random() < 0.95)
    rdma = {"dra.net/rdma": DeviceAttribute(bool_=rng.random() < 0.7)} if has_kind else {}
    return Device(name=f"nic-{n}", attributes={**rdma, **_place(rng, roots, has, "dra.net/numaNode", 0.7, lists=lists)})


def _cpu(rng: random.Random, n: int, has: Has) -> Device:
    node = n if "trees" in has else rng.randint(0, 1) if rng.random() < 0.9 else None
    attributes = {} if node is None else {NUMA: DeviceAttribute(int_=node)}
    cores, name = rng.choice([8, 16]), f"cpu-{n}"
    if "amounts" not in has:
        capacity = {CPUS: DeviceCapacity(value=cores)}
        return Device(name=name, attributes=attributes, capacity=capacity, allow_multiple_allocations=True)
    more = {SHARES: _capacity(rng, rng.randint(1, 3))} if rng.random() < 0.3 else {}
    return Device(
        name=name,
        attributes=attributes,
        capacity={CORES: _capacity(rng, cores), **more},
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


def _place(rng: random.Random, roots: dict, has: Has, numa: str, chance: float, *, lists: bool = False):
    """Return a root, a tag and a NUMA node, any of them or none; on trees the NUMA node is that of the root."""
    if "trees" in has:
        root, node = rng.choice(list(roots.items()))
        found = {ROOT: text(root), numa: DeviceAttribute(int_=node)}
        if "kinds" not in has:
            return found
        lost = rng.choice([(), (), (), (ROOT,), (ROOT, numa)])
        tag = {TAG: text(rng.choice("ab"))} if rng.random() < 0.8 else {}
        return {**{name: value for name, value in found.items() if name not in lost}, **tag}
    found = {}
    if rng.random() < 0.9:
        some = lists and rng.random() < 0.5
        names = list(roots)
        found[ROOT] = (
            DeviceAttribute(strings=tuple(rng.sample(names, rng.randint(1, len(names)))))
            if some
            else text(rng.choice(names))
        )
    if "kinds" in has and rng.random() < (0.8 if "lists" in has else 0.4):
        found[TAG] = _tag(rng, has)
    if rng.random() < chance:
        found[numa] = DeviceAttribute(int_=rng.randint(0, 1))
    return found


def _tag(rng: random.Random, has: Has) -> DeviceAttribute:
    """Return a text, and with lists now and then a version or a list of texts."""
    if "lists" not in has:
        return text(rng.choice("ab"))
    kind = rng.random()
    if kind < 0.35:
        return text(rng.choice("abc"))
    return (
        DeviceAttribute(version="1.0.0")
        if kind < 0.4
        else DeviceAttribute(strings=tuple(rng.sample("abc", rng.randint(1, 3))))
    )


def _capacity(rng: random.Random, value: int) -> DeviceCapacity:
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
    driver: str, pool: str, devices: list[Device], sets: tuple[CounterSet, ...] = (), **where: object
) -> Iterator[ResourceSlice]:
    """Yield the slices of a pool: its devices, and its counters where there are any."""
    if not devices:
        return
    pool_field = ResourcePool(name=pool, generation=1, resource_slice_count=2 if sets else 1)
    spec = ResourceSliceSpec(driver=driver, pool=pool_field, devices=tuple(devices), **where)  # type: ignore[arg-type]
    yield ResourceSlice(metadata=ObjectMeta(name=f"{pool}-{driver}"), spec=spec)
    if sets:
        counters = replace(spec, devices=None, shared_counters=sets)
        yield ResourceSlice(metadata=ObjectMeta(name=f"{pool}-{driver}-counters"), spec=counters)


def seen_by_several(rng: random.Random, pool: list[ResourceSlice], nodes: tuple[str, ...], has: Has):
    """Yield the slices of a pool as that of several nodes: all, those of a node selector, or each device by itself."""
    each = rng.random() < 0.5
    zones = _zones(rng) if "zones" in has and rng.random() < 0.6 else None
    binds = "zones" in has and rng.random() < 0.15
    for published in pool:
        name = replace(published.metadata, name=f"far-{published.metadata.name}")
        spec = replace(published.spec, pool=replace(published.spec.pool, name=FABRIC), node_name=None)
        if spec.devices is not None and binds:
            spec = replace(spec, devices=tuple(replace(device, binds_to_node=True) for device in spec.devices))
        if zones is not None and not each:
            yield replace(published, metadata=name, spec=replace(spec, node_selector=zones))
        elif spec.devices is None or not each:
            # Counters are no devices of their own: seen by all, as the API demands one way to choose the nodes.
            yield replace(published, metadata=name, spec=replace(spec, all_nodes=True))
        else:
            devices = tuple(_of_some(rng, device, nodes, has) for device in spec.devices)
            spec = replace(spec, devices=devices, per_device_node_selection=True)
            yield replace(published, metadata=name, spec=spec)


def _of_some(rng: random.Random, device: Device, nodes: tuple[str, ...], has: Has) -> Device:
    if "zones" in has and rng.random() < 0.3:
        return replace(device, node_selector=_zones(rng))
    return replace(device, all_nodes=True) if rng.random() < 0.5 else replace(device, node_name=rng.choice(nodes))


def _zones(rng: random.Random) -> NodeSelector:
    """Make a node selector of one term, now and then of two, which kube-scheduler gives up at."""
    terms = [rng.choice([("a",), ("b",), ("a", "b")]) for _ in range(rng.choice([1, 2, 2]))]
    return NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="zone", operator="In", values=zones),))
            for zones in terms
        )
    )


def broken_pool(rng: random.Random, node: str, has: Has) -> Iterator[ResourceSlice]:
    """Make a second pool on a node that is not whole, is invalid, or of which an old generation is still there."""
    driver = rng.choice([GPU, NIC, CPU])
    devices = [replace(device, consumes_counters=()) for device in hardware(rng, has)[driver][0]]
    kind = rng.choice(["lacking", "surplus", "twice", "counter", "old", "gone"])
    for found in slices_of(driver, f"{node}-more", devices, node_name=node):
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


def _taint(rng: random.Random, has: Has) -> DeviceTaint:
    effect = rng.choice(["NoSchedule", "NoExecute", "None"])
    if "tolerations" not in has:
        return DeviceTaint(key="bad", effect=effect)
    return DeviceTaint(key=rng.choice(["bad", "worse"]), effect=effect, value=rng.choice(["", "x"]))


def taint_rule(rng: random.Random, number: int, nodes: tuple[str, ...], has: Has) -> DeviceTaintRule:
    """Make a rule about a driver, a pool, a device, or several of them at once."""
    wanted = DeviceTaintSelector(
        driver=rng.choice([None, GPU, NIC, CPU]),
        pool=rng.choice([None, None, *nodes, FABRIC]),
        device=rng.choice([None, "gpu-0", "nic-1", "cpu-0"]),
    )
    spec = DeviceTaintRuleSpec(taint=_taint(rng, has), device_selector=wanted)
    return DeviceTaintRule(metadata=ObjectMeta(name=f"rule-{number}"), spec=spec)


def holders(rng: random.Random, slices: list[ResourceSlice], busy: float, first: int, has: Has):
    """Yield claims that hold some of the devices, numbered from `first`; some have several holders, if they may."""
    for published in slices:
        for device in published.spec.devices or ():
            rate = busy / 10 if published.spec.driver == WIDE else busy
            while rng.random() < rate:
                held = DeviceID(published.spec.driver, published.spec.pool.name, device.name)
                yield _holder(rng, first, held, device, has)
                first += 1
                if "overdrawn" not in has:
                    break


def _holder(rng: random.Random, number: int, held: DeviceID, device: Device, has: Has) -> ResourceClaim:
    """Return a claim that holds a device: alone, as a share, or with admin access."""
    share = bool(device.allow_multiple_allocations)
    if "whole" in has:
        share = share and rng.random() < 0.8
    most = [4, 6, 8] if "amounts" not in has else range(5)
    result = DeviceRequestAllocationResult(
        request="r",
        **held._asdict(),
        admin_access=True if "admin" in has and rng.random() < 0.1 else None,
        share_id=f"00000000-0000-0000-0000-{number:012d}" if share else None,
        consumed_capacity={key: rng.choice(most) for key in device.capacity} if share else {},
    )
    return ResourceClaim(
        metadata=ObjectMeta(name=f"holder-{number}", namespace="default"),
        status=ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=(result,)))),
    )
