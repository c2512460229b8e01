"""Devices of a ResourceSlice as the API server validates them (docs/semantics.md 1.5 to 1.8, 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dra_lab.checks.capacities import check_capacity
from dra_lab.checks.name_formats import (
    MAX_LABEL,
    MAX_QUALIFIED,
    check_label,
    check_label_name,
    check_qualified,
    check_subdomain,
)
from dra_lab.checks.newer_fields import check_compatibility_groups, check_node_allocatable
from dra_lab.checks.node_selectors import check_node_selector
from dra_lab.checks.rules import (
    Errors,
    check_list,
    check_map,
    check_set,
    check_unique,
    invalid,
    nothing_to_check,
    required,
    size,
    too_long,
)
from dra_lab.checks.taint_validation import check_taint
from dra_lab.errors import SemverError
from dra_lab.manifests.field_errors import FieldError
from dra_lab.model.quantity import semver_key
from dra_lab.model.release import KubernetesRelease

MAX_ATTRIBUTES_AND_CAPACITIES = 32
MAX_ATTRIBUTE_VALUES = 48
MAX_TEXT = 64
MAX_TAINTS = 16
MAX_CONSUMED_SETS = 2
MAX_COUNTERS = 32
MAX_CONDITIONS = 4
LIST_MEMBERS = ("bools", "ints", "strings", "versions")
_MEMBERS = ("bool", "int", "string", "version", *LIST_MEMBERS)


def check_device(device: Mapping[str, Any], path: str, release: KubernetesRelease, *, per_device: bool) -> Errors:
    """Yield what is wrong with a device; `per_device` says that the slice leaves the choice of nodes to its devices."""
    yield from check_label(device.get("name") or "", f"{path}.name")
    yield from _check_sizes(device, path)
    attributes, shareable = device.get("attributes"), bool(device.get("allowMultipleAllocations"))
    yield from check_map(attributes, -1, MAX_QUALIFIED, check_qualified, check_attribute, f"{path}.attributes")

    def capacity_rule(capacity: Mapping[str, Any], place: str) -> Errors:
        yield from check_capacity(capacity, place, release, shareable=shareable)

    def taint_rule(taint: Mapping[str, Any], place: str) -> Errors:
        yield from check_taint(taint, place, release)

    capacity = device.get("capacity")
    yield from check_map(capacity, -1, MAX_QUALIFIED, check_qualified, capacity_rule, f"{path}.capacity")
    yield from check_list(device.get("taints"), MAX_TAINTS, taint_rule, f"{path}.taints")
    consumed = device.get("consumesCounters")
    if consumed:
        place = f"{path}.consumesCounters"
        yield from check_set(consumed, MAX_CONSUMED_SETS, check_consumption, place, lambda c: c.get("counterSet") or "")
    yield from _check_node_choice(device, path, per_device=per_device)
    yield from check_binding_conditions(device, path)
    yield from check_node_allocatable(device, path)


def _check_sizes(device: Mapping[str, Any], path: str) -> Errors:
    attributes = device.get("attributes") or {}
    entries = len(attributes) + len(device.get("capacity") or {})
    if entries > MAX_ATTRIBUTES_AND_CAPACITIES:
        yield invalid(path, entries, f"at most {MAX_ATTRIBUTES_AND_CAPACITIES} attributes and capacities are allowed")
    values = sum(max(1, sum(len(a.get(m) or ()) for m in LIST_MEMBERS)) for a in attributes.values())
    if values > MAX_ATTRIBUTE_VALUES:
        yield invalid(path, values, f"at most {MAX_ATTRIBUTE_VALUES} values are allowed, items of lists counted")


def check_attribute(attribute: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with `attributes[*]`: exactly one member, lists not empty, texts of at most 64 bytes."""
    if "string" in attribute:
        yield from _check_text(attribute["string"], f"{path}.string")
    if "version" in attribute:
        yield from _check_version(attribute["version"], f"{path}.version")
    for member in LIST_MEMBERS:
        if member in attribute and not attribute[member]:
            yield invalid(f"{path}.{member}", [], "a list must not be empty")
    for index, value in enumerate(attribute.get("strings") or ()):
        yield from _check_text(value, f"{path}.strings[{index}]")
    for index, value in enumerate(attribute.get("versions") or ()):
        yield from _check_version(value, f"{path}.versions[{index}]")
    if sum(member in attribute for member in _MEMBERS) != 1:
        yield FieldError(path, f"set exactly one of {', '.join(_MEMBERS)}")


