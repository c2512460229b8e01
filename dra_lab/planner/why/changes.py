"""The parts of a drawing that cannot hold together, and the single changes to it that would help, each tried."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.index.node_index import node_index
from dra_lab.model.claims import CapacityRequirements, DeviceRequest, DeviceToleration
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.plan import Suggestion
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.reasons import Conflict, Element, Relaxation
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LEVELS, Ask, ClaimSketch, Link, asks
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import build_problem
from dra_lab.planner.node.eligible import Rules, eligibility
from dra_lab.planner.node.milp import is_feasible
from dra_lab.planner.node.refuse import refuse_claim, refuse_devices
from dra_lab.planner.scan import Scan, node_shapes, scan_nodes
from dra_lab.planner.ways import fitting_nodes
from dra_lab.sketch.expand import expand
from dra_lab.sketch.links import LEVEL_WORDS, link_words
from dra_lab.topology.locality import localities

AnyPart = Any
"""An ExactDeviceRequest or a DeviceSubRequest: what is changed stays of its kind."""

Fits = Callable[[ClaimSketch], bool | None]
"""Says whether a drawing fits, None where that is not known."""

# ---------------------------------------------------------------- on how many nodes a drawing fits


class Fitting(NamedTuple):
    """Nodes on which a drawing fits, of all that were examined; `undecided` are those that time left open."""

    nodes: int = 0
    total: int = 0
    undecided: int = 0
    example: str = ""


class Trial(Struct, frozen=True):
    """Tries drawings on one cluster, whatever the goals; `node` restricts it to one node ("" for all).

    `cluster` has every class; `expanded` says that large CPU requests of the drawings are split already; `only` are the
    nodes that are examined, None for all.
    """

    cluster: Cluster
    release: KubernetesRelease
    budget: Budget
    solver: str = "HiGHS"
    node: str = ""
    expanded: bool = False
    only: frozenset[str] | None = None

    def fits_on(self, sketch: ClaimSketch, node: str) -> bool | None:
        """Say whether a drawing fits on one node; None where time ended the search. Raises UnsupportedFeature."""
        if not sketch.requests:
            return True
        rules = self._rules(sketch)
        refuse_devices(rules, eligibility(replace(rules, idle=True), node))
        found = eligibility(rules, node)
        problem = build_problem(rules.sketch, found, localities(self.cluster, node), paired=False)
        return is_feasible(problem, self.budget, solver=self.solver)

    def fits_somewhere(self, sketch: ClaimSketch) -> bool | None:
        """Say whether a drawing fits on any of the nodes; None where time ended the search. Raises like `fits_on`."""
        if not sketch.requests:
            return True
        found = self.fitting(sketch, enough=1)
        return True if found.nodes else None if found.undecided else False

    def fitting(self, sketch: ClaimSketch, *, enough: int = 0) -> Fitting:
        """Count the nodes on which a drawing fits, at least `enough` (0: all of them). Raises like `fits_on`."""
        if self.node:
            fits = self.fits_on(sketch, self.node)
            return Fitting(int(fits is True), 1, int(fits is None), self.node if fits else "")
        rules = self._rules(sketch)
        many = len(rules.nodes) > self.budget.sizes.solved_alone
        return (self._of_many(rules) if many else None) or self._one_by_one(rules, enough)

    def _rules(self, sketch: ClaimSketch) -> Rules:
        refuse_claim(sketch)
        drawn = sketch if self.expanded else expand(sketch, self.cluster, self.release).sketch
        return Rules(self.cluster, drawn, self.release, node_index(self.cluster, self.release).matching, only=self.only)

    def _one_by_one(self, rules: Rules, enough: int) -> Fitting:
        scan = scan_nodes(rules, self.budget, again=False)
        nodes, undecided, examples = 0, len(scan.unseen), []
        for equal in scan.classes:
            fits = is_feasible(scan.problem(equal.nodes[0]), self.budget, solver=self.solver)
            undecided += len(equal.nodes) if fits is None else 0
            if fits:
                nodes += len(equal.nodes)
                examples.append(equal.nodes[0])
            if enough and nodes >= enough:
                break
        return Fitting(nodes, len(rules.nodes), undecided, min(examples, default=""))

    def _of_many(self, rules: Rules) -> Fitting | None:
        """Count nodes of which each kind is looked at once, with nothing in use; None where that does not tell."""
        scan = Scan(rules, node_index(self.cluster, self.release))
        seen, total = node_shapes(scan, self.budget), len(rules.nodes)
        known = fitting_nodes(scan, seen, self.budget)
        if known is not None:
            fit = sorted(name for name, fits in known.items() if fits)
            return Fitting(len(fit), total, total - len(known), fit[0] if fit else "")
        # for all devices, less may be requested where some are in use
        if any(ask.all_devices for ask in rules.asks) or sum(map(len, seen.values())) < total:
            return None
        idle = (scan.problem(nodes[0], idle=True) for nodes in seen.values())
        never = all(is_feasible(problem, self.budget, solver=self.solver) is False for problem in idle)
        return Fitting(0, total) if never else None


# ---------------------------------------------------------------- what cannot hold together


def elements(sketch: ClaimSketch) -> tuple[Element, ...]:
    """Return the parts of a drawing that can stand in its way: must-links, the requests' own selectors, requests."""
    links = [Element("link", link.name, link_words(link)) for link in sketch.links if link.must]
    selectors = [
        Element("selector", ask.reference, text, position)
        for ask in _asks(sketch)
        for position, text in enumerate(ask.selectors)
    ]
    return (*links, *selectors, *(Element("request", request.name) for request in sketch.requests))


def _asks(sketch: ClaimSketch) -> Iterator[Ask]:
    return (ask for request in sketch.requests for ask in asks(request))


