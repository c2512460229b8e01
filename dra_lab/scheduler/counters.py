"""Shared counters of partitionable devices (KEP-4815; docs/semantics.md 3.10)."""

from __future__ import annotations

from fractions import Fraction

from dra_lab.index.pools import Pool
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import NANO, format_quantity, nano
from dra_lab.scheduler.candidates import Candidate, NodeView

_Counter = tuple[str, str]
"""Counter set and counter."""

_OVERDRAWN: _Counter = ("", "")
"""Stands, below zero for ever, in the books of a pool of which a counter was overdrawn before this attempt."""


class Counters:
    """What is left of the shared counters of every pool, and what this attempt has booked; amounts in 1/NANO.

    `defects` (1.36) keys the books by the pool's name alone, so that two drivers with equal pool names share them; the
    caller decides whether to give back what a rejected candidate booked (docs/semantics.md 3.10.8).
    """

    def __init__(self, view: NodeView, *, defects: bool) -> None:
        """Compute nothing yet; a pool's books are opened when its first device asks."""
        self._view = view
        self._defects = defects
        self._left: dict[tuple[str, str], dict[_Counter, int]] = {}
        self._uses: dict[int, list[tuple[_Counter, int]]] = {}

    def book(self, candidate: Candidate) -> bool:
        """Book what a device consumes, or say no when a counter would be overdrawn or one of its pool is.

        Rule: docs/semantics.md 3.10.4.
        """
        left = self._books(candidate)
        uses = self._consumption(candidate)
        for counter, amount in uses:
            if counter in left:
                left[counter] -= amount
        touched = left if _OVERDRAWN in left else dict(uses)
        if all(left.get(counter, 0) >= 0 for counter in touched):
            return True
        self.give_back(candidate)
        return False

    def short_of(self, candidate: Candidate) -> tuple[str, str, str]:
        """Return a counter of which too little is left, what the device needs and what is left; "" if another is."""
        left = self._books(candidate)
        for (counter_set, name), amount in self._consumption(candidate):
            rest = left.get((counter_set, name), 0)
            if rest < amount:
                needed, free = (format_quantity(Fraction(value, NANO)) for value in (amount, rest))
                return f"{counter_set}/{name}", needed, free
        return "", "", ""

    def give_back(self, candidate: Candidate) -> None:
        """Undo what `book` booked."""
        left = self._books(candidate)
        for counter, amount in self._consumption(candidate):
            if counter in left:
                left[counter] += amount

    def _consumption(self, candidate: Candidate) -> list[tuple[_Counter, int]]:
        uses = self._uses.get(candidate.index)
        if uses is None:
            uses = self._uses[candidate.index] = _consumption(candidate.device)
        return uses

    def _books(self, candidate: Candidate) -> dict[_Counter, int]:
        key = ("" if self._defects else candidate.driver, candidate.id.pool)
        left = self._left.get(key)
        if left is None:
            pool = next(p for p in self._view.pools if (p.driver, p.name) == (candidate.driver, candidate.id.pool))
            left = self._left[key] = counters_left(self._view.cluster, pool, self._view.allocated)
            if any(amount < 0 for amount in left.values()):
                left[_OVERDRAWN] = -1
        return left


def counters_left(cluster: Cluster, pool: Pool, held: AllocatedDevices) -> dict[_Counter, int]:
    """Return what is left of a pool's counters, by (set, counter); below zero when over-committed.

    Rules: docs/semantics.md 3.10.1 to 3.10.3. Held devices count wherever they are published, also in slices that are
    not for this node: counters are pool-wide.
    """
    left = {
        (counter_set.name, name): nano(counter.value)
        for counter_set in pool.counter_sets
        for name, counter in counter_set.counters.items()
    }
    for slice_ in cluster.slices_by_pool[pool.driver, pool.name]:
        for device in slice_.spec.devices or () if slice_.spec.pool.generation == pool.generation else ():
            device_id = DeviceID(pool.driver, pool.name, device.name)
            if device_id in held.exclusive or device_id in held.shares:
                for counter, amount in _consumption(device):
                    left[counter] = left.get(counter, 0) - amount
    return left


def _consumption(device: Device) -> list[tuple[_Counter, int]]:
    return [
        ((use.counter_set, name), nano(counter.value))
        for use in device.consumes_counters
        for name, counter in use.counters.items()
    ]
