"""Which kinds exist in which versions of the API, and the way of a document to v1 and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dra_lab.errors import ManifestError
from dra_lab.manifests import v1beta1
from dra_lab.model.device import RESOURCE_V1

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
    return v1beta1.written_path(document, path)


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


_UPGRADES: Mapping[str, _Convert] = {"v1beta1": v1beta1.upgrade, "v1alpha3": _upgrade_v1alpha3}
_DOWNGRADES: Mapping[str, _Convert] = {"v1beta1": v1beta1.downgrade}
"""The other versions have the structure of v1."""
