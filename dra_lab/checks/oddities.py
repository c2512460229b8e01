"""Accepted is not yet sensible: what the API server takes and kube-scheduler then reads otherwise, or not at all.

Works on decoded v1 documents with their defaults, as `admission` makes them. Every finding is a warning or a note, its
`origin` holds the path of the field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.claims import ALL
from dra_lab.model.quantity import parse_quantity

MAX_RESULTS = 32
"""Devices of one claim (`AllocationResultsMaxSize`)."""

MAX_TOLERATIONS = 16
"""Documented for a request, and not enforced by any validator of 1.36.2."""

Odd = tuple[str, str, str, str]
"""Path, rule, message, advice."""


def find_oddities(document: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is odd about a document that the API server accepts."""
    metadata = document.get("metadata") or {}
    subject = f"{document.get('kind')}/{metadata.get('name') or metadata.get('generateName') or ''}"
    spec = document.get("spec") or {}
    odd: Iterator[Odd] = iter(())
    match document.get("kind"):
        case "ResourceClaim":
            odd = _claim(spec, "spec")
        case "ResourceClaimTemplate":
            odd = _claim(spec.get("spec") or {}, "spec.spec")
        case "ResourceSlice":
            odd = _slice(spec)
        case "DeviceTaintRule" if "deviceSelector" not in spec:
            message = "it has no deviceSelector, and kube-scheduler to 1.37.0 then taints every device, later ones none"
            odd = iter((("spec.deviceSelector", "taints-everything", message, "Name a driver, pool or device."),))
    for path, rule, message, advice in odd:
        yield Finding(rule, Severity.WARNING, subject, message, advice, Origin(path=path))


def _claim(spec: Mapping[str, Any], path: str) -> Iterator[Odd]:
    devices, path = spec.get("devices") or {}, f"{path}.devices"
    requests = devices.get("requests") or ()
    if not requests:
        yield f"{path}.requests", "claim-empty", "the claim requests no device", "Add a request."
    for index, request in enumerate(requests):
        place = f"{path}.requests[{index}]"
        if "exactly" in request:
            yield from _exact(request["exactly"], f"{place}.exactly")
        for number, subrequest in enumerate(request.get("firstAvailable") or ()):
            yield from _exact(subrequest, f"{place}.firstAvailable[{number}]")
    least = sum(map(_least, requests))
    if least > MAX_RESULTS:
        message = (
            f"the claim requests at least {least} devices, but a claim can contain at most {MAX_RESULTS}, so "
            "it never fits"
        )
        yield f"{path}.requests", "claim-too-large", message, "Split it into several claims."
    for index, constraint in enumerate(devices.get("constraints") or ()):
        yield from _constraint(constraint, f"{path}.constraints[{index}]")


def _least(request: Mapping[str, Any]) -> int:
    parts = [request["exactly"]] if "exactly" in request else request.get("firstAvailable") or ()
    return min((0 if part.get("allocationMode") == ALL else part.get("count") or 0 for part in parts), default=0)


def _exact(request: Mapping[str, Any], path: str) -> Iterator[Odd]:
    tolerations = request.get("tolerations") or ()
    if len(tolerations) > MAX_TOLERATIONS:
        message = f"{len(tolerations)} tolerations, but the documented limit is {MAX_TOLERATIONS}"
        yield f"{path}.tolerations", "tolerations-many", message, "A later release may refuse the claim."
    for index, toleration in enumerate(tolerations):
        if not toleration.get("key") and toleration.get("operator") == "Equal":
            message = "without a key, operator Equal tolerates every taint with this value, whatever its key"
            advice = "Write the key, or operator Exists to tolerate every taint."
            yield f"{path}.tolerations[{index}]", "toleration-any-key", message, advice
    for key, amount in ((request.get("capacity") or {}).get("requests") or {}).items():
        place = f"{path}.capacity.requests[{key}]"
        if parse_quantity(amount) < 0:
            yield (
                place,
                "capacity-negative",
                f"the request asks for a negative amount of {key}",
                "Request a positive amount.",
            )


def _constraint(constraint: Mapping[str, Any], path: str) -> Iterator[Odd]:
    if "matchAttribute" in constraint and "distinctAttribute" in constraint:
        message = "matchAttribute and distinctAttribute are both set, but only matchAttribute counts"
        yield path, "constraint-both", message, "Write two constraints."
    for field in ("matchAttribute", "distinctAttribute"):
        if constraint.get(field, "").count("/") > 1:
            message = f"{constraint[field]!r} has more than one slash, so no device can have this attribute"
            yield f"{path}.{field}", "name-slashes", message, "Write domain/name."


def _slice(spec: Mapping[str, Any]) -> Iterator[Odd]:
    driver = spec.get("driver") or ""
    if driver != driver.lower():
        message = f"the driver name {driver!r} has upper case, and names are compared letter for letter"
        yield "spec.driver", "driver-case", message, "Use lower case."
    for index, device in enumerate(spec.get("devices") or ()):
        yield from _device(device, driver, f"spec.devices[{index}]")


def _device(device: Mapping[str, Any], driver: str, path: str) -> Iterator[Odd]:
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    for part, keys in (("attributes", attributes), ("capacity", capacity)):
        for key in keys:
            if key.count("/") > 1:
                message = f"{key!r} has more than one slash, so selectors cannot read it"
                yield f"{path}.{part}", "name-slashes", message, "Write domain/name."
            elif "/" not in key and f"{driver}/{key}" in keys:
                message = (
                    f"{key!r} and '{driver}/{key}' are one name to selectors, so a selector sees only one of the two"
                )
                yield f"{path}.{part}[{key}]", "name-twice", message, "Publish one of them."
    if len((device.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()) > 1:
        message = "the node selector of a device has several terms, so kube-scheduler gives up a pod that gets it"
        yield f"{path}.nodeSelector", "device-node-terms", message, "Use one term."
    for key, amount in capacity.items():
        value = parse_quantity(amount.get("value", "0"))
        default = (amount.get("requestPolicy") or {}).get("default")
        if value < 0:
            yield f"{path}.capacity[{key}].value", "capacity-negative", f"the capacity {key} is negative", ""
        elif default is not None and parse_quantity(default) > value:
            message = f"the default request of {key} is larger than the capacity, so a request without an amount fails"
            yield f"{path}.capacity[{key}].requestPolicy.default", "default-too-large", message, "Lower the default."
