"""The tests that a device passes before an ask may take it, in their order, and what is left of shared counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from fractions import Fraction
from math import gcd

from msgspec import Struct, field

from dra_lab.index.in_use import Counter, Draws, consumption, counted_pools, grouped_sets
from dra_lab.index.pools import Pool, PoolDevice
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceTaint, capacity_use
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import NANO
from dra_lab.model.release import Gates, KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, Ask
from dra_lab.scheduler.candidates import untolerated
from dra_lab.scheduler.counters import counters_left


class Stage(IntEnum):
    """The tests that a device passes before an ask may take it, in the order in which they are shown to people."""

    CLASS = 0
    SELECTOR = 1
    TAINT = 2
    IN_USE = 3
    CAPACITY = 4
    FREE = 5

    @property
    def test(self) -> str:
        """Return the name of the test that a device at this stage fails: `class`, `in-use`."""
        return self.name.lower().replace("_", "-")


def why_not_all(
    ask: Ask,
    stages: Mapping[DeviceID, Stage],
    listed: Sequence[DeviceID],
    errors: Sequence[tuple[DeviceID, str, str]],
    pools: Sequence[Pool],
) -> str:
    """Return why an ask with `allocationMode` All cannot be served (docs/semantics.md 3.6), "" where nothing is known.

    `listed` are the devices that All means, `errors` those on which a selector fails.
    """
    if not ask.all_devices:
        return ""
    broken = next((pool for pool in pools if pool.invalid or not pool.complete), None)
    if broken is not None:
        why = broken.invalid or "not all of its slices are there"
        name = f"{broken.driver}/{broken.name}"
        return f"pool {name} is not complete ({why}), and a request for all devices needs every pool"
    if errors:
        return f"a selector fails on {errors[0][0]}, and a request for all devices looks at every device"
    if not listed:
        return "no device matches, and a request for all devices needs at least one"
    stuck = next((device for device in listed if stages[device] is not Stage.FREE), None)
    if stuck is not None:
        words = {Stage.TAINT: "tainted", Stage.IN_USE: "in use"}.get(stages[stuck], "short of capacity")
        return f"{stuck} is {words}, and a request for all devices needs every one of the {len(listed)} that match"
    return ""


Amounts = Mapping[str, Fraction]
"""Capacity by key, exactly as published."""


def hiding_gate(gates: Gates, device: Device) -> str:
    """Return the gate that hides a device because it is off, "" if none does.

    It hides devices with `bindingConditions`, and from 1.37 those with `compatibilityGroups`.
    """
    if device.binding_conditions and not gates.binding_conditions:
        return "DRADeviceBindingConditions"
    grouped = gates.skip_groups and any(use.compatibility_groups for use in device.consumes_counters)
    return "DRADeviceCompatibilityGroups" if grouped else ""


def device_use(gates: Gates, ask: Ask, device: Device, driver: str) -> Amounts | None:
    """Return what `capacity.requests` take of a device by key, by its `requestPolicy`; None where it cannot serve them.

    A dedicated device is tested too, as a filter (docs/semantics.md 3.11.1 to 3.11.4).
    """
    if not (gates.consumable_capacity and (ask.capacity or device.capacity)):
        return {}
    use = capacity_use(device, ask.capacity, gates, driver)
    return None if use is None else {key: Fraction(amount, NANO) for key, amount in use.items()}


def is_tolerated(cluster: Cluster, release: KubernetesRelease, ask: Ask, item: PoolDevice) -> bool:
    """Say whether `tolerations` of a request stand all `taints[]` of a device and of DeviceTaintRules.

    Rule: docs/semantics.md 3.8.
    """
    return untolerated(keeping_away(cluster, release, item.id, item.device), ask.tolerations) is None


def keeping_away(
    cluster: Cluster, release: KubernetesRelease, device_id: DeviceID, device: Device
) -> Iterator[DeviceTaint]:
    """Yield the taints of a device that keep requests without a matching toleration away."""
    for taint in cluster.taints_of(device_id, device, rules=release.counted_rules):
        if taint.effect in ("NoSchedule", "NoExecute"):
            yield taint


COARSE = 10_000
"""Amounts up to here are exact in the solver; where a device draws more, devices are told apart one by one."""


class CounterBooks(Struct, frozen=True):
    """The counters of a node: `left` in whole numbers of one unit a counter, below zero when over-committed.

    `draws` is what each device that has still to pay takes. `barred` maps the devices that counters keep away to
    whether they would fit on an empty pool. `coarse` are the devices at counters with large amounts (COARSE).
    """

    left: Mapping[Counter, int] = field(default_factory=dict)
    draws: Mapping[DeviceID, Draws] = field(default_factory=dict)
    barred: Mapping[DeviceID, bool] = field(default_factory=dict)
    coarse: frozenset[DeviceID] = frozenset()


def left_of(cluster: Cluster, pools: Sequence[Pool], held: AllocatedDevices) -> dict[Counter, int]:
    """Return what is left of every counter of some pools, in 1/NANO (docs/semantics.md 3.10.1 to 3.10.3)."""
    return {
        (position, *counter): amount
        for position, pool in enumerate(pools)
        for counter, amount in counters_left(cluster, pool, held).items()
    }


def counter_books(
    cluster: Cluster,
    pools: Sequence[Pool],
    held: AllocatedDevices,
    shared: frozenset[DeviceID],
    claims: int = 1,
    *,
    skip_groups: bool = False,
) -> CounterBooks:
    """Return the counters of a node's pools with what is held; `shared` are shareable devices that have paid already.

    `claims` is the number of claims that draw on them at once. A pool of which any counter is over-committed bars all
    its devices that have to pay (docs/semantics.md 3.10.4). With `skip_groups`, a device with compatibility groups bars
    all devices of its counter sets (`grouped_sets`).
    """
    counted = counted_pools(pools)
    if not counted:
        return CounterBooks()
    left = left_of(cluster, counted, held)
    idle = left_of(cluster, counted, AllocatedDevices())
    overdrawn = {position for (position, _, _), amount in left.items() if amount < 0}
    draws: dict[DeviceID, Draws] = {}
    barred: dict[DeviceID, bool] = {}
    for position, pool in enumerate(counted):
        grouped = grouped_sets(cluster, pool, held) if skip_groups else frozenset()
        for item in pool.here:
            if not item.device.consumes_counters or item.id in shared:
                continue
            mine = consumption(item.device, position)
            if any(use.counter_set in grouped for use in item.device.consumes_counters):
                barred[item.id] = True
            elif position in overdrawn or any(amount > left[counter] for counter, amount in mine):
                barred[item.id] = all(amount <= idle[counter] for counter, amount in mine)
            elif mine:
                draws[item.id] = mine
    return _reduced(CounterBooks(left, draws, barred), claims)


def _reduced(books: CounterBooks, claims: int) -> CounterBooks:
    """Return the same counters in their largest common units, without those that no claim can use up."""
    by: dict[Counter, list[int]] = {}
    for mine in books.draws.values():
        for counter, amount in mine:
            by.setdefault(counter, []).append(amount)
    unit = {counter: gcd(*amounts) for counter, amounts in by.items()}
    # A claim takes at most what 32 devices take of a counter; larger amounts need not be told apart.
    most = {counter: claims * sum(sorted(amounts)[-MAX_DEVICES:]) for counter, amounts in by.items()}
    left = {
        counter: books.left[counter] // unit[counter] for counter in sorted(by) if most[counter] > books.left[counter]
    }
    draws = {
        device: tuple((counter, amount // unit[counter]) for counter, amount in mine if counter in left)
        for device, mine in books.draws.items()
    }
    large = {counter for mine in draws.values() for counter, amount in mine if amount > COARSE}
    coarse = frozenset(device for device, mine in draws.items() if any(counter in large for counter, _ in mine))
    return CounterBooks(left, {device: mine for device, mine in draws.items() if mine}, books.barred, coarse)
