"""The best pod on a state: what each place can give to one pod, and at what cost.

A table has every vector of devices that a place can give, with its least cost. That of a leaf is the cheapest
assignment of its devices to slots; that of another place is the min-plus sum of the tables inside it, filtered by the
links of its level. Tables are kept by depth and state, so that thousands of nodes ask for a few hundred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dra_lab.model.sketch import How
from dra_lab.planner.places.levels import PLACES_OF_GOAL, ROOT
from dra_lab.planner.places.shapes import PodShape, Vector
from dra_lab.planner.places.trees import LeafType, State, Trees

Array = Any
"""A numpy array."""

_EXACT = 512
"""Vectors of one shape up to which all of them are looked at on every place."""


class Lattice:
    """All vectors up to what a shape needs: the first is none, the last is all.

    It is `exact` if every vector of a place is looked at. With more vectors, only those of a place count that no other
    one of it covers: then a pod that is not found may exist, and a better one too.
    """

    def __init__(self, need: Vector) -> None:
        """List the vectors."""
        self.vectors = list(product(*(range(count + 1) for count in need)))
        self.at = {vector: position for position, vector in enumerate(self.vectors)}
        self.size = len(self.vectors)
        self.exact = self.size <= _EXACT
        self.rows = np.array(self.vectors, np.int64).reshape(self.size, len(need))
        self._less: dict[int, Array] = {}
        self._all = np.stack([*map(self._less_of, range(self.size))], axis=1) if self.exact else None

    def less(self, columns: Array) -> Array:
        """Return positions[a, column] of the a-th vector without that of a column, `size` where it is negative."""
        if self._all is not None:
            return self._all[:, columns]
        return np.stack([*map(self._less_of, columns.tolist())], axis=1)

    def _less_of(self, column: int) -> Array:
        if column not in self._less:
            # Vectors are in the order of their digits, so that positions subtract as vectors do.
            able = (self.rows >= self.rows[column]).all(axis=1)
            self._less[column] = np.where(able, np.arange(self.size) - column, self.size)
        return self._less[column]

    def sum_of(self, one: int, other: int) -> int:
        """Return the position of the sum of two vectors, -1 if that is more than the shape needs."""
        total = tuple(a + b for a, b in zip(self.vectors[one], self.vectors[other], strict=True))
        return self.at.get(total, -1)

    def kept(self, columns: Array) -> Array:
        """Say which vectors of a place count."""
        if self.exact or len(columns) < 2:
            return np.ones(len(columns), bool)
        rows = self.rows[columns]
        return np.array([(row <= rows).all(axis=1).sum() == 1 for row in rows])


@lru_cache(maxsize=64)
def lattice_of(need: Vector) -> Lattice:
    """Return the lattice up to a vector; shapes of one pod, and orders of goals, share it."""
    return Lattice(need)


NEVER = 2**62
"""The cost of what is impossible."""

HARM, SPARE = "harm", "spare"
"""Costs of a pod besides goals: units that no pod can have after it, and what it leaves beside it on leaves."""

Harm = Callable[[State, State], int]
"""What is lost if a leaf gets from one state to another."""

Uses = tuple[tuple[int, int, int], ...]
"""(slot, move, devices) that a leaf gives."""


class Costs:
    """One integer for all goals of a pod, most important first, and the way back. Only this class packs and unpacks."""

    def __init__(self, order: Sequence[str], bounds: Mapping[str, int], devices: int) -> None:
        """Lay out the goals; `bounds` is the most that each may be, `devices` how many a pod takes at most."""
        fixed = prod(bounds[goal] + 1 for goal in order if goal not in (HARM, SPARE))
        room = NEVER // fixed
        assert room > 4, "goals of one pod fit into 62 bits"
        spare = min(max(2, int(room**0.3)), 2**16)
        ranges = {HARM: max(2, room // spare - 1), SPARE: spare, **{goal: bounds[goal] + 1 for goal in bounds}}
        self.weights = {}
        weight = 1
        for goal in reversed(order):
            self.weights[goal] = weight
            weight *= ranges[goal]
        assert weight <= NEVER, "goals of one pod fit into 62 bits"
        # A sum over all leaves of a pod never carries into the goal before.
        self.most = {goal: (ranges[goal] - 1) // max(1, devices) for goal in (HARM, SPARE)}
        self.ranges = ranges

    def pack(self, **values: int) -> int:
        """Return the cost of some goals, those that do not count left out; harm and spare are cut off."""
        return sum(min(value, self.most.get(goal, value)) * self.weights.get(goal, 0) for goal, value in values.items())

    def values(self, cost: int, goals: Sequence[str]) -> tuple[int, ...]:
        """Return the values of some goals."""
        return tuple(cost // self.weights[goal] % self.ranges[goal] for goal in goals)


@dataclass(frozen=True, slots=True)
class PodTable:
    """All that a place can give to one pod: positions of vectors, costs, and `steps` that lead back.

    A step of a leaf is what each vector uses, and the state that is left. A step of another place is (state of a place
    inside, its vectors, which of them each position takes, -1 for none).
    """

    vectors: Array
    costs: Array
    steps: Any


class ShapeTables:
    """The tables of one shape of a pod, at one order of goals."""

    def __init__(self, trees: Trees, shape: PodShape, start: int, costs: Costs, harm: Harm, *, paired: bool) -> None:
        """Note what links allow, and what goals cost, of every vector at every level."""
        self.trees, self.shape, self.start, self.costs, self.harm = trees, shape, start, costs, harm
        self.need = shape.need
        self.lattice = lattice_of(self.need)
        size = len(self.lattice.vectors)
        self.allowed = [np.ones(size, bool) for _ in range(trees.depth + 1)]
        self.own = [np.zeros((2, size), np.int64) for _ in range(trees.depth + 1)]
        for link in shape.links:
            if link.must:
                self.allowed[link.level + 1] &= [link.allows(vector) for vector in self.lattice.vectors]
            else:
                lost = [[link.lost(vector, known=bool(known)) for vector in self.lattice.vectors] for known in (0, 1)]
                self.own[link.level + 1] += np.array(lost) * costs.weights.get("preferences", 0)
        for depth, where in enumerate(trees.levels.where, start=1):
            for goal, (level, kinds) in PLACES_OF_GOAL.items():
                if where == level:
                    # A known place counts once, at an unknown place each device counts as one.
                    devices = self._devices(kinds)
                    own = np.stack([devices, (devices > 0).astype(np.int64)])
                    self.own[depth] += own * costs.weights.get(goal, 0)
            if where == ROOT and paired:
                gpus, nics = self._devices(("gpu",)), self._devices(("nic",))
                self.own[depth] += np.stack([gpus, np.maximum(gpus - nics, 0)]) * costs.weights.get("unpaired", 0)
        self.fixed = costs.pack(alternatives=shape.alternatives, preferences=shape.preferences)
        self._sums: dict[tuple[int, int, frozenset[int]], bool] = {}
        self._tables: dict[tuple[int, State], PodTable] = {}
        self._after: dict[tuple[int, State, int], State] = {}

    def _devices(self, kinds: Sequence[str]) -> Array:
        return self.lattice.rows[:, [at for at, slot in enumerate(self.shape.slots) if slot.kind in kinds]].sum(axis=1)

    @property
    def is_apart(self) -> bool:
        """Say whether a pod may not take several devices of some place, or not twice of a device that pods share."""
        links = any(link.how is How.APART for link in self.shape.links)
        return links or any(kind.once for kind in self.trees.types)

    def is_sum(self, depth: int, known: int, slots: frozenset[int]) -> bool:
        """Say whether a place that serves some slots allows and costs the sum of what its parts allow and cost."""
        key = depth, known, slots
        if key not in self._sums:
            others = [slot for slot in range(len(self.need)) if slot not in slots]
            given = np.flatnonzero((self.lattice.rows[:, others] == 0).all(axis=1))
            able, own = self.allowed[depth], self.own[depth][known]
            self._sums[key] = self.lattice.exact and all(
                able[total] == (able[one] and able[other]) and own[total] == own[one] + own[other]
                for one in given.tolist()
                for other in given.tolist()
                if one and other and (total := self.lattice.sum_of(one, other)) >= 0
            )
        return self._sums[key]

    # ------------------------------------------------------------------ tables

    def table(self, depth: int, state: State) -> PodTable:
        """Return what a place can give to one pod."""
        key = depth, state
        found = self._tables.get(key)
        if found is None:
            found = self._leaf(state) if depth == self.trees.depth else self._inner(depth, state)
            self._tables[key] = found
        return found

    def _leaf(self, state: State) -> PodTable:
        known, kind, amounts = state
        found: dict[int, tuple[int, Uses, State]] = {}
        own = self.own[-1][known]
        for position, able in self.on_leaf(state):
            best: tuple[int, Uses, State] | None = None
            for rank, uses, left in assigned(self.trees.types[kind], able, self.lattice.vectors[position], amounts):
                after = self.trees.leaf_state(known, kind, left)
                harm = self.harm(state, after) if HARM in self.costs.weights else 0
                cost = self.costs.pack(alternatives=rank, harm=harm, spare=sum(left))
                if best is None or cost < best[0]:
                    best = cost, uses, after
            if best is not None:
                found[position] = best[0] + int(own[position]), best[1], best[2]
        vectors = np.array(list(found), np.int64)
        costs = np.array([cost for cost, _, _ in found.values()], np.int64)
        steps = {position: (uses, after) for position, (_, uses, after) in found.items()}
        kept = self.lattice.kept(vectors)
        return PodTable(vectors[kept], costs[kept], steps)

    def on_leaf(self, state: State) -> Iterator[tuple[int, list[list[tuple[int, int]]]]]:
        """Yield the position of each vector that a leaf may give, and (rank, move) of what serves each slot."""
        leaf = self.trees.types[state[1]]
        able = [leaf.able(self.start + slot) for slot in range(len(self.need))]
        most = [self._most(leaf, mine, need, state[2]) for mine, need in zip(able, self.need, strict=True)]
        for vector in product(*(range(count + 1) for count in most)):
            position = self.lattice.at[vector]
            if position and self.allowed[-1][position]:
                yield position, able

    def _most(self, leaf: LeafType, able: Sequence[tuple[int, int]], need: int, amounts: Vector) -> int:
        if leaf.once:
            need = min(need, 1)
        total = 0
        for _, move in able:
            takes = [amounts[at] // taken for at, taken in leaf.moves[move].takes if taken]
            total += min(takes, default=need)
        return min(need, total)

    def _inner(self, depth: int, state: State) -> PodTable:
        known, children = state
        size = self.lattice.size
        costs, steps = np.full(size + 1, NEVER, np.int64), []
        costs[0] = 0
        inside: Counter[State] = Counter(children)
        for child, many in inside.items():
            part = self.table(depth + 1, child)
            if not len(part.vectors):
                continue
            less = self.lattice.less(part.vectors)
            for _ in range(min(many, sum(self.need))):
                ways = costs[less] + part.costs
                chosen = ways.argmin(axis=1)
                cheapest = ways[np.arange(size), chosen]
                better = cheapest < costs[:size]
                if not better.any():
                    break
                costs[:size][better] = cheapest[better]
                steps.append((child, part.vectors, np.where(better, chosen, -1)))
        able = np.flatnonzero((costs[:size] < NEVER) & self.allowed[depth])
        able = able[able > 0]
        if depth:
            able = able[self.lattice.kept(able)]
        return PodTable(able, costs[able] + self.own[depth][known][able], tuple(steps))

    def best(self, state: State) -> int | None:
        """Return the cost of the best pod on a node, None if there is none."""
        if not state:
            return None
        table = self.table(0, state)
        whole = len(self.lattice.vectors) - 1
        if not len(table.vectors) or table.vectors[-1] != whole:
            return None
        return int(table.costs[-1]) + self.fixed

    # ------------------------------------------------------------------ the way back

    def inside(self, depth: int, state: State, position: int) -> Iterator[tuple[State, int]]:
        """Yield which places inside give which vectors."""
        for child, vectors, chosen in reversed(self.table(depth, state).steps):
            if chosen[position] >= 0:
                column = int(vectors[chosen[position]])
                yield child, column
                position -= column

    def given(self, depth: int, state: State, position: int) -> tuple[State, Iterable[Any]]:
        """Return the state of a place that gave a vector, and its steps: (slot, move, devices), or those inside."""
        after = self.after(depth, state, position)
        if depth == self.trees.depth:
            return after, self.table(depth, state).steps[position][0]
        return after, list(self.inside(depth, state, position))

    def after(self, depth: int, state: State, position: int) -> State:
        """Return the state of a place that gave a vector."""
        key = depth, state, position
        found = self._after.get(key)
        if found is None:
            if depth == self.trees.depth:
                found = self.table(depth, state).steps[position][1]
            else:
                rest, given = list(state[1]), []
                for child, column in self.inside(depth, state, position):
                    rest.remove(child)
                    given.append(self.after(depth + 1, child, column))
                inside = sorted([*rest, *(child for child in given if child)])
                found = (state[0], tuple(inside)) if inside else ()
            self._after[key] = found
        return found


def assigned(
    leaf: LeafType, able: Sequence[Sequence[tuple[int, int]]], vector: Vector, amounts: Vector, slot: int = 0
) -> Iterator[tuple[int, Uses, Vector]]:
    """Yield (rank, uses, amounts left) of every way in which a leaf serves a vector, from a slot on."""
    while slot < len(vector) and not vector[slot]:
        slot += 1
    if slot == len(vector):
        yield 0, (), amounts
        return
    for rank, moves, rest in _given(leaf, able[slot], vector[slot], amounts):
        uses = tuple((slot, move, times) for move, times in moves)
        for more, others, left in assigned(leaf, able, vector, rest, slot + 1):
            yield rank + more, uses + others, left


def _given(
    leaf: LeafType, able: Sequence[tuple[int, int]], count: int, amounts: Vector, at: int = 0
) -> Iterator[tuple[int, tuple[tuple[int, int], ...], Vector]]:
    """Yield (rank, (move, times), amounts left) of every way to give some devices to one slot, lowest ranks first."""
    if not count:
        yield 0, (), amounts
        return
    if at == len(able):
        return
    rank, move = able[at]
    takes = leaf.moves[move].takes
    most = min([count, *(amounts[amount] // taken for amount, taken in takes if taken)])
    for times in range(most, -1, -1):
        left = list(amounts)
        for amount, taken in takes:
            left[amount] -= taken * times
        mine = ((move, times),) if times else ()
        for more, others, end in _given(leaf, able, count - times, tuple(left), at + 1):
            yield rank * times + more, mine + others, end


@dataclass
class PodTables:
    """The tables of all shapes of one pod, at one order of goals."""

    shapes: Sequence[ShapeTables]
    _best: dict[State, tuple[int, int] | None] = field(default_factory=dict)

    def may_be(self, goal: str) -> bool:
        """Say whether the value of a goal may be above 0."""
        return any(shape.costs.ranges[goal] > 1 for shape in self.shapes)

    @property
    def exact(self) -> bool:
        """Say whether the best pod is found on every state."""
        return all(shape.lattice.exact for shape in self.shapes)

    def best(self, state: State) -> tuple[int, int] | None:
        """Return the cost and the shape of the best pod on a node, None if there is none."""
        if state not in self._best:
            found: tuple[int, int] | None = None
            for number, shape in sorted(enumerate(self.shapes), key=lambda row: row[1].fixed):
                if found is not None and found[0] <= shape.fixed:
                    break
                cost = shape.best(state)
                if cost is not None and (found is None or cost < found[0]):
                    found = cost, number
            self._best[state] = found
        return self._best[state]

    def after(self, state: State) -> State:
        """Return the state of a node with one more pod."""
        best = self.best(state)
        assert best is not None, "a pod was found there"
        shape = self.shapes[best[1]]
        return shape.after(0, state, len(shape.lattice.vectors) - 1)