def only(sketch: ClaimSketch, kept: Collection[Element]) -> ClaimSketch:
    """Return a drawing with only some of its elements; preferences and configuration are left out.

    A link or selector of a request that is gone goes with it; a pairwise link that ties fewer than two requests, too.
    """
    names = {element.subject for element in kept if element.kind == "request"}
    links = {element.subject for element in kept if element.kind == "link"}
    texts = {(element.subject, element.position) for element in kept if element.kind == "selector"}

    def left(reference: str, part: AnyPart) -> AnyPart:
        written = [selector for selector in part.selectors if selector.cel is not None]
        return replace(part, selectors=tuple(s for at, s in enumerate(written) if (reference, at) in texts))

    tied = (
        replace(link, requests=tuple(end for end in link.requests if split_request(end)[0] in names))
        for link in sketch.links
        if link.name in links
    )
    return ClaimSketch(
        sketch.name,
        tuple(_with_parts(request, left) for request in sketch.requests if request.name in names),
        tuple(link for link in tied if len(link.requests) >= link.kind.least_ends),
    )


def _with_parts(request: DeviceRequest, change: Callable[[str, AnyPart], AnyPart]) -> DeviceRequest:
    """Return a request with what it asks for, or each of its alternatives, changed; `change` gets the reference."""
    if request.exactly is not None:
        return replace(request, exactly=change(request.name, request.exactly))
    subs = tuple(change(f"{request.name}/{sub.name}", sub) for sub in request.first_available)
    return replace(request, first_available=subs)


def find_conflict(sketch: ClaimSketch, fits: Fits, tries: int, node: str = "") -> Conflict | None:
    """Return parts of a drawing that do not fit together though all but any one of them do; None where it fits.

    A deletion filter: each part is left out for good if the rest still does not fit. `smallest` is True when all
    smaller sets were tried as well, at most `tries` of them. A part that `fits` cannot decide counts as needed, and
    `minimal` is then False.
    """
    every, known = elements(sketch), dict[frozenset[Element], bool | None]()
    left, sure = list(every), True

    def together(kept: Collection[Element]) -> bool | None:
        key = frozenset(kept)
        if key not in known:
            try:
                known[key] = fits(only(sketch, kept))
            except UnsupportedFeature:
                known[key] = None
        return known[key]

    if together(left) is not False:
        return None
    for element in every:
        rest = [other for other in left if other != element]
        found = together(rest)
        if found is False:
            left = [other for other in rest if _has_requests(sketch, other, rest)]
        sure = sure and found is not None
    # A request for all devices asks for more without its selectors: there the filter alone is no proof.
    sure = sure and all(together([o for o in left if o != element]) is True for element in left)
    smaller: tuple[Element, ...] | None = tuple(left)
    if len(left) > 1:
        sizes = (combinations(every, size) for size in range(1, len(left)))
        sets = (s for chosen in sizes for s in chosen if all(_has_requests(sketch, element, s) for element in s))
        smaller = _first_unfit(sets, together, tries, tuple(left))
    proven = sure and smaller is not None
    order = ("request", "selector", "link")
    parts = sorted(smaller if proven and smaller else left, key=lambda e: (order.index(e.kind), e.subject, e.position))
    return Conflict(tuple(parts), node, minimal=sure, smallest=proven)


def _first_unfit(
    sets: Iterable[tuple[Element, ...]],
    together: Callable[[Collection[Element]], bool | None],
    tries: int,
    found: tuple[Element, ...],
) -> tuple[Element, ...] | None:
    """Return the first of some sets that does not fit, `found` if all fit, None if that is not known."""
    for tried, chosen in enumerate(sets):
        answer = together(chosen) if tried < tries else None
        if answer is not True:
            return chosen if answer is False else None
    return found


def _has_requests(sketch: ClaimSketch, element: Element, chosen: Sequence[Element]) -> bool:
    """Say whether the requests that a selector or link is about are chosen as well: without them it says nothing."""
    there = {other.subject for other in chosen if other.kind == "request"}
    about: tuple[str, ...] = (element.subject,)
    if element.kind == "link":
        about = next(link.requests for link in sketch.links if link.name == element.subject)
    return any(split_request(end)[0] in there for end in about)


# ---------------------------------------------------------------- single changes


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
        for key in keys:
            more = (*tolerations[request], DeviceToleration(key=key, operator="Exists"))
            title = f"Tolerate the taint {key!r} in {request}"
            yield Relaxation("taint", request, title, sketch=_with_part(sketch, request, tolerations=more))
    yield from _count_changes(sketch)
    yield from _capacity_changes(sketch)
    every = elements(sketch)
    for element in every:
        if element.kind == "selector":
            rest = only(sketch, [other for other in every if other != element])
            links = tuple(link for link in sketch.links if not link.must or link in rest.links)
            title = f"Leave out the selector {element.text} of {element.subject}"
            left = replace(rest, links=links, config=sketch.config)
            yield Relaxation("selector", element.subject, title, sketch=left)


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

    return replace(sketch, requests=tuple(_with_parts(request, changed) for request in sketch.requests))


def tried(trial: Trial, change: Relaxation) -> Relaxation:
    """Return a change with the nodes on which the claim then fits; without them if the time is up."""
    if trial.budget.reached or change.sketch is None:
        return change
    trial.budget.report_step("relaxations", f"trying: {change.title}")
    try:
        fit = trial.fitting(change.sketch)
    except UnsupportedFeature as error:
        return replace(change, unknown=error.feature)
    known = None if fit.undecided == fit.total else fit.nodes
    example = fit.example if known else ""
    return replace(change, fitting=known, total=fit.total, undecided=fit.undecided, example=example)


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
