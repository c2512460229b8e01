"""Kinds of devices and pools that the requests of a fleet tell apart, on hardware that is a tree of two levels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dra_lab.planner.problem import AllocationProblem, DeviceGroup


@dataclass(frozen=True)
class Kinds:
    """The kinds of devices that requests tell apart: devices of a kind are taken by the same asks.

    `root` and `pool` number the asks that take devices on PCIe roots, and of NUMA nodes; several may have one number.
    An ask may take several kinds on roots, and takes one pool at most.
    `gpu` and `nic` are the root kinds that the goal `unpaired` counts. `key` is the capacity that is taken of each
    pool, "" for whole devices.
    """

    root: dict[tuple[int, ...], int]
    pool: dict[tuple[int, ...], int]
    gpu: frozenset[int]
    nic: frozenset[int]
    key: tuple[str, ...]

    def of(self, ask: int) -> tuple[bool, tuple[int, ...]]:
        """Return whether an ask takes devices on roots, and of which kinds; of none if no device serves it."""
        on_root = tuple(number for takers, number in self.root.items() if ask in takers)
        return bool(on_root), on_root or tuple({number for takers, number in self.pool.items() if ask in takers})


def kinds_of(problems: Iterable[AllocationProblem]) -> Kinds | None:
    """Return the kinds of devices of some hardware; None if devices and places do not form a tree of two levels.

    They do if every ask takes devices on roots or one kind of pool, GPUs and NICs tell their PCIe root and NUMA node,
    everything else its NUMA node, and only one amount of a shared device is counted.
    """
    root: dict[tuple[int, ...], str] = {}
    pool: dict[tuple[int, ...], _Pool] = {}
    for asks, kind, shareable, uses, remaining, places in {_summary(g) for problem in problems for g in problem.groups}:
        on_root = kind in ("gpu", "nic")
        if places != (True, on_root) and not (places == (True, True) and kind == "cpu"):
            return None
        keys = {key for _, amounts in uses for key, _ in amounts} if all(amounts for _, amounts in uses) else {"", "-"}
        if len(keys) != (1 if shareable else 0) or (shareable and on_root) or kind not in ("gpu", "nic", "cpu"):
            return None
        if on_root:
            if root.setdefault(asks, kind) != kind:
                return None
            continue
        key = "".join(keys)
        mine = pool.setdefault(asks, _Pool(asks, key))
        if mine.key != key:
            return None
        mine.most = max(mine.most, dict(remaining).get(key, Fraction()))
        for ask, amounts in uses:
            least = min(amount for _, amount in amounts)
            mine.least[ask] = min(least, mine.least.get(ask, least))
    pools = _joined(pool.values())
    on_roots = {ask for asks in root for ask in asks}
    takers = [*on_roots, *(ask for asks in {owner.asks for owner in pools.values()} for ask in asks)]
    if len(takers) != len(set(takers)):
        return None
    owners = sorted({owner.asks for owner in pools.values()})
    return Kinds(
        {asks: number for number, asks in enumerate(sorted(root))},
        {asks: owners.index(pools[asks].asks) for asks in sorted(pools)},
        frozenset(number for number, asks in enumerate(sorted(root)) if root[asks] == "gpu"),
        frozenset(number for number, asks in enumerate(sorted(root)) if root[asks] == "nic"),
        tuple(pool[asks].key for asks in owners),
    )


@dataclass(slots=True)
class _Pool:
    """Pools that the same asks take from: the most that one holds, and the least that each ask takes."""

    asks: tuple[int, ...]
    key: str
    most: Fraction = Fraction()
    least: dict[int, Fraction] = field(default_factory=dict)


def _joined(pools: Iterable[_Pool]) -> dict[tuple[int, ...], _Pool]:
    """Return for each pool the one that it counts as: one of more asks, if it is too small for all the others."""
    found: dict[tuple[int, ...], _Pool] = {}
    for pool in sorted(pools, key=lambda pool: -len(pool.asks)):
        owners = (
            owner
            for owner in found.values()
            if pool.key
            and owner.key == pool.key
            and set(pool.asks) < set(owner.asks)
            and all(owner.least[ask] > pool.most for ask in set(owner.asks) - set(pool.asks))
        )
        found[pool.asks] = next(owners, pool)
    return found


def _summary(group: DeviceGroup) -> tuple[Any, ...]:
    places = group.numa is not None, group.root is not None
    return group.asks, group.kind, group.shareable, group.uses, group.remaining, places
