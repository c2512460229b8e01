"""Pods as shapes: units of devices that lie together on one PCIe root or NUMA node, and how often each is taken.

Requests that mean the same are one unit with a count. Four GPU-NIC pairs are one unit with count 4, whether a drawing
asks for them one to one or a template in eight numbered requests. Units that must share a NUMA node are a bundle: four
pairs on NUMA nodes are a bundle of a GPU and a NIC with count 4. A preferred link is several shapes: the link kept at
no cost, and the link lost at its cost. An alternative of a request is a shape of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from math import comb, prod
from operator import le

from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.budget import Sizes
from dra_lab.planner.fleet.shapes import OnePerPlace, PodShape, Takes, Unit, Vector
from dra_lab.planner.fleet.tree_kinds import Kinds
from dra_lab.planner.node.allocation_problem import AllocationProblem, pairwise_share
from dra_lab.planner.node.copies import CopyPart

_KINDS = (How.TOGETHER, How.PAIRWISE, How.APART)


def shapes_of(
    problem: AllocationProblem,
    part: CopyPart,
    kinds: Kinds,
    amounts: Sequence[dict[int, int]],
    most: Sequence[Vector],
    sizes: Sizes,
) -> tuple[PodShape, ...] | None:
    """Return the shapes of a pod; None if it asks for something that is not of this form.

    Args:
        problem: A problem with the pod's asks, requests and links.
        part: Which of them are the pod's.
        kinds: The kinds of devices.
        amounts: What an ask takes of each pool, by ask.
        most: How many devices of each kind on roots there are, for each kind of hardware.
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
    found: list[PodShape] = []
    for chosen in product(*requests):
        for kept, lost in _variants(soft):
            more = _Maker(problem, part, kinds, amounts, most, sizes, chosen).shapes((*always, *kept), lost)
            if more is None or len(found) + len(more) > sizes.shapes:
                return None
            found.extend(more)
    return tuple(found)


