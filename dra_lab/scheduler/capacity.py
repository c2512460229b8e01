"""Capacity requests and consumable capacity (KEP-5075; docs/semantics.md 3.11): what a request takes of a device."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.model.device import CapacityRequestPolicyRange, Device, DeviceCapacity, published_amounts
from dra_lab.model.quantity import NANO, QuantityText, nano

Amounts = Mapping[str, int]
"""Amounts in 1/NANO by capacity key, keys exactly as published."""

_NONE: Amounts = {}


def capacity_use(
    device: Device,
    requests: Mapping[str, QuantityText],
    *,
    fractional: bool = False,
    defects: bool = True,
    driver: str = "",
) -> Amounts | None:
    """Return what a request takes of every capacity of a device, or None when the device cannot serve it.

    `requests` are the amounts asked for; keys are compared literally, a key that the device lacks rules it out
    (docs/semantics.md 3.11.1, 3.11.3). `fractional` is the gate DRAFractionalCapacityRange; 1.37 (without `defects`)
    refuses negative requests. From 1.38 `driver` is given, and its domain may be left out (3.11.14).
    """
    if driver:
        requests = published_amounts(device, requests, driver)
    if any(key not in device.capacity for key in requests):
        return None
    found: dict[str, int] = {}
    for key, capacity in device.capacity.items():
        requested = nano(requests[key]) if key in requests else None
        if requested is not None and requested < 0 and not defects:
            return None
        use = _use(requested, capacity, NANO // 1000 if fractional else NANO)
        if use is None:
            return None
        found[key] = use
    return found


def capacity_left(device: Device, use: Amounts, consumed: Amounts = _NONE, taken: Amounts = _NONE) -> bool:
    """Say whether what is consumed, what this attempt took and the new use stay within every capacity of the device."""
    for key, amount in use.items():
        if consumed.get(key, 0) + taken.get(key, 0) + amount > nano(device.capacity[key].value):
            return False
    return True


def _use(requested: int | None, capacity: DeviceCapacity, unit: int) -> int | None:
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy else None
        requested = nano(capacity.value if default is None else default)
        if policy is None or default is not None:
            return requested
    if policy is None:
        return requested
    if policy.valid_range is not None:
        return _in_range(requested, policy.valid_range, unit)
    if policy.valid_values:
        return next((v for v in map(nano, policy.valid_values) if v >= requested), None)
    return requested


def _in_range(requested: int, allowed: CapacityRequestPolicyRange, unit: int) -> int | None:
    use = requested
    if allowed.min is not None:
        low = nano(allowed.min)
        if requested < low:
            use = low
        elif allowed.step is not None:
            use = _round_up(requested, low, nano(allowed.step), unit)
    if allowed.max is not None and use > nano(allowed.max):
        return None
    return use


def _round_up(requested: int, low: int, step: int, unit: int) -> int:
    # Quantity.Value() (MilliValue() with the fractional gate) rounds every operand up to a whole number first
    have, base, width = (-(-amount // unit) for amount in (requested, low, step))
    if width <= 0:
        return requested
    return (base + -(-(have - base) // width) * width) * unit
