"""Shared counters: what devices draw on them, and partitions for which too little is left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dra_lab.index.in_use import Amount, counters_in_use
from dra_lab.index.pools import Pool
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import format_quantity, nano, parse_quantity
from dra_lab.model.slices import newest

Counter = tuple[int, str, str]
"""A counter: the position of its pool among the node's pools with counters, its set, its name."""

Draws = tuple[tuple[Counter, int], ...]
"""What a device takes of counters, sorted; nothing for a device that draws on none."""


def counted_pools(pools: Sequence[Pool]) -> tuple[Pool, ...]:
    """Return the pools of which a device on this node draws on counters, in their order."""
    return tuple(pool for pool in pools if pool.counted)


def grouped_sets(cluster: Cluster, pool: Pool, held: AllocatedDevices) -> frozenset[str]:
    """Return the counter sets of a pool on which an allocated device with `compatibilityGroups` draws.

    Without the gate of these groups, kube-scheduler 1.37 skips all devices that draw on such a set
    (docs/semantics.md 1.8.3).
    """
    return frozenset(
        use.counter_set
        for slice_ in cluster.slices_by_pool[pool.driver, pool.name]
        for device in slice_.spec.devices or ()
        if slice_.spec.pool.generation == pool.generation
        for use in device.consumes_counters
        if use.compatibility_groups and held.holders(DeviceID(pool.driver, pool.name, device.name))
    )


def consumption(device: Device, position: int) -> Draws:
    """Return `consumesCounters` of a device, summed by counter, in 1/NANO; `position` is that of its pool."""
    found: dict[Counter, int] = {}
    for use in device.consumes_counters:
        for name, counter in use.counters.items():
            key = (position, use.counter_set, name)
            found[key] = found.get(key, 0) + nano(counter.value)
    return tuple(sorted((key, amount) for key, amount in found.items() if amount))


@once_per_snapshot
def without_counters(cluster: Cluster) -> Mapping[DeviceID, str]:
    """Return the devices that are not in use and cannot be allocated, with the counter that they lack.

    The values read `gpu-0/memory-slice-0: 0 of 1 left`. It is mostly a partition of a GPU with another in use; a pool
    of which a counter is overdrawn allocates no device that draws on counters at all (docs/semantics.md 3.10.4).
    """
    books: dict[tuple[str, str], dict[tuple[str, str], Amount]] = defaultdict(dict)
    for use in counters_in_use(cluster):
        books[use.driver, use.pool][use.counter_set, use.counter] = use.amount
    found = {}
    for pool, book in books.items():
        if not any(amount.used for amount in book.values()):
            continue
        overdrawn = next((_words(counter, amount) for counter, amount in book.items() if amount.left < 0), "")
        for device in (one for item in newest(cluster.slices_by_pool[pool]) for one in item.spec.devices or ()):
            name = DeviceID(*pool, device.name)
            if device.consumes_counters and not cluster.allocated.holders(name):
                lacks = overdrawn or _lacks(device, book)
                if lacks:
                    found[name] = lacks
    return found


def _lacks(device: Device, book: Mapping[tuple[str, str], Amount]) -> str:
    """Return the first counter of which less is left than the device draws, in words; "" for none."""
    for use in device.consumes_counters:
        for key, counter in use.counters.items():
            amount = book.get((use.counter_set, key))
            if amount is not None and amount.left < parse_quantity(counter.value):
                return _words((use.counter_set, key), amount)
    return ""


def _words(counter: tuple[str, str], amount: Amount) -> str:
    return f"{'/'.join(counter)}: {format_quantity(amount.left)} of {format_quantity(amount.total)} left"
