"""The parts of a drawing that cannot hold together, and the changes that would help: each is tried on the cluster."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    DeviceToleration,
    RequestPart,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.reasons import Conflict, Element, Relaxation, Suggestion
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, Ask, ClaimSketch, Link, asks
from dra_lab.planner.best_pods import fitting_nodes
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.eligible import refuse_claim, rules_of
from dra_lab.planner.node.milp import is_feasible
from dra_lab.planner.scan import look_at_nodes, sort_nodes
from dra_lab.sketch.links import LEVEL_WORDS, link_words
from dra_lab.sketch.numbered_requests import expand

"""An ExactDeviceRequest or a DeviceSubRequest: what is changed stays of its kind."""

# ---------------------------------------------------------------- on how many nodes a drawing fits


class Trial(Struct, frozen=True):
    """Tries drawings on one cluster, whatever the goals; `nodes` are those that are examined, None for all.

    `cluster` has every class; `expanded` says that large CPU requests of the drawings are split already.
    """

    cluster: Cluster
    release: KubernetesRelease
    budget: Budget
    solver: str = "HiGHS"
    nodes: frozenset[str] | None = None
    expanded: bool = False

    def fits(self, sketch: ClaimSketch) -> bool | None:
        """Say whether a drawing fits on any of the nodes; None where that is not known."""
        if not sketch.requests:
            return True
        try:
            known, total = self.on_nodes(sketch, first=True)
        except UnsupportedFeature:
            return None
        return True if any(known.values()) else None if len(known) < total else False

    def on_nodes(self, sketch: ClaimSketch, *, first: bool = False) -> tuple[Mapping[str, bool], int]:
        """Say of each node whether a drawing fits, or look for the `first` one; and how many nodes are examined.

        A node that time left open is not in it. Raises UnsupportedFeature.
        """
        refuse_claim(sketch)
        drawn = sketch if self.expanded else expand(sketch, self.cluster, self.release).sketch
        rules = rules_of(self.cluster, drawn, self.release, self.nodes)
        scan, solved = look_at_nodes(rules, self.budget), dict[str, bool]()
        known = fitting_nodes(scan, self.budget)
        if known is not None:
            return known, len(rules.nodes)
        for equal in sort_nodes(scan, scan.seen, self.budget):
            fits = is_feasible(scan.problem(equal.nodes[0]), self.budget, solver=self.solver)
            if fits is not None:
                solved |= dict.fromkeys(equal.nodes, fits)
            if fits and first:
                break
        return solved, len(rules.nodes)


# ---------------------------------------------------------------- what cannot hold together


def _elements(sketch: ClaimSketch) -> tuple[Element, ...]:
    """Return the parts of a drawing that can stand in its way: must-links, the requests' own selectors, requests."""
    links = [Element("link", link.name, link_words(link)) for link in sketch.links if link.must]
    selectors = [
        Element("selector", ask.reference, text, position)
        for request in sketch.requests
        for ask in asks(request)
        for position, text in enumerate(ask.selectors)
    ]
    return (*links, *selectors, *(Element("request", request.name) for request in sketch.requests))


def _only(sketch: ClaimSketch, kept: Collection[Element]) -> ClaimSketch:
    """Return a drawing with only some of its elements; preferences and configuration are left out.

    A link or selector of a request that is gone goes with it; a pairwise link that ties fewer than two requests, too.
    """
    names = {element.subject for element in kept if element.kind == "request"}
    links = {element.subject for element in kept if element.kind == "link"}
    texts = {(element.subject, element.position) for element in kept if element.kind == "selector"}

    def left(reference: str, part: RequestPart) -> RequestPart:
        written = [selector for selector in part.selectors if selector.cel is not None]
        return replace(part, selectors=tuple(s for at, s in enumerate(written) if (reference, at) in texts))

    tied = (
        replace(link, requests=tuple(end for end in link.requests if split_request(end)[0] in names))
        for link in sketch.links
        if link.name in links
    )
    return ClaimSketch(
        sketch.name,
        tuple(request.with_parts(left) for request in sketch.requests if request.name in names),
        tuple(link for link in tied if len(link.requests) >= link.kind.least_ends),
    )


def find_conflict(sketch: ClaimSketch, trial: Trial, node: str = "") -> Conflict | None:
    """Return parts of a drawing that do not fit together though all but any one of them do; None where it fits.

    A deletion filter: each part is left out for good if the rest still does not fit. `smallest` is True when all
    smaller sets were tried as well, as many as `Sizes.tries`. A part of which it is not known whether the rest fits
    counts as needed, and `minimal` is then False.
    """
    every, known = _elements(sketch), dict[frozenset[Element], bool | None]()

    def fits(kept: Collection[Element]) -> bool | None:
        key = frozenset(kept)
        if key not in known:
            known[key] = trial.fits(_only(sketch, kept))
        return known[key]

    left, sure = every, True
    if fits(left) is not False:
        return None
    for element in every:
        rest = tuple(other for other in left if other != element)
        found = fits(rest)
        if found is False:
            left = tuple(other for other in rest if _has_requests(sketch, other, rest))
        sure = sure and found is not None
    # A request for all devices asks for more without its selectors: there the filter alone is no proof.
    sure = sure and all(fits([other for other in left if other != element]) is True for element in left)
    most = trial.budget.sizes.tries
    # the sets of fewer parts, smallest first, in which each part has the requests that it is about
    sets = (chosen for fewer in range(1, len(left)) for chosen in combinations(every, fewer))
    smaller = list(islice((c for c in sets if all(_has_requests(sketch, part, c) for part in c)), most + 1))
    unfit = next((chosen for chosen in smaller[:most] if fits(chosen) is not True), None)
    smallest = sure and (len(smaller) <= most if unfit is None else fits(unfit) is False)
    order = ("request", "selector", "link")
    parts = sorted((smallest and unfit) or left, key=lambda e: (order.index(e.kind), e.subject, e.position))
    return Conflict(tuple(parts), node, minimal=sure, smallest=smallest)


def _has_requests(sketch: ClaimSketch, element: Element, chosen: Sequence[Element]) -> bool:
    """Say whether the requests that a selector or link is about are chosen as well: without them it says nothing."""
    about: tuple[str, ...] = (element.subject,)
    if element.kind == "link":
        about = next(link.requests for link in sketch.links if link.name == element.subject)
    there = {other.subject for other in chosen if other.kind == "request"}
    return any(split_request(end)[0] in there for end in about)


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
    for ask in _asks(sketch):
        for capacity, amount in ask.capacity.items():
            if (half := Fraction(int(parse_quantity(amount) / 2))) >= 1:
                amounts = {**ask.capacity, capacity: format_quantity(half)}
                less = _with_part(sketch, ask.reference, capacity=CapacityRequirements(requests=amounts))
                title = f"Ask {ask.reference} for half the {capacity}: {amounts[capacity]}"
                yield Relaxation("capacity", ask.reference, title, sketch=less)
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
    pairs = [set(link.requests) for link in sketch.links if link.kind.paired]
    for name in counts:
        tied = {name}
        for _ in pairs:
            tied = tied.union(*(ends for ends in pairs if tied & ends))
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


def _with_part(sketch: ClaimSketch, reference: str, **members: Any) -> ClaimSketch:
    def changed(name: str, part: RequestPart) -> RequestPart:
        return replace(part, **members) if reference in (name, name.partition("/")[0]) else part

    return replace(sketch, requests=tuple(request.with_parts(changed) for request in sketch.requests))


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
