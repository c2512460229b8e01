"""Shared counters of partitionable devices: who draws on what, and what is left (docs/semantics.md 3.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from msgspec import Struct, field

from dra_lab.index.counters_left import Counter, Draws, consumption, counted_pools, grouped_sets
from dra_lab.index.pools import Pool
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.scheduler.counters import counters_left

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
