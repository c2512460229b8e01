"""Pools as kube-scheduler gathers them for one node, and what ties a claim on their devices to nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import chain

from msgspec import Struct, field

from dra_lab.index.device_kinds import DeviceKind, DeviceKinds, device_kinds, guessed_kinds
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_hardware, once_per_slice, slice_values
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, NodeSelector, ObjectMeta, node_matches
from dra_lab.model.release import Gates
from dra_lab.model.slices import CounterSet, ResourceSlice, grouped, newest, pool_of

_NOBODY = Node(metadata=ObjectMeta(name=""))
_Key = tuple[str, str]
"""Driver and name of a pool."""


class PoolDevice(Struct, frozen=True, gc=False):
    """A device of a pool as one node sees it; `on_node` is False for a per-device selection of another node."""

    # A large cluster has 90,000 of them, in no cycle: the garbage collector need not go through them again and again.

    id: DeviceID
    device: Device
    slice: ResourceSlice
    kind: DeviceKind
    on_node: bool = True

    @property
    def driver(self) -> str:
        """Return the driver's name."""
        return self.id.driver


class Pool(Struct, frozen=True):
    """A pool as one node sees it.

    An incomplete pool (`complete` False) or an invalid one (`invalid` says why) has no devices here: the allocator
    skips it for ExactCount and gives up for All. `counter_sets` are pool-wide. `here` are the devices that are on this
    node; `counted` says that one of them draws on counters, `binds` that a device has binding conditions. Nodes share
    one pool, so these are found once.
    """

    driver: str
    name: str
    generation: int
    devices: tuple[PoolDevice, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    complete: bool = True
    invalid: str = ""
    here: tuple[PoolDevice, ...] = ()
    counted: bool = False
    binds: bool = False


def gather_pools(
    cluster: Cluster,
    node_name: str,
    *,
    partitionable_devices: bool = True,
    counters_everywhere: bool = True,
    consistent: bool = False,
) -> tuple[Pool, ...]:
    """Return the pools that a node sees, in the allocator's order (docs/semantics.md 3.2.1 to 3.2.9, 3.3, for 1.36).

    Sorted by (driver, pool name) in byte order, pools with binding conditions (also of devices for other nodes) after
    all others; slices inside a pool by object name, devices in list order. `partitionable_devices` is the gate
    DRAPartitionableDevices; with `counters_everywhere` every node sees every slice with shared counters, which ends
    with 1.37 (docs/semantics.md 3.2.3). `consistent` makes pools with `contradictions` invalid, from 1.38 on (3.2.18).
    """
    counting = (partitionable_devices, counters_everywhere) if cluster.partitioned else (True, True)
    gates = (*counting, consistent)
    published = published_pools(cluster)
    known = published.pools.setdefault(gates, {})
    found = known.get(node_name)
    if found is None:
        found = known[node_name] = _gather(cluster, published, node_name, gates)
    return found


def pools_of(cluster: Cluster, node_name: str, gates: Gates) -> tuple[Pool, ...]:
    """Return the pools that a node sees under the gates of a release."""
    return gather_pools(
        cluster,
        node_name,
        partitionable_devices=gates.partitionable_devices,
        counters_everywhere=gates.defects,
        consistent=gates.from_1_38,
    )


@once_per_hardware
def contradictions(cluster: Cluster) -> Mapping[tuple[_Key, int], str]:
    """Return why kube-scheduler 1.38 calls a pool of some generation invalid: its slices contradict each other.

    Slices for other nodes count. Rule: docs/semantics.md 3.2.18.
    """
    found = {}
    for key, slices in cluster.slices_by_pool.items():
        for generation, own in grouped(slices, lambda s: s.spec.pool.generation).items() if len(slices) > 1 else ():
            counts = sorted({s.spec.pool.resource_slice_count for s in own})
            if len(counts) > 1:
                why = f"its slices disagree on resourceSliceCount ({', '.join(map(str, counts))})"
            elif len(own) > counts[0]:
                why = f"it has {len(own)} slices, and each has resourceSliceCount {counts[0]}"
            else:
                continue
            found[key, generation] = f"{why}, which kube-scheduler refuses after 1.38.0-alpha.2"
    return found


class _Published(Struct, frozen=True):
    """The parts of the pools of all nodes: slices by node and by pool, and kinds of devices.

    `network` are the slices that are not of one node. `of_place` has the positions of those among them that only nodes
    with a label and its value see, or with a name (label ""); all others are under ("", "").
    `counters` are the slices with shared counters by pool, `everywhere` the pools with counters of which every node
    sees more than the counters. `pools` are those of each node by gates, `shared` those that several nodes see, and
    `of_slice` those of a single slice, by whether counters count and by its place in memory.
    """

    by_node: Mapping[str, tuple[ResourceSlice, ...]]
    network: tuple[ResourceSlice, ...]
    of_place: Mapping[tuple[str, str], Sequence[int]]
    counters: Mapping[_Key, tuple[ResourceSlice, ...]]
    everywhere: frozenset[_Key]
    kinds: DeviceKinds
    of_slice: Mapping[bool, dict[int, Pool | None]]
    pools: dict[tuple[bool, bool, bool], dict[str, tuple[Pool, ...]]] = field(default_factory=dict)
    shared: dict[object, Pool | None] = field(default_factory=dict)


@once_per_hardware
def published_pools(cluster: Cluster) -> _Published:
    """Return the parts of the pools of all nodes, to be filled node by node."""
    counters, kinds = grouped(cluster.counter_slices, pool_of), device_kinds(cluster)
    everywhere = frozenset(key for key, slices in counters.items() if _is_seen(cluster, key, slices, kinds))
    of_slice = {counting: slice_values(cluster, Pool, counting, guessed_kinds(cluster)) for counting in (False, True)}
    network, of_place = cluster.network_slices, dict[tuple[str, str], list[int]]()
    for position, slice_ in enumerate(network):
        for place in {*_places_of(slice_)}:
            of_place.setdefault(place, []).append(position)
    return _Published(cluster.slices_by_node, network, of_place, counters, everywhere, kinds, of_slice)


def _places_of(slice_: ResourceSlice) -> Iterator[tuple[str, str]]:
    """Yield (label, value) of which a node has one, or ("", its name), if it sees a slice; ("", "") if others may."""
    spec = slice_.spec
    if spec.shared_counters is not None or spec.all_nodes:
        yield "", ""
    elif spec.node_selector is not None:
        yield from _selected_places(spec.node_selector)
    for device in (spec.devices or ()) if spec.per_device_node_selection else ():
        if device.node_name is not None:
            yield "", device.node_name
        else:
            yield from [("", "")] if device.node_selector is None else _selected_places(device.node_selector)


def _selected_places(selector: NodeSelector) -> Iterator[tuple[str, str]]:
    for term in selector.node_selector_terms:
        named = [("", value) for r in term.match_fields if r.operator == "In" for value in r.values]
        labels = [[(r.key, value) for value in r.values] for r in term.match_expressions if r.operator == "In"]
        yield from named or (labels[0] if labels else [("", "")])


def _gather(
    cluster: Cluster, published: _Published, node_name: str, gates: tuple[bool, bool, bool]
) -> tuple[Pool, ...]:
    partitionable_devices, counters_everywhere, consistent = gates
    node = cluster.node_named(node_name)
    seen: list[ResourceSlice] = [*published.by_node.get(node_name, ())]
    if published.network:
        places = (("", ""), ("", node.name), *node.metadata.labels.items())
        positions = {at for place in places for at in published.of_place.get(place, ())}
        seen += [published.network[at] for at in sorted(positions)]
    if published.counters and partitionable_devices and counters_everywhere:
        seen += _counters_elsewhere(published, node, seen)
    relevant: dict[_Key, list[ResourceSlice]] = {}
    for slice_ in seen:
        spec = slice_.spec
        if not partitionable_devices and (spec.per_device_node_selection or spec.shared_counters is not None):
            continue
        if spec.node_name != node_name and not _is_relevant(slice_, node, counters_everywhere=counters_everywhere):
            continue
        kept = relevant.setdefault((spec.driver, spec.pool.name), [])
        if kept and kept[0].spec.pool.generation > spec.pool.generation:
            continue
        if kept and kept[0].spec.pool.generation < spec.pool.generation:
            kept.clear()
        kept.append(slice_)
    wrong = contradictions(cluster) if consistent else {}
    found = (
        _contradicting(cluster, key, slices[0].spec.pool.generation, why)
        if (why := wrong.get((key, slices[0].spec.pool.generation)))
        else _pool(cluster, published, key, slices, node, counting=partitionable_devices)
        for key, slices in relevant.items()
    )
    pools = [pool for pool in found if pool is not None]
    return tuple(sorted(pools, key=_order))


def _contradicting(cluster: Cluster, key: _Key, generation: int, why: str) -> Pool | None:
    """Return an invalid pool, or None if a newer generation replaces it."""
    newer = any(s.spec.pool.generation > generation for s in cluster.slices_by_pool[key])
    return None if newer else Pool(*key, generation, invalid=why)


def devices_on(pools: tuple[Pool, ...]) -> Iterator[PoolDevice]:
    """Yield the devices of all pools in the allocator's order, leaving out those that are not for this node."""
    return chain.from_iterable(pool.here for pool in pools)


def _counters_elsewhere(published: _Published, node: Node, seen: Sequence[ResourceSlice]) -> list[ResourceSlice]:
    """Return the counters of other nodes that make a difference here.

    In 1.36 a slice with shared counters is seen by every node, whatever its nodeName (docs/semantics.md 3.2.3). A
    complete and valid pool that has only counters has no device to offer. It changes nothing on a node that sees
    nothing else of the pool, and 5,000 such pools on every node would be 25 million.
    """
    keys = dict.fromkeys((*map(pool_of, seen), *published.everywhere))
    return [s for key in keys for s in published.counters.get(key, ()) if s.spec.node_name != node.name]


def _is_seen(cluster: Cluster, key: _Key, counters: Sequence[ResourceSlice], kinds: DeviceKinds) -> bool:
    """Say whether nodes see anything of other nodes' counters but a complete and valid pool without devices."""
    counters = [s for s in counters if s.spec.shared_counters is not None]
    if not counters:
        return False
    pool = _build(cluster, key, newest(counters), _NOBODY, kinds)
    return pool is not None and (bool(pool.devices) or bool(pool.invalid) or not pool.complete)


def _is_relevant(slice_: ResourceSlice, node: Node, *, counters_everywhere: bool) -> bool:
    spec = slice_.spec
    if counters_everywhere and spec.shared_counters is not None:
        return True
    if spec.node_name:
        return spec.node_name == node.name
    if spec.all_nodes:
        return True
    if spec.node_selector is not None:
        return node_matches(spec.node_selector, node)
    return bool(spec.per_device_node_selection) and any(_device_on(d, node) for d in spec.devices or ())


def _device_on(device: Device, node: Node) -> bool:
    if device.node_name is not None:
        return device.node_name == node.name
    if device.node_selector is not None:
        return node_matches(device.node_selector, node)
    return bool(device.all_nodes)


def _pool(
    cluster: Cluster, published: _Published, key: _Key, slices: list[ResourceSlice], node: Node, *, counting: bool
) -> Pool | None:
    first = slices[0].spec
    if len(slices) == 1 and first.pool.resource_slice_count == 1 and not first.per_device_node_selection:
        of_slice, place = published.of_slice[counting], id(slices[0])
        if place not in of_slice:
            # Two threads that ask at once get the same pool.
            of_slice.setdefault(place, _build(cluster, key, slices, _NOBODY, published.kinds, counting=counting))
        return of_slice[place]
    for s in slices:
        if s.spec.per_device_node_selection or (s.spec.node_name and s.spec.devices):
            return _build(cluster, key, slices, node, published.kinds, counting=counting)
    # Nodes that see the same slices share one object: 5,000 nodes before 200 network-attached devices were a
    # million. Slices are distinguished by identity, and live as long as the memo.
    known, ids = published.shared, (key, counting, *map(id, slices))
    if ids not in known:
        known[ids] = _build(cluster, key, slices, node, published.kinds, counting=counting)
    return known[ids]


def _build(
    cluster: Cluster, key: _Key, slices: list[ResourceSlice], node: Node, kinds: DeviceKinds, *, counting: bool = True
) -> Pool | None:
    driver, name = key
    wanted, published = slices[0].spec.pool, slices
    if len(slices) != wanted.resource_slice_count:
        everywhere = cluster.slices_by_pool[key]
        if any(s.spec.pool.generation > wanted.generation for s in everywhere):
            return None
        published = [s for s in everywhere if s.spec.pool.generation == wanted.generation]
        if len(published) != wanted.resource_slice_count:
            return Pool(driver, name, wanted.generation, complete=False)
    ordered = sorted(slices, key=lambda s: s.name.encode()) if len(slices) > 1 else slices
    invalid = why_invalid(ordered, published, counting=counting)
    counter_sets = tuple([c for s in published for c in s.spec.shared_counters or ()])
    if invalid:
        return Pool(driver, name, wanted.generation, invalid=invalid)
    devices, new = list[PoolDevice](), tuple.__new__
    for s in ordered:
        own, selects = s.spec.devices or (), s.spec.per_device_node_selection
        # Made without `DeviceID()`, which takes as long as all the rest.
        devices += [
            PoolDevice(new(DeviceID, (driver, name, d.name)), d, s, kind, not selects or _device_on(d, node))
            for d, kind in zip(own, kinds.of(driver, own), strict=True)
        ]
    return pool_of_devices(driver, name, wanted.generation, tuple(devices), counter_sets)


def pool_of_devices(
    driver: str, name: str, generation: int, devices: tuple[PoolDevice, ...], counter_sets: tuple[CounterSet, ...]
) -> Pool:
    """Return a complete and valid pool."""
    # Lists: a generator takes three times as long, and a large cluster has 90,000 devices.
    elsewhere = [item for item in devices if not item.on_node]
    here = tuple([item for item in devices if item.on_node]) if elsewhere else devices
    counted = [item for item in here if item.device.consumes_counters]
    binds = [item for item in devices if item.device.binding_conditions]
    return Pool(driver, name, generation, devices, counter_sets, here=here, counted=bool(counted), binds=bool(binds))


def why_unusable(cluster: Cluster, slices: Sequence[ResourceSlice]) -> str:
    """Return why the allocator calls a pool of these slices invalid, or ""."""
    return _why_unusable(cluster, slices[0]) if len(slices) == 1 else why_invalid(slices, slices)


@once_per_slice
def _why_unusable(_cluster: Cluster, slice_: ResourceSlice) -> str:
    return why_invalid((slice_,), (slice_,))


def why_invalid(slices: Sequence[ResourceSlice], published: Sequence[ResourceSlice], *, counting: bool = True) -> str:
    """Return why the allocator calls a complete pool invalid, or "" (docs/semantics.md 3.2.12).

    `slices` are those that the node sees, `published` all of the generation, whose counters count pool-wide.
    Counters are not looked at without the gate DRAPartitionableDevices (`counting`).
    """
    names = [device.name for slice_ in slices for device in slice_.spec.devices or ()]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        return f"duplicate device name {twice}"
    if not counting:
        return ""
    sets: dict[str, CounterSet] = {}
    for counter_set in [c for s in published for c in s.spec.shared_counters or ()]:
        if counter_set.name in sets:
            return f"duplicate counter set name {counter_set.name}"
        sets[counter_set.name] = counter_set
    for device in [d for s in published for d in s.spec.devices or () if d.consumes_counters]:
        for use in device.consumes_counters:
            declared = sets.get(use.counter_set)
            if declared is None:
                return f"device {device.name} consumes from the unknown counter set {use.counter_set}"
            for counter in use.counters:
                if counter not in declared.counters:
                    return f"device {device.name} consumes the unknown counter {use.counter_set}/{counter}"
    return ""


def _order(pool: Pool) -> tuple[bool, bytes, bytes]:
    return pool.binds, pool.driver.encode(), pool.name.encode()


class Tie(IntEnum):
    """What ties a claim that takes a device to nodes: the node itself, one selector or none, a selector of many terms.

    kube-scheduler gives up the pod when it meets a device with many terms before one that ties to the node
    (docs/semantics.md 3.12).
    """

    SELECTOR = 0
    NODE = 1
    TERMS = 2


def tie_of(item: PoolDevice) -> Tie:
    """Return what ties a claim that takes a device to nodes: `nodeName`, `bindsToNode`, `nodeSelector`.

    Rule: docs/semantics.md 3.12.3.
    """
    own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
    if own.node_name is not None or item.device.binds_to_node:
        return Tie.NODE
    return Tie.SELECTOR if own.node_selector is None or len(own.node_selector.node_selector_terms) == 1 else Tie.TERMS
