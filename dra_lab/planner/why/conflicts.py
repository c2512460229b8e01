"""The parts of a drawing that cannot hold together, on one node or on any: each set is tried on the cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import DeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.reasons import Conflict, Element
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.planner.best_pods import fitting_nodes
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.eligible import rules_of
from dra_lab.planner.node.milp import is_feasible
from dra_lab.planner.node.refuse import refuse_claim
from dra_lab.planner.scan import look_at_nodes, sort_nodes
from dra_lab.sketch.links import link_words
from dra_lab.sketch.numbered_requests import expand

AnyPart = Any
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
        tuple(with_parts(request, left) for request in sketch.requests if request.name in names),
        tuple(link for link in tied if len(link.requests) >= link.kind.least_ends),
    )


def with_parts(request: DeviceRequest, change: Callable[[str, AnyPart], AnyPart]) -> DeviceRequest:
    """Return a request with what it asks for, or each of its alternatives, changed; `change` gets the reference."""
    if request.exactly is not None:
        return replace(request, exactly=change(request.name, request.exactly))
    subs = tuple(change(f"{request.name}/{sub.name}", sub) for sub in request.first_available)
    return replace(request, first_available=subs)


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
