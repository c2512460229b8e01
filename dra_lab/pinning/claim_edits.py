"""What a pin changes in the drawing of a claim, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.names import split_request
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.sketch.compile_links import alternative

Edited = tuple[ClaimSketch, Mapping[str, str]]
"""A changed drawing, and the drawn reference of each reference that is new (`pod_kinds.Parts`)."""

Edit = Callable[[ClaimSketch], Edited | None]
"""Returns a changed drawing; None where an earlier pin has something else in place of what it changes."""


def in_order(sketch: ClaimSketch, *, order: Sequence[str]) -> Edited:
    """Return a drawing with its requests in another order, those that are not named last."""
    place = {name: number for number, name in enumerate(order)}
    requests = sorted(sketch.requests, key=lambda request: place.get(request.name, len(place)))
    return replace(sketch, requests=tuple(requests)), {}


def with_must(sketch: ClaimSketch, *, name: str) -> Edited:
    """Return a drawing in which a preferred link is a must."""
    links = tuple(replace(link, must=True) if link.name == name else link for link in sketch.links)
    return replace(sketch, links=links), {}


def with_link(sketch: ClaimSketch, *, link: Link) -> Edited | None:
    """Return a drawing with a further link; None if one of its ends is not there any more."""
    if not {request.name for request in sketch.requests}.issuperset(link.requests):
        return None
    return replace(sketch, links=(*sketch.links, link)), {}


def with_one_alternative(sketch: ClaimSketch, *, name: str, kept: str) -> Edited | None:
    """Return a drawing with one alternative of a request; links lose the ends that name another one.

    A link goes where too few ends are left. None if the alternative is not there any more.
    """
    subs = {sub.name: sub for request in sketch.requests if request.name == name for sub in request.first_available}
    if kept not in subs:
        return None
    gone = {f"{name}/{other}" for other in subs if other != kept}
    links = []
    for link in sketch.links:
        ends = tuple(end for end in link.requests if end not in gone)
        if ends == link.requests or len(ends) >= link.kind.least_ends:
            links.append(replace(link, requests=ends))
    changed = _with_requests(sketch, {name: replace(sketch.request(name), first_available=(subs[kept],))})
    return replace(changed, links=tuple(links)), {}


def with_selectors(sketch: ClaimSketch, *, texts: Mapping[str, str]) -> Edited:
    """Return a drawing in which requests, or all their alternatives, have a further selector each."""
    changed = {}
    for request in (request for request in sketch.requests if request.name in texts):
        text = texts[request.name]
        exactly = request.exactly and selected(request.exactly, text)
        subs = tuple(selected(sub, text) for sub in request.first_available)
        changed[request.name] = replace(request, exactly=exactly, first_available=subs)
    return _with_requests(sketch, changed), {}


def with_alternatives(sketch: ClaimSketch, *, texts: Mapping[str, Sequence[tuple[str, str]]]) -> Edited | None:
    """Return a drawing with alternatives in place of requests.

    `texts` has, by request, the drawn alternative ("" for a request without) and the selector of each. None where a
    link or a configuration names an alternative, in place of which there would be several, or where an earlier pin has
    parts in place of a request or keeps another alternative.
    """
    ends = {end for link in sketch.links for end in link.requests}
    ends |= {end for entry in sketch.config for end in entry.requests}
    if any("/" in end and split_request(end)[0] in texts for end in ends):
        return None
    requests = {request.name: request for request in sketch.requests}
    changed: dict[str, DeviceRequest] = {}
    origin: dict[str, str] = {}
    for name, own in texts.items():
        if name not in requests:
            return None
        exactly, drawn = requests[name].exactly, {sub.name: sub for sub in requests[name].first_available}
        subs = []
        for number, (of, text) in enumerate(own):
            part = drawn.get(of) if of else exactly
            if part is None:
                return None
            made = f"{of}-place-{number}".lstrip("-")
            origin |= {f"{name}/{made}": f"{name}/{of}"} if of else {}
            subs.append(selected(alternative(part, made), text))
        changed[name] = replace(requests[name], exactly=None, first_available=tuple(subs))
    return _with_requests(sketch, changed), origin


_P = TypeVar("_P", ExactDeviceRequest, DeviceSubRequest)


def selected(part: _P, text: str) -> _P:
    """Return what is requested with a further selector."""
    selector = DeviceSelector(cel=CELDeviceSelector(expression=text))
    return replace(part, selectors=(*part.selectors, selector))


def _with_requests(sketch: ClaimSketch, changed: Mapping[str, DeviceRequest]) -> ClaimSketch:
    return replace(sketch, requests=tuple(changed.get(request.name, request) for request in sketch.requests))