def _check_text(value: str, path: str) -> Errors:
    if size(value) > MAX_TEXT:
        yield too_long(path, MAX_TEXT)


def _check_version(value: str, path: str) -> Errors:
    try:
        semver_key(value)
    except SemverError as error:
        yield FieldError(path, error.message)
    yield from _check_text(value, path)


def check_counters(counters: Mapping[str, Any] | None, path: str) -> Errors:
    """Yield what is wrong with a map of counters: not empty, at most 32, names that are DNS labels, any quantity."""
    if counters:
        yield from check_map(counters, MAX_COUNTERS, MAX_LABEL, check_label, nothing_to_check, path)
    else:
        yield required(path)


def check_consumption(consumption: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with `consumesCounters[]`; whether the counter set exists is not looked at."""
    counter_set = consumption.get("counterSet") or ""
    if counter_set:
        yield from check_label(counter_set, f"{path}.counterSet")
    else:
        yield required(f"{path}.counterSet")
    yield from check_counters(consumption.get("counters"), f"{path}.counters")
    yield from check_compatibility_groups(consumption.get("compatibilityGroups"), path)


def _check_node_choice(device: Mapping[str, Any], path: str, *, per_device: bool) -> Errors:
    name, selector, all_nodes = device.get("nodeName"), device.get("nodeSelector"), device.get("allNodes")
    if not per_device:
        if (name, selector, all_nodes) != (None, None, None):
            why = "nodeName, nodeSelector and allNodes need perDeviceNodeSelection: true in the spec of the slice"
            yield FieldError(path, why)
        return
    if name == "":
        yield invalid(f"{path}.nodeName", name, "leave it out or name a node")
    elif name is not None:
        yield from check_subdomain(name, f"{path}.nodeName")
    if selector is not None:
        yield from check_node_selector(selector, f"{path}.nodeSelector")
    if all_nodes is False:
        yield invalid(f"{path}.allNodes", all_nodes, "leave it out or set it to true")
    if sum((bool(name), selector is not None, bool(all_nodes))) != 1:
        yield FieldError(path, "set exactly one of nodeName, nodeSelector and allNodes")


def check_binding_conditions(item: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with binding conditions: at most 4 label names each, no overlap, both lists or none."""
    conditions: Sequence[str] = item.get("bindingConditions") or ()
    failures: Sequence[str] = item.get("bindingFailureConditions") or ()
    yield from check_list(conditions, MAX_CONDITIONS, check_label_name, f"{path}.bindingConditions")
    yield from check_list(failures, MAX_CONDITIONS, check_label_name, f"{path}.bindingFailureConditions")
    # unlike for other lists, also the items of one that is too long are compared
    yield from check_unique(conditions, f"{path}.bindingConditions")
    yield from check_unique(failures, f"{path}.bindingFailureConditions")
    for index, condition in enumerate(failures):
        if condition in conditions:
            yield invalid(f"{path}.bindingFailureConditions[{index}]", condition, "it is a binding condition as well")
    if failures and not conditions:
        yield FieldError(f"{path}.bindingConditions", "bindingFailureConditions need bindingConditions")
    if conditions and not failures:
        yield FieldError(f"{path}.bindingFailureConditions", "bindingConditions need bindingFailureConditions")
