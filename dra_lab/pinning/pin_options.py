"""Pins that may be added to drawings so that first fit takes what was planned, and what each changes in a drawing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import combinations
from typing import TypeVar

from msgspec.structs import replace

from dra_lab.model.claims import DeviceRequest, RequestPart, selected
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LINK_KINDS, ClaimSketch, How, Link, asks
from dra_lab.pinning.pin_budget import MOST_VALUES
from dra_lab.pinning.place_selectors import (
    Published,
    attribute_selectors,
    exact_selectors,
    numa_selectors,
    place_alternatives,
    published_of,
    replica_alternatives,
)
from dra_lab.pinning.pod_kinds import Parts, Planned
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile_links import MOST_ALTERNATIVES, alternative
from dra_lab.sketch.links import LEVEL_WORDS, attribute_for
from dra_lab.sketch.object_names import ObjectNames

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

    def further(reference: str, part: RequestPart) -> RequestPart:
        name = split_request(reference)[0]
        return selected(part, texts[name]) if name in texts else part

    return replace(sketch, requests=tuple(request.with_parts(further) for request in sketch.requests)), {}


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


def _with_requests(sketch: ClaimSketch, changed: Mapping[str, DeviceRequest]) -> ClaimSketch:
    return replace(sketch, requests=tuple(changed.get(request.name, request) for request in sketch.requests))


# ---------------------------------------------------------------- pins

_T = TypeVar("_T")


class PinKind(Enum):
    """What a pin names: what a claim says, nodes, places of devices, devices of each replica, or exact devices."""

    CLAIM = "claim"
    NODES = "nodes"
    PLACES = "places"
    REPLICAS = "replicas"
    EXACT = "exact"


@dataclass(frozen=True)
class PinnedClaims:
    """What would be exported: the drawings of each workload's claims, and what its pods require of a node.

    `parts` says, by workload and claim, which requests are parts of a drawn one (see `pod_kind`).
    """

    sketches: tuple[tuple[ClaimSketch, ...], ...]
    affinities: tuple[Affinity, ...]
    parts: tuple[Parts, ...]


@dataclass(frozen=True)
class PinOption:
    """One pin: what it says, why it is there, and how it changes the drawing of its claim, or what pods require."""

    text: str
    reason: str = field(compare=False)
    workload: int
    claim: int
    kind: PinKind = field(compare=False)
    edit: Edit | None = field(default=None, compare=False)
    affinity: Affinity = field(default=(), compare=False)

    def add_to(self, claims: PinnedClaims) -> PinnedClaims:
        """Return the claims with this pin, or as they are if another pin is in the way."""
        at, sketches, parts = self.workload, claims.sketches[self.workload], claims.parts[self.workload]
        affinity = (*claims.affinities[at], *self.affinity)
        edited = self.edit(sketches[self.claim]) if self.edit else (sketches[self.claim], {})
        if edited is None:
            return claims
        sketch, origin = edited
        before = parts[self.claim]
        own = {**before, **{name: before.get(drawn, drawn) for name, drawn in origin.items()}}
        return PinnedClaims(
            _changed(claims.sketches, at, _changed(sketches, self.claim, sketch)),
            _changed(claims.affinities, at, affinity),
            _changed(claims.parts, at, _changed(parts, self.claim, own)),
        )


def _changed(values: Sequence[_T], at: int, value: _T) -> tuple[_T, ...]:
    return (*values[:at], value, *values[at + 1 :])


def pin_options(
    cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, planned: Planned
) -> Iterator[PinOption]:
    """Yield the pins that may help one claim of a plan: order, links, alternatives, then selectors of places.

    All but the narrower selectors hold for the devices of every planned replica, so that none is shut out by them.
    """
    published = published_of(cluster, planned.devices, planned.nodes)
    found = (
        (PinKind.CLAIM, _order(cluster, release, sketch)),
        (PinKind.CLAIM, _musts(sketch, planned)),
        (PinKind.CLAIM, _links(cluster, release, sketch, planned)),
        (PinKind.CLAIM, _alternatives(sketch, planned)),
        (PinKind.PLACES, _selectors(cluster, planned, published)),
        (PinKind.EXACT, _selecting(exact_selectors(published), _SAME)),
        (PinKind.PLACES, _places(cluster, release, sketch, published)),
        (PinKind.REPLICAS, _replicas(cluster, release, sketch, planned, published)),
    )
    for kind, options in found:
        for text, reason, edit in options:
            yield PinOption(text, reason, planned.workload, planned.claim, kind, edit)


_Options = Iterator[tuple[str, str, Edit]]
"""Texts of pins, why they are there, and what they change."""


def _order(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch) -> _Options:
    few = {r.name: min(len(candidates(cluster, ask, release).devices) for ask in asks(r)) for r in sketch.requests}
    order = tuple(sorted(few, key=lambda name: few[name]))
    if order != tuple(few):
        reason = "kube-scheduler allocates requests in this order, and scarcer devices leave less choice"
        yield f"requests in the order {', '.join(order)}", reason, partial(in_order, order=order)


def _musts(sketch: ClaimSketch, planned: Planned) -> _Options:
    reason = "the plan keeps this preference for every replica; as a must, kube-scheduler cannot drop it"
    for link in sketch.links if planned.always("preferences", 0) else ():
        if not link.must:
            yield f"link {link.name} is a must", reason, partial(with_must, name=link.name)


def _links(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, planned: Planned) -> _Options:
    names = ObjectNames(link.name for link in sketch.links)
    kinds = _kinds(cluster, release, sketch)
    places = tuple(name for name, kind in kinds.items() if kind in ("gpu", "nic", "cpu", "memory"))
    roots = tuple(name for name, kind in kinds.items() if kind in ("gpu", "nic"))
    wanted: list[tuple[str, str, How, tuple[str, ...], str]] = []
    if planned.always("numa", 1):
        wanted.append(("pin-numa", "numaNode", How.TOGETHER, places, "every planned replica is on one NUMA node"))
    if planned.always("unpaired", 0) and {"gpu", "nic"} <= set(kinds.values()):
        wanted.append(("pin-pairs", "pcieRoot", How.PAIRWISE, roots, "every planned GPU has a NIC on its PCIe root"))
    if planned.always("roots", 1):
        wanted.append(("pin-root", "pcieRoot", How.TOGETHER, roots, "every planned replica is on one PCIe root"))
    for name, where, how, ends, reason in wanted:
        for linked in _writable(cluster, release, sketch, where, how, ends):
            link = Link(name=names.one(name), requests=linked, where=where, how=how)
            text = f"{' + '.join(linked)} {how.value} on one {LEVEL_WORDS[where]}"
            yield text, reason, partial(with_link, link=link)


def _writable(
    cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, where: str, how: How, ends: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Yield the ends that one constraint can link at a place: all of them, else each two, else each by itself."""
    for linked in (ends, *(combinations(ends, 2) if len(ends) > 2 else ()), *((end,) for end in ends)):
        if len(linked) < LINK_KINDS[how].least_ends:
            continue
        link = Link(name="pin", requests=linked, where=where, how=how)
        if attribute_for(cluster, sketch, link, release).name:
            yield linked
            if linked == ends:
                return


