"""`resource.k8s.io/v1beta1` documents to v1 and back, dict to dict (docs/semantics.md 1.17, `v1beta1/conversion.go`).

Two things differ from v1: an exact request is flat in `requests[]` instead of under `exactly`, and what a device is
is under `basic`. In a slice, an empty `nodeName` and `allNodes: false` mean unset. All else is the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Document = Mapping[str, Any]

EXACT_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
"""The fields of `exactly`, flat in v1beta1."""

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_EXACTLY = re.compile(r"^(.*\brequests\[\d+\])\.exactly(?=\.|$)")
_DEVICE = re.compile(r"^(spec\.devices\[\d*\])\.(?!name\b|basic\b)(\w+)")

_MAY_BE_ZERO = ("selectors", "adminAccess", "tolerations", "capacity", "derivedAttributes")


def upgrade(document: Document) -> dict[str, Any]:
    """Return a v1beta1 document as v1. A document that does not have the form of its kind stays unchanged."""
    return _converted(document, _request_up, _device_up, _slice_up)


def downgrade(document: Document) -> dict[str, Any]:
    """Return a v1 document as v1beta1; nothing is lost. Every device gets a `basic`, as Kubernetes writes it."""
    return _converted(document, _request_down, _device_down, dict)


def written_path(document: Document, path: str) -> str:
    """Return a path of the v1 form as v1beta1 has it; a step that a person wrote (`exactly`) stays in it."""
    exactly = _EXACTLY.search(path)
    if exactly is not None and not _has(document, exactly[1], "exactly"):
        path = path[: exactly.end(1)] + path[exactly.end() :]
    device = _DEVICE.search(path)
    if device is not None and (_has(document, device[1], "basic") or not _has(document, device[1], device[2])):
        path = f"{path[: device.end(1)]}.basic{path[device.end(1) :]}"
    return path


def _has(document: Any, path: str, key: str) -> bool:
    for index, name in _STEP.findall(path):
        try:
            document = document[int(index)] if index else document[name]
        except (KeyError, IndexError, TypeError):
            return False
    return isinstance(document, Mapping) and key in document


def _converted(
    document: Document,
    request: Callable[[Document], dict[str, Any]],
    device: Callable[[Document], dict[str, Any]],
    whole_slice: Callable[[Document], dict[str, Any]],
) -> dict[str, Any]:
    found = dict(document)
    spec = document.get("spec")
    if not isinstance(spec, Mapping):
        return found
    match document.get("kind"):
        case "ResourceClaim":
            found["spec"] = _claim_spec(spec, request)
        case "ResourceClaimTemplate" if isinstance(spec.get("spec"), Mapping):
            found["spec"] = {**spec, "spec": _claim_spec(spec["spec"], request)}
        case "ResourceSlice":
            found["spec"] = whole_slice(_with_list(spec, "devices", device))
    return found


def _claim_spec(spec: Document, request: Callable[[Document], dict[str, Any]]) -> dict[str, Any]:
    devices = spec.get("devices")
    if not isinstance(devices, Mapping):
        return dict(spec)
    return {**spec, "devices": _with_list(devices, "requests", request)}


def _with_list(value: Document, name: str, change: Callable[[Document], dict[str, Any]]) -> dict[str, Any]:
    items = value.get(name)
    if not isinstance(items, list | tuple):
        return dict(value)
    return {**value, name: [change(item) if isinstance(item, Mapping) else item for item in items]}


def _request_up(request: Document) -> dict[str, Any]:
    flat = {name: request[name] for name in EXACT_FIELDS if name in request}
    rest = {name: value for name, value in request.items() if name not in flat}
    # any field that is set makes an exact request, so that firstAvailable with a stray count is "both"
    is_set = any(value if name not in _MAY_BE_ZERO else value is not None for name, value in flat.items())
    return {**rest, "exactly": flat} if is_set else rest


def _request_down(request: Document) -> dict[str, Any]:
    exactly = request.get("exactly")
    if not isinstance(exactly, Mapping):
        return dict(request)
    rest = {name: value for name, value in request.items() if name != "exactly"}
    return {**rest, **exactly}


def _device_up(device: Document) -> dict[str, Any]:
    basic = device.get("basic")
    rest = {name: value for name, value in device.items() if name != "basic"}
    return {**rest, **basic} if isinstance(basic, Mapping) else dict(device) if basic is not None else rest


def _device_down(device: Document) -> dict[str, Any]:
    basic = {name: value for name, value in device.items() if name != "name"}
    return {"name": device["name"], "basic": basic} if "name" in device else {"basic": basic}


def _slice_up(spec: Document) -> dict[str, Any]:
    unset = [name for name in ("nodeName", "allNodes") if name in spec and spec[name] in ("", False)]
    return {name: value for name, value in spec.items() if name not in unset}
