"""Where each device of a node sits: socket, NUMA node, PCIe root, switch; unknown stays unknown, and says so.

What a driver publishes comes first. Places that it does not publish are derived only from facts: a topology file for
the node, other devices on the same PCIe root, documented machines. They are marked `derived` and never written into a
manifest.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.drivers.kinds import (
    derived_numa,
    device_kind,
    device_label,
    device_short,
    published,
)
from dra_lab.drivers.profiles import profile
from dra_lab.index.catalogue import lookup_of
from dra_lab.index.device_kinds import DeviceKinds, device_kinds, guessed_kinds
from dra_lab.index.pools import Pool, PoolDevice, devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device
from dra_lab.model.driver_profile import DriverProfile, Lookup, Profiles, kind_words
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import FilePlace, FilePlaces
from dra_lab.topology.places import LEVEL_FIELDS, Locality, Place, level_number, shared_place

_Number = str | int | None
"""The number of a NUMA node or the name of a PCIe root, None where it is not known."""

_KIND_WORDS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPUs", "memory": "memory", "other": "other devices"}


class SkippedDevice(Struct, frozen=True):
    """A published device that kube-scheduler does not look at on this node, and why (`pool incomplete: ...`)."""

    id: DeviceID
    device: Device
    reason: str


def localities(cluster: Cluster, node_name: str) -> Mapping[DeviceID, Locality]:
    """Return the locality of every device that a node sees, in kube-scheduler's order; skipped devices come last.

    Raises NodeError for a node that the cluster does not have.
    """
    # Plans are made in a second thread; the worst that two threads can do here is to compute the same value twice.
    known = _by_node(cluster)
    found = known.get(node_name)
    if found is None:
        found = known[node_name] = MappingProxyType(_compute(cluster, node_name, _memo(cluster)))
    return found


def device_names(cluster: Cluster, node_name: str) -> Mapping[DeviceID, str]:
    """Return the one name of every device that a node sees: on the picture, in tables, in Trace, in the search.

    Raises NodeError for a node that the cluster does not have.
    """
    return {device_id: locality.name for device_id, locality in localities(cluster, node_name).items()}


def numa_and_root(cluster: Cluster, node_name: str) -> dict[DeviceID, tuple[_Number, _Number]]:
    """Return the NUMA node and the PCIe root of every device that a node sees, None where one is not known.

    They are those of `localities`, which takes several times longer on nodes that differ in how devices are mixed.
    """
    if node_name in cluster.file_places:
        return {
            one: (_value(found.numa_node), _value(found.pcie_root))
            for one, found in localities(cluster, node_name).items()
        }
    memo, seen = _memo(cluster), _seen(cluster, node_name)
    known = [_numa_and_root(item, memo) for item in seen]
    agreed: dict[str | int, set[str | int]] = {}
    for numa, root, _ in known:
        if root is not None and numa is not None:
            agreed.setdefault(root, set()).add(numa)
    places = {}
    for item, (numa, root, documented) in zip(seen, known, strict=True):
        beside = agreed.get(root, ()) if numa is None and root is not None else ()
        places[item.id] = next(iter(beside)) if len(beside) == 1 else documented, root
    return places


def _numa_and_root(item: PoolDevice | SkippedDevice, memo: _Memo) -> tuple[_Number, _Number, _Number]:
    """Return the published NUMA node and PCIe root of a device, and the published or documented NUMA node."""
    locality = _known(item, memo)
    # The address tells it apart: the memo keeps what is published.
    found = memo.numa_and_root.get(id(locality))
    if found is None:
        documented = locality if locality.numa_node else _documented(locality, item.device, memo)
        found = _value(locality.numa_node), _value(locality.pcie_root), _value(documented.numa_node)
        memo.numa_and_root[id(locality)] = found
    return found


def _value(place: Place | None) -> _Number:
    return None if place is None else place.value


@once_per_hardware
def places_known(cluster: Cluster) -> frozenset[tuple[str, str]]:
    """Return driver and level of all places that are known: what shares the level with a device (`shared_place`)."""
    memo = _memo(cluster)
    distinct: dict[int, tuple[Locality, ...]] = {}
    for name in cluster.node_names:
        filled = _filled(cluster, name, {item.id: item for item in _seen(cluster, name)}, memo)
        distinct[id(filled)] = filled
    return frozenset(
        (place.device.driver, level)
        for filled in distinct.values()
        for place in filled
        for level in LEVEL_FIELDS
        if shared_place(place, level) is not None
    )


def kinds(cluster: Cluster, node_name: str) -> Mapping[DeviceID, str]:
    """Return the kind of every device that a node sees (`Locality.kind`), without working out where it sits.

    Raises NodeError for a node that the cluster does not have.
    """
    memo = _memo(cluster)
    return {item.id: _known(item, memo).kind for item in _seen(cluster, node_name)}


def skipped_devices(cluster: Cluster, node_name: str) -> tuple[SkippedDevice, ...]:
    """Return the devices of a node's own slices whose pool kube-scheduler skips because it is incomplete or invalid.

    Only the pool's newest generation; a device that is published twice is there once. Rule: docs/semantics.md 3.2.
    """
    return _skipped(cluster, node_name, gather_pools(cluster, node_name))


def _skipped(cluster: Cluster, node_name: str, pools: Iterable[Pool]) -> tuple[SkippedDevice, ...]:
    found: dict[DeviceID, SkippedDevice] = {}
    for pool in pools:
        reason = f"pool invalid: {pool.invalid}" if pool.invalid else "" if pool.complete else "pool incomplete"
        if not reason:
            continue
        slices = [
            s
            for s in cluster.slices_by_node.get(node_name, ())
            if (s.spec.driver, s.spec.pool.name, s.spec.pool.generation) == (pool.driver, pool.name, pool.generation)
        ]
        for device in (d for s in slices for d in s.spec.devices or ()):
            device_id = DeviceID(pool.driver, pool.name, device.name)
            found.setdefault(device_id, SkippedDevice(device_id, device, reason))
    return tuple(found.values())


class _Memo(Struct):
    """Places without names: equal devices share what they publish, equal nodes what is derived from it.

    `profiles` are the person's own, `guesses` the kinds of drivers without a profile.
    """

    profiles: Profiles
    guesses: Mapping[str, str]
    device_kinds: DeviceKinds
    filled: dict[tuple[object, ...], tuple[Locality, ...]] = field(default_factory=dict)
    # by the number of a device's kind
    of_kind: dict[int, Locality] = field(default_factory=dict)
    # by the address of a locality that is published
    numa_and_root: dict[int, tuple[_Number, _Number, _Number]] = field(default_factory=dict)


@once_per_hardware
def _memo(cluster: Cluster) -> _Memo:
    return _Memo(cluster.profiles, dict(guessed_kinds(cluster)), device_kinds(cluster))


@once_per_snapshot
def _by_node(_cluster: Cluster) -> dict[str, Mapping[DeviceID, Locality]]:
    # A node takes some kilobytes, and of a cluster that is followed almost every answer is about another one.
    return {}


def _compute(cluster: Cluster, node_name: str, memo: _Memo) -> dict[DeviceID, Locality]:
    devices = {item.id: item for item in _seen(cluster, node_name)}
    filled = _filled(cluster, node_name, devices, memo)
    names = Counter((device_id.driver, locality.short) for device_id, locality in zip(devices, filled, strict=True))
    # a name that two devices have is no name of either, and the driver's other devices are then named alike
    unnamed = {driver for (driver, name), count in names.items() if name and count > 1}
    return {
        device_id: replace(locality, device=device_id, short="" if device_id.driver in unnamed else locality.short)
        for device_id, locality in zip(devices, filled, strict=True)
    }


def _filled(
    cluster: Cluster, node_name: str, devices: Mapping[DeviceID, PoolDevice | SkippedDevice], memo: _Memo
) -> tuple[Locality, ...]:
    """Return the localities of what a node sees without the devices' names, one object for all nodes equal in it."""
    known = [_known(item, memo) for item in devices.values()]
    # the values in the memo live as long as it does, so their addresses tell them apart
    key: tuple[object, ...] = tuple(id(locality) for locality in known)
    of_file = cluster.file_places.get(node_name)
    if of_file is not None:
        key = (of_file, tuple((device_id.driver, device_id.device) for device_id in devices), *key)
    filled = memo.filled.get(key)
    if filled is None:
        if of_file is not None:
            known = [_completed(i, locality, of_file) for i, locality in zip(devices, known, strict=True)]
        found = _fill(known, "numaNode", "pcieRoot", "on the same PCIe root")
        found = [
            locality if locality.numa_node else _documented(locality, item.device, memo)
            for locality, item in zip(found, devices.values(), strict=True)
        ]
        filled = memo.filled[key] = tuple(_fill(found, "socket", "numaNode", "on the same NUMA node"))
    return filled


