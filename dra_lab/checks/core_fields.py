"""Fields that core Kubernetes validates: `metadata` of objects and templates, and node selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.checks.rules import (
    Errors,
    check_label,
    check_label_name,
    check_label_value,
    check_subdomain,
    invalid,
    required,
    size,
)
from dra_lab.manifests.strict import FieldError

MAX_ANNOTATIONS = 256 * 1024
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid")


def check_metadata(metadata: Mapping[str, Any], *, namespaced: bool, path: str = "metadata") -> Errors:
    """Yield what is wrong with the `metadata` of an object whose name is a DNS subdomain."""
    name, prefix = metadata.get("name") or "", metadata.get("generateName") or ""
    if prefix:
        # what is generated goes behind the prefix, so that its last character may be a dash
        masked = prefix[:-1] + "a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        yield from check_subdomain(masked, f"{path}.generateName")
    if name:
        yield from check_subdomain(name, f"{path}.name")
    elif not prefix:
        yield required(f"{path}.name", "name or generateName")
    if namespaced and metadata.get("namespace"):
        yield from check_label(metadata["namespace"], f"{path}.namespace")
    if (metadata.get("generation") or 0) < 0:
        yield invalid(f"{path}.generation", metadata["generation"], "it must not be negative")
    yield from _check_notes(metadata, path)
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        for field in _OWNER_FIELDS:
            if not owner.get(field):
                yield invalid(f"{path}.ownerReferences[{index}].{field}", "", "it must not be empty")
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        yield from check_label_name(finalizer, f"{path}.finalizers[{index}]")


def check_template_metadata(metadata: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with `spec.metadata` of a template, which may carry labels and annotations only."""
    yield from _check_notes(metadata, path)
    for name, value in metadata.items():
        if name not in ("labels", "annotations") and value not in ("", 0, None, [], {}):
            shown = {"uid": "uID"}.get(name, name)
            yield FieldError(f"{path}.{shown}", "only labels and annotations can be set here")


def _check_notes(metadata: Mapping[str, Any], path: str) -> Errors:
    for name, value in (metadata.get("labels") or {}).items():
        yield from check_label_name(name, f"{path}.labels")
        yield from check_label_value(value, f"{path}.labels")
    annotations = metadata.get("annotations") or {}
    for name in annotations:
        yield from check_label_name(name.lower(), f"{path}.annotations")
    total = sum(size(name) + size(value) for name, value in annotations.items())
    if total > MAX_ANNOTATIONS:
        yield invalid(f"{path}.annotations", f"{total} bytes", f"at most {MAX_ANNOTATIONS} bytes are allowed")


def check_node_selector(selector: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with a node selector: it needs a term, and each requirement the values of its operator."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "at least one term")
    for index, term in enumerate(terms):
        place = f"{path}.nodeSelectorTerms[{index}]"
        for number, requirement in enumerate(term.get("matchExpressions") or ()):
            yield from _check_expression(requirement, f"{place}.matchExpressions[{number}]")
        for number, requirement in enumerate(term.get("matchFields") or ()):
            yield from _check_field(requirement, f"{place}.matchFields[{number}]")


def _check_expression(requirement: Mapping[str, Any], path: str) -> Errors:
    values = requirement.get("values") or ()
    match requirement.get("operator") or "":
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", "In and NotIn need values")
        case "Exists" | "DoesNotExist":
            if values:
                yield FieldError(f"{path}.values", "Exists and DoesNotExist take no values")
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required(f"{path}.values", "Gt and Lt need one value")
        case other:
            yield invalid(f"{path}.operator", other, "use In, NotIn, Exists, DoesNotExist, Gt or Lt")
    yield from check_label_name(requirement.get("key") or "", f"{path}.key")
    for index, value in enumerate(values):
        yield from check_label_value(value, f"{path}.values[{index}]")


def _check_field(requirement: Mapping[str, Any], path: str) -> Errors:
    values, key = requirement.get("values") or (), requirement.get("key") or ""
    operator = requirement.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "use In or NotIn")
    elif len(values) != 1:
        yield required(f"{path}.values", "one value")
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "the only field is metadata.name")
        return
    for index, value in enumerate(values):
        yield from check_subdomain(value, f"{path}.values[{index}]")
