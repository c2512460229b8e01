"""Devices that draw on shared counters, and how much they draw (docs/semantics.md 3.10)."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.index.pools import Pool
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import nano

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
