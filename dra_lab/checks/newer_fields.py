"""Fields of alpha features of 1.36 and 1.37, off by default; not compared with records.

Rules: docs/semantics.md 1.5, 1.8, 1.12, and `pkg/apis/resource/validation` of Kubernetes 1.37. The expressions of
derived attributes are not compiled here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dra_lab.cel.selector import LENGTH_LIMIT
from dra_lab.checks.name_formats import check_fully_qualified
from dra_lab.checks.rules import Errors, check_set, invalid, nothing_to_check, required, size, too_long
from dra_lab.manifests.field_errors import FieldError
from dra_lab.model.quantity import parse_quantity

MAX_DERIVED = 32
MAX_GROUPS = 2

Uses = Mapping[str, frozenset[str]]
"""What constraints name: reference to a request ("" for all of them) -> attributes."""


def attribute_uses(constraints: Sequence[Mapping[str, Any]] | None) -> Uses:
    """Return which attributes the constraints of a claim name for which references."""
    found: dict[str, set[str]] = {}
    for constraint in constraints or ():
        name = constraint.get("matchAttribute") or constraint.get("distinctAttribute")
        for reference in constraint.get("requests") or ("",):
            if name:
                found.setdefault(reference, set()).add(name)
    return {reference: frozenset(names) for reference, names in found.items()}


def check_derived_attributes(request: Mapping[str, Any], path: str, reference: str, uses: Uses) -> Errors:
    """Yield what is wrong with `derivedAttributes`: each has a full name that a constraint on the request uses."""
    used = uses.get("", frozenset()) | uses.get(reference, frozenset())
    used |= uses.get(reference.partition("/")[0], frozenset())

    def rule(derived: Mapping[str, Any], place: str) -> Errors:
        name, expression = derived.get("name") or "", derived.get("expression") or ""
        if not name:
            yield required(f"{place}.name")
        else:
            yield from check_fully_qualified(name, f"{place}.name")
            if name not in used:
                yield invalid(f"{place}.name", name, "no constraint on this request uses it")
        if not expression:
            yield required(f"{place}.expression")
        elif size(expression) > LENGTH_LIMIT:
            yield too_long(f"{place}.expression", LENGTH_LIMIT)

    derived = request.get("derivedAttributes")
    yield from check_set(derived, MAX_DERIVED, rule, f"{path}.derivedAttributes", lambda d: d.get("name") or "")


def check_compatibility_groups(groups: Sequence[str] | None, path: str) -> Errors:
    """Yield what is wrong with `consumesCounters[].compatibilityGroups`: at most two names, each once."""
    yield from check_set(groups, MAX_GROUPS, nothing_to_check, f"{path}.compatibilityGroups")


def check_partition_type(spec: Mapping[str, Any]) -> Errors:
    """Yield what is wrong with `partitionTypeAttribute`: every device that draws counters has it as a text."""
    name = spec.get("partitionTypeAttribute")
    if name is None:
        return
    path = "spec.partitionTypeAttribute"
    devices = spec.get("devices") or ()
    if not any(device.get("consumesCounters") for device in devices):
        yield invalid(path, name, "no device of the slice consumes counters")
        return
    wrong = list(check_fully_qualified(name, path))
    yield from wrong
    bare = name.removeprefix(f"{spec.get('driver') or ''}/")
    for index, device in enumerate(devices if not wrong else ()):
        attributes, place = device.get("attributes") or {}, f"spec.devices[{index}].attributes[{name}]"
        attribute = attributes.get(name, attributes.get(bare))
        if not device.get("consumesCounters"):
            continue
        if attribute is None:
            yield required(place, "partitionTypeAttribute names it and the device consumes counters")
        elif "string" not in attribute:
            yield FieldError(place, "partitionTypeAttribute names it, so it must be a string")


def check_node_allocatable(device: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with the node resources that a device represents, in the form of 1.36 or of 1.37."""
    capacity = device.get("capacity") or {}
    for name, mapping in (device.get("nodeAllocatableResourceMappings") or {}).items():
        place = f"{path}.nodeAllocatableResourceMappings[{name}]"
        yield from _check_mapping(mapping, place, capacity, ("allocationMultiplier",))
    for name, resource in (device.get("nodeAllocatableResources") or {}).items():
        place = f"{path}.nodeAllocatableResources[{name}]"
        mapping, overhead = resource.get("mapping"), resource.get("overhead")
        if mapping is None and overhead is None:
            yield required(place, "set mapping or overhead")
        if mapping is not None:
            multipliers = ("capacityMultiplier", "deviceMultiplier")
            yield from _check_mapping(mapping, f"{place}.mapping", capacity, multipliers)
            if ("capacityKey" in mapping) != ("capacityMultiplier" in mapping):
                missing = "capacityMultiplier" if "capacityKey" in mapping else "capacityKey"
                yield required(f"{place}.mapping.{missing}", "the two belong together")
        if overhead is not None:
            yield from _check_overhead(overhead, f"{place}.overhead")


def _check_mapping(
    mapping: Mapping[str, Any], path: str, capacity: Mapping[str, Any], multipliers: tuple[str, ...]
) -> Errors:
    key = mapping.get("capacityKey")
    if key is not None and key not in capacity:
        yield invalid(f"{path}.capacityKey", key, "the device has no such capacity")
    for name in multipliers:
        if name in mapping and parse_quantity(mapping[name]) <= 0:
            yield invalid(f"{path}.{name}", mapping[name], "it must be positive")


def _check_overhead(overhead: Mapping[str, Any], path: str) -> Errors:
    amounts = [name for name in ("perPod", "perContainer") if name in overhead]
    if not amounts:
        yield FieldError(path, "set perPod or perContainer")
    for name in amounts:
        if parse_quantity(overhead[name]) < 0:
            yield invalid(f"{path}.{name}", overhead[name], "it must not be negative")