def _known(item: PoolDevice | SkippedDevice, memo: _Memo) -> Locality:
    """Return what a device publishes, without its own name; worked out once for devices of one kind."""
    driver = item.id.driver
    kind = item.kind if isinstance(item, PoolDevice) else memo.device_kinds.of(driver, (item.device,))[0]
    found = memo.of_kind.get(kind.number)
    if found is None:
        # setdefault, so that two threads never hold two values of one kind: their addresses are keys further down
        found = memo.of_kind.setdefault(kind.number, _published(driver, item.device, memo))
    return found


def _seen(cluster: Cluster, node_name: str) -> list[PoolDevice | SkippedDevice]:
    """Return the devices that a node sees, some perhaps twice; those of skipped pools come last."""
    pools = gather_pools(cluster, node_name)
    seen: list[PoolDevice | SkippedDevice] = list(devices_on(pools))
    if cluster.counter_slices:
        # From 1.37 counters of other nodes are not seen, and no longer hide a pool (docs/semantics.md 3.2.3).
        seen.extend(devices_on(gather_pools(cluster, node_name, counters_everywhere=False)))
    if not all(pool.complete and not pool.invalid for pool in pools):
        seen.extend(_skipped(cluster, node_name, pools))
    return seen


def _completed(device_id: DeviceID, locality: Locality, of_file: FilePlaces) -> Locality:
    """Fill in what a topology file says and the driver does not publish; say where made attributes come from."""
    key = (device_id.driver, device_id.device)
    places: Mapping[str, FilePlace] = of_file.places.get(key, {})
    made = of_file.made.get(key, {})
    changes: dict[str, Any] = {}
    for level, member in LEVEL_FIELDS.items():
        published = locality.place(level)
        if published is not None and published.source in made:
            changes[member] = Place(published.value, f"{published.source}, made from {made[published.source]}")
        elif published is None and level in places:
            changes[member] = Place(places[level].value, places[level].source, derived=True)
    return replace(locality, **changes) if changes else locality


