"""Does every selector of a claim match something? Reported at the line of the selector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.cel.selector import unknown_in
from dra_lab.errors import CelError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.references import WrittenClaim
from dra_lab.index.not_read import not_read
from dra_lab.model.claims import DeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import class_findings

SELECTOR_FAILS = "selector-fails"


def check_matches(
    claim: WrittenClaim, cluster: Cluster, read: Cluster, release: KubernetesRelease
) -> Iterator[Finding]:
    """Yield what the classes and selectors of a claim do not find.

    `cluster` has the documented classes that `read`, the cluster as it was given, may lack. A class or selector that
    leaves no device is an error, in an alternative a warning: the other alternatives may do. Nothing is said to be
    missing that could not be read.
    """
    sketch = ClaimSketch(requests=claim.spec.devices.requests)
    unread = not_read(read, (sketch,)) is not None
    for finding in () if unread else class_findings(sketch, read, done="is checked instead"):
        yield replace(finding, origin=claim.document.at(_class_path(claim, finding.subject)))
    for number, request in enumerate(claim.spec.devices.requests):
        for index, ask in enumerate(asks(request)):
            path = f"{claim.path}.devices.requests[{number}].{_part(request, index)}"
            yield from _of_release(claim, ask, path, release)
            if not unread:
                yield from _ask(claim, ask, path, cluster, release)


def _part(request: DeviceRequest, index: int) -> str:
    return "exactly" if request.exactly is not None else f"firstAvailable[{index}]"


def _of_release(claim: WrittenClaim, ask: Ask, path: str, release: KubernetesRelease) -> Iterator[Finding]:
    """Yield what the selectors of a request use and the release does not have."""
    for index, text in enumerate(ask.selectors):
        place = claim.document.at(f"{path}.selectors[{index}].cel.expression")
        for why in _unknown(release, text):
            yield Finding("selector-release", Severity.ERROR, ask.reference, why, "", place)


def _ask(claim: WrittenClaim, ask: Ask, path: str, cluster: Cluster, release: KubernetesRelease) -> Iterator[Finding]:
    severity = Severity.WARNING if "/" in ask.reference else Severity.ERROR
    found = candidates(cluster, ask, release)
    if found.error:
        return  # the API's validation or the class finding says it
    if found.failed:
        device, why = next(iter(found.failed.items()))
        what = "kube-scheduler gives up the pod when it meets such a device"
        message = f"a selector fails on {device}: {why.rstrip('.')}. {what}"
        advice = "Guard it with has(...) before it reads the attribute, or use the optional form."
        yield Finding(SELECTOR_FAILS, Severity.ERROR, ask.reference, message, advice, claim.document.at(path))
    if not found.in_class:
        message = f"no device of {cluster.name} belongs to the class {ask.device_class_name!r}"
        place = claim.document.at(f"{path}.deviceClassName")
        yield Finding("class-matches-nothing", severity, ask.reference, message, "", place)
    elif not found.devices:
        yield from _dead_selector(claim, ask, path, cluster, release, severity, len(found.in_class))


def _unknown(release: KubernetesRelease, text: str) -> tuple[str, ...]:
    try:
        return unknown_in(release, text)
    except CelError:
        return ()  # the API's validation says it, with its place


def _dead_selector(
    claim: WrittenClaim,
    ask: Ask,
    path: str,
    cluster: Cluster,
    release: KubernetesRelease,
    severity: Severity,
    total: int,
) -> Iterator[Finding]:
    """Name the first selector after which nothing is left."""
    left = total
    for index in range(len(ask.selectors)):
        some = candidates(cluster, changed(ask, selectors=ask.selectors[: index + 1]), release)
        if not some.devices:
            message = f"the selector matches none of {left} devices of {cluster.name}"
            place = claim.document.at(f"{path}.selectors[{index}].cel.expression")
            yield Finding("selector-matches-nothing", severity, ask.reference, message, "", place)
            return
        left = len(some.devices)


def _class_path(claim: WrittenClaim, name: str) -> str:
    for number, request in enumerate(claim.spec.devices.requests):
        for index, ask in enumerate(asks(request)):
            if ask.device_class_name == name:
                return f"{claim.path}.devices.requests[{number}].{_part(request, index)}.deviceClassName"
    return claim.path
