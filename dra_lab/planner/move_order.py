"""The order in which running pods move: a device is free when its next pod starts, and a circle has a first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from msgspec.structs import replace as changed

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.running import Move

Amounts = Mapping[tuple[str, ...], Fraction]
"""What claims take, by device, by device and capacity, or by driver, pool, counter set and counter."""


@dataclass(frozen=True)
class UnitMove:
    """A unit that moves: its claims as they are and as they will be, and the moves of its pods."""

    before: tuple[ResourceClaim, ...]
    after: tuple[ResourceClaim, ...]
    moves: tuple[Move, ...]


def ordered_moves(cluster: Cluster, units: Sequence[UnitMove]) -> tuple[Move, ...]:
    """Return the moves in an order in which each can be carried out once those before it are done.

    Every unit ends on devices that no other unit or pod uses in the end. So a move that is possible at some time never
    stands in the way of another, and taking any possible one next finds an order if there is one. In a circle the unit
    that holds the fewest devices stops first: it starts again once its devices are free.
    """
    hardware = Hardware(cluster)
    moved = {id(claim) for unit in units for claim in unit.before}
    there = hardware.taken([claim for claim in cluster.claims if id(claim) not in moved])
    waiting, stopped = list(units), list[UnitMove]()
    found: list[Move] = []
    while waiting or stopped:
        for unit in (*stopped, *waiting):
            others = hardware.taken([claim for other in waiting if other is not unit for claim in other.before])
            if hardware.fits(there, others, hardware.taken(unit.after)):
                break
        else:
            if not waiting:
                # not by the devices that are known here: the others start once all have stopped
                return (*found, *(move for one in stopped for move in one.moves))
            unit = min(waiting, key=lambda one: (sum(map(_devices, one.before)), one.moves[0].pod))
            waiting.remove(unit)
            stopped.append(replace(unit, moves=tuple(_stops(move) for move in unit.moves)))
            continue
        there = _sum(there, hardware.taken(unit.after))
        (stopped if unit in stopped else waiting).remove(unit)
        found += unit.moves
    return tuple(found)


def _stops(move: Move) -> Move:
    return changed(move, stops_first=True)


def _devices(claim: ResourceClaim) -> int:
    return len(claim.status.allocation.devices.results) if claim.status.allocation else 0


def _sum(one: Amounts, other: Amounts) -> Amounts:
    found = dict(one)
    for key, amount in other.items():
        found[key] = found.get(key, Fraction()) + amount
    return found


class Hardware:
    """The devices of a cluster: one exclusive use of each, capacity for shares, and counters of partitions."""

    def __init__(self, cluster: Cluster) -> None:
        """Read the slices of the cluster once."""
        self._cluster = cluster

    @cached_property
    def devices(self) -> Mapping[DeviceID, Device]:
        """Return the devices by their key."""
        return {
            DeviceID(s.spec.driver, s.spec.pool.name, device.name): device
            for s in self._cluster.slices
            for device in s.spec.devices or ()
        }

    @cached_property
    def counters(self) -> Mapping[tuple[str, ...], Fraction]:
        """Return how much each shared counter has."""
        return {
            (s.spec.driver, s.spec.pool.name, one.name, name): parse_quantity(counter.value)
            for s in self._cluster.slices
            for one in s.spec.shared_counters or ()
            for name, counter in one.counters.items()
        }

    def taken(self, claims: Iterable[ResourceClaim]) -> Amounts:
        """Return what claims take; a shared device takes its counters once."""
        found: Counter[tuple[str, ...]] = Counter()
        amounts: dict[tuple[str, ...], Fraction] = {}
        for claim in claims:
            for result in claim.status.allocation.devices.results if claim.status.allocation else ():
                if result.admin_access:
                    continue
                if result.share_id is None:
                    found[tuple(result.id)] += 1
                else:
                    found[(*result.id, "shares", "")] += 1
                    for name, amount in result.consumed_capacity.items():
                        key = (*result.id, name)
                        amounts[key] = amounts.get(key, Fraction()) + parse_quantity(amount)
        return {**amounts, **{key: Fraction(number) for key, number in found.items()}}

    def fits(self, there: Amounts, others: Amounts, wanted: Amounts) -> bool:
        """Say whether what is wanted can be taken beside what is there and what others still hold."""
        whole = _sum(_sum(there, others), wanted)
        for key in wanted:
            device = self.devices.get(DeviceID(*key[:3]))
            if len(key) == 3 and (whole[key] > 1 or (*key, "shares", "") in whole):
                return False
            if len(key) == 5 and tuple(key[:3]) in whole:
                return False
            capacity = device.capacity.get(key[3]) if device is not None and len(key) == 4 else None
            if capacity is not None and whole[key] > parse_quantity(capacity.value):
                return False
        return self._counters_hold(whole, {DeviceID(*key[:3]) for key in wanted})

    def _counters_hold(self, whole: Amounts, changed: Collection[DeviceID]) -> bool:
        """Say whether the counters that some devices draw on suffice for all devices that are in use."""
        pools = {(d.driver, d.pool) for d in changed if d in self.devices and self.devices[d].consumes_counters}
        if not pools:
            return True
        drawn: dict[tuple[str, ...], Fraction] = {}
        for device in {DeviceID(*key[:3]) for key in whole if (key[0], key[1]) in pools}:
            for draw in self.devices[device].consumes_counters if device in self.devices else ():
                for name, counter in draw.counters.items():
                    key = (device.driver, device.pool, draw.counter_set, name)
                    drawn[key] = drawn.get(key, Fraction()) + parse_quantity(counter.value)
        return all(amount <= self.counters.get(key, amount) for key, amount in drawn.items())
