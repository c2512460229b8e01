"""What a plan's devices take of capacity and shared counters, worked out again from the API's fields alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from math import ceil

from dra_lab.model.cluster import AllocatedDevices, Cluster
from dra_lab.model.device import CapacityRequestPolicyRange, Device, DeviceCapacity
from dra_lab.model.names import DeviceID
from dra_lab.model.pools import Pool
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.release import KubernetesRelease


def capacity_taken(
    device: Device, requests: Mapping[str, QuantityText | Fraction], release: KubernetesRelease
) -> dict[str, Fraction] | None:
    """Return what a request takes of every capacity of a device, None where it cannot be served (3.11)."""
    if any(key not in device.capacity for key in requests):
        return None
    asked = {key: v if isinstance(v, Fraction) else parse_quantity(v) for key, v in requests.items()}
    if release.version == "1.37" and any(amount < 0 for amount in asked.values()):
        return None
    unit = Fraction(1, 1000) if release.enabled("DRAFractionalCapacityRange") else Fraction(1)
    found = {key: _taken(asked.get(key), capacity, unit) for key, capacity in device.capacity.items()}
    return {key: amount for key, amount in found.items() if amount is not None} if None not in found.values() else None


def _taken(asked: Fraction | None, capacity: DeviceCapacity, unit: Fraction) -> Fraction | None:
    policy = capacity.request_policy
    if policy is None:
        return parse_quantity(capacity.value) if asked is None else asked
    if asked is None and policy.default is not None:
        return parse_quantity(policy.default)
    wanted = parse_quantity(capacity.value) if asked is None else asked
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
        # Whole numbers of the unit, as Quantity.Value() gives them.
        first, step, want = (ceil(amount / unit) for amount in (low, parse_quantity(valid.step), wanted))
        wanted = (first + ceil(Fraction(want - first, step)) * step) * unit
    return None if valid.max is not None and wanted > parse_quantity(valid.max) else wanted


def overdrawn(
    cluster: Cluster, pool: Pool, held: AllocatedDevices, taken: Iterable[Device]
) -> Iterator[tuple[str, Fraction, Fraction]]:
    """Yield (counter, drawn, left) of every counter of a pool that a plan's devices overdraw, or that was overdrawn.

    `taken` are the devices of the plan that pay. Every counter of the pool is looked at (3.10, rules 55 to 58).
    """
    published = [
        device
        for slice_ in cluster.slices
        if (slice_.spec.driver, slice_.spec.pool.name) == (pool.driver, pool.name)
        and slice_.spec.pool.generation == pool.generation
        for device in slice_.spec.devices or ()
        if _is_held(held, DeviceID(pool.driver, pool.name, device.name))
    ]
    before, drawn = _drawn(published), _drawn(taken)
    for counters in pool.counter_sets:
        for name, counter in counters.counters.items():
            left = parse_quantity(counter.value) - before[counters.name, name]
            if drawn[counters.name, name] > left or left < 0:
                yield f"{counters.name}/{name}", drawn[counters.name, name], left


def _is_held(held: AllocatedDevices, device: DeviceID) -> bool:
    return device in held.exclusive or device in held.shares or device in held.consumed


def _drawn(devices: Iterable[Device]) -> dict[tuple[str, str], Fraction]:
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for device in devices:
        for use in device.consumes_counters:
            for name, counter in use.counters.items():
                found[use.counter_set, name] += parse_quantity(counter.value)
    return found
