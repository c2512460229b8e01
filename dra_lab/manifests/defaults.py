"""What the API server fills in before it looks at the rest (docs/semantics.md 1.11, 1.9; `v1/defaults.go`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from dra_lab.model.claims import EXACT_COUNT


def fill_defaults(document: dict[str, Any], version: str = "v1", now: str = "") -> None:
    """Fill the defaults of a decoded document of `resource.k8s.io` into it, in the form of its own version.

    A request without allocation mode asks for ExactCount, and such a request without a count, or with a count of 0,
    for one device. A toleration without operator is `Equal`. A taint without time gets `now` (an ISO time; the clock's
    where it is empty). In v1beta1 a request without class is left alone, as its fields belong to the subrequests.
    """
    kind, spec = document.get("kind"), document.get("spec") or {}
    if kind == "ResourceClaimTemplate":
        kind, spec = "ResourceClaim", spec.get("spec") or {}
    if kind == "ResourceClaim":
        for request in (spec.get("devices") or {}).get("requests") or ():
            _fill_request(request, version)
    moment = now or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for taint in _taints(kind, spec):
        taint.setdefault("timeAdded", moment)
    for device in spec.get("devices") or () if kind == "ResourceSlice" else ():
        content = device.get("basic") or {} if version == "v1beta1" else device
        for mapping in (content.get("nodeAllocatableResourceMappings") or {}).values():
            mapping.setdefault("allocationMultiplier", "1")


def _fill_request(request: dict[str, Any], version: str) -> None:
    for subrequest in request.get("firstAvailable") or ():
        _fill_exact(subrequest)
    if version == "v1beta1":
        if request.get("deviceClassName"):
            _fill_exact(request)
        else:
            _fill_tolerations(request)
    elif "exactly" in request:
        _fill_exact(request["exactly"])


def _fill_exact(request: dict[str, Any]) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = EXACT_COUNT
    if request["allocationMode"] == EXACT_COUNT and not request.get("count"):
        request["count"] = 1
    _fill_tolerations(request)


def _fill_tolerations(request: dict[str, Any]) -> None:
    for toleration in request.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


def _taints(kind: object, spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if kind == "DeviceTaintRule" and "taint" in spec:
        yield spec["taint"]
    for device in spec.get("devices") or () if kind == "ResourceSlice" else ():
        yield from device.get("taints") or ()
        yield from (device.get("basic") or {}).get("taints") or ()