def _alternatives(sketch: ClaimSketch, planned: Planned) -> _Options:
    for request in sketch.requests:
        used = planned.alternatives(request.name)
        reason = "every planned replica has this alternative"
        if len(used) > 1:
            reason = "the other alternatives use devices that later replicas need"
        for sub in request.first_available if len(request.first_available) > 1 else ():
            if sub.name in used:
                edit = partial(with_one_alternative, name=request.name, kept=sub.name)
                yield f"request {request.name}: alternative {sub.name} only", reason, edit


_SAME = "no constraint distinguishes the devices there; the planned devices have these values"
_MIXED = "otherwise first fit mixes different kinds of devices, which leaves less for the next replicas"


def _selectors(cluster: Cluster, planned: Planned, published: Published) -> _Options:
    at_numa = numa_selectors(cluster, planned.devices, planned.nodes)
    for texts in (at_numa, *attribute_selectors(published, MOST_VALUES)):
        yield from _selecting(texts, _SAME)
    for name, alternatives in place_alternatives(published):
        for text in sorted(alternatives):
            yield from _selecting({name: text}, _MIXED)


def _selecting(texts: Mapping[str, str], reason: str) -> _Options:
    if texts:
        text = "; ".join(f"{name}: {expression}" for name, expression in texts.items())
        yield text, reason, partial(with_selectors, texts=texts)


def _places(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, published: Published) -> _Options:
    reason = "otherwise first fit mixes places, or gives up if the first place is full"
    free = _free_requests(cluster, release, sketch)
    for name, texts in place_alternatives(published):
        if name in free and sketch.request(name).exactly is not None:
            own = {name: [("", text) for text in texts]}
            yield f"{name}: alternatives by place: {'; '.join(texts)}", reason, partial(with_alternatives, texts=own)


def _replicas(
    cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, planned: Planned, published: Published
) -> _Options:
    """Yield the devices of each planned replica as alternatives, the best replica first: of all requests, of each.

    One alternative may serve replicas on several nodes. Then these replicas follow each other in the alternatives of
    every request, because first fit must reach the devices of one replica at the same time in all requests.
    """
    reason = "planned replicas have different kinds of devices, which first fit otherwise mixes"
    order = sorted(range(len(planned.replicas)), key=lambda n: [goal.value for goal in planned.goals[n]])
    found = replica_alternatives(published, [planned.replicas[n] for n in order])
    fewest_first = sorted(found.values(), key=lambda texts: len(set(texts)))
    at = sorted(range(len(order)), key=lambda n: [texts.index(texts[n]) for texts in fewest_first])
    order = [order[n] for n in at]
    found = {name: tuple(texts[n] for n in at) for name, texts in found.items()}
    own: dict[str, tuple[tuple[str, str], ...]] = {}
    free = _free_requests(cluster, release, sketch)
    for name in (name for name in found if name in free):
        pairs = ((planned.chosen[n].get(name, ""), text) for n, text in zip(order, found[name], strict=True))
        texts = tuple(dict.fromkeys(pairs))
        if 1 < len(texts) <= MOST_ALTERNATIVES:
            own[name] = texts
    for some in (own, *({name: one} for name, one in own.items() if len(own) > 1)) if own else ():
        titles = (f"{name}: {len(one)} alternatives with the values of planned devices" for name, one in some.items())
        yield "; ".join(titles), reason, partial(with_alternatives, texts=some)


def _free_requests(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch) -> Collection[str]:
    """Return the requests that may get alternatives: no preference that is written has alternatives of its own."""
    soft = (link for link in sketch.links if not link.must and attribute_for(cluster, sketch, link, release).name)
    linked = {split_request(end)[0] for link in soft for end in link.requests}
    return {r.name for r in sketch.requests if not (r.exactly and r.exactly.admin_access)} - linked


def _kinds(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch) -> dict[str, str]:
    """Return the kind of the devices that each request means, "" where they are of several."""
    found = {}
    for request in sketch.requests:
        kinds = {shape.kind for ask in asks(request) for shape in candidates(cluster, ask, release).shapes}
        found[split_request(request.name)[0]] = kinds.pop() if len(kinds) == 1 else ""
    return found
