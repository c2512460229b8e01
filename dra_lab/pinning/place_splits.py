"""Requests in parts, one per NUMA node, each selected by values that its devices publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dra_lab.model.claims import DeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.pinning.claim_edits import Edited, selected
from dra_lab.pinning.pin_budget import PinSizes
from dra_lab.pinning.planned_devices import Planned
from dra_lab.sketch.cluster_candidates import all_devices
from dra_lab.sketch.numa_selectors import selector_at
from dra_lab.sketch.object_names import ObjectNames
from dra_lab.topology.locality import localities

Value = int | str


@dataclass(frozen=True)
class SplitPart:
    """A part of a request: the number of devices, their NUMA nodes, and the CEL text that selects them."""

    count: int
    values: tuple[Value, ...]
    text: str


PlaceSplit = Mapping[str, tuple[SplitPart, ...]]
"""Parts by request, in place of the request."""


def place_splits(cluster: Cluster, sketch: ClaimSketch, planned: Planned, sizes: PinSizes) -> Iterator[PlaceSplit]:
    """Yield parts by request that distribute a claim over NUMA nodes as planned replicas are.

    The values are those that the devices publish on every node, so that no node affinity is needed. First come the
    patterns of the plan, the most frequent one first, then requests apart from each other on more NUMA nodes than they
    use: each takes its own share of them.
    """
    exact = {r.name for r in sketch.requests if r.exactly and not r.exactly.admin_access}
    every = cluster.node_names if len(cluster.node_names) <= sizes.nodes else planned.nodes
    for nodes in dict.fromkeys((tuple(every), planned.nodes)):
        places = {d: p.numa_node.value for n in nodes for d, p in localities(cluster, n).items() if p.numa_node}
        texts = _Texts(cluster, places, nodes)
        found = [
            split
            for wanted in (*_patterns(planned, places, exact, sizes.patterns), *_shares(sketch, planned, places, exact))
            if (split := texts.split(wanted, planned))
        ]
        if found:
            yield from found
            return


def with_parts(sketch: ClaimSketch, *, split: PlaceSplit) -> Edited | None:
    """Return a drawing with parts in place of its requests, and the request that each of them is a part of.

    A link that all devices must be apart on NUMA nodes is left out where the parts are: no constraint needs to say it.
    None if an earlier pin has parts or alternatives in place of a request.
    """
    if not {request.name for request in sketch.requests if request.exactly is not None}.issuperset(split):
        return None
    names = ObjectNames(request.name for request in sketch.requests)
    made: dict[str, tuple[DeviceRequest, ...]] = {}
    for request in sketch.requests:
        parts = split.get(request.name, ())
        own = names.series(request.name, len(parts)) if len(parts) > 1 else (request.name,)
        made[request.name] = tuple(_part(request, n, p) for n, p in zip(own, parts, strict=False)) or (request,)
    links = tuple(part for link in sketch.links for part in _links(link, split, made))
    requests = tuple(part for parts in made.values() for part in parts)
    config = tuple(
        replace(one, requests=tuple(part.name for name in one.requests for part in made.get(name, ())) or one.requests)
        for one in sketch.config
    )
    origin = {part.name: name for name, parts in made.items() for part in parts if part.name != name}
    return replace(sketch, requests=requests, links=links, config=config), origin


def words(split: PlaceSplit) -> str:
    """Return the parts as a person reads them."""
    parts = [f"{name}: {part.count} with {part.text}" for name, found in split.items() for part in found]
    return "one request per NUMA node: " + "; ".join(parts)


class _Texts:
    """The CEL texts that select the devices of a driver on a NUMA node."""

    def __init__(self, cluster: Cluster, places: Mapping[DeviceID, Value], nodes: Sequence[str]) -> None:
        self._cluster, self._nodes = cluster, nodes
        self._devices = {item.id: item for item in all_devices(cluster) if item.id in places}
        self._known: dict[tuple[str, Value], str] = {}

    def split(self, wanted: Mapping[str, Sequence[tuple[int, tuple[Value, ...]]]], planned: Planned) -> PlaceSplit:
        """Return the parts with their texts, {} where a driver publishes nothing that tells the NUMA nodes apart."""
        found = {}
        for name, parts in wanted.items():
            drivers = {device.driver for device in planned.devices[name]}
            if len(drivers) != 1:
                return {}
            (driver,) = drivers
            texts = [" || ".join(filter(None, (self._text(driver, v) for v in values))) for _, values in parts]
            if not all(texts):
                return {}
            found[name] = tuple(SplitPart(count, values, t) for (count, values), t in zip(parts, texts, strict=True))
        return found

    def _text(self, driver: str, value: Value) -> str:
        if (driver, value) not in self._known:
            same = {device: item for device, item in self._devices.items() if item.driver == driver}
            text = selector_at(self._cluster, same, value, self._nodes)
            self._known[driver, value] = text[0] if text else ""
        return self._known[driver, value]


_Wanted = Mapping[str, Sequence[tuple[int, tuple[Value, ...]]]]


def _patterns(planned: Planned, places: Mapping[DeviceID, Value], exact: set[str], most: int) -> Iterator[_Wanted]:
    """Yield how many devices of each request planned replicas have on which NUMA node, the most frequent first."""
    found: Counter[tuple[tuple[str, tuple[tuple[str, Value, int], ...]], ...]] = Counter()
    for replica in planned.replicas:
        rows: list[tuple[str, tuple[tuple[str, Value, int], ...]]] = []
        for name, devices in replica.items():
            if name in exact and devices and all(device in places for device in devices):
                counted = Counter(places[device] for device in devices)
                rows.append((name, tuple(sorted((str(value), value, count) for value, count in counted.items()))))
        found[tuple(rows)] += 1
    for pattern, _ in found.most_common(most):
        if len({part[1] for _, parts in pattern for part in parts}) > 1:
            yield {name: [(count, (value,)) for _, value, count in parts] for name, parts in pattern}


def _shares(
    sketch: ClaimSketch, planned: Planned, places: Mapping[DeviceID, Value], exact: set[str]
) -> Iterator[_Wanted]:
    """Yield the NUMA nodes shared out to the devices of a link that keeps them apart, one share for each device."""
    for link in sketch.links:
        ends = [split_request(end)[0] for end in link.requests]
        if link.how is not How.APART or link.where != "numaNode" or not exact.issuperset(ends):
            continue
        parts = {r.name: r.exactly for r in sketch.requests}
        slots = [end for end in ends if (part := parts[end]) for _ in range(min(part.count, len(places)))]
        drivers = {device.driver for end in ends for device in planned.devices[end]}
        values = sorted({value for device, value in places.items() if device.driver in drivers}, key=str)
        if 1 < len(slots) < len(values):
            shares: dict[str, list[tuple[int, tuple[Value, ...]]]] = {end: [] for end in ends}
            for number, end in enumerate(slots):
                shares[end].append((1, tuple(values[number :: len(slots)])))
            yield shares


def _part(request: DeviceRequest, name: str, part: SplitPart) -> DeviceRequest:
    assert request.exactly is not None
    return replace(request, name=name, exactly=selected(replace(request.exactly, count=part.count), part.text))


def _links(link: Link, split: PlaceSplit, made: Mapping[str, tuple[DeviceRequest, ...]]) -> Iterator[Link]:
    """Yield what becomes of a link: nothing, the same with parts as its ends, or one for each NUMA node."""
    ends = [split_request(end)[0] for end in link.requests]
    if not any(end in split for end in ends):
        yield link
        return
    parts = [part for end in ends for part in split.get(end, ())]
    values = [value for part in parts for value in part.values]
    single = all(part.count == 1 for part in parts) and len(values) == len(set(values))
    if link.how is How.APART and link.where == "numaNode" and single and all(end in split for end in ends):
        return
    several = [end for end in ends if len(made[end]) > 1]
    if link.kind.paired and several and all(end in split for end in ends):
        names = ObjectNames(())
        for number, part in enumerate(split[several[0]]):
            own = [made[end][k].name for end in ends for k, p in enumerate(split[end]) if p.values == part.values]
            if len(own) == len(ends):
                yield replace(link, name=names.one(f"{link.name}-{number}"), requests=tuple(own))
        return
    renamed = (
        tuple(part.name for part in made[end]) if len(made[end]) > 1 else (reference,)
        for reference, end in zip(link.requests, ends, strict=True)
    )
    yield replace(link, requests=tuple(name for names in renamed for name in names))
