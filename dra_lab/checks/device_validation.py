"""Devices of a ResourceSlice as the API server validates new ones: capacity, attributes, counters (1.4, 1.7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from dra_lab.checks.rules import (
    MAX_LABEL,
    MAX_QUALIFIED,
    Errors,
    check_label,
    check_label_name,
    check_list,
    check_map,
    check_node_selector,
    check_qualified,
    check_set,
    check_subdomain,
    check_unique,
    invalid,
    nothing_to_check,
    required,
    size,
    too_long,
)
from dra_lab.checks.taint_validation import check_taint
from dra_lab.errors import SemverError
from dra_lab.manifests.strict import FieldError
from dra_lab.model.quantity import parse_quantity, semver_key
from dra_lab.model.release import KubernetesRelease

MAX_VALID_VALUES = 10
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def check_capacity(capacity: Mapping[str, Any], path: str, release: KubernetesRelease, *, shareable: bool) -> Errors:
    """Yield what is wrong with `capacity[*]`: a policy needs a shareable device and must fit into the value."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    path = f"{path}.requestPolicy"
    if not shareable:
        yield FieldError(path, "allowMultipleAllocations must be true on the device")
        return
    values, value_range = policy.get("validValues"), policy.get("validRange")
    if values and value_range is not None:
        yield FieldError(path, "set validValues or validRange, not both")
    elif (values or value_range is not None) and "default" not in policy:
        yield required(f"{path}.default", "a policy with validValues or validRange needs it")
    elif values:
        yield from _check_values(policy, _value(capacity, "value"), f"{path}.validValues", release)
    elif value_range is not None:
        yield from _check_range(policy, _value(capacity, "value"), path, release)


