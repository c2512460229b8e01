"""Pools as kube-scheduler gathers them for one node: which devices it sees there, in which order."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.grouped import newest, pool_of
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, NodeSelector, ObjectMeta, node_matches
from dra_lab.model.shelf import Change, Earlier
from dra_lab.model.slices import CounterSet, ResourceSlice

_SEEN = "_pools_by_node"
_COUNTERS = "_counter_slices_by_pool"
_TOLD = "_counter_pools_told_everywhere"
_MOST_SELECTORS = 8
"""Node selectors of changed slices that every node is held against; with more, all nodes count as seeing them."""

_NOBODY = Node(metadata=ObjectMeta(name=""))
_Key = tuple[str, str]
"""Driver and name of a pool."""

_Same = Mapping[DeviceID, DeviceID]
"""The names of devices that are kept already, each by itself."""


class PoolDevice(Struct, frozen=True, gc=False):
    """A device of a pool as one node sees it; `on_node` is False for a per-device selection of another node."""

    # A large cluster has 90,000 of them, in no cycle: the garbage collector need not go through them again and again.

    id: DeviceID
    device: Device
    slice: ResourceSlice
    on_node: bool = True

    @property
    def driver(self) -> str:
        """Return the driver's name."""
        return self.id.driver


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as one node sees it.

    An incomplete pool (`complete` False) or an invalid one (`invalid` says why) has no devices here: the allocator
    skips it for ExactCount and gives up for All. `counter_sets` are pool-wide.
    """

    driver: str
    name: str
    generation: int
    devices: tuple[PoolDevice, ...] = ()
    counter_sets: tuple[CounterSet, ...] = ()
    complete: bool = True
    invalid: str = ""


def gather_pools(
    cluster: Cluster, node_name: str, *, partitionable_devices: bool = True, counters_everywhere: bool = True
) -> tuple[Pool, ...]:
    """Return the pools that a node sees, in the allocator's order (docs/semantics.md 3.2.1 to 3.2.9, 3.3, for 1.36).

    Sorted by (driver, pool name) in byte order, pools with binding conditions after all others; slices inside a pool
    by object name, devices in list order. `partitionable_devices` is the gate DRAPartitionableDevices; with
    `counters_everywhere` every node sees every slice with shared counters, which ends with 1.37
    (docs/semantics.md 3.2.3). Remembered as long as the cluster's slices and nodes stay.
    """
    gates = (partitionable_devices, counters_everywhere) if cluster.partitioned else ()
    known = _known(cluster, gates)
    found = known.now.get(node_name)
    if found is None:
        before = known.before.pop(node_name, ())
        made = _gather(cluster, node_name, partitionable_devices, counters_everywhere, before)
        found = known.now[node_name] = tuple(_as_before(pool, before) for pool in made)
    return found


def ids_known(cluster: Cluster) -> Iterator[DeviceID]:
    """Yield the identities of all devices of nodes that were asked about, some of them twice."""
    known = [value for value in tuple(cluster.gathered.values()) if isinstance(value, _Seen)]
    return (item.id for seen in known for pools in tuple(seen.now.values()) for pool in pools for item in pool.devices)


def nodes_seeing(cluster: Cluster, change: Change) -> frozenset[str] | None:
    """Return the nodes that may see other devices, pools or places since a change that ended in this cluster.

    Those that came, went or were labelled anew; those of every slice of the pools that changed (a pool is complete or
    not by all its slices, docs/semantics.md 3.2.6 to 3.2.9). None stands for all nodes: `allNodes`, or counters that
    every node is told of.
    """
    return change.find("nodes", lambda: _seeing(cluster, change))


def pools_changed(
    cluster: Cluster, change: Change
) -> Mapping[tuple[str, str], tuple[tuple[ResourceSlice, ...], tuple[ResourceSlice, ...]]]:
    """Return the pools of which slices changed, by (driver, name), each with its slices before and now."""
    came = {id(s) for s in change.come}
    found = {}
    for key in dict.fromkeys(map(pool_of, (*change.gone, *change.come))):
        now = cluster.slices_by_pool.get(key, ())
        stayed = (s for s in now if id(s) not in came)
        found[key] = (*stayed, *(s for s in change.gone if pool_of(s) == key)), now
    return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """The pools that nodes see, by name of the node; `before` is what those saw that see a change, not asked since."""

    now: dict[str, tuple[Pool, ...]] = field(default_factory=dict)
    before: dict[str, tuple[Pool, ...]] = field(default_factory=dict)


def _known(cluster: Cluster, gates: tuple[bool, ...]) -> _Seen:
    """Return what is known of all nodes, in one piece: a node of which nobody asked for a while is known on too."""

    def make(earlier: Earlier[_Seen] | None) -> _Seen:
        seeing = None if earlier is None else nodes_seeing(cluster, earlier[1])
        if earlier is None or seeing is None:
            return _Seen()
        known = earlier[0]
        now = {name: pools for name, pools in tuple(known.now.items()) if name not in seeing}
        stale = {**known.before, **{name: known.now.get(name) for name in seeing}}
        return _Seen(now, {name: pools for name, pools in stale.items() if pools and name in cluster.node_by_name})

    return cluster.gathered.find((_SEEN, *gates), make)


def _as_before(pool: Pool, before: Sequence[Pool]) -> Pool:
    """Return a pool as the object that it was, where nothing of it has changed: much is kept of each."""
    for old in before:
        if old is pool or (old == pool and all(map(operator.is_, _slices(old), _slices(pool)))):
            return old
    return pool


def _slices(pool: Pool) -> Iterator[ResourceSlice]:
    return (item.slice for item in pool.devices)


def _seeing(cluster: Cluster, change: Change) -> frozenset[str] | None:
    found = set(change.nodes)
    selectors: list[NodeSelector] = []
    for key, (before, now) in pools_changed(cluster, change).items():
        if any(_is_told(key, [s for s in slices if s.spec.node_name], slices) for slices in (now, before)):
            return None
        for spec in (s.spec for s in (*now, *before)):
            if spec.shared_counters is not None and not spec.node_name:
                return None
            for owner in (spec.devices or ()) if spec.per_device_node_selection else (spec,):
                if owner.node_name:
                    found.add(owner.node_name)
                elif owner.node_selector is not None and owner.node_selector not in selectors:
                    selectors.append(owner.node_selector)
                elif owner.all_nodes:
                    return None
    if len(selectors) > _MOST_SELECTORS:
        return None
    found.update(node.name for node in cluster.node_by_name.values() if any(node_matches(s, node) for s in selectors))
    return frozenset(found)


def _gather(
    cluster: Cluster,
    node_name: str,
    partitionable_devices: bool,  # noqa: FBT001 - two gates, by position
    counters_everywhere: bool,  # noqa: FBT001
    before: Sequence[Pool],
) -> tuple[Pool, ...]:
    node = cluster.node_named(node_name)
    relevant: dict[_Key, list[ResourceSlice]] = {}
    seen = [*cluster.slices_by_node.get(node_name, ()), *cluster.network_slices]
    if partitionable_devices and counters_everywhere:
        seen += _counters_elsewhere(cluster, node, seen)
    for slice_ in seen:
        partitioned = slice_.spec.per_device_node_selection or slice_.spec.shared_counters is not None
        if (partitioned and not partitionable_devices) or not _is_relevant(
            slice_, node, counters_everywhere=counters_everywhere
        ):
            continue
        kept = relevant.setdefault(pool_of(slice_), [])
        if kept and kept[0].spec.pool.generation > slice_.spec.pool.generation:
            continue
        if kept and kept[0].spec.pool.generation < slice_.spec.pool.generation:
            kept.clear()
        kept.append(slice_)
    # of 90,000 devices the names take megabytes: what is kept of a device has the same one on
    same = {item.id: item.id for pool in before for item in pool.devices}
    pools = [pool for key, slices in relevant.items() if (pool := _pool(cluster, key, slices, node, same)) is not None]
    return tuple(sorted(pools, key=lambda p: (_binds(p), p.driver.encode(), p.name.encode())))


def devices_on(pools: tuple[Pool, ...]) -> Iterator[PoolDevice]:
    """Yield the devices of all pools in the allocator's order, leaving out those that are not for this node."""
    return (device for pool in pools for device in pool.devices if device.on_node)


