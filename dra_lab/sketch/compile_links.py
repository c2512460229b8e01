"""Links to constraints: what of a link can be written for a release, as a must or as preferred alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import DeviceConstraint, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, How, Link, asks, covers
from dra_lab.sketch.cluster_candidates import reference_candidates
from dra_lab.sketch.links import (
    LEVEL_WORDS,
    AttributeChoice,
    Expressions,
    attribute_for,
    derive_for,
    is_derived,
    listed,
)
from dra_lab.sketch.numbered_requests import NumberedRequest, NumberedRequests, WrittenRequest, cuttable_count
from dra_lab.sketch.object_names import ObjectNames

MOST_ALTERNATIVES = 8
"""Most alternatives of a request (docs/semantics.md 2.2)."""


class Soft(Struct, frozen=True):
    """A preference as the head of one group sees it.

    `sub` is the head's alternative that the link ties ("" for all); `partners` are references to requests of count 1;
    `distinct` makes the constraints distinctAttribute.
    """

    link: str
    attribute: str
    partners: tuple[str, ...]
    sub: str = ""
    distinct: bool = False


class Rung(Struct, frozen=True):
    """One written alternative: the drawn alternative `of` ("" for an exact request) while it keeps the links `kept`."""

    name: str
    of: str
    kept: frozenset[str]


class PrioritizedList(Struct, frozen=True):
    """A request written as alternatives (`rungs`), the preferences that they keep, and those that had to go."""

    request: DeviceRequest
    rungs: tuple[Rung, ...] = ()
    softs: tuple[Soft, ...] = ()
    findings: tuple[Finding, ...] = ()


def prioritized_list(request: DeviceRequest, numbered: NumberedRequest, softs: Iterable[Soft]) -> PrioritizedList:
    """Return a request with a rung for every set of preferences that it can keep, best first.

    For one preference the alternatives are `aligned` (or `apart`) and `any`. Tried by kube-scheduler in list order:
    every device is tried for `aligned` with every partner before `any` is taken (docs/semantics.md 3.7.1).
    Drawn alternatives stay the more important order. Where more than MOST_ALTERNATIVES were needed, preferences are
    given up one after the other from the last; where that is still too many, the last are left out with a Finding.
    """
    kept = list(softs)
    findings = []
    bases: dict[str, ExactDeviceRequest | DeviceSubRequest] = {sub.name: sub for sub in request.first_available}
    if request.exactly is not None:
        bases = {"": request.exactly}
    while True:
        plans = _plans(bases, kept)
        if sum(len(sets) for sets in plans.values()) <= MOST_ALTERNATIVES:
            break
        dropped = kept.pop()
        message = f"request {numbered.name} would need more than {MOST_ALTERNATIVES} alternatives for this preference"
        advice = "Make it a must, or remove another preference or alternative of this request."
        findings.append(Finding("link-not-writable", Severity.WARNING, dropped.link, message, advice))
    if not kept:
        return PrioritizedList(request, findings=tuple(findings))
    rungs, subs = [], []
    names = ObjectNames()
    for base, sets in plans.items():
        for links in sets:
            applicable = [soft for soft in kept if soft.sub in ("", base)]
            rung = Rung(names.one(_rung_name(base, links, applicable)), base, frozenset(links))
            rungs.append(rung)
            subs.append(alternative(bases[base], rung.name))
    written = replace(request, exactly=None, first_available=tuple(subs))
    return PrioritizedList(written, tuple(rungs), tuple(kept), tuple(findings))


def prioritized_constraints(
    alternatives: PrioritizedList, ends_of: Callable[[str], tuple[str, ...]]
) -> Iterator[DeviceConstraint]:
    """Yield the constraints that hold on the better rungs; `ends_of` returns the written references of a partner."""
    for soft in alternatives.softs:
        heads = tuple(
            f"{alternatives.request.name}/{rung.name}"
            for rung in alternatives.rungs
            if soft.link in rung.kept and soft.sub in ("", rung.of)
        )
        # one constraint a partner: with two partners in one, the link would bind them after the fallback too
        for partner in soft.partners or ("",):
            ends = (*heads, *ends_of(partner)) if partner else heads
            yield _constraint(ends, soft.attribute, distinct=soft.distinct)


def _constraint(ends: tuple[str, ...], attribute: str, *, distinct: bool) -> DeviceConstraint:
    if distinct:
        return DeviceConstraint(requests=ends, distinct_attribute=attribute)
    return DeviceConstraint(requests=ends, match_attribute=attribute)


def _plans(
    bases: Mapping[str, ExactDeviceRequest | DeviceSubRequest], softs: list[Soft]
) -> dict[str, list[tuple[str, ...]]]:
    """Return, for every drawn alternative, the sets of links that its rungs keep, best first; the last is empty."""
    links = {base: tuple(dict.fromkeys(s.link for s in softs if s.sub in ("", base))) for base in bases}
    every = {base: [c for n in range(len(own), -1, -1) for c in combinations(own, n)] for base, own in links.items()}
    if sum(len(sets) for sets in every.values()) <= MOST_ALTERNATIVES:
        return every
    return {base: [own[:n] for n in range(len(own), -1, -1)] for base, own in links.items()}


def _rung_name(base: str, links: tuple[str, ...], applicable: list[Soft]) -> str:
    if not links:
        return base or "any"
    best = "apart" if all(soft.distinct for soft in applicable) else "aligned"
    word = best if len(links) == len({soft.link for soft in applicable}) else "-".join(links)
    return f"{base}-{word}" if base else word


def alternative(part: ExactDeviceRequest | DeviceSubRequest, name: str) -> DeviceSubRequest:
    """Return an alternative of this name that asks for the same; adminAccess, which none can have, is left out."""
    if isinstance(part, DeviceSubRequest):
        return replace(part, name=name)
    return DeviceSubRequest(
        name=name,
        device_class_name=part.device_class_name,
        selectors=part.selectors,
        allocation_mode=part.allocation_mode,
        count=part.count,
        tolerations=part.tolerations,
        capacity=part.capacity,
        derived_attributes=part.derived_attributes,
    )


def writable_links(
    sketch: ClaimSketch, cluster: Cluster, release: KubernetesRelease
) -> tuple[tuple[WrittenRequest, ...], tuple[Finding, ...], Expressions]:
    """Return the links that can be written for a release, in the order of the drawing, and why the others cannot.

    The third value holds the texts of derived attributes, where the release has them (`derived`).
    """
    written, findings = [], []
    texts: dict[tuple[str, str], str] = {}
    for link in map(_without_doubles, sketch.links):
        choice = attribute_for(cluster, sketch, link, release)
        if is_derived(sketch, link) and release.enabled("DRADerivedAttributes"):
            choice = AttributeChoice(link.where)
        derived = None if choice.name else derive_for(cluster, sketch, link, release)
        if derived is not None:
            choice = derived[0]
        found = [*_unwritable(link, choice, release), *_uncountable(sketch, link)]
        if not link.must and not found:
            found = [*_unpreferable(sketch, link, choice)]
        if found:
            findings += found
            continue
        groups = min(_asks_of(sketch, end)[0].count for end in link.requests) if link.kind.paired else 1
        written.append(WrittenRequest(link, choice.name, groups, not choice.lacking))
        findings += _notes(sketch, link, choice, release)
        if derived is not None:
            texts.update(derived[1])
            findings.append(_alpha(link, choice))
    return tuple(written), tuple(findings), texts


def must_constraints(item: WrittenRequest, numbered: NumberedRequests) -> Iterator[DeviceConstraint]:
    """Yield the constraints of a must-link: one, or one a group of a pairwise link."""
    for index in range(item.groups):
        ends = tuple(reference(one, end) for end in item.link.requests for one in numbered.group(item, end, index))
        yield _constraint(ends, item.attribute, distinct=item.link.kind.distinct)


def softs_of(item: WrittenRequest, numbered: NumberedRequests) -> Iterator[tuple[NumberedRequest, Soft]]:
    """Yield (head, preference) for every group of a preferred link; the head is the request that is written first."""
    order = {one.name: number for number, one in enumerate(numbered.order)}
    for index in range(item.groups):
        ends = [(one, end) for end in item.link.requests for one in numbered.group(item, end, index)]
        ends.sort(key=lambda pair: order[pair[0].name])
        first = ends[0][0]
        for head, (one, end) in enumerate(ends):
            # together: all of a group must equal its head; apart: each must differ from every later one
            if not item.link.kind.distinct and one is not first:
                break
            partners = tuple(reference(*other) for other in ends[head + 1 :] if other[0] is not one)
            if item.link.kind.distinct and not partners:
                continue
            alone = not partners and (one.count or numbered.counts[one.of]) == 1
            # one device is together with itself, but a preference for a known place still chooses among several
            if not (alone and item.everywhere):
                sub = split_request(end)[1]
                yield one, Soft(item.link.name, item.attribute, partners, sub, item.link.kind.distinct)


def order_findings(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    written: Iterable[WrittenRequest],
    numbered: NumberedRequests,
) -> Iterator[Finding]:
    """Yield a note for a preference that requests written before it may spoil: their devices are not revisited.

    Alternatives of a later request are exhausted before devices of an earlier one are revisited
    (docs/semantics.md 3.7.1). The order stays the drawing's, because a person may mean it.
    """
    order = list(dict.fromkeys(one.of for one in numbered.order))
    for item in written:
        tied = [split_request(end)[0] for end in item.link.requests]
        before = order[: min(map(order.index, tied))] if item.soft else []
        ends = (*before, *item.link.requests) if before else ()
        meant = {e: reference_candidates(cluster, sketch, e, release).ids for e in ends}
        earlier = [n for n in before if any(not meant[n].isdisjoint(meant[end]) for end in item.link.requests)]
        if earlier:
            message = (
                f"kube-scheduler fixes {listed(earlier)} first, and it may allocate the devices that this "
                "preference needs"
            )
            advice = f"Draw {listed(tied)} before {listed(earlier)}."
            yield Finding("preference-order", Severity.NOTE, item.link.name, message, advice)


def reference(one: NumberedRequest, end: str) -> str:
    """Return what a constraint names: the written request, with the alternative if the link's end names one."""
    sub = split_request(end)[1]
    return f"{one.name}/{sub}" if sub else one.name


