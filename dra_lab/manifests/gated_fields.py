"""Fields of features that are switched off: the API server drops them without a word (docs/semantics.md 1.20).

The rule is that of a new object; an object that is stored already keeps what it uses (registry strategies of 1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dra_lab.model.release import KubernetesRelease

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
        for inner, inner_place in _parts(request, place):
            _drop(inner, _REQUEST_FIELDS, inner_place, release, out)
    for index, constraint in enumerate(devices.get("constraints") or ()):
        gate = {"distinctAttribute": "DRAConsumableCapacity"}
        _drop(constraint, gate, f"{path}.devices.constraints[{index}]", release, out)


def _parts(request: dict[str, Any], place: str) -> Iterator[tuple[dict[str, Any], str]]:
    if "exactly" in request:
        yield request["exactly"], f"{place}.exactly"
    for index, subrequest in enumerate(request.get("firstAvailable") or ()):
        yield subrequest, f"{place}.firstAvailable[{index}]"


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
