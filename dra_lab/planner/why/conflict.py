"""The smallest set of requests, selectors and links that cannot hold together, found by leaving out and trying."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any

from msgspec.structs import replace

from dra_lab.model.claims import DeviceRequest
from dra_lab.model.names import split_request
from dra_lab.model.reasons import Conflict, Element
from dra_lab.model.sketch import ClaimSketch, Link, asks
from dra_lab.sketch.links import link_words

AnyPart = Any
"""An ExactDeviceRequest or a DeviceSubRequest: what is changed stays of its kind."""

Fits = Callable[[ClaimSketch], bool | None]
"""Says whether a drawing fits, None where that is not known."""


def elements(sketch: ClaimSketch) -> tuple[Element, ...]:
    """Return the parts of a drawing that can stand in its way: must-links, the requests' own selectors, requests."""
    links = [Element("link", link.name, link_words(link)) for link in sketch.links if link.must]
    selectors = [
        Element("selector", ask.reference, text, position)
        for request in sketch.requests
        for ask in asks(request)
        for position, text in enumerate(ask.selectors)
    ]
    return (*links, *selectors, *(Element("request", request.name) for request in sketch.requests))


def only(sketch: ClaimSketch, kept: Collection[Element]) -> ClaimSketch:
    """Return a drawing with only some of its elements; preferences and configuration are left out.

    A link or selector of a request that is gone goes with it; a pairwise link that ties fewer than two requests, too.
    """
    names = {element.subject for element in kept if element.kind == "request"}
    links = {element.subject for element in kept if element.kind == "link"}
    texts = {(element.subject, element.position) for element in kept if element.kind == "selector"}
    requests = tuple(_filtered(request, texts) for request in sketch.requests if request.name in names)
    tied = (_retied(link, names) for link in sketch.links if link.name in links)
    return ClaimSketch(sketch.name, requests, tuple(link for link in tied if link is not None))


def _filtered(request: DeviceRequest, texts: Collection[tuple[str, int]]) -> DeviceRequest:
    def left(reference: str, part: AnyPart) -> AnyPart:
        written = [selector for selector in part.selectors if selector.cel is not None]
        return replace(part, selectors=tuple(s for at, s in enumerate(written) if (reference, at) in texts))

    return with_parts(request, left)


def with_parts(request: DeviceRequest, change: Callable[[str, AnyPart], AnyPart]) -> DeviceRequest:
    """Return a request with what it asks for, or each of its alternatives, changed; `change` gets the reference."""
    if request.exactly is not None:
        return replace(request, exactly=change(request.name, request.exactly))
    subs = tuple(change(f"{request.name}/{sub.name}", sub) for sub in request.first_available)
    return replace(request, first_available=subs)


def _retied(link: Link, names: Collection[str]) -> Link | None:
    tied = tuple(end for end in link.requests if split_request(end)[0] in names)
    if len(tied) < link.kind.least_ends:
        return None
    return replace(link, requests=tied)


def find_conflict(sketch: ClaimSketch, fits: Fits, tries: int, node: str = "") -> Conflict | None:
    """Return parts of a drawing that do not fit together though all but any one of them do; None where it fits.

    A deletion filter: each part is left out for good if the rest still does not fit. `smallest` is True when all
    smaller sets were tried as well, at most `tries` of them. A part that `fits` cannot decide counts as needed, and
    `minimal` is then False.
    """
    left, sure = list(elements(sketch)), True
    known: dict[frozenset[Element], bool | None] = {}

    def together(kept: Collection[Element]) -> bool | None:
        key = frozenset(kept)
        if key not in known:
            known[key] = fits(only(sketch, kept))
        return known[key]

    if together(left) is not False:
        return None
    for element in tuple(left):
        rest = [other for other in left if other != element]
        found = together(rest)
        if found is False:
            left = [other for other in rest if _has_its_request(other, rest)]
        sure = sure and found is not None
    # A request for all devices asks for more without its selectors: there the filter alone is no proof.
    sure = sure and all(together([o for o in left if o != element]) is True for element in left)
    smaller = _smaller(sketch, left, together, tries) if len(left) > 1 else tuple(left)
    if smaller is None or not sure:
        return Conflict(_ordered(left), node, sure)
    return Conflict(_ordered(smaller), node, minimal=True, smallest=True)


def _has_its_request(element: Element, rest: Sequence[Element]) -> bool:
    """Say whether a selector's request is still there."""
    request = split_request(element.subject)[0]
    return element.kind != "selector" or any(o.kind == "request" and o.subject == request for o in rest)


def _smaller(
    sketch: ClaimSketch,
    found: Sequence[Element],
    together: Callable[[Collection[Element]], bool | None],
    tries: int,
) -> tuple[Element, ...] | None:
    """Return a set with the fewest parts, `found` itself where none has fewer, None where there are too many to try."""
    every = elements(sketch)
    tried = 0
    for size in range(1, len(found)):
        for chosen in combinations(every, size):
            if not all(_closed(sketch, element, chosen) for element in chosen):
                continue
            tried += 1
            answer = together(chosen) if tried <= tries else None
            if answer is None:
                return None
            if answer is False:
                return chosen
    return tuple(found)


def _closed(sketch: ClaimSketch, element: Element, chosen: Sequence[Element]) -> bool:
    """Say whether the requests that a selector or link is about are chosen as well: without them it says nothing."""
    there = {other.subject for other in chosen if other.kind == "request"}
    if element.kind == "request":
        return True
    if element.kind == "selector":
        return split_request(element.subject)[0] in there
    link = next(link for link in sketch.links if link.name == element.subject)
    return any(split_request(end)[0] in there for end in link.requests)


def _ordered(found: Sequence[Element]) -> tuple[Element, ...]:
    order = {"request": 0, "selector": 1, "link": 2}
    return tuple(sorted(found, key=lambda element: (order[element.kind], element.subject, element.position)))
