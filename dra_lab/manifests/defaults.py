"""Defaults that the API server fills in, and the fields that it drops because their feature is switched off.

Rules: docs/semantics.md 1.9, 1.11, 1.20, and `v1/defaults.go`. They are those of a new object; an object that is
stored already keeps what it uses (registry strategies of 1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from dra_lab.model.claims import EXACT_COUNT
from dra_lab.model.release import KubernetesRelease


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


Dropped = list[tuple[str, str]]
"""The dropped fields: (path of the field, name of the gate)."""

_REQUEST_FIELDS = {
    "adminAccess": "DRAAdminAccess",
    "tolerations": "DRADeviceTaints",
    "capacity": "DRAConsumableCapacity",
    "derivedAttributes": "DRADerivedAttributes",
}
_DEVICE_FIELDS = {
    "taints": "DRADeviceTaints",
    "consumesCounters": "DRAPartitionableDevices",
    "nodeName": "DRAPartitionableDevices",
    "nodeSelector": "DRAPartitionableDevices",
    "allNodes": "DRAPartitionableDevices",
    "bindsToNode": "DRADeviceBindingConditions",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindingFailureConditions": "DRADeviceBindingConditions",
    "allowMultipleAllocations": "DRAConsumableCapacity",
    "nodeAllocatableResourceMappings": "DRANodeAllocatableResources",
    "nodeAllocatableResources": "DRANodeAllocatableResources",
}
_SLICE_FIELDS = {
    "sharedCounters": "DRAPartitionableDevices",
    "perDeviceNodeSelection": "DRAPartitionableDevices",
    "partitionTypeAttribute": "DRAPartitionableDevicesType",
    "skipNodeOperations": "DRAOptionalNodeOperations",
}
_LISTS = ("ints", "bools", "strings", "versions")


def drop_disabled(document: dict[str, Any], release: KubernetesRelease) -> tuple[tuple[str, str], ...]:
    """Drop the fields of a decoded v1 document whose gate is off, and return them with the names of their gates."""
    dropped: Dropped = []
    spec = document.get("spec") or {}
    match document.get("kind"):
        case "ResourceClaim":
            _drop_claim(spec, "spec", release, dropped)
        case "ResourceClaimTemplate":
            _drop_claim(spec.get("spec") or {}, "spec.spec", release, dropped)
        case "ResourceSlice":
            _drop_slice(spec, release, dropped)
        case "DeviceClass":
            _drop(spec, {"extendedResourceName": "DRAExtendedResource"}, "spec", release, dropped)
    return tuple(dropped)


def _drop(value: dict[str, Any], gates: dict[str, str], path: str, release: KubernetesRelease, out: Dropped) -> None:
    for name, gate in gates.items():
        if name in value and not release.enabled(gate):
            del value[name]
            out.append((f"{path}.{name}", gate))


def _drop_claim(spec: dict[str, Any], path: str, release: KubernetesRelease, out: Dropped) -> None:
    devices = spec.get("devices") or {}
    for index, request in enumerate(devices.get("requests") or ()):
        place = f"{path}.devices.requests[{index}]"
        _drop(request, {"firstAvailable": "DRAPrioritizedList"}, place, release, out)
        for inner, inner_place, _ in request_parts(request, place):
            _drop(inner, _REQUEST_FIELDS, inner_place, release, out)
    for index, constraint in enumerate(devices.get("constraints") or ()):
        gate = {"distinctAttribute": "DRAConsumableCapacity"}
        _drop(constraint, gate, f"{path}.devices.constraints[{index}]", release, out)


def request_parts(request: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str, str]]:
    """Yield what a request asks for, exactly or as alternatives, with path and reference."""
    name = request.get("name") or ""
    if "exactly" in request:
        yield request["exactly"], f"{path}.exactly", name
    for index, subrequest in enumerate(request.get("firstAvailable") or ()):
        yield subrequest, f"{path}.firstAvailable[{index}]", f"{name}/{subrequest.get('name') or ''}"


def _drop_slice(spec: dict[str, Any], release: KubernetesRelease, out: Dropped) -> None:
    _drop(spec, _SLICE_FIELDS, "spec", release, out)
    for index, device in enumerate(spec.get("devices") or ()):
        place = f"spec.devices[{index}]"
        _drop(device, _DEVICE_FIELDS, place, release, out)
        for key, capacity in (device.get("capacity") or {}).items():
            gate = {"requestPolicy": "DRAConsumableCapacity"}
            _drop(capacity, gate, f"{place}.capacity[{key}]", release, out)
        for key, attribute in (device.get("attributes") or {}).items():
            lists = dict.fromkeys(_LISTS, "DRAListTypeAttributes")
            _drop(attribute, lists, f"{place}.attributes[{key}]", release, out)
        for number, counters in enumerate(device.get("consumesCounters") or ()):
            gate = {"compatibilityGroups": "DRADeviceCompatibilityGroups"}
            _drop(counters, gate, f"{place}.consumesCounters[{number}]", release, out)
