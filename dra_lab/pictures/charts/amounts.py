"""How much of a node's devices is in use, planned, free, stranded or not available, by kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dra_lab.index.pools import Pool, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.headroom import Stranded
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import parse_quantity
from dra_lab.sketch.cluster_candidates import keeps_away
from dra_lab.sketch.kind_counts import guessed_only
from dra_lab.topology.locality import kinds, skipped_devices
from dra_lab.words.facts import KINDS


@dataclass(frozen=True, slots=True)
class ChartState:
    """One state: `fill` and `text` are colours with a contrast of at least 4.5:1, readable on light and dark ground."""

    letter: str
    words: str
    fill: str
    text: str

    @property
    def legend(self) -> str:
        """Return `U in use`: the letter that stands on the parts, and what it means."""
        return f"{self.letter} {self.words}"


IN_USE = ChartState("U", "in use", "#0072b2", "#ffffff")
PLANNED = ChartState("P", "planned", "#e69f00", "#000000")
FREE = ChartState("F", "free", "#56b4e9", "#000000")
STRANDED = ChartState("S", "stranded", "#d55e00", "#000000")
BLOCKED = ChartState("N", "not available", "#999999", "#000000")

AMOUNT_STATES = (IN_USE, PLANNED, FREE, STRANDED, BLOCKED)
"""In the order of `Amounts.values`, which is the order of the parts of a bar."""


NETWORK = "(seen by several nodes)"
"""Stands for the node of devices that are not one node's own."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts of one kind on one node, in the units of KINDS; they add up to `total`.

    A shareable device counts as the part of it that is taken, partitions of one device (shared counters) as parts of
    that device: the largest part over its capacities or counters. `blocked` is tainted, in a pool that kube-scheduler
    skips, or free on a cordoned node. Tolerations of claims are not known here. `stranded` is free, and certainly none
    of the claims in question can use it. On nodes that share devices it is left out, because it is one number for all
    of them.
    """

    node: str
    kind: str
    in_use: float = 0.0
    planned: float = 0.0
    free: float = 0.0
    blocked: float = 0.0
    stranded: float = 0.0

    @property
    def total(self) -> float:
        """Return how much there is."""
        return self.in_use + self.planned + self.stranded + self.free + self.blocked

    @property
    def values(self) -> tuple[float, ...]:
        """Return the amounts in the order in_use, planned, free, stranded, blocked."""
        return self.in_use, self.planned, self.free, self.stranded, self.blocked


def node_amounts(cluster: Cluster, fleet: Plan | None = None, stranded: Stranded | None = None) -> tuple[Amounts, ...]:
    """Return the amounts of every node and kind, by node name and then in the order of KINDS.

    `fleet` adds what its replicas take; `stranded` says how much of what is then free is stranded. Devices that several
    nodes see are counted once, under NETWORK.
    """
    used = fleet.on_node if fleet is not None else ()
    # a device that several nodes see is counted on the first of them, so that with such devices every node counts
    changed = _parts(cluster, cluster.node_names if used and cluster.network_slices else used, _planned(fleet))
    found = _without_pods(cluster) | {key: _amounts(cluster, key, parts) for key, parts in changed.items()}
    # what is stranded for certain; of nodes that share devices, it is one number for all of them
    for row in (row for row in (stranded.nodes if stranded is not None else ()) if not row.together):
        for key, least in (((name, kind.kind), kind.least) for name in row.nodes for kind in row.kinds):
            if key in found:
                lost = min(found[key].free, float(least))
                found[key] = replace(found[key], stranded=lost, free=found[key].free - lost)
    return tuple(found.values())


def amounts_on(cluster: Cluster, nodes: Iterable[str], plan: Plan | None = None) -> Mapping[tuple[str, str], Amounts]:
    """Return the amounts of some nodes by node and kind, with what the pods of a plan take there."""
    return {key: _amounts(cluster, key, parts) for key, parts in _parts(cluster, nodes, _planned(plan)).items()}


@once_per_snapshot
def _without_pods(cluster: Cluster) -> dict[tuple[str, str], Amounts]:
    """Return the amounts without the pods of a plan by (node, kind), in the order of `node_amounts`."""
    found, order = _parts(cluster, cluster.node_names, {}), list(KINDS)
    keys = sorted(found, key=lambda key: (key[0] == NETWORK, key[0], order.index(key[1])))
    return {key: _amounts(cluster, key, found[key]) for key in keys}


def _amounts(cluster: Cluster, key: tuple[str, str], parts: Sequence[float]) -> Amounts:
    in_use, planned, free, blocked = parts
    if key[0] in cluster.cordoned:
        free, blocked = 0.0, blocked + free
    return Amounts(*key, in_use, planned, free, blocked)


def _parts(
    cluster: Cluster, nodes: Iterable[str], planned: Mapping[DeviceID, Mapping[str, Fraction]]
) -> Mapping[tuple[str, str], Sequence[float]]:
    seen: set[DeviceID] = set()
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for node in nodes:
        for own, kind, parts in _node(cluster, node, planned, seen):
            into = found[node if own else NETWORK, kind]
            for at, part in enumerate(parts):
                into[at] += part
    return found


def amount_names(cluster: Cluster, kinds: Iterable[str] = KINDS) -> Mapping[str, str]:
    """Return the word for the devices of each kind, marked if every device of the kind is guessed."""
    return {kind: kind_words(KINDS[kind], guessed=kind in guessed_only(cluster)) for kind in kinds}


def _planned(fleet: Plan | None) -> Mapping[DeviceID, Mapping[str, Fraction]]:
    found: dict[DeviceID, dict[str, Fraction]] = {}
    for placement in (p for one in (fleet.with_devices if fleet else ()) for p in one.devices):
        into = found.setdefault(placement.device, {})
        for key, amount in placement.consumed.items():
            into[key] = into.get(key, Fraction()) + parse_quantity(amount)
    return found


_ONE = Fraction(1)

Parts = tuple[float, float, float, float]
"""in use, planned, free, blocked."""


def _node(
    cluster: Cluster, node: str, planned: Mapping[DeviceID, Mapping[str, Fraction]], seen: set[DeviceID]
) -> Iterator[tuple[bool, str, Parts]]:
    kind_of = kinds(cluster, node)
    for pool in gather_pools(cluster, node):
        parted: list[tuple[DeviceID, Device, bool]] = []
        for item in pool.devices:
            own = item.slice.spec.node_name == node
            if not item.on_node or (not own and item.id in seen):
                continue
            if not own:
                seen.add(item.id)
            kind = kind_of[item.id]
            if item.device.consumes_counters:
                parted.append((item.id, item.device, own))
            else:
                yield own, kind, _device(cluster, item.id, item.device, kind, planned.get(item.id))
        if parted:
            yield parted[0][2], kind_of[parted[0][0]], _partitions(cluster, pool, parted, planned)
    for skipped in skipped_devices(cluster, node):
        if skipped.id not in seen:
            seen.add(skipped.id)
            kind = kind_of.get(skipped.id, "other")
            yield True, kind, (0.0, 0.0, 0.0, float(_size(skipped.device, kind)))


def _blocked(cluster: Cluster, device_id: DeviceID, device: Device) -> bool:
    return any(map(keeps_away, cluster.taints_of(device_id, device)))


def _device(
    cluster: Cluster, device_id: DeviceID, device: Device, kind: str, planned: Mapping[str, Fraction] | None
) -> Parts:
    held, shares = device_id in cluster.allocated.exclusive, cluster.allocated.consumed.get(device_id)
    if held or not (planned or shares):  # nearly every device of a large cluster: no arithmetic
        whole = float(_size(device, kind)) if kind == "cpu" and device.allow_multiple_allocations else 1.0
        if held:
            return whole, 0.0, 0.0, 0.0
        if planned is not None:
            return 0.0, whole, 0.0, 0.0
        return (0.0, 0.0, 0.0, whole) if _blocked(cluster, device_id, device) else (0.0, 0.0, whole, 0.0)
    size = _size(device, kind)
    used = _part(device, shares) * size
    more = Fraction() if planned is None else _part(device, planned) * size if planned else size
    more = min(more, size - used)
    left = size - used - more
    if _blocked(cluster, device_id, device):
        return float(used), float(more), 0.0, float(left)
    return float(used), float(more), float(left), 0.0


def _size(device: Device, kind: str) -> Fraction:
    """Return 1, or the number of CPUs where one device stands for many."""
    if kind != "cpu" or not device.allow_multiple_allocations:
        return _ONE
    key = _cpu_key(device.capacity)
    return parse_quantity(device.capacity[key].value) if key else Fraction(1)


def _cpu_key(capacity: Iterable[str]) -> str:
    return next((key for key in capacity if key.rpartition("/")[2] == "cpu"), "")


def _part(device: Device, consumed: Mapping[str, Fraction] | None) -> Fraction:
    """Return the part of a device that is taken, 0 to 1."""
    if not consumed:
        return Fraction()
    cpu = _cpu_key(device.capacity)
    keys = [cpu] if cpu in consumed else [key for key in consumed if key in device.capacity]
    parts = [consumed[key] / size for key in keys if (size := parse_quantity(device.capacity[key].value))]
    return min(Fraction(1), max(parts, default=Fraction()))


def _partitions(
    cluster: Cluster,
    pool: Pool,
    devices: list[tuple[DeviceID, Device, bool]],
    planned: Mapping[DeviceID, Mapping[str, Fraction]],
) -> Parts:
    """Return the amounts of a pool's partitioned devices, each counter set being one device (`_drawn`)."""
    sizes = {s.name: {key: parse_quantity(c.value) for key, c in s.counters.items()} for s in pool.counter_sets}
    draws: list[dict[str, dict[str, Fraction]]] = [defaultdict(lambda: defaultdict(Fraction)) for _ in range(2)]
    open_sets: set[str] = set()
    drawn: set[str] = set()
    for device_id, device, _ in devices:
        held = device_id in cluster.allocated.exclusive or device_id in cluster.allocated.shares
        for use in device.consumes_counters:
            drawn.add(use.counter_set)
            if not _blocked(cluster, device_id, device):
                open_sets.add(use.counter_set)
            if held or device_id in planned:
                for counter, amount in use.counters.items():
                    draws[0 if held else 1][use.counter_set][counter] += parse_quantity(amount.value)
    used = planned_part = free = blocked = Fraction()
    for name in drawn:
        first = _drawn(draws[0][name], sizes.get(name, {}))
        second = min(1 - first, _drawn(draws[1][name], sizes.get(name, {})))
        used, planned_part = used + first, planned_part + second
        left = 1 - first - second
        free, blocked = (free + left, blocked) if name in open_sets else (free, blocked + left)
    return float(used), float(planned_part), float(free), float(blocked)


def _drawn(drawn: Mapping[str, Fraction], sizes: Mapping[str, Fraction]) -> Fraction:
    """Return the part of a device that is drawn: the largest over its counters.

    Counters of 1, such as NVIDIA's memory-slice-0 to 7, name single pieces: all of them together are one counter here,
    as else the smallest partition, which takes one piece whole, would count as the whole device.
    """
    pieces = [c for c, size in sizes.items() if size == 1]
    parts = [drawn[c] / size for c, size in sizes.items() if size not in (0, 1) and c in drawn]
    if pieces:
        parts.append(sum((drawn.get(c, Fraction()) for c in pieces), Fraction()) / len(pieces))
    return min(_ONE, max(parts, default=Fraction()))