def _published(driver: str, device: Device, memo: _Memo) -> Locality:
    known, lookup = profile(driver, memo.profiles), lookup_of(driver, device)
    places = {member: _place(published(known, level, lookup)) for level, member in LEVEL_FIELDS.items()}
    address = published(known, "pciBusID", lookup)
    return Locality(
        DeviceID(driver, "", ""),
        memo.guesses.get(driver) or device_kind(known, lookup),
        device_label(known, lookup),
        address=address[1] if address is not None and isinstance(address[1], str) else "",
        short=device_short(known, lookup),
        guessed=driver in memo.guesses,
        listed=tuple(_listed(known, lookup)),
        **places,
    )


def _listed(known: DriverProfile, lookup: Lookup) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    """Yield each level of which the first attribute that a device has is a list, with its values."""
    for level in LEVEL_FIELDS:
        value = next((found for name in known.attributes_at(level) if (found := lookup(name)) is not None), None)
        if isinstance(value, tuple):
            yield level, value


def _place(found: tuple[str, AttributeValue] | None) -> Place | None:
    if found is None:
        return None
    name, value = found
    if isinstance(value, tuple):
        # KEP-6072: the first item of a numaNode list is the device's own node. A list of several roots is no one place.
        if len(value) > 1 and not name.endswith("/numaNode"):
            return None
        value = value[0]
    if isinstance(value, bool):
        return None
    return Place(level_number(value), name)


def _fill(found: Sequence[Locality], level: str, shared: str, words: str) -> list[Locality]:
    """Derive a level for devices that lack it from those at the same `shared` place that publish it, all agreeing."""
    publishers: dict[str | int, list[tuple[Locality, Place]]] = defaultdict(list)
    for locality in found:
        common, place = locality.place(shared), locality.place(level)
        if common is not None and place is not None and not place.derived:
            publishers[common.value].append((locality, place))
    derived: dict[str | int, Place] = {}
    for value, group in publishers.items():
        if len({place.value for _, place in group}) == 1:
            kinds_here = (kind_words(_KIND_WORDS[one.kind], guessed=one.guessed) for one, _ in group)
            names = ", ".join(dict.fromkeys(place.source for _, place in group))
            source = f"from the {' and '.join(dict.fromkeys(kinds_here))} {words} ({names})"
            derived[value] = Place(group[0][1].value, source, derived=True)
    filled = []
    for locality in found:
        common = locality.place(shared)
        place = derived.get(common.value) if common is not None and locality.place(level) is None else None
        changes: dict[str, Any] = {} if place is None else {LEVEL_FIELDS[level]: place}
        filled.append(replace(locality, **changes) if changes else locality)
    return filled


def _documented(locality: Locality, device: Device, memo: _Memo) -> Locality:
    driver = locality.device.driver
    known = derived_numa(profile(driver, memo.profiles), lookup_of(driver, device))
    if known is None:
        return locality
    return replace(locality, numa_node=Place(known[0], known[1], derived=True))
