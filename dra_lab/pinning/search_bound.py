"""How long kube-scheduler searches a node at most, whatever is in use there: proven without a search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

from dra_lab.model.claims import DeviceConstraint, DeviceSelector, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.gates import gates_of
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks, covers
from dra_lab.scheduler.search_cost import CANDIDATE, CONSTRAINT, COUNTED, SCANNED, SELECTOR
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import compile_claim

_Key = tuple[str, tuple[str, ...]]
"""Class and selectors: requests with the same are served by the same devices."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One way to serve a request: how many devices, of which sort, tied by which attribute to a device before ("").

    `cost` is that of one candidate, in nanoseconds.
    """

    key: _Key
    count: int
    everything: bool
    before: int
    tied: str
    cost: int


def longest_searches(drawn: Sequence[ClaimSketch], cluster: Cluster, release: KubernetesRelease) -> Mapping[str, float]:
    """Return an upper bound of the seconds of a search for a pod's claims, by node; nothing where none is known.

    A request of n devices has at most as many ways as there are choices of n of the node's devices. It has fewer if a
    constraint links it to a device that is placed before, because then all have one value of an attribute. Devices that
    requests of the same sort hold are no candidates. What is in use only takes candidates away, and a result ends the
    search sooner, so the bound holds in every state of the node. Nodes that share devices have none, and none of a
    cluster has one where a release gathers pools with counters in another way than 1.36 does, as which they are counted
    here.
    """
    gates = gates_of(release)
    other_pools = cluster.partitioned and not (gates.partitionable_devices and gates.defects)
    if cluster.network_slices or other_pools or any(slice_.spec.devices for slice_ in cluster.counter_slices):
        return {}
    lists = release.enabled("DRAListTypeAttributes")
    levels = [level for sketch in drawn for level in _levels(compile_claim(sketch, cluster, release).spec, lists=lists)]
    sorts: dict[_Key, dict[str, _Sort]] = {}
    for way in (way for level in levels for way in level):
        if way.key not in sorts:
            sorts[way.key] = _by_node(cluster, release, way.key)
    published = _published(cluster)
    selectors = sum(len(way.key[1]) + len(_class_selectors(cluster, way)) for level in levels for way in level)
    known: dict[object, float] = {}
    found = {}
    for name in cluster.node_names:
        here = {key: by_node[name] for key, by_node in sorts.items() if name in by_node}
        devices = published[name]
        own = tuple(of and (of.count, of.shared, of.counted, *sorted(of.most.items())) for of in map(here.get, sorts))
        state = (devices, *own)
        if state not in known:
            known[state] = (_bound(levels, here, devices) + SELECTOR * selectors * devices) / 1e9
        found[name] = known[state]
    return found


def _published(cluster: Cluster) -> Counter[str]:
    """Return how many devices are published by node: each look at a request comes to all of them."""
    found: Counter[str] = Counter()
    for slice_ in cluster.slices:
        found[slice_.spec.node_name or ""] += len(slice_.spec.devices or ())
    return found


def _class_selectors(cluster: Cluster, way: _Level) -> Sequence[DeviceSelector]:
    device_class = cluster.class_by_name.get(way.key[0])
    return device_class.spec.selectors if device_class else ()


@dataclass(frozen=True, slots=True)
class _Sort:
    """A node's devices of one sort: their number, whether a device serves several, the most that share a value.

    `counted` says that a device has counters.
    """

    count: int
    shared: bool
    counted: bool
    most: Mapping[str, int]


def _levels(spec: ResourceClaimSpec, *, lists: bool) -> list[list[_Level]]:
    levels = []
    before: list[tuple[Ask, ...]] = []
    for request in spec.devices.requests:
        ways = asks(request)
        levels.append([_level(way, before, spec.devices.constraints, lists=lists) for way in ways])
        before.append(ways)
    return levels


def _level(
    way: Ask, before: Sequence[tuple[Ask, ...]], constraints: Sequence[DeviceConstraint], *, lists: bool
) -> _Level:
    key = (way.device_class_name, way.selectors)
    before_it = sum(min(_taken(other, key) for other in ways) for ways in before)
    tied = [
        c.match_attribute
        for c in constraints
        if c.match_attribute and not lists and _covered(c, way) and any(all(_covered(c, o) for o in w) for w in before)
    ]
    cost = CANDIDATE + CONSTRAINT * len(constraints)
    return _Level(key, way.count, way.all_devices, before_it, tied[0] if tied else "", cost)


def _taken(way: Ask, key: _Key) -> int:
    """Return how many devices of a sort a way to serve an earlier request holds for certain."""
    return way.count if (way.device_class_name, way.selectors) == key and not way.admin_access else 0


def _covered(constraint: DeviceConstraint, way: Ask) -> bool:
    return not constraint.requests or any(covers(name, way) for name in constraint.requests)


def _by_node(cluster: Cluster, release: KubernetesRelease, key: _Key) -> dict[str, _Sort]:
    name, selectors = key
    ask = Ask("bound", 0, name, selectors, False, 1, (), {}, False)
    by_node = defaultdict(list)
    for item in candidates(cluster, ask, release).devices:
        by_node[item.slice.spec.node_name or ""].append(item)
    found = {}
    for node, items in by_node.items():
        values: dict[str, Counter[object]] = defaultdict(Counter)
        for item in items:
            for attribute in item.device.attributes:
                full = attribute if "/" in attribute else f"{item.driver}/{attribute}"
                value = item.device.lookup(full, item.driver)
                if value is not None:
                    values[full][value.kind, value.value] += 1
        shared = any(item.device.allow_multiple_allocations for item in items)
        counted = any(item.device.consumes_counters for item in items)
        most = {full: max(counts.values()) for full, counts in values.items()}
        found[node] = _Sort(len(items), shared, counted, most)
    return found


def _bound(levels: Sequence[Sequence[_Level]], here: Mapping[_Key, _Sort], devices: int) -> int:
    """Return the sum, over the requests, of the ways to come to it times the cost of what is looked at there."""
    total, ways = 0, 1
    for level in levels:
        more = 0
        for way in level:
            own = here.get(way.key)
            free = 0 if own is None else own.count if own.shared else max(0, own.count - way.before)
            total += ways * SCANNED * devices
            if own is None or not free:
                continue
            cost = way.cost + (COUNTED if own.counted or own.shared else 0)
            if way.everything:
                total, more = total + ways * free * cost, more + ways
                continue
            same = min(own.most.get(way.tied, 0), free) if way.tied else free
            # no more than `same` can be taken, however many are asked for
            looks = sum(comb(same, taken) for taken in range(min(way.count, same + 1)))
            total += ways * looks * (free * cost + SCANNED * devices)
            more += ways * comb(same, way.count)
        ways = more
    return total
