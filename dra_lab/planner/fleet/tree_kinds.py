"""Kinds of devices and pools that the requests of a fleet tell apart, on hardware that is a tree of two levels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dra_lab.planner.node.allocation_problem import ROOT_KINDS, AllocationProblem, DeviceGroup
from dra_lab.planner.node.link_places import Values

RootKind = tuple[tuple[int, ...], tuple[Values | None, ...]]
"""The asks that take devices, and the values of the devices for each link that does not hold on a tree's places.

For a link on roots or NUMA nodes that is None, or () if the place is not known.
"""


@dataclass(frozen=True)
class Kinds:
    """The kinds of devices that requests tell apart: the same asks take them, and links see the same in them.

    `root` and `pool` number the kinds of devices on PCIe roots, and the asks that take of NUMA nodes; several of these
    may have one number. An ask may take several kinds on roots, and takes one pool at most.
    `gpu` and `nic` are the root kinds that the goal `unpaired` counts. `key` is the capacity that is taken of each
    pool, "" for whole devices. `links` says where each link holds: "root", "numa", or "" if it is neither; `ends` are
    the asks that it links.
    """

    root: dict[RootKind, int]
    pool: dict[tuple[int, ...], int]
    gpu: frozenset[int]
    nic: frozenset[int]
    key: tuple[str, ...]
    links: tuple[str, ...]
    ends: tuple[frozenset[int], ...]

    def on_root(self, group: DeviceGroup) -> int | None:
        """Return the number of the kind of devices on roots, None for devices of a pool."""
        return self.root.get(_root_kind(group, self.links, self.ends)) if group.kind in ROOT_KINDS else None

    def values(self, link: int) -> dict[int, Values | None]:
        """Return what a link sees in each kind of devices on roots."""
        return {number: kind[1][link] for kind, number in self.root.items()}

    def of(self, ask: int) -> tuple[bool, tuple[int, ...]]:
        """Return whether an ask takes devices on roots, and of which kinds; of none if no device serves it."""
        on_root = tuple(number for (takers, _), number in self.root.items() if ask in takers)
        return bool(on_root), on_root or tuple({number for takers, number in self.pool.items() if ask in takers})


def kinds_of(first: AllocationProblem, groups: Collection[DeviceGroup], links: tuple[str, ...]) -> Kinds | None:
    """Return the kinds of devices of some hardware; None if devices and places do not form a tree of two levels.

    They do under three conditions. Every ask takes devices on roots or one kind of pool. GPUs and NICs with a PCIe root
    tell their NUMA node, and everything else tells it. Only one amount of a shared device is counted. `groups` has one
    of each kind of group on all nodes, of which `first` is one. `links` are as in `Kinds`.
    """
    root: dict[RootKind, str] = {}
    pool: dict[tuple[int, ...], _Pool] = {}
    ends = tuple(frozenset(first.ends(link)) for link in range(len(links)))
    for group in groups:
        if group.kind in ROOT_KINDS:
            seen = _root_kind(group, links, ends)
            if root.setdefault(seen, group.kind) != group.kind or any(len(values or ()) > 1 for values in seen[1]):
                return None
    for asks, kind, shareable, uses, remaining, (in_numa, rooted) in {_summary(group) for group in groups}:
        on_root = kind in ROOT_KINDS
        if not in_numa and (rooted or not on_root):
            return None
        keys = {key for _, amounts in uses for key, _ in amounts} if all(amounts for _, amounts in uses) else {"", "-"}
        if len(keys) != (1 if shareable else 0) or (shareable and on_root) or kind not in ("gpu", "nic", "cpu"):
            return None
        if on_root:
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
    on_roots = {ask for asks, _ in root for ask in asks}
    takers = [*on_roots, *(ask for asks in {owner.asks for owner in pools.values()} for ask in asks)]
    if len(takers) != len(set(takers)):
        return None
    owners = sorted({owner.asks for owner in pools.values()})
    order = sorted(root, key=repr)
    return Kinds(
        {kind: number for number, kind in enumerate(order)},
        {asks: owners.index(pools[asks].asks) for asks in sorted(pools)},
        frozenset(number for number, kind in enumerate(order) if root[kind] == "gpu"),
        frozenset(number for number, kind in enumerate(order) if root[kind] == "nic"),
        tuple(pool[asks].key for asks in owners),
        links,
        ends,
    )


def _root_kind(group: DeviceGroup, links: Sequence[str], ends: Sequence[frozenset[int]]) -> RootKind:
    """Return the kind of devices on a root: their values are left out for links on roots and NUMA nodes."""
    values = (
        None if asks.isdisjoint(group.asks) or (level and found) else found
        for level, asks, found in zip(links, ends, group.places, strict=True)
    )
    return group.asks, tuple(values)


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
