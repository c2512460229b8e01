"""Drawings with some of their parts, as reasons name them: requests, selectors of requests, and required links."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from dra_lab import ClaimSketch, How
from dra_lab.model.claims import DeviceRequest
from dra_lab.model.reasons import Element
from dra_lab.model.sketch import asks


def elements(sketch: ClaimSketch) -> tuple[Element, ...]:
    """Return the parts of a drawing that can stand in its way."""
    links = [Element("link", link.name) for link in sketch.links if link.must]
    requests = [Element("request", request.name) for request in sketch.requests]
    selectors = [
        Element("selector", ask.reference, text, position)
        for request in sketch.requests
        for ask in asks(request)
        for position, text in enumerate(ask.selectors)
    ]
    return (*links, *selectors, *requests)


def only(sketch: ClaimSketch, kept: Collection[Element]) -> ClaimSketch:
    """Return a drawing with some of its parts; a link keeps the ends that are left, if they are enough for it."""
    left = {(element.kind, element.subject) for element in kept}
    texts = {(element.subject, element.position) for element in kept if element.kind == "selector"}
    names = {name for kind, name in left if kind == "request"}
    requests = tuple(_selected(request, texts) for request in sketch.requests if request.name in names)
    tied = [
        replace(link, requests=tuple(end for end in link.requests if end.split("/")[0] in names))
        for link in sketch.links
        if ("link", link.name) in left
    ]
    links = tuple(link for link in tied if len(link.requests) >= (2 if link.how is How.PAIRWISE else 1))
    return ClaimSketch(sketch.name, requests, links)


def _selected(request: DeviceRequest, texts: Collection[tuple[str, int]]) -> DeviceRequest:
    def part(reference: str, one):
        return replace(one, selectors=tuple(s for at, s in enumerate(one.selectors) if (reference, at) in texts))

    if request.exactly is not None:
        return replace(request, exactly=part(request.name, request.exactly))
    subs = tuple(part(f"{request.name}/{sub.name}", sub) for sub in request.first_available)
    return replace(request, first_available=subs)