def _variants(soft: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the preferred links that are kept, and how many are lost."""
    for kept in product((True, False), repeat=len(soft)):
        yield tuple(link for link, keep in zip(soft, kept, strict=True) if keep), kept.count(False)


_Block = tuple[tuple[int, int], ...]
"""Asks with numbers of devices that lie on one root."""

_Bundle = tuple[_Block, ...]
"""Blocks that share a NUMA node."""

_Unit = tuple[Vector, Vector, Vector]
"""The devices that one unit takes on a root and of pools, and how many it has of each link that keeps devices apart."""

_Made = tuple[tuple[_Unit, Takes], ...]
"""The units of a bundle."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A one-to-one link: what each ask has in a group, and how many groups there are and are kept."""

    each: _Block
    groups: int
    must: bool
    on_root: bool
    kept: int = 0

    @property
    def ends(self) -> set[int]:
        """Return the asks that are linked."""
        return {ask for ask, _ in self.each}


@dataclass(frozen=True)
class _Maker:
    """One choice of an ask for each request."""

    problem: AllocationProblem
    part: CopyPart
    kinds: Kinds
    amounts: Sequence[dict[int, int]]
    most: Sequence[Vector]
    sizes: Sizes
    chosen: tuple[int, ...]

    def shapes(self, kept: Sequence[int], lost: int) -> list[PodShape] | None:
        """Return the shapes with some links kept, [] if nothing serves it, None if it is not of this form.

        A preferred one-to-one link gives a shape for every number of pairs that it keeps.
        """
        problem = self.problem
        if not all(self.kinds.of(ask)[1] for ask in self.chosen) or not self._is_few():
            return []
        if any(problem.links[link].how not in _KINDS for link in kept):
            return None
        others = [link for link in kept if not self.kinds.links[link]]
        if any(problem.links[link].kind.paired or self._pooled(link) for link in others):
            return None
        on_root, on_numa = self._together(kept, "root"), self._together(kept, "numa")
        pairs = self._pairs(kept, on_root, on_numa)
        if pairs is None:
            return None
        found: list[PodShape] = []
        for groups in product(*((pair.groups,) if pair.must else range(pair.groups + 1) for pair in pairs)):
            lost_pairs = sum(pair.groups - number for pair, number in zip(pairs, groups, strict=True))
            blocks = self._blocks(
                [replace(pair, kept=number) for pair, number in zip(pairs, groups, strict=True)], on_root
            )
            for able in () if blocks is None else self._able(kept):
                more = self._shapes(_bundled(blocks or [], on_numa), able, kept, lost + lost_pairs)
                if more is None:
                    return None
                for shape in more:
                    if prod(n + 1 for n in shape.need) > self.sizes.shape_units or len(found) == self.sizes.shapes:
                        return None
                    found.append(shape)
        return found

    def _pooled(self, link: int) -> bool:
        """Say whether a link is about devices of pools."""
        return not all(self.kinds.of(ask)[0] for asks in self._covered(link) for ask in asks)

    def _able(self, kept: Sequence[int]) -> Iterator[dict[int, tuple[int, ...]]]:
        """Yield which kinds each ask may take if links are kept, for each choice of the values of links all together.

        No device whose value is not known is linked all together, or kept apart from others.
        """
        able = {ask: self.kinds.of(ask)[1] for ask in self.chosen}
        found: list[list[dict[int, tuple[int, ...]]]] = []
        for link in (link for link in kept if not self.problem.links[link].kind.paired):
            seen = self.kinds.values(link)
            ends = [ask for asks in self._covered(link) for ask in asks if self.kinds.of(ask)[0]]
            for ask in ends:
                able[ask] = tuple(kind for kind in able[ask] if seen[kind] != ())
            if not self.kinds.links[link] and self.problem.links[link].how is How.TOGETHER and ends:
                values = dict.fromkeys(seen[kind] for ask in ends for kind in able[ask])
                found.append([{ask: tuple(k for k in seen if seen[k] == value) for ask in ends} for value in values])
        for chosen in product(*found):
            some = {
                ask: tuple(kind for kind in kinds if all(kind in mine.get(ask, (kind,)) for mine in chosen))
                for ask, kinds in able.items()
            }
            if all(some.values()):
                yield some

    def _keeps_apart(self, links: Sequence[int], made: Iterable[_Made]) -> bool:
        """Say whether units have no two devices with the same value of a link that keeps them apart."""
        takes = [taken for bundle in made for _, taken in bundle]
        for link in links:
            ends, seen = {ask for asks in self._covered(link) for ask in asks}, self.kinds.values(link)
            values = Counter({seen[kind]: 0 for kind in seen})
            for ask, kind, number in (one for taken in takes for one in taken):
                values[seen[kind]] += number if ask in ends else 0
            if max(values.values(), default=0) > 1:
                return False
        return True

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

    def _ends(self, kept: Sequence[int], how: How) -> Iterator[tuple[str, set[int]]]:
        """Yield where each link of one kind holds, and the asks that it links."""
        for link in kept:
            if self.problem.links[link].how is how:
                yield self.kinds.links[link], {ask for asks in self._covered(link) for ask in asks}

    def _together(self, kept: Sequence[int], level: str) -> list[set[int]]:
        """Return the asks that are linked all together on one root or NUMA node."""
        return _joined_sets(ends for where, ends in self._ends(kept, How.TOGETHER) if where == level)

    def _pairs(
        self, kept: Sequence[int], on_root: Sequence[set[int]], on_numa: Sequence[set[int]]
    ) -> list[_Pairs] | None:
        """Return the one-to-one links that say more than the links all together, those on roots first.

        An ask may be in one of them on each level, of the same asks on both; None if links overlap otherwise, or
        counts do not divide.
        """
        found: list[_Pairs] = []
        for link in sorted(kept, key=lambda link: self.kinds.links[link] != "root"):
            parts = self._covered(link)
            if not self.problem.links[link].kind.paired or len(parts) < 2:
                continue
            ends = [ask for asks in parts for ask in asks]
            share = pairwise_share([self.problem.asks[ask].count for ask in ends])
            if len(ends) > len(parts) or share is None:
                return None
            rooted = self.kinds.links[link] == "root"
            pair = _Pairs(tuple(zip(ends, share[1], strict=True)), share[0], self.problem.links[link].must, rooted)
            wholes = [whole for whole in (*on_root, *on_numa) if whole & pair.ends]
            if any(other.ends & pair.ends and (other.on_root is rooted or other.ends != pair.ends) for other in found):
                return None
            if not wholes or (rooted and not any(whole & pair.ends for whole in on_root)):
                found.append(pair)
            elif rooted or any(not pair.ends <= whole for whole in wholes):
                return None
        return found

    def _blocks(self, pairs: Sequence[_Pairs], on_root: Sequence[set[int]]) -> list[tuple[_Bundle, int]] | None:
        """Return the blocks of a pod, and the bundles that pairs on NUMA nodes make of them.

        None if a pair is kept on its root and lost on its NUMA node.
        """
        left = {ask: self.problem.asks[ask].count for ask in self.chosen}
        blocks: list[tuple[_Bundle, int]] = []
        inner: dict[int, int] = {}
        for pair in pairs:
            number = pair.kept - inner.get(pair.each[0][0], 0)
            if number < 0:
                return None
            bundle = (
                (pair.each,) if pair.on_root else tuple(((ask, 1),) for ask, count in pair.each for _ in range(count))
            )
            blocks.append((bundle, number))
            for ask, count in pair.each:
                inner[ask] = number
                left[ask] -= number * count
        blocks.extend(((tuple((ask, left.pop(ask)) for ask in sorted(whole)),), 1) for whole in on_root)
        blocks.extend(((((ask, 1),),), count) for ask, count in left.items())
        return [block for block in blocks if block[1]]

    def _shapes(
        self,
        bundles: Sequence[tuple[_Bundle, int]],
        able: dict[int, tuple[int, ...]],
        kept: Sequence[int],
        lost: int,
    ) -> Iterator[PodShape] | None:
        """Return the shapes of blocks of asks, one for each choice of kinds of devices that some hardware may have."""
        apart = [(where, ends) for where, ends in self._ends(kept, How.APART) if where]
        others = [link for link in kept if self.problem.links[link].how is How.APART and not self.kinds.links[link]]
        choices: list[list[tuple[_Made, ...]]] = []
        for bundle, number in bundles:
            ways = self._ways(bundle, able, [ends for _, ends in apart])
            if ways is None or comb(len(ways) + number - 1, number) * prod(map(len, choices)) > self.sizes.shape_units:
                return None
            choices.append(list(combinations_with_replacement(ways, number)))
        every = (
            self._shape([one for some in chosen for one in some], apart, lost)
            for chosen in product(*choices)
            if self._keeps_apart(others, (one for some in chosen for one in some))
        )
        return (shape for shape in every if any(all(map(le, _on_roots(shape), most)) for most in self.most))

    def _ways(self, bundle: _Bundle, able: dict[int, tuple[int, ...]], apart: Sequence[set[int]]) -> list[_Made] | None:
        """Return the ways to take the devices of a bundle from kinds; None if shared devices are to differ, or many."""
        found: dict[tuple[_Unit, ...], _Made] = {(): ()}
        for block in bundle:
            units = self._units(block, able, apart)
            if units is None or len(found) * len(units) > self.sizes.shape_units:
                return None
            found = {tuple(sorted((*key, unit[0]))): (*made, unit) for key, made in found.items() for unit in units}
        return list(found.values())

    def _shape(self, bundles: Sequence[_Made], apart: Sequence[tuple[str, set[int]]], lost: int) -> PodShape:
        """Return the shape of bundles; units that are the same are one with a count."""
        takes: dict[tuple[_Unit, tuple[_Unit, ...]], list[Takes]] = {}
        for made in bundles:
            identical = tuple(sorted(unit for unit, _ in made)) if len(made) > 1 else ()
            for unit, taken in made:
                takes.setdefault((unit, identical), []).append(taken)
        return PodShape(
            tuple(Unit(root, pool, tuple(taken)) for ((root, pool, _), _), taken in takes.items()),
            sum(self.problem.asks[ask].rank for ask in self.chosen),
            lost,
            self.part.paired,
            tuple(
                tuple(identical.count(unit) if identical == other else 0 for unit, other in takes)
                for identical in dict.fromkeys(identical for _, identical in takes if identical)
            ),
            tuple(
                OnePerPlace(where == "root", tuple(weights[at] for (_, _, weights), _ in takes))
                for at, (where, _) in enumerate(apart)
            ),
        )

    def _units(
        self, block: _Block, able: dict[int, tuple[int, ...]], apart: Sequence[set[int]]
    ) -> list[tuple[_Unit, Takes]] | None:
        """Return what the asks of a block may take of kinds; None if they take shared devices that are to differ."""
        weights = tuple(sum(each for ask, each in block if ask in ends) for ends in apart)
        pool, ways = [0] * len(self.kinds.key), []
        for ask, each in block:
            if self.kinds.of(ask)[0]:
                ways.append([Counter(kinds) for kinds in combinations_with_replacement(able[ask], each)])
                continue
            at = able[ask][0]
            if self.kinds.key[at] and self.problem.asks[ask].count > 1:
                return None  # shared devices of one request are different ones
            pool[at] += self.amounts[at].get(ask, 0) if self.kinds.key[at] else each
            ways.append([Counter({at: each})])
        found: list[tuple[_Unit, Takes]] = []
        for chosen in product(*ways):
            root = [0] * len(self.kinds.root)
            for (ask, _), mine in zip(block, chosen, strict=True):
                for kind, count in mine.items() if self.kinds.of(ask)[0] else ():
                    root[kind] += count
            if any(root) == any(pool):
                return None
            takes = ((ask, kind, n) for (ask, _), mine in zip(block, chosen, strict=True) for kind, n in mine.items())
            found.append(((tuple(root), tuple(pool), weights), tuple(takes)))
        return found


def _on_roots(shape: PodShape) -> Vector:
    return shape.all_of([unit.root for unit in shape.units])


def _joined_sets(sets: Iterable[set[int]]) -> list[set[int]]:
    """Return sets with those that have an element in common as one."""
    found: list[set[int]] = []
    for one in filter(None, sets):
        found = [*(other for other in found if not other & one), one.union(*(other for other in found if other & one))]
    return found


def _bundled(bundles: Sequence[tuple[_Bundle, int]], on_numa: Sequence[set[int]]) -> list[tuple[_Bundle, int]]:
    """Return bundles with those as one that have asks which are linked all together on a NUMA node."""
    asks = [{ask for block in bundle for ask, _ in block} for bundle, _ in bundles]
    joined = _joined_sets({at for at, mine in enumerate(asks) if mine & whole} for whole in on_numa)
    alone = [one for at, one in enumerate(bundles) if not any(at in some for some in joined)]
    whole = [tuple(block for at in sorted(some) for block in bundles[at][0] * bundles[at][1]) for some in joined]
    return [*((bundle, 1) for bundle in whole), *alone]
