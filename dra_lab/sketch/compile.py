"""A drawing to a claim: what its requests and links become in DRA, for one cluster and one release."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.model.claims import (
    ALL,
    EXACT_COUNT,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, ClaimSketch, asks
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.sketch.compile_links import must_constraints, order_findings, softs_of, writable_links
from dra_lab.sketch.derived import Expressions, with_derived
from dra_lab.sketch.different_devices import kept_different
from dra_lab.sketch.expand import expand
from dra_lab.sketch.needed_classes import class_findings
from dra_lab.sketch.numbered_requests import NumberedRequest, NumberedRequests, WrittenRequest, cut
from dra_lab.sketch.prioritized_list import PrioritizedList, Soft, prioritized_constraints, prioritized_list
from dra_lab.sketch.release_gaps import canonical, fit_to_release, selector_findings

MOST_ENTRIES = 32
"""Most requests, and most constraints, of a claim (docs/semantics.md 2.2)."""


class CompiledClaim(Struct, frozen=True):
    """A drawing as DRA says it.

    `origin` maps every reference of the claim (`gpu-0`, `gpu-0/aligned`) to the drawing's (`gpu`, or `gpu/a100` for a
    drawn alternative); `findings` tell what could not be written.
    """

    spec: ResourceClaimSpec
    origin: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def compile_claim(
    sketch: ClaimSketch, cluster: Cluster, release: KubernetesRelease, *, links: bool = True
) -> CompiledClaim:
    """Return the claim of a drawing; defaults are written out, the same drawing always becomes the same claim.

    Must-links become constraints. Preferences become alternatives with constraints on better ones (`prioritized_list`).
    Pairwise links become numbered requests with one constraint per group. If devices can be shared, one more constraint
    keeps the parts of a count on different devices. A Finding reports what the release or the drivers cannot express.
    Without `links` only counts and selectors are written. Raises SketchError for a drawing that is inconsistent in
    itself. Rules: docs/semantics.md 1.11, 1.13, 1.21, 3.7, 3.9.
    """
    check_sketch(sketch)
    expansion = expand(sketch, cluster, release)
    drawn = expansion.sketch
    findings = [*class_findings(drawn, cluster), *selector_findings(drawn, release)]
    large = _too_many(drawn)
    written: tuple[WrittenRequest, ...] = ()
    texts: Expressions = {}
    if links and not large:
        written, found, texts = writable_links(drawn, cluster, release)
        findings += found
    numbered = cut(drawn, written, release)
    findings += order_findings(drawn, cluster, release, written, numbered)
    prioritized, constraints = _write(drawn, numbered, written)
    apart, found = kept_different(drawn, cluster, release, numbered, constraints, MOST_ENTRIES - len(constraints))
    constraints += apart
    findings += found
    requests = []
    for one in numbered.order:
        written_as = prioritized[one.name]
        fitted, found = fit_to_release(with_derived(written_as.request, constraints, texts, one.of), release)
        requests.append(_with_defaults(fitted))
        findings += [*found, *written_as.findings]
    origin = _origin(numbered, prioritized, expansion.origin)
    config = tuple(_config(entry, origin, expansion.origin) for entry in drawn.config)
    claim = DeviceClaim(requests=tuple(requests), constraints=constraints, config=config)
    findings += [*large, *_limits(claim)]
    return CompiledClaim(ResourceClaimSpec(devices=claim), origin, sort_findings(findings))


def _write(
    drawn: ClaimSketch, numbered: NumberedRequests, written: tuple[WrittenRequest, ...]
) -> tuple[dict[str, PrioritizedList], tuple[DeviceConstraint, ...]]:
    softs: dict[str, list[Soft]] = {}
    for item in written:
        if item.soft:
            for one, soft in softs_of(item, numbered):
                softs.setdefault(one.name, []).append(soft)
    prioritized = {
        one.name: prioritized_list(_numbered(drawn.request(one.of), one), one, softs.get(one.name, ()))
        for one in numbered.order
    }
    found = [constraint for item in written if not item.soft for constraint in must_constraints(item, numbered)]
    spelled = [_spelled_out(constraint, prioritized) for constraint in found]
    for written_as in prioritized.values():
        spelled += prioritized_constraints(written_as, lambda end: _ends(end, prioritized))
    return prioritized, tuple(dict.fromkeys(spelled))


def _numbered(request: DeviceRequest, one: NumberedRequest) -> DeviceRequest:
    if not one.count:
        return request
    if request.exactly is not None:
        return replace(request, name=one.name, exactly=replace(request.exactly, count=one.count))
    subs = tuple(replace(sub, count=one.count) for sub in request.first_available)
    return replace(request, name=one.name, first_available=subs)


def _spelled_out(constraint: DeviceConstraint, prioritized: Mapping[str, PrioritizedList]) -> DeviceConstraint:
    return replace(constraint, requests=tuple(name for end in constraint.requests for name in _ends(end, prioritized)))


def _ends(end: str, prioritized: Mapping[str, PrioritizedList]) -> tuple[str, ...]:
    """Return every rung of a drawn alternative: in a prioritized list, `gpu/a` is `gpu/a-aligned` and `gpu/a`."""
    request, sub = split_request(end)
    own = tuple(f"{request}/{rung.name}" for rung in prioritized[request].rungs if rung.of == sub)
    return own if sub and own else (end,)


def _with_defaults(request: DeviceRequest) -> DeviceRequest:
    if request.exactly is not None:
        return replace(request, exactly=_explicit(request.exactly))
    return replace(request, first_available=tuple(_explicit_sub(sub) for sub in request.first_available))


def _explicit(part: ExactDeviceRequest) -> ExactDeviceRequest:
    everything = part.allocation_mode == ALL
    mode = ALL if everything else EXACT_COUNT
    capacity = canonical(part.capacity)
    return replace(part, allocation_mode=mode, count=0 if everything else part.count or 1, capacity=capacity)


def _explicit_sub(part: DeviceSubRequest) -> DeviceSubRequest:
    everything = part.allocation_mode == ALL
    mode = ALL if everything else EXACT_COUNT
    capacity = canonical(part.capacity)
    return replace(part, allocation_mode=mode, count=0 if everything else part.count or 1, capacity=capacity)


def _origin(
    numbered: NumberedRequests, prioritized: Mapping[str, PrioritizedList], drawn: Mapping[str, str]
) -> dict[str, str]:
    origin: dict[str, str] = {}
    for one in numbered.order:
        source = drawn[one.of]
        origin[one.name] = source
        written_as = prioritized[one.name]
        of = {rung.name: rung.of for rung in written_as.rungs}
        for sub in written_as.request.first_available:
            drawn_sub = of.get(sub.name, sub.name)
            origin[f"{one.name}/{sub.name}"] = f"{source}/{drawn_sub}" if drawn_sub else source
    return origin


def _config(
    entry: DeviceClaimConfiguration, origin: Mapping[str, str], drawn: Mapping[str, str]
) -> DeviceClaimConfiguration:
    ends: list[str] = []
    for end in entry.requests:
        request, sub = split_request(end)
        wanted = f"{drawn.get(request, request)}/{sub}" if sub else drawn.get(request, request)
        ends += [name for name, source in origin.items() if source == wanted and ("/" in name) == bool(sub)]
    return replace(entry, requests=tuple(dict.fromkeys(ends)))


def _too_many(sketch: ClaimSketch) -> tuple[Finding, ...]:
    least = sum(
        min((ask.count for ask in asks(request) if not ask.all_devices), default=1) for request in sketch.requests
    )
    if least <= MAX_DEVICES:
        return ()
    message = f"it requests {least} devices, but a claim can contain at most {MAX_DEVICES}"
    advice = "Lower the counts, or split it into several claims. A link works only within one claim."
    return (Finding("too-many-devices", Severity.ERROR, sketch.name, message, advice),)


def _limits(claim: DeviceClaim) -> tuple[Finding, ...]:
    found = []
    for what, entries in (("requests", claim.requests), ("constraints", claim.constraints)):
        if len(entries) > MOST_ENTRIES:
            message = f"the claim needs {len(entries)} {what}; the API server accepts at most {MOST_ENTRIES}"
            advice = "Remove preferred links or make them musts, or lower the counts."
            found.append(Finding("claim-too-large", Severity.ERROR, what, message, advice))
    return tuple(found)