def _counters_elsewhere(cluster: Cluster, node: Node, seen: Sequence[ResourceSlice]) -> list[ResourceSlice]:
    """Return the counters of other nodes that make a difference here.

    In 1.36 a slice with shared counters is seen by every node, whatever its nodeName (docs/semantics.md 3.2.3). A
    complete and valid pool of counters alone has no device to offer and changes nothing on a node that sees nothing
    else of the pool: with 5,000 such pools, all of them on every node would be 25 million.
    """
    if not cluster.counter_slices:
        return []
    by_pool: dict[_Key, list[ResourceSlice]] | None = cluster.gathered.get(_COUNTERS)
    if by_pool is None:
        by_pool = {}
        for slice_ in cluster.counter_slices:
            by_pool.setdefault(pool_of(slice_), []).append(slice_)
        cluster.gathered[_COUNTERS] = by_pool
    told: frozenset[_Key] | None = cluster.gathered.get(_TOLD)
    if told is None:
        told = cluster.gathered[_TOLD] = _all_told(cluster, by_pool)
    keys = dict.fromkeys((*map(pool_of, seen), *told))
    return [s for key in keys for s in by_pool.get(key, ()) if s.spec.node_name != node.name]


def _all_told(cluster: Cluster, by_pool: Mapping[_Key, list[ResourceSlice]]) -> frozenset[_Key]:
    before = cluster.gathered.earlier(_TOLD)
    known: frozenset[_Key] = frozenset()
    look: Iterable[_Key] = by_pool
    if before is not None:
        changed = {pool_of(s) for s in (*before[1].gone, *before[1].come)}
        known, look = before[0] - changed, changed & by_pool.keys()
    return known.union(key for key in look if _is_told(key, by_pool[key], cluster.slices_by_pool[key]))


