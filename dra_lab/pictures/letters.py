"""The letter and the colour of each request: the same on the canvas, on the picture, in tables and in the YAML."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from msgspec import Struct

from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.placement import FirstFit
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.trace import Trace
from dra_lab.words.trace_words import Sign


class Colour(Struct, frozen=True):
    """A fill and the colour of text on it (contrast of at least 4.5:1), both as `#rrggbb`."""

    name: str
    fill: str
    text: str


PALETTE: tuple[Colour, ...] = (
    Colour("blue", "#0072b2", "#ffffff"),
    Colour("vermilion", "#d55e00", "#000000"),
    Colour("green", "#009e73", "#000000"),
    Colour("purple", "#cc79a7", "#000000"),
    Colour("orange", "#e69f00", "#000000"),
    Colour("sky", "#56b4e9", "#000000"),
    Colour("yellow", "#f0e442", "#000000"),
)
"""The colours of Okabe and Ito ("Color Universal Design", 2008) without black, which is the ink of the light theme."""


def letter(index: int) -> str:
    """Return A to Z for 0 to 25, then AA, AB, ...; raises ValueError below 0."""
    if index < 0:
        raise ValueError(f"{index} is below 0; the first request has the index 0")
    text = ""
    while index >= 0:
        text = chr(ord("A") + index % 26) + text
        index = index // 26 - 1
    return text


def letters(sketch: ClaimSketch) -> Mapping[str, str]:
    """Return the letter of every request by its name, in the order of the drawing."""
    return {request.name: letter(index) for index, request in enumerate(sketch.requests)}


def colours(sketch: ClaimSketch) -> Mapping[str, Colour]:
    """Return the colour of every request by its name; after seven requests they repeat, the letters do not."""
    return {request.name: PALETTE[index % len(PALETTE)] for index, request in enumerate(sketch.requests)}


def numbers(requests: Mapping[DeviceID, str]) -> Mapping[DeviceID, int]:
    """Return which device of its request each device is, from 1, in their order: 2 for the device A2."""
    seen: Counter[str] = Counter()
    found = {}
    for device, reference in requests.items():
        request = split_request(reference)[0]
        seen[request] += 1
        found[device] = seen[request]
    return found


def request_signs(sketch: ClaimSketch, trace: Trace[FirstFit]) -> Mapping[tuple[str, str], Sign]:
    """Return the letter of every request of a trace, by claim and request, and which devices of the letter it has."""
    parts: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for claim, written in dict.fromkeys([*trace.origin, *(row.where for row in trace.rows if row.request)]):
        drawn = split_request(trace.drawn(claim, written))[0]
        parts[drawn][claim, split_request(written)[0]] = None
    found: dict[tuple[str, str], Sign] = {}
    for request in sketch.requests:
        own = parts.get(request.name, {})
        wanted = min((ask.count or 0 for ask in asks(request)), default=0)
        count = max(1, wanted // len(own)) if own else 1
        sign = letters(sketch)[request.name]
        found |= {where: Sign(sign, count, at * count) for at, where in enumerate(own)}
    return found
