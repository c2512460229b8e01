"""Numbered requests: how the drawn counts are cut into requests of their own, how those are named and ordered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import gcd

from msgspec import Struct

from dra_lab.model.claims import DeviceRequest
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link, asks
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