def _is_told(key: _Key, counters: Sequence[ResourceSlice], everywhere: Sequence[ResourceSlice]) -> bool:
    """Say whether nodes see anything of other nodes' counters but a complete and valid pool without devices."""
    counters = [s for s in counters if s.spec.shared_counters is not None]
    if not counters:
        return False
    pool = _build(everywhere, key, newest(counters), _NOBODY, {})
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


def _pool(cluster: Cluster, key: _Key, slices: list[ResourceSlice], node: Node, same: _Same) -> Pool | None:
    if any(s.spec.per_device_node_selection or (s.spec.node_name and s.spec.devices) for s in slices):
        return _build(cluster.slices_by_pool[key], key, slices, node, same)
    # What several nodes see alike is one object for all of them: 5,000 nodes before 200 network-attached devices were a
    # million. Kept on the instance, like a cached_property, by the identity of slices that live as long.
    memo: dict[object, Pool | None] = cluster.gathered.setdefault("_shared_pools", {})
    known = (key, *map(id, slices))
    if known not in memo:
        memo[known] = _build(cluster.slices_by_pool[key], key, slices, node, same)
    return memo[known]


def _build(
    everywhere: Sequence[ResourceSlice], key: _Key, slices: list[ResourceSlice], node: Node, same: _Same
) -> Pool | None:
    driver, name = key
    wanted = slices[0].spec.pool
    published = list(slices)
    if len(slices) != wanted.resource_slice_count:
        if any(s.spec.pool.generation > wanted.generation for s in everywhere):
            return None
        published = [s for s in everywhere if s.spec.pool.generation == wanted.generation]
        if len(published) != wanted.resource_slice_count:
            return Pool(driver, name, wanted.generation, complete=False)
    ordered = sorted(slices, key=lambda s: s.name.encode())
    invalid = why_invalid(ordered, published)
    counter_sets = tuple(c for s in published for c in s.spec.shared_counters or ())
    if invalid:
        return Pool(driver, name, wanted.generation, invalid=invalid)
    devices = tuple(
        PoolDevice(
            same.get(id_ := DeviceID(driver, name, d.name), id_),
            d,
            s,
            not s.spec.per_device_node_selection or _device_on(d, node),
        )
        for s in ordered
        for d in s.spec.devices or ()
    )
    return Pool(driver, name, wanted.generation, devices, counter_sets)


def why_invalid(slices: Sequence[ResourceSlice], published: Sequence[ResourceSlice]) -> str:
    """Return why the allocator calls a complete pool invalid, or "" (docs/semantics.md 3.2.12).

    `slices` are those that the node sees, `published` all of the generation, whose counters count pool-wide.
    """
    names = [device.name for slice_ in slices for device in slice_.spec.devices or ()]
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        return f"duplicate device name {twice}"
    sets: dict[str, CounterSet] = {}
    for counter_set in (c for s in published for c in s.spec.shared_counters or ()):
        if counter_set.name in sets:
            return f"duplicate counter set name {counter_set.name}"
        sets[counter_set.name] = counter_set
    for device in (d for s in published for d in s.spec.devices or () if d.consumes_counters):
        for use in device.consumes_counters:
            declared = sets.get(use.counter_set)
            if declared is None:
                return f"device {device.name} consumes from the unknown counter set {use.counter_set}"
            for counter in use.counters:
                if counter not in declared.counters:
                    return f"device {device.name} consumes the unknown counter {use.counter_set}/{counter}"
    return ""


def _binds(pool: Pool) -> bool:
    return any(item.device.binding_conditions and item.on_node for item in pool.devices)
