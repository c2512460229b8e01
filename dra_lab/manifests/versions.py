"""Which kinds exist in which versions of `resource.k8s.io`, and the way of a document to v1 and back.

Two things of v1beta1 differ from v1 (docs/semantics.md 1.17, `v1beta1/conversion.go`): an exact request is flat in
`requests[]` instead of under `exactly`, and what a device is is under `basic`. In a slice, an empty `nodeName` and
`allNodes: false` mean unset. The other versions have the structure of v1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from dra_lab.errors import ManifestError
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.device import RESOURCE_V1

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

_EXACTLY = re.compile(r"^(.*\brequests\[\d+\])\.exactly(?=\.|$)")
_DEVICE = re.compile(r"^(spec\.devices\[\d*\])\.(?!name\b|basic\b)(\w+)")

_MAY_BE_ZERO = ("selectors", "adminAccess", "tolerations", "capacity", "derivedAttributes")


def from_v1beta1(document: Document) -> dict[str, Any]:
    """Return a v1beta1 document as v1. A document that does not have the form of its kind stays unchanged."""
    return _converted(document, _request_up, _device_up, _slice_up)


def to_v1beta1(document: Document) -> dict[str, Any]:
    """Return a v1 document as v1beta1; nothing is lost. Every device gets a `basic`, as Kubernetes writes it."""
    return _converted(document, _request_down, _device_down, dict)


def _path_in_v1beta1(document: Document, path: str) -> str:
    """Return a path of the v1 form as v1beta1 has it; a step that a person wrote (`exactly`) stays in it."""
    exactly = _EXACTLY.search(path)
    if exactly is not None and not _has(document, exactly[1], "exactly"):
        path = path[: exactly.end(1)] + path[exactly.end() :]
    device = _DEVICE.search(path)
    if device is not None and (_has(document, device[1], "basic") or not _has(document, device[1], device[2])):
        path = f"{path[: device.end(1)]}.basic{path[device.end(1) :]}"
    return path


def _has(document: Any, path: str, key: str) -> bool:
    found = value_at(document, path)
    return isinstance(found, Mapping) and key in found


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


GROUP = "resource.k8s.io"
_Convert = Callable[[Mapping[str, Any]], dict[str, Any]]

_UNTIL_1_34 = ("deviceClassName", "selectors")
"""Members of `deviceSelector` in Kubernetes 1.33 and 1.34 (`k8s.io/api/resource/v1alpha3`), gone in 1.35."""

_REMOVED = ("v1alpha1", "v1alpha2", "v1alpha3")
_ALL = ("v1", "v1beta2", "v1beta1")

KIND_VERSIONS: Mapping[str, tuple[str, ...]] = {
    "ResourceSlice": _ALL,
    "DeviceClass": _ALL,
    "ResourceClaim": _ALL,
    "ResourceClaimTemplate": _ALL,
    "DeviceTaintRule": ("v1", "v1beta2", "v1alpha3"),
}
"""The versions in which a kind of `resource.k8s.io` is read; v1alpha3 in its form since 1.35.

Rule: docs/semantics.md 1.1.
"""


def text_of(value: object) -> str:
    """Return a kind or version as text; what is no text is named by its type, as it may be of any size."""
    return value if isinstance(value, str) else "" if value is None else f"<{type(value).__name__}>"


def short_version(api_version: object, kind: str) -> str:
    """Return `v1beta1` for `resource.k8s.io/v1beta1`, or "" when the kind is not read in this version."""
    group, slash, version = text_of(api_version).partition("/")
    return version if slash and group == GROUP and version in KIND_VERSIONS.get(kind, ()) else ""


def removed(api_version: object, kind: str) -> str:
    """Return what to write in place of an object of v1alpha1 to v1alpha3, "" for a version that is not one of these."""
    group, _, version = text_of(api_version).partition("/")
    read = kind == "ResourcePoolStatusRequest" or short_version(api_version, kind)
    if read or group != GROUP or version not in _REMOVED:
        return ""
    if kind == "ResourceSlice":
        return "Update the driver: it publishes its slices itself."
    now = {**dict.fromkeys(KIND_VERSIONS, kind), "ResourceClass": "DeviceClass"}.get(kind)
    return f"Write it as a {now} of {RESOURCE_V1}." if now else f"Remove it, or write what it says in {RESOURCE_V1}."


def upgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of `resource.k8s.io` as v1, whatever its version.

    Raises ManifestError for a kind or version that is not known.
    """
    version = _version(document, text_of(document.get("apiVersion")))
    return {**_UPGRADES.get(version, dict)(document), "apiVersion": RESOURCE_V1}


def written_path(document: Mapping[str, Any], path: str) -> str:
    """Return a path of the v1 form of a document as it is in the document's own version."""
    if text_of(document.get("apiVersion")).rpartition("/")[2] not in ("v1beta1", "v1alpha3"):
        return path
    return _path_in_v1beta1(document, path)


def downgrade(document: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return a v1 document in an older version (`v1beta1` or `resource.k8s.io/v1beta1`); raises ManifestError."""
    name = version if "/" in version else f"{GROUP}/{version}"
    known = _version(document, name)
    return {**_DOWNGRADES.get(known, dict)(document), "apiVersion": name}


def _version(document: Mapping[str, Any], api_version: str) -> str:
    kind = text_of(document.get("kind"))
    version = short_version(api_version, kind)
    if not version:
        known = ", ".join(f"{GROUP}/{name}" for name in KIND_VERSIONS.get(kind, ())) or "none"
        raise ManifestError(f"{kind} in apiVersion {api_version!r} is not supported; supported versions: {known}")
    return version


def _upgrade_v1alpha3(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a v1alpha3 document as v1.

    Raises ManifestError for a rule that selects by a class or by selectors: without them it would be a rule for every
    device.
    """
    spec = document.get("spec")
    selector = spec.get("deviceSelector") if isinstance(spec, Mapping) else None
    gone = [name for name in _UNTIL_1_34 if isinstance(selector, Mapping) and selector.get(name)]
    if gone:
        raise ManifestError(
            f"spec.deviceSelector has {' and '.join(gone)}, which DeviceTaintRule had only up to Kubernetes 1.34, "
            "so dra-lab adds the taint of this rule to no device"
        )
    return dict(document)


_UPGRADES: Mapping[str, _Convert] = {"v1beta1": from_v1beta1, "v1alpha3": _upgrade_v1alpha3}
_DOWNGRADES: Mapping[str, _Convert] = {"v1beta1": to_v1beta1}
"""The other versions have the structure of v1."""
