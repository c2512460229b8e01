"""Pods as shapes: units of devices that lie together on one PCIe root or NUMA node, and how often each is taken.

Requests that mean the same are one unit with a count. Four GPU-NIC pairs are one unit with count 4, whether a drawing
asks for them one to one or a template in eight numbered requests. A preferred link is several shapes: the link kept at
no cost, and the link lost at its cost. An alternative of a request is a shape of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import prod
from operator import mul
from typing import Any

from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.budget import Sizes
from dra_lab.planner.problem import AllocationProblem, DeviceGroup, pairwise_share
from dra_lab.planner.states.copies import Part

Vector = tuple[int, ...]
"""An amount of each kind of devices."""

Takes = tuple[tuple[int, int, int], ...]
"""(ask, kind, number of devices) of one unit."""

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
    problem: AllocationProblem,
    part: Part,
    kinds: Kinds,
    amounts: Sequence[dict[int, int]],
    links: Sequence[str],
    sizes: Sizes,
) -> tuple[Shape, ...] | None:
    """Return the shapes of a pod; None if it asks for something that is not of this form.

    Args:
        problem: A problem with the pod's asks, requests and links.
        part: Which of them are the pod's.
        kinds: The kinds of devices.
        amounts: What an ask takes of each pool, by ask.
        links: Where each link of the problem holds: "root", "numa", or "" if it is neither.
        sizes: How many shapes and units there may be.

    Returns:
        The shapes; none if the pod asks for something that no device serves.
    """
    if any(problem.asks[ask].all_devices or problem.asks[ask].admin_access for ask in range(*part.asks)):
        return None
    requests = problem.requests[slice(*part.requests)]
    always = [link for link in range(*part.links) if problem.links[link].must or problem.links[link].kind.paired]
    soft = [link for link in range(*part.links) if link not in always]
    if prod(len(asks) for asks in requests) * 2 ** len(soft) > sizes.shapes:
        return None
    found: list[Shape] = []
    for chosen in product(*requests):
        for kept, lost in _variants(soft):
            more = _Maker(problem, part, kinds, amounts, links, sizes, chosen).shapes((*always, *kept), lost)
            if more is None or len(found) + len(more) > sizes.shapes:
                return None
            found.extend(more)
    return tuple(found)


def _variants(soft: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the preferred links that are kept, and how many are lost."""
    for kept in product((True, False), repeat=len(soft)):
        yield tuple(link for link, keep in zip(soft, kept, strict=True) if keep), kept.count(False)


_Block = tuple[tuple[tuple[int, int], ...], int]
"""Asks with numbers of devices that lie on one root, and how many such roots there are."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A one-to-one link: what each ask has in a group, and how many groups there are and are kept."""

    each: tuple[tuple[int, int], ...]
    groups: int
    must: bool
    kept: int = 0


@dataclass(frozen=True)
class _Maker:
    """One choice of an ask for each request."""

    problem: AllocationProblem
    part: Part
    kinds: Kinds
    amounts: Sequence[dict[int, int]]
    links: Sequence[str]
    sizes: Sizes
    chosen: tuple[int, ...]

    def shapes(self, kept: Sequence[int], lost: int) -> list[Shape] | None:
        """Return the shapes with some links kept, [] if nothing serves it, None if it is not of this form.

        A preferred one-to-one link gives a shape for every number of pairs that it keeps.
        """
        problem = self.problem
        if any(self.kinds.of(ask) is None for ask in self.chosen) or not self._is_few():
            return []
        covered = {link: self._covered(link) for link in kept}
        if any(not self.links[link] or problem.links[link].how not in _KINDS for link in kept):
            return None
        on_roots = [link for link in kept if self.links[link] == "root"]
        together = self._together([link for link in on_roots if not problem.links[link].kind.paired], covered)
        pairs = self._pairs([link for link in on_roots if problem.links[link].kind.paired], covered, together)
        if pairs is None:
            return None
        numa = [link for link in kept if self.links[link] == "numa"]
        if any(problem.links[link].how is not How.TOGETHER for link in numa):
            return None
        found: list[Shape] = []
        for groups in product(*((pair.groups,) if pair.must else range(pair.groups + 1) for pair in pairs)):
            blocks = self._blocks(
                together, [replace(pair, kept=number) for pair, number in zip(pairs, groups, strict=True)]
            )
            for link in numa:
                ends = {ask for asks in covered[link] for ask in asks}
                if not all(ends & {ask for ask, _ in block} for block, _ in blocks):
                    return None
            units = self._units(blocks)
            if units is None:
                return None
            ranks = sum(problem.asks[ask].rank for ask in self.chosen)
            broken = lost + sum(pair.groups - number for pair, number in zip(pairs, groups, strict=True))
            shape = Shape(units, ranks, broken, bool(numa), self.part.paired)
            if prod(count + 1 for count in shape.need) > self.sizes.shape_units:
                return None
            found.append(shape)
        return found

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

    def _together(self, kept: Sequence[int], covered: dict[int, list[tuple[int, ...]]]) -> dict[int, set[int]]:
        """Return which other asks have their devices on the root of each ask that is linked all together."""
        together: dict[int, set[int]] = {}
        for link in kept:
            ends = [ask for asks in covered[link] for ask in asks]
            whole = set().union(*(together.get(ask, {ask}) for ask in ends)) if ends else set()
            together.update(dict.fromkeys(whole, whole))
        return together

    def _pairs(
        self, kept: Sequence[int], covered: dict[int, list[tuple[int, ...]]], together: dict[int, set[int]]
    ) -> list[_Pairs] | None:
        """Return the one-to-one links of two asks or more; None if an ask is in two links, or counts do not divide."""
        found: list[_Pairs] = []
        seen = set(together)
        for link in kept:
            parts = covered[link]
            if len(parts) < 2:
                continue
            ends = [ask for asks in parts for ask in asks]
            share = pairwise_share([self.problem.asks[ask].count for ask in ends])
            if len(ends) > len(parts) or seen & set(ends) or share is None:
                return None
            seen.update(ends)
            found.append(_Pairs(tuple(zip(ends, share[1], strict=True)), share[0], self.problem.links[link].must))
        return found

    def _blocks(self, together: dict[int, set[int]], pairs: Sequence[_Pairs]) -> list[_Block]:
        """Return asks with numbers of devices that lie on one root, and on how many roots there are such."""
        left = {ask: self.problem.asks[ask].count for ask in self.chosen}
        blocks: list[_Block] = []
        for pair in pairs:
            blocks.append((pair.each, pair.kept))
            for ask, count in pair.each:
                left[ask] -= pair.kept * count
        wholes = dict.fromkeys(tuple(sorted(whole)) for whole in together.values())
        blocks.extend((tuple((ask, left.pop(ask)) for ask in whole), 1) for whole in wholes)
        blocks.extend((((ask, 1),), count) for ask, count in left.items())
        return [block for block in blocks if block[1]]

    def _units(self, blocks: Sequence[_Block]) -> tuple[Unit, ...] | None:
        """Return the units of blocks of asks; those that are the same are one unit with a count."""
        found: dict[tuple[Vector, Vector], list[Takes]] = {}
        for asks, number in blocks:
            root, pool = [0] * len(self.kinds.root), [0] * len(self.kinds.key)
            takes = []
            for ask, each in asks:
                kind = self.kinds.of(ask)
                assert kind is not None, "asks that nothing serves are left out before"
                on_root, at = kind
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
