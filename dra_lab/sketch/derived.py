"""One name for a place that drivers publish under several: `derivedAttributes` (1.37, alpha; KEP-6080)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dra_lab.index.catalogue import Shape
from dra_lab.model.claims import (
    DeviceConstraint,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link, asks, covers
from dra_lab.sketch.cel_text import literal, read_of
from dra_lab.sketch.cluster_candidates import reference_candidates
from dra_lab.sketch.links import AttributeChoice

GATE = "DRADerivedAttributes"
DOMAIN = "derived"
"""Domain of the names that are made here; no driver owns it, so that nothing that is published is hidden by them."""


Expressions = Mapping[tuple[str, str], str]
"""The CEL text by (end of a link, name of the derived attribute)."""


def derive_for(
    cluster: Cluster, sketch: ClaimSketch, link: Link, release: KubernetesRelease
) -> tuple[AttributeChoice, Expressions] | None:
    """Return a derived attribute with which a link at a level can be written, and its text for every end, or None.

    This needs the gate DRADerivedAttributes, which a person must turn on (alpha in 1.37). It also needs every device
    that an end may match to publish the level as one scalar. kube-scheduler runs the text on each device that passes
    the selectors, and one failure ends the pod's attempt. Names of different types are compared as text. Source:
    docs/semantics.md 1.12.
    """
    if not release.enabled(GATE) or not link.is_level:
        return None
    names: dict[str, dict[str, str]] = {}
    kinds: set[str] = set()
    for end in link.requests:
        shapes = reference_candidates(cluster, sketch, end, release).shapes
        found = _names(shapes, link.where)
        if not found:
            return None
        names[end] = found
        kinds |= {shape.attributes[found[shape.driver]][0] for shape in shapes}
    name = f"{DOMAIN}/{link.where}"
    texts = {(end, name): _expression(found, as_text=len(kinds) > 1) for end, found in names.items()}
    return AttributeChoice(name, "", {end: tuple(found.values()) for end, found in names.items()}), texts


def is_derived(sketch: ClaimSketch, link: Link) -> bool:
    """Say whether a link names an attribute that the requests which it ties derive themselves."""
    parts = [
        part
        for end in link.requests
        for request in sketch.requests
        for ask, part in zip(asks(request), parts_of(request), strict=True)
        if covers(end, ask)
    ]
    return bool(parts) and all(any(d.name == link.where for d in part.derived_attributes) for part in parts)


def with_derived(
    request: DeviceRequest, constraints: Iterable[DeviceConstraint], texts: Expressions, of: str
) -> DeviceRequest:
    """Return a written request with the derived attributes that constraints on it name; `of` is the drawn request.

    The API server refuses one that no constraint names (docs/semantics.md 1.12).
    """
    used: dict[str, set[str]] = defaultdict(set)
    for constraint in constraints:
        for reference in constraint.requests:
            used[reference].add(constraint.match_attribute or constraint.distinct_attribute or "")
    expression = {name: text for (end, name), text in texts.items() if split_request(end)[0] == of}

    def more(reference: str) -> tuple[DeviceDerivedAttribute, ...]:
        wanted = used[request.name] | used[reference]
        return tuple(DeviceDerivedAttribute(name=n, expression=e) for n, e in expression.items() if n in wanted)

    if request.exactly is not None:
        part: ExactDeviceRequest = request.exactly
        added = more(request.name)
        return replace(request, exactly=replace(part, derived_attributes=_joined(part, added))) if added else request
    subs = tuple(
        replace(sub, derived_attributes=_joined(sub, more(f"{request.name}/{sub.name}")))
        for sub in request.first_available
    )
    return replace(request, first_available=subs)


def parts_of(request: DeviceRequest) -> tuple[ExactDeviceRequest | DeviceSubRequest, ...]:
    """Return what a request asks for: `exactly`, or each of its alternatives."""
    return (request.exactly,) if request.exactly is not None else request.first_available


def _joined(
    part: ExactDeviceRequest | DeviceSubRequest, added: tuple[DeviceDerivedAttribute, ...]
) -> tuple[DeviceDerivedAttribute, ...]:
    return tuple({d.name: d for d in (*part.derived_attributes, *added)}.values())


def _names(shapes: Iterable[Shape], level: str) -> dict[str, str]:
    """Return the attribute of each driver that all its devices publish for a level, {} where a driver has none."""
    by_driver: dict[str, list[Shape]] = defaultdict(list)
    for shape in shapes:
        by_driver[shape.driver].append(shape)
    found = {}
    for driver, own in by_driver.items():
        names = [n for n in own[0].profile.attributes_at(level) if all(_scalar(shape, n) for shape in own)]
        if not names:
            return {}
        found[driver] = names[0]
    return found


def _scalar(shape: Shape, name: str) -> bool:
    kind, known = shape.attributes.get(name, ("", False))
    return known and kind in ("int", "string")


def _expression(names: Mapping[str, str], *, as_text: bool) -> str:
    reads = {driver: _read(driver, name, as_text=as_text) for driver, name in names.items()}
    *others, last = reads.items()
    text = last[1]
    for driver, read in reversed(others):
        text = f"device.driver == {literal(driver)} ? {read} : {text}"
    return text


def _read(driver: str, name: str, *, as_text: bool) -> str:
    read, _ = read_of(name, driver)
    return f"string({read})" if as_text else read
