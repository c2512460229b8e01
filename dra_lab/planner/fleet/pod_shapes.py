"""Pods as shapes: units of devices that lie together on one PCIe root or NUMA node, and how often each is taken.

Requests that mean the same are one unit with a count. Four GPU-NIC pairs are one unit with count 4, whether a drawing
asks for them one to one or a template in eight numbered requests. A preferred link is several shapes: the link kept at
no cost, and the link lost at its cost. An alternative of a request is a shape of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from operator import mul
from typing import Any

from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.problem import AllocationProblem, DeviceGroup, pairwise_share
from dra_lab.planner.states.copies import Part

Vector = tuple[int, ...]
"""An amount of each kind of devices."""

Takes = tuple[tuple[int, int, int], ...]
"""(ask, kind, number of devices) of one unit."""

MOST_SHAPES = 24
MOST_LATTICE = 1_000
"""Shapes of a pod, and numbers of units that a part of a pod can have, up to which pods are planned as shapes."""


_KINDS = (How.TOGETHER, How.PAIRWISE)


@dataclass(frozen=True, slots=True)
class Unit:
    """Devices that a pod takes at one place.

    `root` are devices of each kind on one PCIe root, `pool` amounts of each pool of one NUMA node; one of the two is
    zero. `takes` has an entry for every unit of this kind that the pod takes.
    """

    root: Vector
    pool: Vector
    takes: tuple[Takes, ...]

    @property
    def count(self) -> int:
        """Return how many units of this kind the pod takes."""
        return len(self.takes)


@dataclass(frozen=True, slots=True)
class Shape:
    """One way to ask for a pod's devices; `alternatives` and `preferences` are what it costs in these goals."""

    units: tuple[Unit, ...]
    alternatives: int
    preferences: int
    one_numa: bool
    paired: bool

    @property
    def need(self) -> Vector:
        """Return the number of units of each kind."""
        return tuple(unit.count for unit in self.units)

    def all_of(self, each: Sequence[Vector]) -> Vector:
        """Return the sum over all units of what one of each takes."""
        return tuple(sum(map(mul, amounts, self.need)) for amounts in zip(*each, strict=True))


@dataclass(frozen=True)
class Kinds:
    """The kinds of devices that requests tell apart: devices of a kind are taken by the same asks.

    `root` and `pool` number the asks that take devices on PCIe roots, and of NUMA nodes; several may have one number.
    `gpu` and `nic` are the root kinds that the goal `unpaired` counts. `key` is the capacity that is taken of each
    pool, "" for whole devices.
    """

    root: dict[tuple[int, ...], int]
    pool: dict[tuple[int, ...], int]
    gpu: frozenset[int]
    nic: frozenset[int]
    key: tuple[str, ...]

    def of(self, ask: int) -> tuple[bool, int] | None:
        """Return whether an ask takes devices on roots, and of which kind; None if no device serves it."""
        for on_root, known in ((True, self.root), (False, self.pool)):
            for takers, number in known.items():
                if ask in takers:
                    return on_root, number
        return None


def kinds_of(problems: Iterable[AllocationProblem]) -> Kinds | None:
    """Return the kinds of devices of some hardware; None if devices and places do not form a tree of two levels.

    They do if every device is taken by one kind of asks, GPUs and NICs tell their PCIe root and NUMA node, everything
    else its NUMA node, and only one amount of a shared device is counted.
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
    takers = [ask for asks in (*root, *{owner.asks for owner in pools.values()}) for ask in asks]
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


def shapes_of(
    problem: AllocationProblem, part: Part, kinds: Kinds, amounts: Sequence[dict[int, int]], links: Sequence[str]
) -> tuple[Shape, ...] | None:
    """Return the shapes of a pod; None if it asks for something that is not of this form.

    Args:
        problem: A problem with the pod's asks, requests and links.
        part: Which of them are the pod's.
        kinds: The kinds of devices.
        amounts: What an ask takes of each pool, by ask.
        links: Where each link of the problem holds: "root", "numa", or "" if it is neither.

    Returns:
        The shapes; none if the pod asks for something that no device serves.
    """
    if any(problem.asks[ask].all_devices or problem.asks[ask].admin_access for ask in range(*part.asks)):
        return None
    requests = problem.requests[slice(*part.requests)]
    soft = [link for link in range(*part.links) if not problem.links[link].must]
    hard = [link for link in range(*part.links) if problem.links[link].must]
    if prod(len(asks) for asks in requests) * 2 ** len(soft) > MOST_SHAPES:
        return None
    found: list[Shape] = []
    for chosen in product(*requests):
        for kept, lost in _variants(soft):
            shape = _Maker(problem, part, kinds, amounts, links, chosen).shape((*hard, *kept), lost)
            if shape is None:
                return None
            found.extend(shape)
    return tuple(found)


def _variants(soft: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the preferred links that are kept, and how many are lost."""
    for kept in product((True, False), repeat=len(soft)):
        yield tuple(link for link, keep in zip(soft, kept, strict=True) if keep), kept.count(False)


