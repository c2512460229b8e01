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
from dra_lab.planner.places.shapes import PlaceLink, PodShape, Vector
from dra_lab.planner.places.trees import LeafType, State, Trees

Array = Any
"""A numpy array."""

_VECTORS = 1_500
"""Vectors that joint counting keeps of one place; with more, the box around them, which allows more."""

_STREAMS = 8
"""Slots of all workloads up to which vectors of devices are counted; with more, only rows."""

ENDLESS = 10**6
"""Devices of a slot on a device that pods share without using it up."""


Counts = tuple[int, ...]
"""Pods, or weights, by workload."""


def one_pod(workloads: int, pod: int) -> Counts:
    """Return the numbers of pods by workload if there is one of a workload."""
    return tuple(int(at == pod) for at in range(workloads))


_Takes = tuple[frozenset[int], dict[str, int]]
"""The kinds of single devices that serve a slot, or what it takes of each capacity."""


@dataclass(frozen=True, eq=False)
class CountedPod:
    """A workload, or one shape of it, as counting sees it: the `streams` of each slot, and `links` that always hold."""

    pod: int
    need: Vector
    streams: tuple[tuple[int, ...], ...]
    links: tuple[PlaceLink, ...]
    shape: PodShape


def counted_pods(trees: Trees) -> list[CountedPod]:
    """Return what is counted: a workload at once if its shapes differ in links only, else each of its shapes."""
    found = []
    for pod, (ask, starts) in enumerate(zip(trees.asks, trees.starts, strict=True)):
        looks = {
            tuple((slot.need, slot.alternatives, slot.kind, slot.every) for slot in shape.slots) for shape in ask.shapes
        }
        every = list(zip(ask.shapes, starts, strict=True))
        for rows in [every] if len(looks) == 1 else [[row] for row in every]:
            first = rows[0][0]
            links = [link for link in first.links if link.must and all(link in shape.links for shape, _ in rows)]
            streams = tuple(tuple(start + slot for _, start in rows) for slot in range(len(first.slots)))
            found.append(CountedPod(pod, first.need, streams, tuple(by_slot(first, link) for link in links), first))
    return found


def by_slot(shape: PodShape, link: PlaceLink) -> PlaceLink:
    """Return a link with an end for each slot if it keeps all devices together."""
    if link.how is not How.TOGETHER:
        return link
    return replace(link, ends=tuple(((slot,), shape.slots[slot].need) for slots, _ in link.ends for slot in slots))


