"""A drawing to a claim: what its requests and links become in DRA, for one cluster and one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.cel.selector import unknown_in
from dra_lab.drivers.profiles import documented_class
from dra_lab.errors import CelError, QuantityError
from dra_lab.findings import Finding, Rule, Severity, sort_findings
from dra_lab.index.documented_classes import documented_classes, known_classes
from dra_lab.model.claims import (
    ALL,
    EXACT_COUNT,
    CapacityRequirements,
    DeviceClaim,
    DeviceClaimConfiguration,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    RequestPart,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.quantity import canonical_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, ClaimSketch, asks
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.sketch.compile_links import (
    PrioritizedList,
    Soft,
    must_constraints,
    order_findings,
    prioritized_constraints,
    prioritized_list,
    softs_of,
    writable_links,
)
from dra_lab.sketch.links import Expressions, with_derived
from dra_lab.sketch.numbered_requests import (
    NumberedRequest,
    NumberedRequests,
    WrittenRequest,
    cut,
    expand,
    kept_different,
)
from dra_lab.sketch.object_names import is_subdomain

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
        requests.append(fitted.with_parts(lambda _, part: _explicit(part)))
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
    return replace(request, name=one.name).with_parts(lambda _, part: replace(part, count=one.count))


def _spelled_out(constraint: DeviceConstraint, prioritized: Mapping[str, PrioritizedList]) -> DeviceConstraint:
    return replace(constraint, requests=tuple(name for end in constraint.requests for name in _ends(end, prioritized)))


def _ends(end: str, prioritized: Mapping[str, PrioritizedList]) -> tuple[str, ...]:
    """Return every rung of a drawn alternative: in a prioritized list, `gpu/a` is `gpu/a-aligned` and `gpu/a`."""
    request, sub = split_request(end)
    own = tuple(f"{request}/{rung.name}" for rung in prioritized[request].rungs if rung.of == sub)
    return own if sub and own else (end,)


def _explicit(part: RequestPart) -> RequestPart:
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


def fit_to_release(request: DeviceRequest, release: KubernetesRelease) -> tuple[DeviceRequest, tuple[Finding, ...]]:
    """Return a request without the fields whose gate is off in a release, and a Finding for each of them."""
    findings: list[Finding] = []
    if request.exactly is None and not release.enabled("DRAPrioritizedList"):
        message = "the API server refuses a request with firstAvailable"
        advice = "Remove the alternatives."
        findings.append(_gap("release-first-available", Severity.ERROR, request.name, release, message, advice))
    fitted = request.with_parts(lambda reference, part: _fit(part, reference, release, findings))
    if fitted.exactly is not None and fitted.exactly.admin_access and not release.enabled("DRAAdminAccess"):
        message = "the API server drops adminAccess, so this becomes an ordinary exclusive request"
        advice = "Remove adminAccess."
        findings.append(_gap("release-admin-access", Severity.ERROR, request.name, release, message, advice))
        fitted = replace(fitted, exactly=replace(fitted.exactly, admin_access=None))
    return fitted, tuple(findings)


def selector_findings(sketch: ClaimSketch, release: KubernetesRelease) -> Iterator[Finding]:
    """Yield what the API server of a release refuses of the selectors, because its CEL does not have it yet.

    A selector that does not compile at all is not looked at: the plan and the API's validation say that.
    """
    for request in sketch.requests:
        for ask in asks(request):
            for text in ask.selectors:
                try:
                    unknown = unknown_in(release, text)
                except CelError:
                    continue
                for why in unknown:
                    advice = "Use functions that this release has, or plan for a newer one."
                    yield Finding("selector-release", Severity.ERROR, ask.reference, why, advice)


def canonical(capacity: CapacityRequirements | None) -> CapacityRequirements | None:
    """Return amounts as Kubernetes prints them (`1024Mi` is `1Gi`), so that no tool shows a difference for ever.

    What is no amount stays as it is, for the API's validation to name.
    """
    if capacity is None or not capacity.requests:
        return capacity
    return CapacityRequirements(requests={key: _printed(amount) for key, amount in capacity.requests.items()})


def _printed(amount: str | float) -> str | int | float:
    try:
        return canonical_quantity(amount)
    except QuantityError:
        return amount


def _fit(part: RequestPart, reference: str, release: KubernetesRelease, findings: list[Finding]) -> RequestPart:
    if part.capacity is not None and part.capacity.requests and not release.enabled("DRAConsumableCapacity"):
        amounts = ", ".join(f"{key}: {amount}" for key, amount in part.capacity.requests.items())
        message = f"a request cannot ask for an amount ({amounts}), so it gets whole devices"
        advice = (
            "Request whole devices by count (for CPUs, use the driver's mode with one device per CPU), or "
            "plan for 1.36."
        )
        findings.append(_gap("release-capacity", Severity.ERROR, reference, release, message, advice))
        part = replace(part, capacity=None)
    if part.tolerations and not release.enabled("DRADeviceTaints"):
        message = "dra-lab leaves out the tolerations, because this release does not know device taints"
        advice = "If the driver publishes health, exclude tainted devices with a selector. Otherwise plan for 1.36."
        findings.append(_gap("release-tolerations", Severity.WARNING, reference, release, message, advice))
        part = replace(part, tolerations=())
    if part.derived_attributes and not release.enabled("DRADerivedAttributes"):
        message = "dra-lab leaves out derivedAttributes; a constraint that names one would match no device"
        advice = "Use an attribute that the drivers publish, or selectors."
        findings.append(_gap("release-derived-attributes", Severity.ERROR, reference, release, message, advice))
        part = replace(part, derived_attributes=())
    return part


def _gap(
    rule: Rule, severity: Severity, subject: str, release: KubernetesRelease, message: str, advice: str
) -> Finding:
    return Finding(rule, severity, subject, f"in Kubernetes {release} {message}", advice)


def needed_classes(sketch: ClaimSketch, cluster: Cluster) -> tuple[DeviceClass, ...]:
    """Return the classes that a drawing names and the cluster lacks, sorted by name: they are exported with the claim.

    They are documented, also those of drivers that are not in the cluster at all, or come from the claim's files.
    """
    lacking = documented_classes(cluster).keys() | cluster.given_classes
    known = known_classes(cluster)
    return tuple(known[name] for name in _named(sketch) if name in lacking and is_subdomain(name))


def is_known_class(name: str, cluster: Cluster) -> bool:
    """Return whether a cluster has a class, or the documentation of a driver."""
    return name in known_classes(cluster)


def class_findings(
    sketch: ClaimSketch, cluster: Cluster, *, done: str = "is used, and exported with the claim"
) -> tuple[Finding, ...]:
    """Return a Finding for every class that a drawing names and the cluster lacks: documented, or not known at all.

    `done` says what is done with the documented class.
    """
    added, known = documented_classes(cluster), known_classes(cluster)
    findings = []
    for name in _named(sketch):
        if name in added:
            known_class = documented_class(name, cluster.profiles)
            used = "the documented one" if known_class else "one that selects all devices of its driver"
            message = f"this DeviceClass is not in this cluster; {used} {done}"
            advice = f"Source: {added[name].source}."
            findings.append(Finding("class-not-in-cluster", Severity.WARNING, name, message, advice))
        elif name not in known:
            present = sorted(known.keys() - added.keys())
            advice = f"Create it, or use one of: {', '.join(present)}." if present else "Create it first."
            message = "this DeviceClass is not in the cluster and not documented by any known driver"
            findings.append(Finding("class-unknown", Severity.ERROR, name, message, advice))
    return tuple(findings)


def _named(sketch: ClaimSketch) -> list[str]:
    return sorted({ask.device_class_name for request in sketch.requests for ask in asks(request)})