def _without_doubles(link: Link) -> Link:
    """Leave out an alternative whose whole request is tied as well."""
    ends = tuple(end for end in link.requests if "/" not in end or split_request(end)[0] not in link.requests)
    return replace(link, requests=ends)


def _asks_of(sketch: ClaimSketch, end: str) -> tuple[Ask, ...]:
    return tuple(ask for request in sketch.requests for ask in asks(request) if covers(end, ask))


def _all_ends(sketch: ClaimSketch, link: Link) -> list[str]:
    return [end for end in link.requests if any(ask.all_devices for ask in _asks_of(sketch, end))]


def _request(sketch: ClaimSketch, end: str) -> DeviceRequest:
    return sketch.request(split_request(end)[0])


def _unwritable(link: Link, choice: AttributeChoice, release: KubernetesRelease) -> Iterator[Finding]:
    """Yield why Kubernetes cannot express a link at all: no attribute, or no gate."""
    severity = Severity.WARNING if link.must else Severity.NOTE
    if not link.kind.constraint:
        message = f"no constraint of a claim can express {link.how}, so kube-scheduler cannot enforce this link"
        yield Finding(
            "link-not-writable", severity, link.name, message, "Write selectors that match only the devices you want."
        )
    elif not choice.name:
        place = LEVEL_WORDS.get(link.where, link.where)
        message = f"Kubernetes cannot express this link by {place}: {choice.reason}"
        selectors = "put them on one NUMA node" if link.kind.near else "put each device in a place of its own"
        advice = f"Link by a level that all requests publish, or write selectors that {selectors}."
        if release.is_at_least("1.37") and all(choice.sides.get(end) for end in link.requests):
            advice += (
                " If the cluster turns on the alpha gate DRADerivedAttributes of 1.37, it can map these names to one."
            )
        yield Finding("link-not-writable", severity, link.name, message, advice)
    elif link.kind.distinct and not release.enabled("DRAConsumableCapacity"):
        message = (
            f"in Kubernetes {release} the API server refuses distinctAttribute, because the gate "
            "DRAConsumableCapacity is off"
        )
        advice = "Plan for 1.36, or give each request a selector for a different place."
        yield Finding("link-not-writable", severity, link.name, message, advice)
    elif not link.must and not release.enabled("DRAPrioritizedList"):
        message = (
            f"in Kubernetes {release} a request cannot have alternatives, because the gate DRAPrioritizedList is off"
        )
        yield Finding(
            "link-not-writable", severity, link.name, message, "Make it a must, or let only the planner follow it."
        )


