"""Objects that ask for devices outside a pod template, such as a TrainJob: only their controller knows the pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dra_lab.gitops.extended import asked_of
from dra_lab.gitops.folder import Document
from dra_lab.manifests.pod_templates import MAX_DEPTH, pod_fields
from dra_lab.manifests.versions import GROUP

_NO_ASK = ("ConfigMap", "Secret", "CustomResourceDefinition", "Kustomization", "Node")
"""Kinds that contain text or schemas, in which such fields ask for nothing."""

_REFERENCES = ("resourceClaimTemplateName", "resourceClaimName")


def asks_elsewhere(document: Document) -> str:
    """Return the path of the first field outside a pod template that asks for devices, "" if there is none.

    These are `resources` with an extended resource in `limits` or `requests`, and `resourceClaims` that name a claim or
    a template.
    """
    version = document.value.get("apiVersion")
    if document.kind in _NO_ASK or (isinstance(version, str) and version.startswith(f"{GROUP}/")):
        return ""
    pods = frozenset(field.path for field in pod_fields(document.value))
    return next(_asks(document.value, "", pods, 0), "")


def _asks(value: Any, path: str, pods: frozenset[str], depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH or path in pods:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _asks(item, f"{path}[{index}]", pods, depth + 1)
    if not isinstance(value, Mapping):
        return
    if next(asked_of({"resources": value}), None):
        yield path
    for key, child in value.items():
        if not isinstance(key, str) or key in ("metadata", "status"):
            continue
        here = f"{path}.{key}".lstrip(".")
        if key == "resourceClaims" and _names_claims(child):
            yield here
        yield from _asks(child, here, pods, depth + 1)


def _names_claims(entries: Any) -> bool:
    return isinstance(entries, list) and any(
        isinstance(entry, Mapping) and any(entry.get(key) for key in _REFERENCES) for entry in entries
    )
