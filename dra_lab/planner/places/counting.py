"""What no plan exceeds or undercuts on a state: pods by counting devices, and limits from below of their goals.

Counting goes from leaves to the node: the devices that a place has for each slot, cut to whole groups of its links.
Joint counting has vectors of devices that a place gives to all workloads together. No vector of a real plan is beyond
all of these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from operator import mul
from typing import Any

import numpy as np

from dra_lab.model.sketch import How
from dra_lab.planner.places.levels import NUMA, ROOT
from dra_lab.planner.places.shapes import PlaceLink, Shape, Vector
from dra_lab.planner.places.trees import LeafType, State, Trees

Array = Any
"""A numpy array."""

_VECTORS = 1_500
"""Vectors that joint counting keeps of one place; with more, the box around them, which allows more."""

_STREAMS = 8
"""Slots of all workloads up to which vectors of devices are counted; with more, only rows."""

_ENDLESS = 10**6
"""Devices of a slot on a device that pods share without using it up."""


Counts = tuple[int, ...]
"""Pods, or weights, by workload."""

_Takes = tuple[frozenset[int], dict[str, int]]
"""The kinds of single devices that serve a slot, or what it takes of each capacity."""


@dataclass(frozen=True)
class CountedPod:
    """A workload, or one shape of it, as counting sees it: `streams` are those of each slot, `links` all its filters."""

    pod: int
    need: Vector
    streams: tuple[tuple[int, ...], ...]
    links: tuple[PlaceLink, ...]
    shape: Shape


def counted_pods(trees: Trees) -> list[CountedPod]:
    """Return what is counted: a workload at once if its shapes differ in links only, else each of its shapes."""
    found = []
    for pod, (ask, starts) in enumerate(zip(trees.asks, trees.starts, strict=True)):
        looks = {tuple((slot.need, slot.alternatives, slot.kind, slot.every) for slot in shape.slots) for shape in ask.shapes}
        every = list(zip(ask.shapes, starts, strict=True))
        for rows in [every] if len(looks) == 1 else [[row] for row in every]:
            first = rows[0][0]
            links = [link for link in first.links if link.must and all(link in shape.links for shape, _ in rows)]
            streams = tuple(tuple(start + slot for _, start in rows) for slot in range(len(first.slots)))
            found.append(CountedPod(pod, first.need, streams, tuple(_by_slot(first, link) for link in links), first))
    return found


def _by_slot(shape: Shape, link: PlaceLink) -> PlaceLink:
    """Return a link with an end for each slot if it keeps all devices together."""
    if link.how is not How.TOGETHER:
        return link
    return replace(link, ends=tuple(((slot,), shape.slots[slot].need) for slots, _ in link.ends for slot in slots))


@dataclass
class Counting:
    """The counts of a fleet's states. After the time that `late` tells, boxes are counted, which is quick."""

    trees: Trees
    late: Callable[[], bool]
    _units: dict[tuple[int, int, State], Vector] = field(default_factory=dict)
    _vectors: dict[tuple[int, State], Array] = field(default_factory=dict)
    _rooms: dict[tuple[int, Vector], Array] = field(default_factory=dict)
    _single: dict[int, int] = field(default_factory=dict)
    _alone: list[CountedPod] = field(default_factory=list)

    @cached_property
    def pods(self) -> list[CountedPod]:
        """Return what is counted."""
        return counted_pods(self.trees)

    @cached_property
    def _starts(self) -> list[int]:
        return np.cumsum([0, *(len(pod.need) for pod in self.pods)]).tolist()  # type: ignore[no-any-return]

    # ------------------------------------------------------------------ one workload

    def most(self, state: State) -> list[int]:
        """Return how many pods of each workload a node holds at most, if there are no others."""
        found = [0] * len(self.trees.asks)
        for number, pod in enumerate(self.pods):
            if state:
                units = self.units(number, 0, state)
                caps = [have // need for have, need in zip(units, pod.need, strict=True)]
                caps += [self._apart(number, link, state, min(caps)) for link in pod.links if link.how is How.APART]
                found[pod.pod] += min(caps)
        return found

    def _apart(self, number: int, link: PlaceLink, state: State, most: int) -> int:
        """Return how many pods find places of their own for devices that are kept apart; each counts once for a pod."""
        slots = [slot for mine, _ in link.ends for slot in mine]
        wanted = sum(self.pods[number].need[slot] for slot in slots)
        inside = [
            sum(self.units(number, link.level + 1, place)[slot] for slot in slots)
            for place in places_at(state, link.level + 1)
        ]
        pods = most
        while pods and sum(min(pods, here) for here in inside) < pods * wanted:
            pods = min(pods - 1, sum(min(pods, here) for here in inside) // wanted)
        return pods

    def units(self, number: int, depth: int, state: State) -> Vector:
        """Return how many devices of each slot a place has for a pod, cut to whole groups of the links of its level."""
        key = number, depth, state
        found = self._units.get(key)
        if found is None:
            pod = self.pods[number] if number >= 0 else self._alone[-1 - number]
            if depth == self.trees.depth:
                leaf = self.trees.types[state[1]]
                units = [_served(leaf, streams, state[2]) for streams in pod.streams]
            else:
                rows = [self.units(number, depth + 1, child) for child in state[1]]
                units = [sum(column) for column in zip(*rows, strict=True)]
            for link in pod.links:
                if link.level + 1 == depth:
                    _cut(units, link)
            found = self._units[key] = tuple(units)
        return found

    # ------------------------------------------------------------------ all workloads

    def rows(self, state: State) -> list[tuple[Counts, int]]:
        """Return rows that numbers of pods on a node keep: weights by workload, and what the weighted sum may be.

        Slots that are served by some kinds of single devices only share what a node has of these; so do slots that all
        take of one capacity of devices that pods share.
        """
        have: Counter[int] = Counter()
        held: Counter[str] = Counter()
        for leaf in places_at(state, self.trees.depth) if state else ():
            kind = self.trees.types[leaf[1]]
            if leaf[1] == 0:
                have.update(dict(enumerate(leaf[2])))
            for key, amount in zip(kind.keys, leaf[2], strict=False):
                held[key] += amount
        found = []
        for weights, kinds, key in self._row_kinds:
            limit = held[key] if key else sum(have[kind] for kind in kinds)
            found.append((weights, limit))
        return found

    @cached_property
    def _row_kinds(self) -> list[tuple[Counts, frozenset[int], str]]:
        """Return the weights of each row with the kinds of single devices, or the capacity, that it is about."""
        takes = [self._takes(streams) for pod in self.pods for streams in pod.streams]
        sets = {kinds for kinds, _ in takes if kinds}
        sets.add(frozenset[int]().union(*sets))
        found = []
        for kinds in sorted(sets, key=sorted):
            weights = self._weights([need if mine and mine <= kinds else 0 for need, (mine, _) in self._needs(takes)])
            found.append((weights, kinds, ""))
        for key in sorted({key for _, amounts in takes for key in amounts}):
            weights = self._weights([need * amounts.get(key, 0) for need, (_, amounts) in self._needs(takes)])
            found.append((weights, frozenset(), key))
        return [row for row in found if any(row[0])]

    def _needs(self, takes: Sequence[_Takes]) -> list[tuple[int, _Takes]]:
        return list(zip((need for pod in self.pods for need in pod.need), takes, strict=True))

    def _weights(self, each: Sequence[int]) -> Counts:
        """Return the least that a pod of each workload takes, from what each of its slots takes."""
        found: dict[int, int] = {}
        for pod, start, end in zip(self.pods, self._starts, self._starts[1:], strict=False):
            found[pod.pod] = min(sum(each[start:end]), found.get(pod.pod, sum(each[start:end])))
        return tuple(found.get(pod, 0) for pod in range(len(self.trees.asks)))

    def _takes(self, streams: Sequence[int]) -> _Takes:
        """Return the kinds of single devices that serve a slot if nothing else does; else what it takes of capacities."""
        single = frozenset(
            at for at, move in enumerate(self.trees.types[0].moves) if any(move.ranks[one] >= 0 for one in streams)
        )
        amounts: list[dict[str, int]] = []
        for kind in self.trees.types[1:]:
            for move in kind.moves:
                if any(move.ranks[one] >= 0 for one in streams):
                    amounts.append({kind.keys[at]: taken for at, taken in move.takes if at < len(kind.keys)})
        if amounts and not single:
            common = set(amounts[0]).intersection(*amounts[1:])
            return frozenset(), {key: min(one[key] for one in amounts) for key in common}
        return (frozenset(), {}) if amounts else (single, {})

    def together(self, state: State, most: Sequence[int]) -> Array:
        """Return maximal numbers of pods, by workload, that counting allows together on a node."""
        if len(self._streams) > _STREAMS:
            return np.array([most], np.int64)
        vectors, starts = self._given(0, state), self._starts
        each = [
            (vectors[:, start:end] // np.array(pod.need)).min(axis=1)
            for pod, start, end in zip(self.pods, starts, starts[1:], strict=False)
        ]
        counts = np.zeros((len(vectors), len(most)), np.int64)
        for pod, column in zip(self.pods, each, strict=True):
            counts[:, pod.pod] += column
        return maximal(np.minimum(counts, most))

    def _given(self, depth: int, state: State) -> Array:
        key = depth, state
        if key not in self._vectors:
            if depth == self.trees.depth:
                found = self._room(state)
            else:
                found = np.zeros((1, self._starts[-1]), np.int64)
                for child in state[1]:
                    found = self._sums(found, self._given(depth + 1, child))
            for pod, start in zip(self.pods, self._starts, strict=False):
                for link in (link for link in pod.links if link.level + 1 == depth and link.how is not How.APART):
                    found = _cut_all(found, link, start)
            self._vectors[key] = maximal(found)
        return self._vectors[key]

    def _sums(self, one: Array, other: Array) -> Array:
        if len(one) * len(other) > _VECTORS * 100 or self.late():
            return (one.max(axis=0) + other.max(axis=0))[None]
        return maximal((one[:, None] + other[None]).reshape(-1, one.shape[1]))

    def _room(self, state: State) -> Array:
        """Return the maximal vectors that a leaf gives."""
        leaf, amounts = self.trees.types[state[1]], state[2]
        served = [_served(leaf, streams, amounts) for pod in self.pods for streams in pod.streams]
        box = np.array([served], np.int64)
        if state[1] == 0:
            found = np.zeros((1, len(served)), np.int64)
            for move, count in zip(leaf.moves, amounts, strict=True):
                able = [at for at, streams in enumerate(self._streams) if any(move.ranks[one] >= 0 for one in streams)]
                if count and len(able) > 1 and count ** (len(able) - 1) > _VECTORS * 10:
                    return box
                ways = [np.bincount(way, minlength=len(served)) for way in combinations_with_replacement(able, count)]
                found = self._sums(found, np.array(ways)) if ways and able else found
            return found
        return self._rest(state[1], amounts) if max(served) < 32 else box

    @cached_property
    def _streams(self) -> list[tuple[int, ...]]:
        return [streams for pod in self.pods for streams in pod.streams]

    def _rest(self, kind: int, amounts: Vector) -> Array:
        """Return the maximal vectors that a leaf of partitions or shares can still give."""
        key = kind, amounts
        found = self._rooms.get(key)
        if found is None:
            leaf, rows = self.trees.types[kind], [np.zeros((1, len(self._streams)), np.int64)]
            for move in leaf.moves:
                left = list(amounts)
                for at, taken in move.takes:
                    left[at] -= taken
                if min(left, default=0) < 0 or not any(taken for _, taken in move.takes):
                    continue
                usable = self.trees.usable(kind, tuple(left))
                inside = self._rest(kind, usable) if usable else rows[0]
                for at, streams in enumerate(self._streams):
                    if any(move.ranks[one] >= 0 for one in streams):
                        rows.append(inside + np.eye(1, len(self._streams), at, dtype=np.int64))
            endless = [
                _ENDLESS * any(not move.takes and any(move.ranks[one] >= 0 for one in streams) for move in leaf.moves)
                for streams in self._streams
            ]
            found = self._rooms[key] = maximal(np.concatenate(rows) + np.array(endless, np.int64))
        return found

    # ------------------------------------------------------------------ limits from below

    def fewest(self, number: int, state: State, goal: str, pods: int) -> list[int]:
        """Return limits from below of the places of a level that 0 to `pods` pods use on one node.

        A place that has c devices of a slot gives at most min(c, n x need) to n pods, so the cheapest cover takes the
        largest pieces first. Slots that no place serves together need places of their own.
        """
        pod, (where, kinds) = self.pods[number], _PLACES[goal]
        slots = [at for at, slot in enumerate(pod.shape.slots) if slot.kind in kinds]
        if not slots or not state or where not in self.trees.levels.where:
            return [0] * (pods + 1)
        depth = self.trees.levels.where.index(where) + 1
        rows = [self.units(number, depth, place) for place in places_at(state, depth)]
        units = np.array(rows, np.int64).reshape(-1, len(pod.need))
        limits, groups = {}, [{slot} for slot in slots]
        for slot in slots:
            need, have = pod.need[slot], np.minimum(units[:, slot], _ENDLESS)
            pieces = np.concatenate([np.repeat(need, np.minimum(have // need, pods).sum()), have % need])
            reach = np.concatenate([[0], np.cumsum(np.sort(pieces)[::-1])])
            limits[slot] = np.searchsorted(reach, need * np.arange(pods + 1))
            beside = np.flatnonzero((units[units[:, slot] > 0] > 0).any(axis=0)).tolist()
            together = {slot, *(other for other in beside if other in slots)}
            joined = together.union(*(group for group in groups if group & together))
            groups = [group for group in groups if not group & together] + [joined]
        found = sum(np.max([limits[slot] for slot in group], axis=0) for group in groups)
        return found.tolist()  # type: ignore[no-any-return, union-attr]


    def lost(self, pod: int, state: State, pods: int) -> list[int]:
        """Return limits from below of the preferred links that 0 to `pods` pods of a workload lose on one node.

        No more pods keep all of them than fit with all of them required, and no more groups of a preferred link one to
        one are kept than places have devices for.
        """
        ask, starts, numbers = self.trees.asks[pod], self.trees.starts[pod], np.arange(pods + 1)
        every = list(zip(ask.shapes, starts, strict=True))
        kept = [self._counted(shape, start) for shape, start in every if not shape.preferences]
        whole = sum(min(self._most_of(one, state), pods) for one in kept)
        found = np.maximum(0, numbers - whole)
        shared = {link for link in every[0][0].links if not link.must and all(link in one.links for one, _ in every)}
        if len(self._shapes_of(pod)) == 1:
            for link in shared:
                number = next(at for at, one in enumerate(self.pods) if one.pod == pod)
                per = {slots[0]: each for slots, each in link.ends if len(slots) == 1}
                if len(per) < len(link.ends):
                    continue
                groups = min(ask.shapes[0].slots[slot].need // each for slot, each in per.items())
                places = (self.units(number, link.level + 1, place) for place in places_at(state, link.level + 1))
                able = sum(min(units[slot] // each for slot, each in per.items()) for units in places)
                found = found + np.maximum(0, groups * numbers - able)
        return found.tolist()  # type: ignore[no-any-return]

    def _shapes_of(self, pod: int) -> list[CountedPod]:
        return [one for one in self.pods if one.pod == pod]

    def _counted(self, shape: Shape, start: int) -> int:
        """Return the number of one shape as counting sees it, with all its required links."""
        key = start
        if key not in self._single:
            streams = tuple((start + slot,) for slot in range(len(shape.slots)))
            links = tuple(_by_slot(shape, link) for link in shape.links if link.must)
            self._single[key] = len(self._alone)
            self._alone.append(CountedPod(-1, shape.need, streams, links, shape))
        return self._single[key]

    def _most_of(self, number: int, state: State) -> int:
        """Return how many pods of one shape a node holds at most."""
        one = self._alone[number]
        units = self.units(-1 - number, 0, state)
        return min(have // need for have, need in zip(units, one.need, strict=True))

    def lowest_ranks(self, number: int, state: State, pods: int) -> list[int]:
        """Return limits from below of the ranks of alternatives of 0 to `pods` pods on one node.

        Each slot takes the devices of lowest rank, from a leaf only as many as whole groups of its links need.
        """
        pod, depth = self.pods[number], self.trees.depth
        found = np.zeros(pods + 1, np.int64)
        for slot, need in enumerate(pod.need):
            ranks: list[int] = []
            for leaf in places_at(state, depth):
                kind, mine = self.trees.types[leaf[1]], []
                for at, move in enumerate(kind.moves):
                    able = [move.ranks[one] for one in pod.streams[slot] if move.ranks[one] >= 0]
                    count = leaf[2][at] if leaf[1] == 0 else _served(kind, pod.streams[slot], leaf[2])
                    mine += [min(able)] * min(count, need * pods) if able else []
                ranks += sorted(mine)[: self.units(number, depth, leaf)[slot]]
            sums = np.cumsum([0, *sorted(ranks)])
            found += sums[np.minimum(need * np.arange(pods + 1), len(ranks))]
        return found.tolist()  # type: ignore[no-any-return]


_PLACES = {"numa": (NUMA, ("gpu", "nic", "cpu")), "roots": (ROOT, ("gpu", "nic"))}
"""The level and the kinds of devices that a goal counts places of."""


def places_at(state: State, depth: int) -> Iterator[State]:
    """Yield the states of the places of a level."""
    if not depth:
        yield state
    else:
        for place in state[1]:
            yield from places_at(place, depth - 1)


def _served(leaf: LeafType, streams: Sequence[int], amounts: Vector) -> int:
    """Return no fewer requests than a leaf can serve of one slot, if there are no others."""
    moves = [move for move in leaf.moves if any(move.ranks[one] >= 0 for one in streams)]
    if not moves:
        return 0
    alone = 0
    for move in moves:
        takes = [amounts[at] // taken for at, taken in move.takes if taken]
        if not takes:
            return _ENDLESS
        alone += min(takes)
    common = [
        have // least
        for at, have in enumerate(amounts)
        if (least := min(dict(move.takes).get(at, 0) for move in moves)) > 0
    ]
    return min([alone, *common])


def _cut(units: list[int], link: PlaceLink) -> None:
    """Cut devices to whole groups of a link; devices that are kept apart bound a pod, not a place."""
    if link.how is How.APART:
        return
    whole = min(sum(units[slot] for slot in slots) // per for slots, per in link.ends)
    for slots, per in link.ends:
        if len(slots) == 1:
            units[slots[0]] = min(units[slots[0]], whole * per)


def _cut_all(vectors: Array, link: PlaceLink, start: int) -> Array:
    if any(len(slots) != 1 for slots, _ in link.ends):
        return vectors
    columns, per = start + np.array([slots[0] for slots, _ in link.ends]), np.array([per for _, per in link.ends])
    found = vectors.copy()
    found[:, columns] = (found[:, columns] // per).min(axis=1)[:, None] * per
    return found


def maximal(vectors: Array) -> Array:
    """Return the vectors that no other one covers; if there are too many, the box around them."""
    vectors = np.unique(vectors, axis=0)
    if len(vectors) > _VECTORS:
        return vectors.max(axis=0)[None]
    covers = (vectors[:, None] <= vectors[None]).all(axis=2)
    return vectors[covers.sum(axis=1) == 1]


def all_below(boxes: Array, rows: Sequence[tuple[Counts, int]], most: int) -> list[Vector] | None:
    """Return all vectors that some box covers and that keep all rows, None if there are more than `most`."""
    found: set[Vector] = set()
    for box in boxes.tolist():
        heads: list[Vector] = [()]
        for at, cap in enumerate(box):
            longer: list[Vector] = []
            for head in heads:
                sums = [(limit - sum(map(mul, weights, head)), weights[at]) for weights, limit in rows]
                able = min([cap, *(left // weight for left, weight in sums if weight)])
                longer.extend((*head, count) for count in range(able + 1))
                if len(longer) > most:
                    return None
            heads = longer
        found.update(heads)
        if len(found) > most:
            return None
    return sorted(found, key=lambda counts: (sum(counts), counts))
