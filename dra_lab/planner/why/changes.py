"""The single changes to a drawing that would help, each tried on the cluster, and the suggestions made of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
)
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.reasons import Relaxation, Suggestion
from dra_lab.model.sketch import LEVELS, Ask, ClaimSketch, Link, asks
from dra_lab.planner.why.conflicts import AnyPart, Trial, with_parts
from dra_lab.sketch.links import LEVEL_WORDS, link_words


def changes(sketch: ClaimSketch, taints: Mapping[str, Iterable[str]]) -> Iterator[Relaxation]:
    """Yield every single change, not tried yet, the least painful first.

    In this order: a must-link preferred, weakened to each coarser level; a taint tolerated (`taints` names the keys in
    the way of each request); one device or pair less, half the capacity; a selector left out.
    """
    for link in sketch.links:
        if link.must:
            yield from _link_changes(sketch, link)
    tolerations = {ask.reference: ask.tolerations for ask in _asks(sketch)}
    for request, keys in taints.items():
        for key in dict.fromkeys(keys):
            more = (*tolerations[request], DeviceToleration(key=key, operator="Exists"))
            title = f"Tolerate the taint {key!r} in {request}"
            yield Relaxation("taint", request, title, sketch=_with_part(sketch, request, tolerations=more))
    yield from _count_changes(sketch)
    yield from _capacity_changes(sketch)
    for ask in _asks(sketch):
        for position, text in enumerate(ask.selectors):
            rest = (other for at, other in enumerate(ask.selectors) if at != position)
            selectors = tuple(DeviceSelector(CELDeviceSelector(other)) for other in rest)
            title = f"Leave out the selector {text} of {ask.reference}"
            left = _with_part(sketch, ask.reference, selectors=selectors)
            yield Relaxation("selector", ask.reference, title, sketch=left)


def _asks(sketch: ClaimSketch) -> Iterator[Ask]:
    return (ask for request in sketch.requests for ask in asks(request))


def _link_changes(sketch: ClaimSketch, link: Link) -> Iterator[Relaxation]:
    def with_link(**members: Any) -> ClaimSketch:
        return replace(sketch, links=tuple(replace(o, **members) if o.name == link.name else o for o in sketch.links))

    words = link_words(link)
    yield Relaxation("link", link.name, f"Prefer {words} instead of requiring it", sketch=with_link(must=False))
    if link.is_level and link.kind.near:
        for level in LEVELS[LEVELS.index(link.where) + 1 :]:
            title = f"Relax {words} to the {LEVEL_WORDS[level]}"
            yield Relaxation("level", link.name, title, sketch=with_link(where=level))


def _count_changes(sketch: ClaimSketch) -> Iterator[Relaxation]:
    """Yield one device less of a request, or of all requests that are paired with it one group less."""
    done: set[str] = set()
    counts = {request.name: asks(request)[0].count for request in sketch.requests if request.exactly is not None}
    for name in counts:
        tied = _paired_with(sketch, name)
        if name in done or not all(end in counts for end in tied):
            continue
        done |= tied
        groups = min(counts[end] for end in tied)
        if groups < 2 or any(counts[end] % groups for end in tied):
            continue
        less = {end: counts[end] // groups * (groups - 1) for end in counts if end in tied}
        words = " and ".join(f"{end} ×{count}" for end, count in less.items())
        changed = sketch
        for end, count in less.items():
            changed = _with_part(changed, end, count=count)
        yield Relaxation("count", ", ".join(less), f"Ask for {words}", sketch=changed)


def _paired_with(sketch: ClaimSketch, name: str) -> set[str]:
    found, more = {name}, {name}
    while more:
        ends = {end for link in sketch.links if link.kind.paired and more & set(link.requests) for end in link.requests}
        more = ends - found
        found |= more
    return found


def _capacity_changes(sketch: ClaimSketch) -> Iterator[Relaxation]:
    for ask in _asks(sketch):
        for key, text in ask.capacity.items():
            half = Fraction(int(parse_quantity(text) / 2))
            if half >= 1:
                amounts = {**ask.capacity, key: format_quantity(half)}
                changed = _with_part(sketch, ask.reference, capacity=CapacityRequirements(requests=amounts))
                title = f"Ask {ask.reference} for half the {key}: {amounts[key]}"
                yield Relaxation("capacity", ask.reference, title, sketch=changed)


def _with_part(sketch: ClaimSketch, reference: str, **members: Any) -> ClaimSketch:
    def changed(name: str, part: AnyPart) -> AnyPart:
        return replace(part, **members) if reference in (name, name.partition("/")[0]) else part

    return replace(sketch, requests=tuple(with_parts(request, changed) for request in sketch.requests))


def tried(trial: Trial, change: Relaxation) -> Relaxation:
    """Return a change with the nodes on which the claim then fits; without them if the time is up."""
    if trial.budget.reached or change.sketch is None:
        return change
    trial.budget.report_step("relaxations", f"trying: {change.title}")
    try:
        known, total = trial.on_nodes(change.sketch)
    except UnsupportedFeature as error:
        return replace(change, unknown=error.feature)
    names = [name for name, fits in known.items() if fits]
    fitting = len(names) if known else None
    return replace(change, fitting=fitting, total=total, undecided=total - len(known), example=min(names, default=""))


def as_suggestions(
    tried: Sequence[Relaxation], known: Sequence[Suggestion], *drawn: ClaimSketch
) -> tuple[Suggestion, ...]:
    """Return suggestions with what each brings, first those that help; what is no help is left out.

    Those that help are in the order of what they give up of the drawing, then of the nodes on which they fit.
    `known` are the suggestions that were among the changes tried: their own words are kept. `drawn` is the drawing, as
    given and as expanded.
    """
    by_sketch = {id(suggestion.sketch): suggestion for suggestion in known if suggestion.sketch is not None}
    rows: list[tuple[tuple[int, int, int], Suggestion]] = []
    for change in tried:
        own, detail = by_sketch.get(id(change.sketch)), _gain_words(change)
        order = (0, _given_up(change.sketch, drawn), -(change.fitting or 0))
        if own is not None:
            rank = 0 if change.fitting else 1 if change.fitting is None or change.undecided else 2
            made = Suggestion(own.title, f"{detail} {own.detail}", own.source, own.selectors, own.sketch)
            rows.append((order if not rank else (rank, 0, 0), made))
        elif change.fitting:
            rows.append((order, Suggestion(change.title, detail, sketch=change.sketch)))
    rows += [((2, 0, 0), suggestion) for suggestion in known if suggestion.sketch is None]
    return tuple(suggestion for _, suggestion in sorted(rows, key=lambda row: row[0]))


def _gain_words(change: Relaxation) -> str:
    """Say what a change brings: "It then fits on 12 of 40 nodes."."""
    if change.fitting is None:
        return f"Not known, {change.why_open}."
    if change.fitting:
        more = f" ({change.undecided} more not decided)" if change.undecided else ""
        return f"It then fits on {change.fitting} of {change.total} nodes{more}."
    if change.undecided:
        return f"Not decided on {change.undecided} of {change.total} nodes, on the others it does not fit."
    return "Alone it is not enough: it fits on no node."


def _given_up(changed: ClaimSketch | None, drawn: Sequence[ClaimSketch]) -> int:
    """Return how many requests and links of the drawing a change gives up; waiting comes after every change."""
    if changed is None:
        return sys.maxsize
    links = set(changed.links)
    by_name = {request.name: request for request in changed.requests}
    return min(
        (
            sum(link not in links for link in sketch.links)
            + sum(not _asks_as_much(by_name.get(request.name), request) for request in sketch.requests)
            for sketch in drawn
        ),
        default=0,
    )


def _asks_as_much(changed: DeviceRequest | None, drawn: DeviceRequest) -> bool:
    if changed is None or len(asks(changed)) != len(asks(drawn)):
        return False
    return all(
        new.count >= old.count and new.capacity == old.capacity and set(new.selectors) >= set(old.selectors)
        for new, old in zip(asks(changed), asks(drawn), strict=True)
    )
