"""Preferences in plain DRA: a request with alternatives, of which the first ones are named by constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import DeviceConstraint, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.sketch.numbered_requests import NumberedRequest
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
    bases = _bases(request)
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
            if soft.distinct:
                yield DeviceConstraint(requests=ends, distinct_attribute=soft.attribute)
            else:
                yield DeviceConstraint(requests=ends, match_attribute=soft.attribute)


def _bases(request: DeviceRequest) -> Mapping[str, ExactDeviceRequest | DeviceSubRequest]:
    if request.exactly is not None:
        return {"": request.exactly}
    return {sub.name: sub for sub in request.first_available}


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
