"""Numbered requests: how drawn counts become requests of their own, named, ordered, on different devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding, Severity
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import PoolDevice, devices_on, gather_pools
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    ExactDeviceRequest,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import capacity_left, capacity_use
from dra_lab.model.names import split_request
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease, gates_of
from dra_lab.model.sketch import MAX_DEVICES, Ask, ClaimSketch, Link, asks
from dra_lab.sketch.cel_text import names_one_device
from dra_lab.sketch.cluster_candidates import Candidates, candidates, common_kind, reference_candidates
from dra_lab.sketch.object_names import ObjectNames


class WrittenRequest(Struct, frozen=True):
    """A link that is written, with its attribute; `groups` is 1 except for pairwise links.

    `everywhere` is False where some of the devices that it ties lack the attribute.
    """

    link: Link
    attribute: str
    groups: int = 1
    everywhere: bool = True

    @property
    def soft(self) -> bool:
        """Say whether it becomes alternatives."""
        return not self.link.must


class NumberedRequest(Struct, frozen=True):
    """A request that is written: `count` devices of the drawn request `of`, from its device number `start` on.

    `count` is 0 for a request that is not cut (its own counts stay).
    """

    name: str
    of: str
    start: int = 0
    count: int = 0


class NumberedRequests(Struct, frozen=True):
    """All written requests in order, and which of them are meant by a link's end."""

    order: tuple[NumberedRequest, ...]
    by_request: Mapping[str, tuple[NumberedRequest, ...]]
    counts: Mapping[str, int]

    def group(self, written: WrittenRequest, end: str, index: int) -> tuple[NumberedRequest, ...]:
        """Return the numbered requests of a link's end that belong to one group of it."""
        request = split_request(end)[0]
        numbered = self.by_request[request]
        if written.groups == 1:
            return numbered
        share = self.counts[request] // written.groups
        return tuple(one for one in numbered if index * share <= one.start < (index + 1) * share)


def cuttable_count(request: DeviceRequest) -> int:
    """Return the number of devices of a request that may be numbered, else 0.

    All has no number; of a request with alternatives every numbered part would choose an alternative of its own,
    which is not what was drawn, so it can only stay whole.
    """
    counts = {0 if ask.all_devices else ask.count for ask in asks(request)}
    count = counts.pop() if len(counts) == 1 else 0
    return count if count == 1 or len(request.first_available) < 2 else 0


