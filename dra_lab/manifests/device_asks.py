"""What pods and their containers ask for today: extended resources of device plugins, and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dra_lab.errors import QuantityError
from dra_lab.manifests.pod_templates import MAX_DEPTH, join_path, pod_fields
from dra_lab.manifests.versions import GROUP
from dra_lab.model.quantity import parse_quantity

IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""Every DeviceClass serves the extended resource of this name followed by its own (KEP-5004)."""

_NATIVE = ("kubernetes.io", "k8s.io")
_NO_ASK = ("ConfigMap", "Secret", "CustomResourceDefinition", "Kustomization", "Node", "ResourceQuota", "LimitRange")
"""Kinds that contain text, schemas or limits, in which such fields ask for nothing."""

_REFERENCES = ("resourceClaimTemplateName", "resourceClaimName")
Object = Mapping[str, Any]


def containers(spec: Object, path: str = "") -> Iterator[tuple[str, Object]]:
    """Yield (path, container) of a pod's init containers and containers, and the model server of KServe's `model`."""
    for key in ("initContainers", "containers"):
        entries = spec.get(key)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, Mapping):
                yield f"{path}.{key}[{index}]".lstrip("."), entry
    model = spec.get("model")
    if isinstance(model, Mapping):
        yield f"{path}.model".lstrip("."), model


def is_extended(name: str) -> bool:
    """Say whether a resource name is an extended one: with a domain that is not Kubernetes' own (core/v1 helpers).

    The name by which a pod asks for a DeviceClass (`IMPLICIT`) is one too.
    """
    if name.startswith(IMPLICIT):
        return True
    domain, slash, _ = name.partition("/")
    native = any(domain == own or domain.endswith(f".{own}") for own in _NATIVE)
    return bool(slash) and not native and not name.startswith("requests.")


def extended_resources(container: Object) -> dict[str, Any]:
    """Return the extended resources that a container asks for: amounts as written, by name, without those of zero."""
    resources = container.get("resources")
    found: dict[str, Any] = {}
    for part in ("requests", "limits"):
        amounts = resources.get(part) if isinstance(resources, Mapping) else None
        found |= amounts if isinstance(amounts, Mapping) else {}
    return {
        name: amount
        for name, amount in found.items()
        if isinstance(name, str) and is_extended(name) and not _is_zero(amount)
    }


def _is_zero(amount: object) -> bool:
    """Say whether an amount asks for nothing; one that is no number (`$GPUS`) may ask for something."""
    try:
        return amount is None or parse_quantity(str(amount)) == 0
    except QuantityError:
        return False


def whole_amount(amount: object) -> int:
    """Return an amount of devices as a whole number: extended resources are quantities, so `1k` is 1000; else 0."""
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return 0
    try:
        value = parse_quantity(amount.strip() if isinstance(amount, str) else amount)
    except QuantityError:
        return 0
    return int(value) if value.denominator == 1 and value > 0 else 0


def requested_devices(spec: Object) -> tuple[str, ...]:
    """Return what a pod asks for today, sorted, as text: `nvidia.com/gpu: 8`, and the claims that it has."""
    found = {f"{name}: {amount}" for _, one in containers(spec) for name, amount in extended_resources(one).items()}
    entries = spec.get("resourceClaims")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            named = entry.get("resourceClaimTemplateName") or entry.get("resourceClaimName")
            found.add(f"claim {named}")
    return tuple(sorted(found))


def asks_outside(value: Object) -> Iterator[tuple[str, str]]:
    """Yield (path, resource) of what an object asks for outside its pod templates, as a TrainJob does.

    These are `resources` with an extended resource, and `resourceClaims` that name a claim or a template, for which
    the resource is "". Only the controller of such an object knows which pods get it. Objects of DRA and kinds that
    contain text or limits ask for nothing.
    """
    version = value.get("apiVersion")
    if value.get("kind") in _NO_ASK or (isinstance(version, str) and version.startswith(f"{GROUP}/")):
        return
    yield from _outside(value, "", frozenset(field.path for field in pod_fields(value)), 0)


def _outside(value: Any, path: str, pods: frozenset[str], depth: int) -> Iterator[tuple[str, str]]:
    if depth > MAX_DEPTH or path in pods:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _outside(item, f"{path}[{index}]", pods, depth + 1)
    if not isinstance(value, Mapping):
        return
    for name in extended_resources({"resources": value}) if _is_resources(path) else ():
        yield path, name
    for key, child in value.items():
        if not isinstance(key, str) or key in ("metadata", "status"):
            continue
        here = join_path(path, key)
        if key == "resourceClaims" and _names_claims(child):
            yield here, ""
        yield from _outside(child, here, pods, depth + 1)


def _is_resources(path: str) -> bool:
    """Say whether a field holds what pods ask for; `spec.limits` of a NodePool is the most that its nodes may have."""
    return "resource" in path.rpartition(".")[2].lower()


def _names_claims(entries: Any) -> bool:
    return isinstance(entries, list) and any(
        isinstance(entry, Mapping) and any(entry.get(key) for key in _REFERENCES) for entry in entries
    )
