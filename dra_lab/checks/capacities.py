"""Capacity of devices and its request policy (KEP-5075; docs/semantics.md 1.7)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dra_lab.checks.rules import Errors, check_set, invalid, required
from dra_lab.manifests.field_errors import FieldError
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease

MAX_VALID_VALUES = 10


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

    def rule(value: Fraction, place: str) -> Errors:
        if value > capacity:
            yield invalid(place, str(value), "it is larger than the capacity")

    # 1.36 compares whole numbers, so that 1.2 and 1.9 are the same to it
    exact = release.enabled("DRAFractionalCapacityRange")
    yield from check_set(values, MAX_VALID_VALUES, rule, path, lambda value: value if exact else whole(value))
    # a list that is too long is not looked at, so its default is not found
    if len(values) > MAX_VALID_VALUES or _value(policy, "default") not in values:
        yield invalid(path, policy["default"], "the default must be one of the values")


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
