"""How many candidates kube-scheduler tries at most on a node, whatever is in use there: proven without a search."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb

from dra_lab.authoring.candidates import candidates
from dra_lab.authoring.compile import compile_claim
from dra_lab.model.claims import DeviceConstraint, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks, covers
from dra_lab.scheduler.gates import gates_of

_Key = tuple[str, tuple[str, ...]]
"""Class and selectors: requests with the same are served by the same devices."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One way to serve a request: how many devices, of which sort, tied by which attribute to a device before ("")."""

    key: _Key
    count: int
    everything: bool
    before: int
    tied: str


def most_steps(drawn: Sequence[ClaimSketch], cluster: Cluster, release: KubernetesRelease) -> Mapping[str, int]:
    """Return an upper bound of the steps of a search for a pod's claims, by node; nothing where none is known.

    A request of n devices has at most as many ways as n of the node's devices can be chosen for it, fewer where a
    constraint ties it to a device that is placed before: then all have one value of an attribute. Devices that requests
    of the same sort hold are no candidates. What is in use only takes candidates away, and a result ends the search
    sooner, so the bound holds in every state of the node. Nodes that share devices have none, and none of a cluster has
    one where a release gathers pools with counters in another way than 1.36 does, as which they are counted here.
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
    known: dict[object, int] = {}
    found = {}
    for name in cluster.node_names:
        here = {key: by_node[name] for key, by_node in sorts.items() if name in by_node}
        state = tuple(own and (own.count, own.shared, *sorted(own.most.items())) for own in map(here.get, sorts))
        if state not in known:
            known[state] = _bound(levels, here)
        found[name] = known[state]
    return found


@dataclass(frozen=True, slots=True)
class _Sort:
    """A node's devices of one sort: their number, whether a device serves several, the most that share a value."""

    count: int
    shared: bool
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
    alike = sum(min(_taken(other, key) for other in ways) for ways in before)
    tied = [
        c.match_attribute
        for c in constraints
        if c.match_attribute and not lists and _covered(c, way) and any(all(_covered(c, o) for o in w) for w in before)
    ]
    return _Level(key, way.count, way.all_devices, alike, tied[0] if tied else "")


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
        found[node] = _Sort(len(items), shared, {full: max(counts.values()) for full, counts in values.items()})
    return found


def _bound(levels: Sequence[Sequence[_Level]], here: Mapping[_Key, _Sort]) -> int:
    """Return the sum, over the requests, of the ways to come to it times the candidates that are tried there."""
    total, ways = 0, 1
    for level in levels:
        more = 0
        for way in level:
            own = here.get(way.key)
            free = 0 if own is None else own.count if own.shared else max(0, own.count - way.before)
            if own is None or not free:
                continue
            if way.everything:
                total, more = total + ways * free, more + ways
                continue
            same = min(own.most.get(way.tied, 0), free) if way.tied else free
            total += ways * sum(free * comb(same, taken) for taken in range(way.count))
            more += ways * comb(same, way.count)
        ways = more
    return total