@dataclass
class Counting:
    """The counts of a fleet's states. After the time that `late` tells, boxes are counted, which is quick."""

    trees: Trees
    late: Callable[[], bool]
    _units: dict[tuple[CountedPod, int, State], Vector] = field(default_factory=dict)
    _vectors: dict[tuple[int, State], Array] = field(default_factory=dict)
    _rooms: dict[tuple[int, Vector], Array] = field(default_factory=dict)

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
        for pod in self.pods if state else ():
            caps = [self.most_of(pod, state)]
            caps += [self._apart(pod, link, state, caps[0]) for link in pod.links if link.how is How.APART]
            caps += [self._on_shared(pod, slot, state, caps[0]) for slot, need in enumerate(pod.need) if need > 1]
            found[pod.pod] += min(caps)
        return found

    def most_of(self, pod: CountedPod, state: State) -> int:
        """Return how many pods a node has devices for, slot by slot."""
        units = self.units(pod, 0, state)
        return min(have // need for have, need in zip(units, pod.need, strict=True))

    def _apart(self, pod: CountedPod, link: PlaceLink, state: State, most: int) -> int:
        """Return how many pods find places of their own for devices that are kept apart; each counts once for a pod."""
        slots = [slot for mine, _ in link.ends for slot in mine]
        inside = [
            sum(self.units(pod, link.level + 1, place)[slot] for slot in slots)
            for place in places_at(state, link.level + 1)
        ]
        return _most_once(sum(pod.need[slot] for slot in slots), inside, 0, most)

    def _on_shared(self, pod: CountedPod, slot: int, state: State, most: int) -> int:
        """Return how many pods find devices for a slot, if each takes a device that pods share once at most."""
        leaves = list(places_at(state, self.trees.depth))
        have = {True: [0], False: [0]}
        for leaf in leaves:
            have[self.trees.types[leaf[1]].once].append(self.units(pod, self.trees.depth, leaf)[slot])
        return _most_once(pod.need[slot], have[True], sum(have[False]), most) if any(have[True]) else most

    def units(self, pod: CountedPod, depth: int, state: State) -> Vector:
        """Return how many devices of each slot a place has for a pod, cut to whole groups of the links of its level."""
        key = pod, depth, state
        found = self._units.get(key)
        if found is None:
            if depth == self.trees.depth:
                leaf = self.trees.types[state[1]]
                units = [served(leaf, streams, state[2]) for streams in pod.streams]
            else:
                rows = [self.units(pod, depth + 1, child) for child in state[1]]
                units = [sum(column) for column in zip(*rows, strict=True)]
            for link in pod.links:
                if link.level + 1 == depth:
                    cut_units(units, link)
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
        """Return the kinds of single devices that serve a slot if nothing else does, or what it takes of capacities."""
        single = frozenset(
            at for at, move in enumerate(self.trees.types[0].moves) if any(move.ranks[one] >= 0 for one in streams)
        )
        amounts: list[dict[str, int]] = []
        for kind in self.trees.types[1:]:
            mine = (move for move in kind.moves if any(move.ranks[one] >= 0 for one in streams))
            amounts.extend({kind.keys[at]: taken for at, taken in move.takes if at < len(kind.keys)} for move in mine)
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
        each = [served(leaf, streams, amounts) for pod in self.pods for streams in pod.streams]
        box = np.array([each], np.int64)
        if state[1] == 0:
            found = np.zeros((1, len(each)), np.int64)
            for move, count in zip(leaf.moves, amounts, strict=True):
                able = [at for at, streams in enumerate(self._streams) if any(move.ranks[one] >= 0 for one in streams)]
                if count and len(able) > 1 and count ** (len(able) - 1) > _VECTORS * 10:
                    return box
                ways = [np.bincount(way, minlength=len(each)) for way in combinations_with_replacement(able, count)]
                found = self._sums(found, np.array(ways)) if ways and able else found
            return found
        return self._rest(state[1], amounts) if max(each) < 32 else box

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
                ENDLESS * any(not move.takes and any(move.ranks[one] >= 0 for one in streams) for move in leaf.moves)
                for streams in self._streams
            ]
            found = self._rooms[key] = maximal(np.concatenate(rows) + np.array(endless, np.int64))
        return found


def _most_once(need: int, once: Sequence[int], others: int, most: int) -> int:
    """Return how many pods that take `need` each find that of places which give each pod one, and of `others`."""
    pods = most
    while pods and (have := sum(min(pods, here) for here in once) + others) < pods * need:
        pods = min(pods - 1, have // need)
    return pods


def places_at(state: State, depth: int) -> Iterator[State]:
    """Yield the states of the places of a level."""
    if not depth:
        yield state
    else:
        for place in state[1]:
            yield from places_at(place, depth - 1)


def served(leaf: LeafType, streams: Sequence[int], amounts: Vector) -> int:
    """Return no fewer requests than a leaf can serve of one slot, if there are no others.

    The requests that take least of an amount come first.
    """
    able: list[tuple[dict[int, int], int]] = []
    for move in leaf.moves:
        if any(move.ranks[one] >= 0 for one in streams):
            takes = {at: taken for at, taken in move.takes if taken}
            if not takes:
                return ENDLESS
            able.append((takes, min(amounts[at] // taken for at, taken in takes.items())))
    found = sum(times for _, times in able)
    for at in {at for takes, _ in able for at in takes}:
        left, count = amounts[at], 0
        for taken, times in sorted((takes.get(at, 0), times) for takes, times in able):
            often = min(times, left // taken) if taken else times
            left, count = left - often * taken, count + often
        found = min(found, count)
    return found


def cut_units(units: list[int], link: PlaceLink) -> None:
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
