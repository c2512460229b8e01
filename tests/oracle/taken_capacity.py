"""What a request takes of the capacities of a device, computed for the judge apart from the product."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from dra_lab.model.device import CapacityRequestPolicyRange, Device, DeviceCapacity, published_amounts
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.release import KubernetesRelease


def capacity_taken(
    device: Device, requests: Mapping[str, QuantityText | Fraction], release: KubernetesRelease, driver: str
) -> dict[str, Fraction] | None:
    """Return what a request takes of every capacity of a device of a driver, None where it cannot be served.

    Rule: docs/semantics.md 3.11.
    """
    if release.is_at_least("1.38"):
        requests = published_amounts(device, requests, driver)
    if any(key not in device.capacity for key in requests):
        return None
    requested = {key: v if isinstance(v, Fraction) else parse_quantity(v) for key, v in requests.items()}
    if release.is_at_least("1.37") and any(amount < 0 for amount in requested.values()):
        return None
    unit = Fraction(1, 1000) if release.enabled("DRAFractionalCapacityRange") else Fraction(1)
    found = {key: _taken(requested.get(key), capacity, unit) for key, capacity in device.capacity.items()}
    return {key: amount for key, amount in found.items() if amount is not None} if None not in found.values() else None


def _taken(requested: Fraction | None, capacity: DeviceCapacity, unit: Fraction) -> Fraction | None:
    policy = capacity.request_policy
    if policy is None:
        return parse_quantity(capacity.value) if requested is None else requested
    if requested is None and policy.default is not None:
        return parse_quantity(policy.default)
    wanted = parse_quantity(capacity.value) if requested is None else requested
    if policy.valid_range is not None:
        return _ranged(wanted, policy.valid_range, unit)
    if policy.valid_values:
        enough = [value for value in map(parse_quantity, policy.valid_values) if value >= wanted]
        return min(enough, default=None)
    return wanted


def _ranged(wanted: Fraction, valid: CapacityRequestPolicyRange, unit: Fraction) -> Fraction | None:
    low = parse_quantity(valid.min) if valid.min is not None else None
    if low is not None and wanted < low:
        wanted = low
    elif low is not None and valid.step is not None and parse_quantity(valid.step) > 0:
        # Whole numbers of the unit, as Quantity.Value() returns them.
        first, step, want = (ceil(amount / unit) for amount in (low, parse_quantity(valid.step), wanted))
        wanted = (first + ceil(Fraction(want - first, step)) * step) * unit
    return None if valid.max is not None and wanted > parse_quantity(valid.max) else wanted