def whole(value: Fraction) -> int:
    """Return a quantity as the integer that Kubernetes' `Value()` returns: rounded away from zero."""
    magnitude = -(-abs(value.numerator) // value.denominator)
    return magnitude if value >= 0 else -magnitude


def _check_values(policy: Mapping[str, Any], capacity: Fraction, path: str, release: KubernetesRelease) -> Errors:
    values = [parse_quantity(value) for value in policy["validValues"]]
    for index in range(1, len(values)):
        if values[index - 1] > values[index]:
            yield invalid(f"{path}[{index}]", policy["validValues"][index], "the values must ascend")

    def rule(text: str, place: str) -> Errors:
        if (value := parse_quantity(text)) > capacity:
            yield invalid(place, str(value), "it is larger than the capacity")

    # 1.36 compares whole numbers, so that 1.2 and 1.9 are the same to it; 1.37 texts, so that 1 and 1.0 differ
    exact = release.enabled("DRAFractionalCapacityRange")
    key = _decimal_text if exact else lambda text: whole(parse_quantity(text))
    yield from check_set(policy["validValues"], MAX_VALID_VALUES, rule, path, key)
    # a list that is too long is not looked at, so its default is not found
    if len(values) > MAX_VALID_VALUES or _value(policy, "default") not in values:
        yield invalid(path, policy["default"], "the default must be one of the values")


def _decimal_text(text: str) -> str:
    """Return a quantity as `Quantity.AsDec()` writes it: `1.0` and `1000m` keep their places behind the point."""
    match = re.fullmatch(r"[+-]?\d*\.?(\d*)(.*)", getattr(text, "written", text).strip())
    places, suffix = (len(match[1]), match[2]) if match else (0, "")
    power = int(suffix[1:]) if suffix[:1] in ("e", "E") and suffix[1:] else _POWERS.get(suffix, 0)
    places = min(max(places - power, 0), 9)
    scaled = ceil(abs(parse_quantity(text)) * 10**places)
    digits = f"{scaled:0{places + 1}d}"
    return digits if not places else f"{digits[:-places]}.{digits[-places:]}"


def _check_range(policy: Mapping[str, Any], capacity: Fraction, path: str, release: KubernetesRelease) -> Errors:
    bounds, default = policy["validRange"], _value(policy, "default")
    place = f"{path}.validRange"
    if "min" not in bounds:
        yield required(f"{place}.min")
        return
    low = _value(bounds, "min")
    # the path of a bad default moved in 1.37
    newer = release.is_at_least("1.37")
    if low > capacity:
        yield invalid(f"{place}.min", bounds["min"], "it is larger than the capacity")
    if default < low:
        yield invalid(f"{place}.{'default' if newer else 'min'}", policy["default"], "the default is less than min")
    if "max" in bounds:
        high = _value(bounds, "max")
        if low > high:
            yield invalid(f"{place}.max", bounds["max"], "it is less than min")
        if high > capacity:
            yield invalid(f"{place}.max", bounds["max"], "it is larger than the capacity")
        if default > high:
            yield invalid(f"{place}.{'default' if newer else 'max'}", policy["default"], "the default is more than max")
    if "step" in bounds:
        yield from _check_step(policy, low, capacity, f"{place}.step", release, newer=newer)


def _check_step(
    policy: Mapping[str, Any], low: Fraction, capacity: Fraction, path: str, release: KubernetesRelease, *, newer: bool
) -> Errors:
    bounds = policy["validRange"]
    step = _value(bounds, "step")
    if whole(step) == 0 or (newer and step <= 0):
        # 1.36.2 divides by zero here and answers with an internal error
        yield invalid(path, bounds["step"], "it must be greater than zero")
        return
    if low + step > capacity:
        yield invalid(path, bounds["step"], "min and one step are larger than the capacity")
    ends = [policy["default"], *([bounds["max"]] if "max" in bounds else ())]
    values = [low, step, *map(parse_quantity, ends)]
    milli = release.enabled("DRAFractionalCapacityRange") and any(value.denominator != 1 for value in values)
    factor = 1000 if milli else 1
    for end in ends:
        distance = whole(parse_quantity(end) * factor) - whole(low * factor)
        if distance % whole(step * factor):
            yield invalid(path, end, "it is not min plus a multiple of step")


def _value(value: Mapping[str, Any], name: str) -> Fraction:
    return parse_quantity(value.get(name, "0"))


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

    def key_rule(key: str, place: str) -> Errors:
        yield from check_qualified(key, place, release)

    yield from check_map(attributes, -1, MAX_QUALIFIED, key_rule, check_attribute, f"{path}.attributes")

    def capacity_rule(capacity: Mapping[str, Any], place: str) -> Errors:
        yield from check_capacity(capacity, place, release, shareable=shareable)

    def taint_rule(taint: Mapping[str, Any], place: str) -> Errors:
        yield from check_taint(taint, place, release)

    capacity = device.get("capacity")
    yield from check_map(capacity, -1, MAX_QUALIFIED, key_rule, capacity_rule, f"{path}.capacity")
    yield from check_list(device.get("taints"), MAX_TAINTS, taint_rule, f"{path}.taints")
    consumed = device.get("consumesCounters")
    if consumed:
        place = f"{path}.consumesCounters"
        yield from check_set(consumed, MAX_CONSUMED_SETS, check_consumption, place, lambda c: c.get("counterSet") or "")
    yield from _check_node_choice(device, path, release, per_device=per_device)
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


def _check_node_choice(device: Mapping[str, Any], path: str, release: KubernetesRelease, *, per_device: bool) -> Errors:
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
        # to 1.37 the API server stores several terms (docs/semantics.md 1.5.1)
        if len(selector.get("nodeSelectorTerms") or ()) > 1 and release.is_at_least("1.38"):
            yield FieldError(f"{path}.nodeSelector.nodeSelectorTerms", "exactly one term is allowed")
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


# ---------------------------------------------------------------- fields of 1.37, alpha

MAX_GROUPS = 2


def check_compatibility_groups(groups: Sequence[str] | None, path: str) -> Errors:
    """Yield what is wrong with `consumesCounters[].compatibilityGroups`: at most two names, each once."""
    yield from check_set(groups, MAX_GROUPS, nothing_to_check, f"{path}.compatibilityGroups")


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