def cut(sketch: ClaimSketch, links: Iterable[WrittenRequest], release: KubernetesRelease) -> NumberedRequests:
    """Split requests as far as the links need it, name the parts and put them in order.

    Requests stay as drawn where no link needs a cut. A pairwise link cuts at its groups. Up to 1.36,
    `distinctAttribute` compares only one device of a request, so its requests have a count of 1 there
    (docs/semantics.md 3.9.18). The partners of a preference have a count of 1, because after the fallback a constraint
    still applies among them. Groups of pairwise links follow one another, so that kube-scheduler notices early that a
    device has no partner. For 8 must-pairs on a node that lacks one NIC, its search is 14 times shorter than with all
    GPUs first. Everything else keeps the order of the drawing.
    """
    written = tuple(links)
    counts = {request.name: cuttable_count(request) for request in sketch.requests}
    sizes = {request.name: 0 for request in sketch.requests}
    rank = _ranks(sketch, written)
    for item in written:
        _cut_for(item, sizes, counts, rank, release)
    _cut_partners(written, sizes, counts, rank)
    names = ObjectNames(sizes)
    by_request: dict[str, tuple[NumberedRequest, ...]] = {}
    for request in sketch.requests:
        size, count = sizes[request.name], counts[request.name]
        if not size or size == count:
            by_request[request.name] = (NumberedRequest(request.name, request.name),)
        else:
            numbered = names.series(request.name, count // size)
            by_request[request.name] = tuple(
                NumberedRequest(name, request.name, index * size, size) for index, name in enumerate(numbered)
            )

    def key(one: NumberedRequest) -> tuple[int, Fraction, int]:
        component, index = rank[one.of]
        return component, Fraction(one.start, counts[one.of] or 1), index

    every = [one for numbered in by_request.values() for one in numbered]
    return NumberedRequests(tuple(sorted(every, key=key)), by_request, counts)


def first_end(link: Link, rank: Mapping[str, tuple[int, int]]) -> str:
    """Return the end of a link whose request is written first."""
    return min(link.requests, key=lambda end: rank[split_request(end)[0]])


def _ranks(sketch: ClaimSketch, written: Iterable[WrittenRequest]) -> dict[str, tuple[int, int]]:
    """Return, per request, (index of the first request of its component of pairwise links, its own index)."""
    index = {request.name: number for number, request in enumerate(sketch.requests)}
    component = dict(index)
    for item in written:
        if item.link.kind.paired:
            joined = {component[split_request(end)[0]] for end in item.link.requests}
            component = {name: min(joined) if c in joined else c for name, c in component.items()}
    return {name: (component[name], index[name]) for name in index}


def _cut_for(
    item: WrittenRequest,
    sizes: dict[str, int],
    counts: Mapping[str, int],
    rank: Mapping[str, tuple[int, int]],
    release: KubernetesRelease,
) -> None:
    head = first_end(item.link, rank)
    single = item.link.kind.distinct and (item.soft or not release.is_at_least("1.37"))
    for end in item.link.requests:
        name = split_request(end)[0]
        if single or (item.soft and end != head):
            _refine(sizes, counts, name, 1)
        elif item.link.kind.paired:
            _refine(sizes, counts, name, counts[name] // item.groups)


def _cut_partners(
    written: Iterable[WrittenRequest],
    sizes: dict[str, int],
    counts: Mapping[str, int],
    rank: Mapping[str, tuple[int, int]],
) -> None:
    """Cut a preference's head to single devices where another link cuts it inside a group: the rest are partners."""
    before: dict[str, int] = {}
    while before != sizes:
        before = dict(sizes)
        for item in written:
            name = split_request(first_end(item.link, rank))[0]
            if item.soft and 0 < sizes[name] < counts[name] // item.groups:
                _refine(sizes, counts, name, 1)


def _refine(sizes: dict[str, int], counts: Mapping[str, int], name: str, size: int) -> None:
    if counts[name] and size:
        sizes[name] = gcd(sizes[name] or counts[name], size)


_FIRST_NODES = 20


class Expansion(Struct, frozen=True):
    """A drawing after expansion; `origin` maps every request of it to the request of the drawing that it came from."""

    sketch: ClaimSketch
    origin: Mapping[str, str]


def expand(sketch: ClaimSketch, cluster: Cluster, release: KubernetesRelease | None = None) -> Expansion:
    """Split CPU requests that are larger than any shareable CPU device, and say where each part came from.

    A request for N CPUs has an exact count of 1 and one capacity key. If N exceeds the total of every matching device,
    it becomes k numbered requests of N/k. k is the smallest divisor of N for which N/k fits into a device. Links and
    configurations of the request then name all parts, so a link that demands one NUMA node for it correctly cannot be
    satisfied. A request that no k helps stays as it is. What is in use does not matter here, so that the drawing means
    the same on a busy and on an idle cluster. Why the parts cannot land on one device: together they are larger than
    any. `release` decides which devices match; without it, the cluster's own. Rules: docs/semantics.md 3.11.3, 3.11.5.
    """
    release = cluster.target_release(release)
    names = ObjectNames(request.name for request in sketch.requests)
    parts: dict[str, tuple[DeviceRequest, ...]] = {}
    for request in sketch.requests:
        amounts = _parts_of(request, cluster, release)
        if amounts is None:
            parts[request.name] = (request,)
        else:
            key, amount, count = amounts
            parts[request.name] = tuple(_part(request, n, key, amount) for n in names.series(request.name, count))
    origin = {part.name: name for name, made in parts.items() for part in made}
    if all(len(made) == 1 for made in parts.values()):
        return Expansion(sketch, origin)
    expanded = replace(
        sketch,
        requests=tuple(part for made in parts.values() for part in made),
        links=tuple(_retied(link, parts) for link in sketch.links),
        config=tuple(_reconfigured(config, parts) for config in sketch.config),
    )
    return Expansion(expanded, origin)


def _parts_of(request: DeviceRequest, cluster: Cluster, release: KubernetesRelease) -> tuple[str, Fraction, int] | None:
    """Return (capacity key, amount of a part, number of parts), or None where the request stays as it is."""
    ask = asks(request)[0]
    if request.exactly is None or ask.all_devices or ask.count != 1 or len(ask.capacity) != 1:
        return None
    ((key, text),) = ask.capacity.items()
    if _is_enough_soon(ask, cluster, release, key, parse_quantity(text)):
        return None
    able = [d for d in candidates(cluster, ask, release).devices if key in d.device.capacity]
    devices = [d for d in able if d.device.allow_multiple_allocations]
    totals = [parse_quantity(d.device.capacity[key].value) for d in devices]
    wanted = parse_quantity(text)
    # A dedicated device that is large enough serves the request as it is.
    enough = any(wanted <= parse_quantity(d.device.capacity[key].value) for d in able)
    if not totals or enough or common_kind(cluster, devices) != "cpu":
        return None
    for count in range(2, MAX_DEVICES + 1):
        amount = wanted / count
        # CPUs are whole; a request of half a CPU more would be rounded by no driver that we know
        if amount.denominator == 1 and amount <= max(totals):
            return key, amount, count
    return None


def _is_enough_soon(ask: Ask, cluster: Cluster, release: KubernetesRelease, key: str, wanted: Fraction) -> bool:
    """Return whether a device of the first nodes is large enough, so that the other nodes need no check."""
    matching = node_index(cluster, release).matching
    return any(
        matching.match(ask, item.driver, item.device) and parse_quantity(item.device.capacity[key].value) >= wanted
        for name in cluster.node_names[:_FIRST_NODES]
        for item in devices_on(gather_pools(cluster, name))
        if key in item.device.capacity
    )


def _part(request: DeviceRequest, name: str, key: str, amount: Fraction) -> DeviceRequest:
    exactly: ExactDeviceRequest | None = request.exactly
    assert exactly is not None
    capacity = CapacityRequirements(requests={key: format_quantity(amount)})
    return replace(request, name=name, exactly=replace(exactly, capacity=capacity))


def _names(reference: str, parts: Mapping[str, tuple[DeviceRequest, ...]]) -> tuple[str, ...]:
    made = parts.get(split_request(reference)[0], ())
    return tuple(part.name for part in made) if len(made) > 1 else (reference,)


def _retied(link: Link, parts: Mapping[str, tuple[DeviceRequest, ...]]) -> Link:
    return replace(link, requests=tuple(name for r in link.requests for name in _names(r, parts)))


def _reconfigured(
    config: DeviceClaimConfiguration, parts: Mapping[str, tuple[DeviceRequest, ...]]
) -> DeviceClaimConfiguration:
    return replace(config, requests=tuple(name for r in config.requests for name in _names(r, parts)))


def kept_different(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    numbered_requests: NumberedRequests,
    constraints: Sequence[DeviceConstraint],
    most: int,
) -> tuple[tuple[DeviceConstraint, ...], tuple[Finding, ...]]:
    """Return what keeps the numbered requests of a drawn count on different devices, and where nothing does.

    A count means different devices; requests of their own may get shares of one device (docs/semantics.md 3.11.5).
    If two of them fit on one device, a distinctAttribute names an attribute that differs between all devices that a
    node sees. One of `constraints` may do so already. At most `most` more constraints are written. A Finding
    reports a claim for which this is not possible. What is in use does not matter: the drawing means the same on a busy
    and on an idle cluster.
    """
    if not release.enabled("DRAConsumableCapacity"):
        return (), ()
    found: list[DeviceConstraint] = []
    findings: list[Finding] = []
    for request in sketch.requests:
        numbered = numbered_requests.by_request[request.name]
        if len(numbered) < 2 or _is_distinct(numbered, constraints):
            continue
        if not any(_is_shared(ask, cluster, release) for ask in asks(request)):
            continue
        name = _telling(reference_candidates(cluster, sketch, request.name, release)) if len(found) < most else ""
        if name:
            ends = tuple(one.name for one in numbered)
            found.append(DeviceConstraint(requests=ends, distinct_attribute=name))
        if not name or (_compares_last_only(release) and any(one.count > 1 for one in numbered)):
            findings.append(_not_distinguished(request.name, numbered))
    return tuple(found), tuple(findings)


def _is_distinct(numbered: Iterable[NumberedRequest], constraints: Iterable[DeviceConstraint]) -> bool:
    """Say whether a constraint refuses one device to two of the parts: its values equal themselves.

    Rule: docs/semantics.md 3.9.19.
    """
    names = {one.name for one in numbered}
    return any(
        constraint.match_attribute is None and names <= set(constraint.requests)
        for constraint in constraints
        if constraint.distinct_attribute is not None
    )


def _is_shared(ask: Ask, cluster: Cluster, release: KubernetesRelease) -> bool:
    """Say whether two of an ask fit on some device of the cluster if nothing else uses it."""
    shapes = candidates(cluster, ask, release).shapes
    for device, driver in ((s.example, s.driver) for s in shapes if s.example.allow_multiple_allocations):
        use = capacity_use(device, ask.capacity, gates_of(release), driver)
        if use is not None and capacity_left(device, use, use):
            return True
    return False


def _telling(meant: Candidates) -> str:
    """Return the attribute, by its full name, that differs between all devices of every node; "" for none.

    One that names devices comes before one that merely differs.
    """
    names = sorted(meant.attributes, key=lambda name: (not names_one_device(name), name))
    return next((name for name in names if _differs(name, meant.devices)), "")


def _differs(name: str, items: Iterable[PoolDevice]) -> bool:
    """Say whether no two devices that one node may see have the same value; a list has no one value."""
    seen: dict[tuple[str, object], set[str]] = {}
    for item in items:
        attribute = item.device.lookup(name, item.driver)
        if attribute is None or attribute.is_list:
            return False
        # A device that is not tied to one node may be seen by any.
        node, nodes = item.slice.spec.node_name or "", seen.setdefault((attribute.kind, attribute.value), set())
        if node in nodes or (nodes and (not node or "" in nodes)):
            return False
        nodes.add(node)
    return True


def _compares_last_only(release: KubernetesRelease) -> bool:
    return not release.is_at_least("1.37")  # of a request with several devices (docs/semantics.md 3.9.18)


def _not_distinguished(request: str, numbered: Sequence[NumberedRequest]) -> Finding:
    names = f"{numbered[0].name} to {numbered[-1].name}"
    message = (
        f"the manifest splits it into {names}, and kube-scheduler may allocate shares of one device to several of them"
    )
    advice = "Remove the preference or one-to-one link that splits it, or request more than half of a device."
    return Finding("count-may-share", Severity.WARNING, request, message, advice)
