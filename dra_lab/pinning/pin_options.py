"""Pieces of pinning that may be added to a drawing so that first fit lands on what was planned, weakest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as changed

from msgspec.structs import replace

from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import LINK_KINDS, ClaimSketch, How, Link, asks
from dra_lab.pinning.place_selectors import (
    FEW_VALUES,
    attribute_selectors,
    exact_selectors,
    narrower_selectors,
    numa_selectors,
    place_alternatives,
    replica_alternatives,
)
from dra_lab.pinning.place_splits import PlaceSplit, place_splits, with_parts, words
from dra_lab.pinning.planned_devices import Planned
from dra_lab.pinning.pod_kinds import Parts
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.cluster_candidates import candidates, kind_of
from dra_lab.sketch.links import LEVEL_WORDS, attribute_for
from dra_lab.sketch.object_names import ObjectNames
from dra_lab.sketch.prioritized_list import alternative


@dataclass(frozen=True)
class PinDraft:
    """What would be exported: the drawings of each workload's claims, and what its pods require of a node.

    `parts` says, by workload, which requests are parts of a drawn one (see `pod_kind`).
    """

    sketches: tuple[tuple[ClaimSketch, ...], ...]
    affinity: tuple[Affinity, ...]
    parts: tuple[Parts, ...] = ()

    def with_sketch(
        self, workload: int, claim: int, sketch: ClaimSketch, parts: Mapping[str, str] | None = None
    ) -> PinDraft:
        """Return the draft with another drawing of one claim, in which some requests are parts of a drawn one."""
        own = self.sketches[workload]
        mine = (*own[:claim], sketch, *own[claim + 1 :])
        sketches = (*self.sketches[:workload], mine, *self.sketches[workload + 1 :])
        if not parts:
            return changed(self, sketches=sketches)
        known = [list(one) for one in self.parts] or [[{} for _ in claims] for claims in self.sketches]
        before = known[workload][claim]
        known[workload][claim] = {**before, **{name: before.get(drawn, drawn) for name, drawn in parts.items()}}
        return changed(self, sketches=sketches, parts=tuple(map(tuple, known)))

    def with_affinity(self, workload: int, affinity: Affinity) -> PinDraft:
        """Return the draft with further requirements on the nodes of a workload."""
        mine = (*self.affinity[workload], *affinity)
        return changed(self, affinity=(*self.affinity[:workload], mine, *self.affinity[workload + 1 :]))


@dataclass(frozen=True)
class PinOption:
    """One piece of pinning: what it says, why it is there, and the draft with it.

    `ways` are alternatives in place of a request: a drawn alternative ("" for a request without) and a text each.
    """

    text: str
    reason: str
    workload: int
    claim: int
    link: Link | None = None
    musts: tuple[str, ...] = ()
    keep: Mapping[str, str] | None = None
    selectors: Mapping[str, str] | None = None
    order: tuple[str, ...] = ()
    affinity: Affinity = ()
    exact: bool = False
    places: Mapping[str, tuple[str, ...]] | None = None
    ways: Mapping[str, tuple[tuple[str, str], ...]] | None = None
    split: PlaceSplit | None = None

    @property
    def strong(self) -> bool:
        """Say whether it names places of devices by their values."""
        return bool(self.selectors or self.places or self.ways or self.split)

    def add_to(self, draft: PinDraft) -> PinDraft:
        """Return the draft with this piece."""
        if self.affinity:
            return draft.with_affinity(self.workload, self.affinity)
        sketch = draft.sketches[self.workload][self.claim]
        if self.split:
            exact = {request.name for request in sketch.requests if request.exactly is not None}
            if not exact.issuperset(self.split):
                return draft  # another piece has parts or alternatives in place of its requests
            return draft.with_sketch(self.workload, self.claim, *with_parts(sketch, self.split))
        if self.ways:
            return self._with_ways(draft, sketch)
        if self.keep and not self._keeps_some(sketch):
            return draft  # another piece keeps another alternative
        if self.link is not None and not {request.name for request in sketch.requests}.issuperset(self.link.requests):
            return draft  # another piece has parts in place of its ends
        if self.link is not None and self.link.name not in {link.name for link in sketch.links}:
            sketch = replace(sketch, links=(*sketch.links, self.link))
        if self.musts:
            links = tuple(replace(link, must=True) if link.name in self.musts else link for link in sketch.links)
            sketch = replace(sketch, links=links)
        requests = tuple(self._request(request) for request in sketch.requests)
        links = tuple(link for link in map(self._link, sketch.links) if link is not None)
        if self.order:
            place = {name: number for number, name in enumerate(self.order)}
            requests = tuple(sorted(requests, key=lambda request: place.get(request.name, len(place))))
        return draft.with_sketch(self.workload, self.claim, replace(sketch, requests=requests, links=links))

    def _with_ways(self, draft: PinDraft, sketch: ClaimSketch) -> PinDraft:
        """Return the draft with alternatives in place of requests; see `ways`."""
        requests = {request.name: request for request in sketch.requests}
        parts: dict[str, str] = {}
        ends = {end for link in sketch.links for end in link.requests}
        ends |= {end for entry in sketch.config for end in entry.requests}
        if any("/" in end and split_request(end)[0] in (self.ways or {}) for end in ends):
            return draft  # it names an alternative, in place of which there would be several
        for name, ways in (self.ways or {}).items():
            request = requests.get(name)
            drawn: dict[str, ExactDeviceRequest | DeviceSubRequest] = {}
            drawn |= {"": request.exactly} if request is not None and request.exactly is not None else {}
            drawn |= {sub.name: sub for sub in request.first_available} if request is not None else {}
            subs = []
            for number, (of, text) in enumerate(ways):
                part = drawn.get(of)
                if request is None or part is None:
                    return draft  # another piece has parts in place of it, or keeps another alternative
                own = f"{of}-place-{number}".lstrip("-")
                parts |= {f"{name}/{own}": f"{name}/{of}"} if of else {}
                selector = DeviceSelector(cel=CELDeviceSelector(expression=text))
                made = alternative(part, own)
                subs.append(replace(made, selectors=(*made.selectors, selector)))
            if request is not None:
                requests[name] = replace(request, exactly=None, first_available=tuple(subs))
        whole = replace(sketch, requests=tuple(requests.values()))
        return draft.with_sketch(self.workload, self.claim, whole, parts)

    def _keeps_some(self, sketch: ClaimSketch) -> bool:
        subs = {(request.name, sub.name) for request in sketch.requests for sub in request.first_available}
        return all(kept in subs for kept in (self.keep or {}).items())

    def _link(self, link: Link) -> Link | None:
        """Return a link without the ends that name an alternative which is not kept; None where too few are left."""
        kept = self.keep or {}
        ends = tuple(
            end
            for end in link.requests
            for request, sub in (split_request(end),)
            if not sub or kept.get(request, sub) == sub
        )
        if ends == link.requests:
            return link
        return replace(link, requests=ends) if len(ends) >= link.kind.least_ends else None

    def _request(self, request: DeviceRequest) -> DeviceRequest:
        keep = (self.keep or {}).get(request.name)
        if keep is not None:
            request = replace(request, first_available=tuple(s for s in request.first_available if s.name == keep))
        texts = (self.places or {}).get(request.name, ())
        if texts and request.exactly is not None:
            request = _at_places(request, request.exactly, texts)
        text = (self.selectors or {}).get(request.name)
        if text is None:
            return request
        selector = DeviceSelector(cel=CELDeviceSelector(expression=text))
        if request.exactly is not None:
            part = request.exactly
            return replace(request, exactly=replace(part, selectors=(*part.selectors, selector)))
        subs = tuple(replace(sub, selectors=(*sub.selectors, selector)) for sub in request.first_available)
        return replace(request, first_available=subs)


def _at_places(request: DeviceRequest, part: ExactDeviceRequest, texts: Sequence[str]) -> DeviceRequest:
    """Return a request with an alternative for each of some texts."""
    subs = []
    for number, text in enumerate(texts):
        selector = DeviceSelector(cel=CELDeviceSelector(expression=text))
        sub = alternative(part, f"place-{number}")
        subs.append(replace(sub, selectors=(*sub.selectors, selector)))
    return replace(request, exactly=None, first_available=tuple(subs))


def pin_options(cluster: Cluster, release: KubernetesRelease, draft: PinDraft, planned: Planned) -> Iterator[PinOption]:
    """Yield the pieces that may help one claim of a plan: order, links, alternatives, then selectors of places.

    All but the narrower selectors hold for the devices of every planned replica, so that none is shut out by them.
    """
    sketch = draft.sketches[planned.workload][planned.claim]
    yield from _order(cluster, release, sketch, planned)
    yield from _musts(sketch, planned)
    yield from _links(cluster, release, sketch, planned)
    yield from _alternatives(sketch, planned)
    yield from _splits(cluster, sketch, planned)
    yield from _selectors(cluster, planned)
    yield from _places(cluster, release, sketch, planned)


def _order(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, planned: Planned) -> Iterator[PinOption]:
    few = {r.name: min(len(candidates(cluster, ask, release).devices) for ask in asks(r)) for r in sketch.requests}
    order = tuple(sorted(few, key=lambda name: few[name]))
    if order != tuple(few):
        reason = "kube-scheduler allocates requests in this order, and scarcer devices leave less choice"
        yield PinOption(
            f"requests in the order {', '.join(order)}", reason, planned.workload, planned.claim, order=order
        )


def _musts(sketch: ClaimSketch, planned: Planned) -> Iterator[PinOption]:
    soft = [link for link in sketch.links if not link.must]
    if not planned.always("preferences", 0):
        return
    for link in soft:
        reason = "the plan keeps this preference for every replica; as a must, kube-scheduler cannot drop it"
        text = f"link {link.name} is a must"
        yield PinOption(text, reason, planned.workload, planned.claim, musts=(link.name,))


def _links(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, planned: Planned) -> Iterator[PinOption]:
    names = ObjectNames(link.name for link in sketch.links)
    kinds = _kinds(cluster, release, sketch)
    wanted: list[tuple[str, str, How, tuple[str, ...], str]] = []
    places = [name for name, kind in kinds.items() if kind in ("gpu", "nic", "cpu", "memory")]
    if planned.always("numa", 1):
        wanted.append(
            ("pin-numa", "numaNode", How.TOGETHER, tuple(places), "every planned replica is on one NUMA node")
        )
    roots = tuple(name for name, kind in kinds.items() if kind in ("gpu", "nic"))
    if planned.always("unpaired", 0) and {"gpu", "nic"} <= set(kinds.values()):
        wanted.append(("pin-pairs", "pcieRoot", How.PAIRWISE, roots, "every planned GPU has a NIC on its PCIe root"))
    if planned.always("roots", 1):
        wanted.append(("pin-root", "pcieRoot", How.TOGETHER, roots, "every planned replica is on one PCIe root"))
    for name, where, how, ends, reason in wanted:
        for tied in _writable(cluster, release, sketch, where, how, ends):
            link = Link(name=names.one(name), requests=tied, where=where, how=how)
            text = f"{' + '.join(tied)} {how.value} on one {LEVEL_WORDS[where]}"
            yield PinOption(text, reason, planned.workload, planned.claim, link=link)


def _writable(
    cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, where: str, how: How, ends: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """Yield the ends that one constraint can tie at a place: all of them, else each two, else each by itself."""
    pairs = [(a, b) for number, a in enumerate(ends) for b in ends[number + 1 :]]
    for tied in (ends, *(pairs if len(ends) > 2 else ()), *((end,) for end in ends)):
        if len(tied) < LINK_KINDS[how].least_ends:
            continue
        link = Link(name="pin", requests=tied, where=where, how=how)
        choice = attribute_for(cluster, sketch, link, release)
        if choice.name:
            yield tied
            if tied == ends:
                return


def _alternatives(sketch: ClaimSketch, planned: Planned) -> Iterator[PinOption]:
    for request in sketch.requests:
        used = planned.alternatives.get(request.name, frozenset())
        if len(request.first_available) < 2:
            continue
        for sub in request.first_available:
            if sub.name in used:
                reason = "every planned replica has this alternative"
                if len(used) > 1:
                    reason = "the other alternatives use devices that later replicas need"
                text = f"request {request.name}: alternative {sub.name} only"
                yield PinOption(text, reason, planned.workload, planned.claim, keep={request.name: sub.name})


def _splits(cluster: Cluster, sketch: ClaimSketch, planned: Planned) -> Iterator[PinOption]:
    reason = "no constraint can choose the NUMA nodes of the devices; the planned devices have these values"
    for split in place_splits(cluster, sketch, planned):
        yield PinOption(words(split), reason, planned.workload, planned.claim, split=split)


def _selectors(cluster: Cluster, planned: Planned) -> Iterator[PinOption]:
    reason = "no constraint distinguishes the devices there; the planned devices have these values"
    at_numa = numa_selectors(cluster, planned.devices, planned.nodes)
    if at_numa:
        text = "; ".join(f"{name}: {expression}" for name, expression in at_numa.items())
        yield PinOption(text, reason, planned.workload, planned.claim, selectors=at_numa)
    for found in attribute_selectors(cluster, planned.devices, planned.nodes):
        text = "; ".join(f"{name}: {expression}" for name, expression in found.items())
        yield PinOption(text, reason, planned.workload, planned.claim, selectors=found)
    for found in narrower_selectors(cluster, planned.devices, planned.nodes):
        text = "; ".join(f"{name}: {expression}" for name, expression in found.items())
        why = "otherwise first fit mixes different kinds of devices, which leaves less for the next replicas"
        yield PinOption(text, why, planned.workload, planned.claim, selectors=found)
    exact = exact_selectors(cluster, planned.devices, planned.nodes)
    if exact:
        text = "; ".join(f"{name}: {expression}" for name, expression in exact.items())
        yield PinOption(text, reason, planned.workload, planned.claim, selectors=exact, exact=True)


def _places(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch, planned: Planned) -> Iterator[PinOption]:
    exact = {r.name for r in sketch.requests if r.exactly is not None and not r.exactly.admin_access}
    # a preference that is written has alternatives of its own
    soft = (link for link in sketch.links if not link.must and attribute_for(cluster, sketch, link, release).name)
    tied = {split_request(end)[0] for link in soft for end in link.requests}
    for name, texts in place_alternatives(cluster, planned.devices, planned.nodes):
        if name in exact - tied:
            text = f"{name}: alternatives by place: {'; '.join(texts)}"
            reason = "otherwise first fit mixes places, or gives up if the first place is full"
            yield PinOption(text, reason, planned.workload, planned.claim, places={name: texts})
    yield from _ways(cluster, planned, (exact | {r.name for r in sketch.requests if r.first_available}) - tied)


def _ways(cluster: Cluster, planned: Planned, names: Collection[str]) -> Iterator[PinOption]:
    """Yield the devices of each planned replica as alternatives, the best replica first: of all requests, of each."""
    order = sorted(range(len(planned.replicas)), key=lambda n: [goal.value for goal in planned.goals[n]])
    found = replica_alternatives(cluster, planned.nodes, [planned.replicas[n] for n in order])
    own: dict[str, tuple[tuple[str, str], ...]] = {}
    for name in (name for name in found if name in names):
        ways = tuple(
            dict.fromkeys((planned.chosen[n].get(name, ""), text) for n, text in zip(order, found[name], strict=True))
        )
        if 1 < len(ways) <= FEW_VALUES:
            own[name] = ways
    for some in (own, *({name: one} for name, one in own.items() if len(own) > 1)) if own else ():
        text = "; ".join(
            f"{name}: {len(ways)} alternatives with the values of planned devices" for name, ways in some.items()
        )
        reason = "planned replicas have different kinds of devices, which first fit otherwise mixes"
        yield PinOption(text, reason, planned.workload, planned.claim, ways=some)


def _kinds(cluster: Cluster, release: KubernetesRelease, sketch: ClaimSketch) -> dict[str, str]:
    """Return the kind of the devices that each request means, "" where they are of several."""
    found = {}
    for request in sketch.requests:
        kinds = {kind_of(item) for ask in asks(request) for item in candidates(cluster, ask, release).devices}
        found[split_request(request.name)[0]] = kinds.pop() if len(kinds) == 1 else ""
    return found
