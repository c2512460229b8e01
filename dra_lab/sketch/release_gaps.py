"""Fields that a release's API server would silently drop: they are left out of manifests and reported.

Gates and what the server does with fields whose gate is off: docs/semantics.md 1.2, 1.20.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec.structs import replace

from dra_lab.cel.selector import unknown_in
from dra_lab.errors import CelError, QuantityError
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import CapacityRequirements, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.quantity import canonical_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks

Part = TypeVar("Part", ExactDeviceRequest, DeviceSubRequest)


def fit_to_release(request: DeviceRequest, release: KubernetesRelease) -> tuple[DeviceRequest, tuple[Finding, ...]]:
    """Return a request without the fields whose gate is off in a release, and a Finding for each of them."""
    findings: list[Finding] = []
    if request.exactly is not None:
        exactly = _fit(request.exactly, request.name, release, findings)
        if exactly.admin_access and not release.enabled("DRAAdminAccess"):
            message = "the API server drops adminAccess, so this becomes an ordinary exclusive request"
            findings.append(
                _gap("release-admin-access", Severity.ERROR, request.name, release, message, "Remove adminAccess.")
            )
            exactly = replace(exactly, admin_access=None)
        return replace(request, exactly=exactly), tuple(findings)
    if not release.enabled("DRAPrioritizedList"):
        message = "the API server refuses a request with firstAvailable"
        advice = "Remove the alternatives."
        findings.append(_gap("release-first-available", Severity.ERROR, request.name, release, message, advice))
    subs = tuple(_fit(sub, f"{request.name}/{sub.name}", release, findings) for sub in request.first_available)
    return replace(request, first_available=subs), tuple(findings)


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


def _fit(part: Part, reference: str, release: KubernetesRelease, findings: list[Finding]) -> Part:
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


def _gap(rule: str, severity: Severity, subject: str, release: KubernetesRelease, message: str, advice: str) -> Finding:
    return Finding(rule, severity, subject, f"in Kubernetes {release} {message}", advice)