@dataclass(frozen=True)
class _Maker:
    """One choice of an ask for each request."""

    problem: AllocationProblem
    part: Part
    kinds: Kinds
    amounts: Sequence[dict[int, int]]
    links: Sequence[str]
    chosen: tuple[int, ...]

    def shape(self, kept: Sequence[int], lost: int) -> list[Shape] | None:
        """Return the shape with some links kept, [] if nothing serves it, None if it is not of this form."""
        problem = self.problem
        if any(self.kinds.of(ask) is None for ask in self.chosen) or not self._is_few():
            return []
        covered = {link: self._covered(link) for link in kept}
        if any(not self.links[link] or problem.links[link].how not in _KINDS for link in kept):
            return None
        if any(problem.links[link].how is How.PAIRWISE and not problem.links[link].must for link in kept):
            return None  # what it loses is counted by the pair
        blocks = self._blocks([link for link in kept if self.links[link] == "root"], covered)
        if blocks is None:
            return None
        one_numa = False
        for link in (link for link in kept if self.links[link] == "numa"):
            ends = {ask for asks in covered[link] for ask in asks}
            if problem.links[link].how is not How.TOGETHER or not all(ends & set(block) for block, _ in blocks):
                return None
            one_numa = True
        units = self._units(blocks)
        if units is None:
            return None
        ranks = sum(problem.asks[ask].rank for ask in self.chosen)
        shape = Shape(units, ranks, lost, one_numa, self.part.paired)
        return [shape] if prod(count + 1 for count in shape.need) <= MOST_LATTICE else None

    def _is_few(self) -> bool:
        by_claim: dict[int, int] = {}
        for ask in self.chosen:
            claim = self.problem.claim_of(ask)
            by_claim[claim] = by_claim.get(claim, 0) + self.problem.asks[ask].count
        return all(count <= MAX_DEVICES for count in by_claim.values())

    def _covered(self, link: int) -> list[tuple[int, ...]]:
        """Return the chosen asks behind each reference of a link that has some."""
        parts = [tuple(ask for ask in asks if ask in self.chosen) for asks in self.problem.covered(link)]
        return [part for part in parts if part]

    def _blocks(
        self, kept: Sequence[int], covered: dict[int, list[tuple[int, ...]]]
    ) -> list[tuple[tuple[int, ...], int]] | None:
        """Return asks whose devices lie on one root, and on how many roots: (asks, number of units)."""
        together = {ask: {ask} for ask in self.chosen}
        bound: set[int] = set()
        for link in kept:
            if self.problem.links[link].how is How.TOGETHER:
                ends = [ask for asks in covered[link] for ask in asks]
                bound.update(ends)
                whole = set().union(*(together[ask] for ask in ends)) if ends else set()
                for ask in whole:
                    together[ask] = whole
        pairs: dict[int, tuple[tuple[int, ...], int]] = {}
        for link in kept:
            parts = covered[link]
            if self.problem.links[link].how is not How.PAIRWISE or len(parts) < 2:
                continue
            ends = [ask for asks in parts for ask in asks]
            if len(ends) > len(parts) or any(ask in bound or ask in pairs for ask in ends):
                return None
            share = pairwise_share([self.problem.asks[ask].count for ask in ends])
            if share is None:
                return None
            for ask in ends:
                pairs[ask] = (tuple(ends), share[0])
        blocks: dict[tuple[int, ...], int] = {}
        for ask in self.chosen:
            if ask in pairs:
                blocks[pairs[ask][0]] = pairs[ask][1]
            elif ask in bound:
                blocks[tuple(sorted(together[ask]))] = 1
            else:
                blocks[(ask,)] = self.problem.asks[ask].count
        return list(blocks.items())

    def _units(self, blocks: Sequence[tuple[tuple[int, ...], int]]) -> tuple[Unit, ...] | None:
        """Return the units of blocks of asks; those that are the same are one unit with a count."""
        found: dict[tuple[Vector, Vector], list[Takes]] = {}
        for asks, number in blocks:
            root, pool = [0] * len(self.kinds.root), [0] * len(self.kinds.key)
            takes = []
            for ask in asks:
                kind = self.kinds.of(ask)
                assert kind is not None, "asks that nothing serves are left out before"
                on_root, at = kind
                each = self.problem.asks[ask].count // number
                takes.append((ask, at, each))
                if on_root:
                    root[at] += each
                elif self.kinds.key[at] and self.problem.asks[ask].count > 1:
                    return None  # shared devices of one request are different ones
                else:
                    pool[at] += self.amounts[at].get(ask, 0) if self.kinds.key[at] else each
            if any(root) == any(pool):
                return None
            found.setdefault((tuple(root), tuple(pool)), []).extend([tuple(takes)] * number)
        return tuple(Unit(root, pool, tuple(takes)) for (root, pool), takes in found.items())
