"""Pools as kube-scheduler gathers them for one node: which devices it sees there, in which order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.grouped import grouped, newest, pool_of
from dra_lab.model.memo import once_per_devices
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, ObjectMeta, node_matches
from dra_lab.model.slices import CounterSet, ResourceSlice

_NOBODY = Node(metadata=ObjectMeta(name=""))
_Key = tuple[str, str]
"""Driver and name of a pool."""


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
    gates = (partitionable_devices, counters_everywhere) if cluster.partitioned else (True, True)
    known = _pools_by_node(cluster, gates)
    found = known.get(node_name)
    if found is None:
        found = known[node_name] = _gather(cluster, node_name, *gates)
    return found


@once_per_devices
def _pools_by_node(_cluster: Cluster, _gates: tuple[bool, bool]) -> dict[str, tuple[Pool, ...]]:
    """Return where the pools of each node are kept, by name of the node."""
    return {}


def _gather(
    cluster: Cluster,
    node_name: str,
    partitionable_devices: bool,  # noqa: FBT001 - two gates, by position
    counters_everywhere: bool,  # noqa: FBT001
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
    pools = [pool for key, slices in relevant.items() if (pool := _pool(cluster, key, slices, node)) is not None]
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
    by_pool = _counters_by_pool(cluster)
    if not by_pool:
        return []
    keys = dict.fromkeys((*map(pool_of, seen), *_told_everywhere(cluster)))
    return [s for key in keys for s in by_pool.get(key, ()) if s.spec.node_name != node.name]


@once_per_devices
def _counters_by_pool(cluster: Cluster) -> Mapping[_Key, tuple[ResourceSlice, ...]]:
    return grouped(cluster.counter_slices, pool_of)


@once_per_devices
def _told_everywhere(cluster: Cluster) -> frozenset[_Key]:
    """Return the pools with counters of which every node sees more than the counters."""
    by_pool = _counters_by_pool(cluster)
    return frozenset(key for key, counters in by_pool.items() if _is_told(key, counters, cluster.slices_by_pool[key]))


def _is_told(key: _Key, counters: Sequence[ResourceSlice], everywhere: Sequence[ResourceSlice]) -> bool:
    """Say whether nodes see anything of other nodes' counters but a complete and valid pool without devices."""
    counters = [s for s in counters if s.spec.shared_counters is not None]
    if not counters:
        return False
    pool = _build(everywhere, key, newest(counters), _NOBODY)
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


def _pool(cluster: Cluster, key: _Key, slices: list[ResourceSlice], node: Node) -> Pool | None:
    if any(s.spec.per_device_node_selection or (s.spec.node_name and s.spec.devices) for s in slices):
        return _build(cluster.slices_by_pool[key], key, slices, node)
    # What several nodes see alike is one object for all of them: 5,000 nodes before 200 network-attached devices were a
    # million. Slices are told apart by identity, and live as long as the memo.
    known, ids = _shared_pools(cluster), (key, *map(id, slices))
    if ids not in known:
        known[ids] = _build(cluster.slices_by_pool[key], key, slices, node)
    return known[ids]


@once_per_devices
def _shared_pools(_cluster: Cluster) -> dict[object, Pool | None]:
    return {}


def _build(everywhere: Sequence[ResourceSlice], key: _Key, slices: list[ResourceSlice], node: Node) -> Pool | None:
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
            DeviceID(driver, name, d.name),
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
