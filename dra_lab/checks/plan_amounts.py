"""What a plan's devices take of capacity and shared counters, worked out again from the API's fields alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.findings import Finding
from dra_lab.index.pools import Pool
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import CapacityRequestPolicyRange, Device, DeviceCapacity
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Placement
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask


def capacity_kept(held: AuditedPlan) -> Iterator[Finding]:
    """`capacity`: every key of the device, by request and `requestPolicy`, within what is left.

    Rules: docs/semantics.md 3.11.1 to 3.11.4.
    """
    if not held.release.enabled("DRAConsumableCapacity"):
        return
    for device in dict.fromkeys(p.device for p in held.plan.placements):
        takers = [p for p in held.plan.placements if p.device == device]
        taken = [amounts_taken(held, taker) for taker in takers]
        for taker, amounts in zip(takers, taken, strict=True):
            if amounts is None:
                yield broken("capacity", device, f"it cannot give what request {taker.reference} asks for")
            elif any(parse_quantity(v) != amounts.get(k) for k, v in taker.consumed.items()):
                yield broken("capacity", device, f"request {taker.reference} does not consume what the plan says")
        for key, capacity in held.devices[device].capacity.items():
            each = [amounts[key] for amounts in taken if amounts is not None]
            # A dedicated device keeps no account: a request that also takes it, for admin access, sees it whole
            # (docs/semantics.md 3.11.4).
            requested = sum(each, Fraction()) if held.shareable(device) else max(each, default=Fraction())
            left = parse_quantity(capacity.value)
            left -= held.cluster.allocated.consumed.get(device, {}).get(key, Fraction())
            if requested > left:
                yield broken("capacity", device, f"{float(requested):g} of {key} are taken, {float(left):g} are left")


def amounts_taken(held: AuditedPlan, placement: Placement) -> dict[str, Fraction] | None:
    """Return what a placement takes of every capacity of its device, None where it cannot be served."""
    ask = held.asks[placement.reference]
    parts = len(held.taken[placement.reference]) if is_split(held, placement.reference) else 1
    amounts = {key: parse_quantity(amount) / parts for key, amount in ask.capacity.items()}
    return capacity_taken(held.devices[placement.device], amounts, held.release)


def counters_kept(held: AuditedPlan) -> Iterator[Finding]:
    """`consumesCounters`: what the devices draw is left, in pools of which no counter is overdrawn.

    Rule: docs/semantics.md 3.10.
    """
    for pool in held.pools:
        mine = [p.device for p in held.plan.placements if p.device[:2] == (pool.driver, pool.name)]
        pays = [held.devices[device] for device in _paying(held, mine) if held.devices[device].consumes_counters]
        for counter, drawn, left in overdrawn(held.cluster, pool, held.cluster.allocated, pays) if pays else ():
            text = f"{float(drawn):g} of counter {counter} are drawn, {float(left):g} are left"
            yield broken("counters", f"{pool.driver}/{pool.name}", text)


def _paying(held: AuditedPlan, taken: Sequence[DeviceID]) -> Iterator[DeviceID]:
    """Yield the devices that draw from counters, once per draw. Shares draw once, if no share is held already.

    Rules: docs/semantics.md 3.10.6, 3.10.7.
    """
    for device, count in Counter(taken).items():
        if not held.shareable(device):
            yield from (device for _ in range(count))
        elif device not in held.cluster.allocated.shares:
            yield device


def is_split(held: AuditedPlan, reference: str) -> bool:
    """Say whether a request for one large share was split over several devices that together give it."""
    ask, placements = held.asks[reference], held.taken.get(reference, ())
    if ask.all_devices or ask.count != 1 or len(placements) < 2 or len(ask.capacity) != 1:
        return False
    ((key, amount),) = ask.capacity.items()
    part = {key: parse_quantity(amount) / len(placements)}
    for placement in placements:
        amounts = capacity_taken(held.devices[placement.device], part, held.release)
        consistent = amounts is not None and amounts[key] == parse_quantity(placement.consumed.get(key, 0))
        if amounts is None or (held.shareable(placement.device) and not consistent):
            return False
    return any(placement.consumed for placement in placements)


def can_give(held: AuditedPlan, ask: Ask, device: DeviceID, *, now: bool) -> bool:
    """Say whether a device has what an ask takes, `now` with the shares that are held."""
    if not held.release.enabled("DRAConsumableCapacity"):
        return True
    amounts = capacity_taken(held.devices[device], ask.capacity, held.release)
    taken = held.cluster.allocated.consumed.get(device, {}) if now else {}
    return amounts is not None and all(
        amounts[key] + taken.get(key, 0) <= parse_quantity(capacity.value)
        for key, capacity in held.devices[device].capacity.items()
    )


def capacity_taken(
    device: Device, requests: Mapping[str, QuantityText | Fraction], release: KubernetesRelease
) -> dict[str, Fraction] | None:
    """Return what a request takes of every capacity of a device, None where it cannot be served.

    Rule: docs/semantics.md 3.11.
    """
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


def overdrawn(
    cluster: Cluster, pool: Pool, held: AllocatedDevices, taken: Iterable[Device]
) -> Iterator[tuple[str, Fraction, Fraction]]:
    """Yield (counter, drawn, left) of every counter of a pool that a plan's devices overdraw, or that was overdrawn.

    `taken` are the devices of the plan that pay. Every counter of the pool is looked at
    (docs/semantics.md 3.10.1 to 3.10.4).
    """
    drawn = draws_of(taken)
    for (counter_set, name), left in counters_left(cluster, pool, held).items():
        if drawn[counter_set, name] > left or left < 0:
            yield f"{counter_set}/{name}", drawn[counter_set, name], left


def counters_left(cluster: Cluster, pool: Pool, held: AllocatedDevices) -> dict[tuple[str, str], Fraction]:
    """Return what devices in use leave of every counter of a pool, by counter set and counter; below 0 if overdrawn."""
    published = [
        device
        for slice_ in cluster.slices_by_pool.get((pool.driver, pool.name), ())
        if slice_.spec.pool.generation == pool.generation
        for device in slice_.spec.devices or ()
        if _is_held(held, DeviceID(pool.driver, pool.name, device.name))
    ]
    before = draws_of(published)
    return {
        (counters.name, name): parse_quantity(counter.value) - before[counters.name, name]
        for counters in pool.counter_sets
        for name, counter in counters.counters.items()
    }


def _is_held(held: AllocatedDevices, device: DeviceID) -> bool:
    return device in held.exclusive or device in held.shares or device in held.consumed


def draws_of(devices: Iterable[Device]) -> dict[tuple[str, str], Fraction]:
    """Return what devices draw together, by counter set and counter (`consumesCounters`)."""
    found: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for device in devices:
        for use in device.consumes_counters:
            for name, counter in use.counters.items():
                found[use.counter_set, name] += parse_quantity(counter.value)
    return found
