"""The rules of a drawing, and of the workloads of a plan file."""

from __future__ import annotations

from collections.abc import Iterable

from dra_lab.errors import SketchError
from dra_lab.model.names import MARK, is_label, part_of
from dra_lab.model.sketch import LEVELS, Ask, ClaimSketch, GangDrawing, Link, PodDrawing, asks, claims_of
from dra_lab.model.workload import RAIL

MOST_PODS = 1_000_000
"""Most pods of one workload."""


def check_pods(pods: tuple[PodDrawing, ...]) -> None:
    """Raise SketchError, naming the pod, for a workload that cannot be planned or a name that is there twice."""
    names = [pod.pod for pod in pods]
    for pod in pods:
        _check_pod(pod, names)


def _check_pod(pod: PodDrawing, names: list[str]) -> None:
    check_names("pod", [pod.pod])
    if names.count(pod.pod) > 1:
        raise SketchError(f"there are two workloads {pod.pod!r}; give each its own name")
    if not pod.claims:
        raise SketchError(f"the pod {pod.pod!r} has no claim; add one, or remove the workload")
    for claim in pod.claims:
        if claim.claims:
            raise SketchError(f"pod {pod.pod!r}: {claim.name!r} is a pod with claims of its own; list its claims here")
        try:
            check_sketch(claim)
        except SketchError as error:
            raise SketchError(f"pod {pod.pod!r}: {error.message}") from None
    if not 0 <= pod.replicas <= MOST_PODS:
        raise SketchError(f"the pod {pod.pod!r} has {pod.replicas:,} replicas; give 0 to {MOST_PODS:,}")
    if any(count < 1 for count in pod.pins.values()) or sum(pod.pins.values()) > pod.replicas:
        raise SketchError(
            f"the pins of {pod.pod!r} must be for 1 pod or more each, and for at most {pod.replicas:,} in all"
        )
    if pod.gang is not None:
        _check_gang(pod, pod.gang)


def _check_gang(pod: PodDrawing, gang: GangDrawing) -> None:
    if not 1 <= gang.size <= MOST_PODS:
        raise SketchError(f"the gang {pod.pod!r} has {gang.size:,} pods; give 1 to {MOST_PODS:,}")
    if gang.min is not None and not 1 <= gang.min <= gang.size:
        raise SketchError(f"the gang {pod.pod!r} needs {gang.min:,} of its pods; give 1 to {gang.size:,}")
    if pod.pins:
        raise SketchError(f"the gang {pod.pod!r} has pins; the planner chooses the nodes of a gang, so remove them")
    check_same(pod)


def check_same(pod: PodDrawing) -> None:
    """Raise SketchError for what cannot be the name of an attribute of which all pods of a gang use the same values."""
    for number, name in enumerate(pod.gang.same if pod.gang is not None else ()):
        if not all(name.partition("/")) and name != RAIL:
            raise SketchError(
                f"same[{number}] of the gang {pod.pod!r} is {name!r}; write the full name of an attribute, such as "
                f"nvidia.com/rail, or {RAIL} for the rails of NICs"
            )


def check_sketch(sketch: ClaimSketch) -> None:
    """Raise SketchError, saying where and what to do, when a drawing is inconsistent in itself.

    Names are DNS labels and unique, every request asks in exactly one way, links tie existing requests once and name a
    place, and of one claim. Whether it can be served, or written for a release, is not decided here.
    """
    if sketch.claims:
        _check_claims(sketch)
        return
    check_names("request", [request.name for request in sketch.requests])
    check_names("link", [link.name for link in sketch.links])
    known: set[str] = set()
    for request in sketch.requests:
        if (request.exactly is None) == (not request.first_available):
            raise SketchError(f"request {request.name!r}: give either `exactly` or a list `firstAvailable`")
        check_names(f"alternative of request {request.name!r}", [sub.name for sub in request.first_available])
        for ask in asks(request):
            known.update((ask.request, ask.reference))
            _check_ask(ask)
    for link in sketch.links:
        _check_link(link, known)


def _check_claims(sketch: ClaimSketch) -> None:
    check_names("claim", list(sketch.claims))
    if len(sketch.claims) == 1:
        raise SketchError("a drawing with one claim names none: leave `claims` out, or add a second one")
    every = [("request", one.name) for one in sketch.requests] + [("link", one.name) for one in sketch.links]
    every += [("configuration for", end) for one in sketch.config for end in one.requests or ("",)]
    for what, name in every:
        claim, rest = part_of(name)
        if claim not in sketch.claims:
            named = ", ".join(sketch.claims)
            raise SketchError(f"{what} {name!r}: write CLAIM{MARK}{rest or name}; the pod has the claims {named}")
    for link in sketch.links:
        _check_one_claim(f"link {link.name!r}", (link.name, *link.requests))
    for entry in sketch.config:
        _check_one_claim(f"configuration for {entry.requests[0]!r}", entry.requests)
    for part in claims_of(sketch):
        try:
            check_sketch(part)
        except SketchError as error:
            raise SketchError(f"claim {part.name!r}: {error.message}") from None


def _check_one_claim(what: str, references: Iterable[str]) -> None:
    found = tuple(dict.fromkeys(part_of(reference)[0] for reference in references))
    if len(found) > 1:
        raise SketchError(
            f"{what} is of the claims {' and '.join(found)}: Kubernetes has no rule between claims. "
            "Move the requests into one claim"
        )


def check_names(what: str, names: list[str]) -> None:
    """Raise SketchError for a name that is no DNS label or is there twice; `what` is named."""
    for name in names:
        if not is_label(name):
            raise SketchError(
                f"{what} {name!r}: use lower-case letters, digits and '-', at most 63, "
                "beginning and ending with a letter or digit"
            )
        if names.count(name) > 1:
            raise SketchError(f"{what} {name!r} appears twice; give each its own name")


def _check_ask(ask: Ask) -> None:
    if not ask.device_class_name:
        raise SketchError(f"request {ask.reference!r} names no device class")
    if not ask.all_devices and ask.count < 1:
        raise SketchError(f"request {ask.reference!r}: count is {ask.count}; request at least one device")


def _check_link(link: Link, known: set[str]) -> None:
    if not link.requests:
        raise SketchError(f"link {link.name!r} connects no request; connect one or more, or delete it")
    for reference in link.requests:
        if reference not in known:
            raise SketchError(f"link {link.name!r} connects {reference!r}, which is not a request of the drawing")
        if link.requests.count(reference) > 1:
            raise SketchError(f"link {link.name!r} connects {reference!r} twice")
    if not link.is_level and "/" not in link.where:
        raise SketchError(
            f"link {link.name!r}: {link.where!r} is neither a level ({', '.join(LEVELS)}) "
            "nor a full attribute name like domain/name"
        )
    if len(link.requests) < link.kind.least_ends:
        raise SketchError(f"link {link.name!r} is {link.how} and has one request; add a second one, or use together")