def _uncountable(sketch: ClaimSketch, link: Link) -> Iterator[Finding]:
    """Yield why the devices of a pairwise link cannot be put into groups."""
    if not link.kind.paired:
        return
    counts: dict[str, int] = {}
    for end in link.requests:
        whole = {0 if ask.all_devices else ask.count for ask in asks(_request(sketch, end))}
        if len(whole) > 1 or 0 in whole:
            message = (
                f"{end} has no single count (it is All, or its alternatives have different counts), so it "
                "cannot be split into groups"
            )
            yield Finding(
                "pairwise-counts", Severity.ERROR, link.name, message, "Give it one count, or choose all together."
            )
            return
        counts[end] = whole.pop()
    groups = min(counts.values())
    stuck = [end for end in link.requests if groups > 1 and not cuttable_count(_request(sketch, end))]
    if stuck:
        message = (
            f"{listed(stuck)} has alternatives, and after the split into groups each part would choose its "
            "own alternative"
        )
        advice = "Remove the alternatives, or draw one request for each group."
        yield Finding("link-not-writable", Severity.WARNING, link.name, message, advice)
    odd = [end for end, count in counts.items() if count % groups]
    if odd:
        have = ", ".join(f"{end} ×{count}" for end, count in counts.items())
        below = {end: counts[end] // groups * groups for end in odd}
        near = "; ".join(f"{end} ×{count} or ×{count + groups}" for end, count in below.items())
        message = f"{have}: the larger count must be a multiple of the smaller one"
        yield Finding("pairwise-counts", Severity.ERROR, link.name, message, f"Nearest counts that work: {near}.")


def _unpreferable(sketch: ClaimSketch, link: Link, choice: AttributeChoice) -> Iterator[Finding]:
    """Yield why a preference cannot become alternatives though a must could be written."""
    order = [request.name for request in sketch.requests]
    head = min(link.requests, key=lambda end: order.index(split_request(end)[0]))
    if any(ask.admin_access for end in link.requests for ask in _asks_of(sketch, end)):
        yield _lost(link, "a request with adminAccess cannot have alternatives")
    partners = [end for end in link.requests if end != head]
    if _all_ends(sketch, link):
        # docs/semantics.md 3.6.3: also inside firstAvailable, so the fallback would never be reached
        ends = listed(_all_ends(sketch, link))
        yield _lost(link, f"a constraint that {ends} (All) can violate makes kube-scheduler give up the pod")
        return
    single = link.requests if link.kind.distinct else partners
    uncut = [end for end in single if not cuttable_count(_request(sketch, end))]
    if uncut:
        yield _lost(link, f"{listed(uncut)} cannot be numbered (several devices with alternatives)")
    name = split_request(head)[0]
    shared = any(name == split_request(end)[0] for other in sketch.links if other != link for end in other.requests)
    # a head that another link may cut has partners among its own parts
    lone = partners if link.how is How.TOGETHER and not shared else link.requests
    lacking = [f"{choice.lacking[end]} devices of {end}" for end in lone if end in choice.lacking]
    if lacking:
        # after the fallback the constraint still binds its plain request, and a missing attribute never matches
        why = (
            f"{listed(lacking)} do not publish {choice.name}, so with this link kube-scheduler could never "
            "allocate them"
        )
        yield _lost(link, why)


def _lost(link: Link, why: str) -> Finding:
    message = f"the manifest does not contain this preference: {why}"
    return Finding(
        "link-not-writable", Severity.NOTE, link.name, message, "The planner still follows it when possible."
    )


def _alpha(link: Link, choice: AttributeChoice) -> Finding:
    names = "; ".join(f"{end}: {', '.join(own)}" for end, own in choice.sides.items())
    message = f"the manifest uses derivedAttributes ({names}), alpha in 1.37; if the gate is off, the claim never fits"
    advice = (
        "Turn on DRADerivedAttributes in kube-apiserver and kube-scheduler, or link by a level that all "
        "devices publish."
    )
    return Finding("alpha-gate", Severity.WARNING, link.name, message, advice)


def _notes(sketch: ClaimSketch, link: Link, choice: AttributeChoice, release: KubernetesRelease) -> Iterator[Finding]:
    for end, count in choice.lacking.items():
        why = choice.reason or f"{count} of the devices that match {end} do not publish {choice.name}"
        message = f"{why}, so {'it' if choice.reason else 'kube-scheduler'} never allocates them"
        yield Finding("attribute-missing", Severity.NOTE, link.name, message)
    everything = _all_ends(sketch, link)
    if everything:
        message = f"if {listed(everything)} (All) violates this link, kube-scheduler gives up the pod on every node"
        yield Finding("all-constraint", Severity.WARNING, link.name, message, "Request a count instead of All.")
    old = not release.is_at_least("1.37")
    whole = [e for e in link.requests if e not in everything and not cuttable_count(_request(sketch, e))]
    if link.kind.distinct and old and whole:
        message = (
            f"up to 1.36 kube-scheduler compares only the last device of {listed(whole)}, which cannot be numbered"
        )
        advice = "Remove its alternatives."
        yield Finding("distinct-defect", Severity.WARNING, link.name, message, advice)
