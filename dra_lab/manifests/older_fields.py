"""Objects of `resource.k8s.io` in v1alpha1 to v1alpha3, which no release reads any more: what to write instead.

Sources: `k8s.io/api/resource/v1alpha2/types.go` of Kubernetes 1.30 and `v1alpha3/types.go` of 1.31 (KEP-4381).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dra_lab.manifests.v1beta1 import EXACT_FIELDS
from dra_lab.manifests.versions import GROUP, KIND_VERSIONS, short_version, text_of

_NOT_KINDS = ("ResourcePoolStatusRequest",)
_OLDER = ("v1alpha1", "v1alpha2", "v1alpha3")
_ROOTS = {"ResourceClaim": "spec", "ResourceClaimTemplate": "spec.spec"}
_NOW = {
    "ResourceClass": "kind: DeviceClass",
    "ResourceClaimParameters": "selectors and `config` in the claim itself",
    "ResourceClassParameters": "selectors and `config` in the DeviceClass itself",
}


class OlderField(NamedTuple):
    """A field of an older version: its path, what became of it, and what to write."""

    path: str
    message: str
    advice: str


def older_fields(document: Mapping[str, Any]) -> tuple[OlderField, ...]:
    """Return what to change in an object of an older version, a row for each field; empty for any other object."""
    api_version, kind = text_of(document.get("apiVersion")), text_of(document.get("kind"))
    group, _, version = api_version.partition("/")
    if group != GROUP or version not in _OLDER or kind in _NOT_KINDS or short_version(api_version, kind):
        return ()
    return tuple(_rows(document, kind, version))


def _rows(document: Mapping[str, Any], kind: str, version: str) -> Iterator[OlderField]:
    if kind in ("PodSchedulingContext", "PodScheduling"):
        message = f"Kubernetes 1.32 removed {kind}; kube-scheduler allocates devices itself"
        yield OlderField("kind", message, "Remove the object.")
        return
    if kind == "ResourceSlice":
        message = f"Kubernetes 1.32 and later do not read slices in {version}"
        yield OlderField("apiVersion", message, "Update the driver: it publishes its slices itself.")
        return
    gone = "1.31" if version != "v1alpha3" else "1.34"
    message = f"Kubernetes {gone} removed {GROUP}/{version} {kind}"
    yield OlderField("apiVersion", message, f"Write apiVersion: {GROUP}/v1.")
    if kind not in KIND_VERSIONS:
        now = _NOW.get(kind)
        known = f"Kinds are: {', '.join(sorted(KIND_VERSIONS))}."
        yield OlderField("kind", f"the kind {kind} no longer exists", f"Write {now}." if now else known)
    if kind in _ROOTS:
        yield from _claim(_mapping(document, *_ROOTS[kind].split(".")), _ROOTS[kind])
    elif kind == "ResourceClass":
        yield from _resource_class(document)
    elif kind == "DeviceClass":
        yield from _suitable_nodes(_mapping(document, "spec"), "spec.")
    elif kind in _NOW:
        yield from _parameters(document)


def _claim(spec: Mapping[str, Any], root: str) -> Iterator[OlderField]:
    request = f"{root}.devices.requests[0]"
    name = spec.get("resourceClassName")
    if name is not None:
        message = f"resourceClassName {name!r} is now the deviceClassName of a request"
        yield OlderField(
            f"{root}.resourceClassName",
            message,
            f"Write {request}: {{name: device, exactly: {{deviceClassName: {name}}}}}.",
        )
    if "parametersRef" in spec:
        what = _reference(spec["parametersRef"])
        message = f"a claim refers to no parameters object ({what})"
        advice = f"Write its choices as {request}.exactly.selectors, its settings as {root}.devices.config[0].opaque."
        yield OlderField(f"{root}.parametersRef", message, advice)
    if "allocationMode" in spec:
        message = f"a claim has no allocationMode {spec['allocationMode']!r}: devices are allocated with the pod"
        advice = f"Remove it. {request}.exactly.allocationMode means something else: ExactCount or All."
        yield OlderField(f"{root}.allocationMode", message, advice)
    if "controller" in spec:
        message = f"a claim has no controller {spec['controller']!r}: kube-scheduler allocates devices itself"
        yield OlderField(f"{root}.controller", message, "Remove it.")
    requests = _mapping(spec, "devices").get("requests")
    for index, item in enumerate(requests if isinstance(requests, list) else ()):
        for field in EXACT_FIELDS if isinstance(item, Mapping) and "exactly" not in item else ():
            if field in item:
                path = f"{root}.devices.requests[{index}]"
                message = f"{field} {_short(item[field])} is under `exactly` in v1"
                yield OlderField(f"{path}.{field}", message, f"Write it as {path}.exactly.{field}.")


def _resource_class(document: Mapping[str, Any]) -> Iterator[OlderField]:
    driver = document.get("driverName")
    if driver is not None:
        message = f"a DeviceClass has no driverName {driver!r}; it selects devices"
        expression = f"device.driver == {json.dumps(driver)}"
        yield OlderField("driverName", message, f"Write spec.selectors[0].cel.expression: '{expression}'.")
    if "parametersRef" in document:
        message = f"a DeviceClass refers to no parameters object ({_reference(document['parametersRef'])})"
        advice = "Write its choices as spec.selectors, its settings as spec.config[0].opaque."
        yield OlderField("parametersRef", message, advice)
    if "structuredParameters" in document:
        message = "structuredParameters no longer exists, because every claim has structured parameters"
        yield OlderField("structuredParameters", message, "Remove it.")
    yield from _suitable_nodes(document, "")


def _suitable_nodes(spec: Mapping[str, Any], root: str) -> Iterator[OlderField]:
    if "suitableNodes" in spec:
        message = "a DeviceClass no longer chooses nodes (suitableNodes)"
        advice = "Remove it. If the choice of nodes matters, add node affinity to the pods."
        yield OlderField(f"{root}suitableNodes", message, advice)


def _parameters(document: Mapping[str, Any]) -> Iterator[OlderField]:
    where = "the claim's devices" if document.get("kind") == "ResourceClaimParameters" else "the DeviceClass's spec"
    words = {
        "driverRequests": "requests and their selectors",
        "filters": "`selectors`",
        "vendorParameters": "`config[].opaque.parameters`",
    }
    for field, value in document.items():
        if field in words:
            yield OlderField(field, f"{field} is part of {where} now", f"Write it there as {words[field]}.")
        elif field == "shareable":
            message = (
                f"shareable {value!r} no longer exists, because pods share a ResourceClaim that they name "
                "(resourceClaimName)"
            )
            yield OlderField(field, message, "Remove it.")
        elif field == "generatedFrom":
            yield OlderField(field, f"generatedFrom ({_reference(value)}) no longer exists", "Remove it.")


def _reference(value: object) -> str:
    named = value if isinstance(value, Mapping) else {}
    return f"{named.get('kind', 'object')}/{named.get('name', '')}"


def _short(value: object) -> str:
    return repr(value) if isinstance(value, str | int) else ""


def _mapping(value: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
