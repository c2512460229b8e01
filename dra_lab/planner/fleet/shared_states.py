"""What pods take of nodes that share devices: the states of each node, and what providers give.

A *piece* is a vector of devices of one place that a provider gives to one pod. Pieces that lead all providers from the
same states to the same states are of one kind. A pod takes devices of its node, and pieces for the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import islice

import numpy as np

from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.places.counting import maximal
from dra_lab.planner.places.fill import LEAST
from dra_lab.planner.places.hand_out import AllWays, Way
from dra_lab.planner.places.shapes import Vector
from dra_lab.planner.places.tables import PodTables
from dra_lab.planner.places.trees import State

MOST_WAYS = 64
"""Ways of one vector that are kept; with more, the cheapest, and nothing is proven."""

MOST_GIVEN = 20_000
"""Ways of all providers in all states that are all kept; with more, the cheapest of each vector."""

MOST_SUMS = 2_000
"""Ways to write what a pod takes of providers as a sum of pieces; with more, the others are left out."""

ShapeOf = tuple[int, int]
"""A workload, and the number of a shape of its pod."""

Piece = tuple[int, int]
"""The number of the nodes that see a provider, and the kind of piece that it gives."""

Sees = tuple[tuple[int, frozenset[int]], ...]
"""What a node sees of others: numbers of sets of nodes that see the same, and the kinds of pieces given there."""

NodeKey = tuple[Sees, State]
"""What a node sees of others, and the state of its own devices."""

Ways = list[list[AllWays]]
"""The ways of each shape of each workload."""

_OneWay = Mapping[int, Mapping[State, Way]]
"""By position, and the state that is left."""


@dataclass(frozen=True, slots=True)
class PodStep:
    """One pod: its own devices (`position` of the vectors of the shape) lead its node from `before` to `after`.

    `pieces` are (piece, position) of the rest. `values` are those of the goals of devices; `ways` has the devices.
    """

    of: ShapeOf
    position: int
    before: NodeKey
    after: NodeKey
    pieces: tuple[tuple[Piece, int], ...]
    values: Values
    ways: AllWays = field(compare=False, repr=False)


def ways_of(pods: Sequence[PodTables], most: int) -> Ways:
    """Return the ways of pods, up to `most` of each vector."""
    return [[AllWays(shape, most) for shape in pod.shapes] for pod in pods]


@dataclass
class Pieces:
    """What providers give to pods. If they are `exact`, nothing else can be given.

    `of_shape` has the kinds of each position, with their values. `given[state][kind]` are the states that a piece may
    leave. `most[state]` are the maximal numbers of pieces, by kind, that a provider gives.
    """

    ways: Ways
    order: tuple[str, ...]
    sizes: Sizes
    exact: bool = True
    of_shape: dict[ShapeOf, dict[int, list[tuple[int, Values]]]] = field(default_factory=dict)
    given: dict[State, dict[int, list[State]]] = field(default_factory=dict)
    most: dict[State, list[Vector]] = field(default_factory=dict)
    _places: dict[State, dict[ShapeOf, _OneWay]] = field(default_factory=dict)

    def find(self) -> bool:
        """Find all pieces; say whether they can be told apart like this.

        They cannot if pieces that one pod may take of one provider depend on each other, or a device is never used up.
        """
        if not self._find_pieces():
            return False
        if any(state in after for state, given in self.given.items() for after in given.values()):
            return False
        self._count_pieces()
        self.exact = self.exact and all(ways.exact for _, ways in shapes_of(self.ways))
        return True

    def has(self, state: State, pieces: Vector) -> bool:
        """Say whether a provider can give these numbers of pieces, by kind."""
        return any(all(a <= b for a, b in zip(pieces, most, strict=True)) for most in self.most[state])

    def look(self, states: Iterable[State], budget: Budget) -> None:
        """Find what providers can give in all states that they may come to; after a limit, in the first ones only."""
        todo, found = list(states), 0
        known = set(todo)
        for state in todo:
            late = found > MOST_GIVEN or (found >= LEAST and budget.reached)
            self.exact = self.exact and not late
            mine = self._places[state] = {of: {} if late else ways.of(1, state) for of, ways in shapes_of(self.ways)}
            every = [after for by_position in mine.values() for some in by_position.values() for after in some]
            found += len(every)
            following = sorted({after for after in every if after} - known)
            known.update(following)
            todo += following

    def _find_pieces(self) -> bool:
        """Find the pieces of each shape; say whether one provider gives all sums of them."""
        looks: dict[frozenset[tuple[State, State]], int] = {}
        self.given = {state: {} for state in self._places}
        for of, ways in shapes_of(self.ways):
            given = {at for mine in self._places.values() for at in mine[of]}
            self.of_shape[of] = {position: self._kinds_of(of, position, ways, looks) for position in sorted(given)}
            if not all(self._are_independent(of, state, ways) for state in self._places):
                return False
        return True

    def _kinds_of(
        self, of: ShapeOf, position: int, ways: AllWays, looks: dict[frozenset[tuple[State, State]], int]
    ) -> list[tuple[int, Values]]:
        """Return the kinds of a piece, one for each of the values that it may have."""
        by_values: dict[Values, set[tuple[State, State]]] = defaultdict(set)
        for state, mine in self._places.items():
            for after, (cost, _) in mine[of].get(position, {}).items():
                by_values[ways.tables.costs.values(cost, self.order)].add((state, after))
        found = []
        for values, steps in by_values.items():
            kind = looks.setdefault(frozenset(steps), len(looks))
            found.append((kind, values))
            for state, after in sorted(steps):
                if after not in (known := self.given[state].setdefault(kind, [])):
                    known.append(after)
        return found

    def _are_independent(self, of: ShapeOf, state: State, ways: AllWays) -> bool:
        """Say whether a pod may take several pieces of one provider, one after the other."""
        if not ways.exact:
            return not ways.tables.is_apart
        place = self._places[state][of]
        return all(
            after in place.get(total, ())
            for first, some in place.items()
            for between in filter(None, some)
            for second, more in self._places[between][of].items()
            if (total := ways.tables.lattice.sum_of(first, second)) >= 0
            for after in more
        )

    def _count_pieces(self) -> None:
        """Find the maximal numbers of pieces of each state."""
        kinds = max((kind for mine in self.given.values() for kind in mine), default=-1) + 1
        after = {state: {left for some in mine.values() for left in some if left} for state, mine in self.given.items()}
        found = {(): np.zeros((1, kinds), np.int64)}
        for state in TopologicalSorter(after).static_order():
            rows = [found[()]]
            for kind, some in self.given[state].items():
                rows += [found[left] + np.eye(1, kinds, kind, dtype=np.int64) for left in some]
            most = maximal(np.unique(np.concatenate(rows), axis=0))
            if len(most) > self.sizes.numbers:
                self.exact = False
                most = most[np.argsort(-most.sum(axis=1), kind="stable")[: self.sizes.numbers]]
            found[state] = most
        self.most = {state: [tuple(row) for row in rows.tolist()] for state, rows in found.items()}


@dataclass
class PodSteps:
    """The steps of pods on nodes; those of nodes in equal states are found once."""

    pieces: Pieces
    ways: Ways
    cut: bool = False
    _known: dict[NodeKey, list[PodStep]] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Say whether all steps are found of each state that was asked for."""
        return not self.cut and self.pieces.exact and all(ways.exact for _, ways in shapes_of(self.ways))

    def on(self, key: NodeKey) -> list[PodStep]:
        """Return the steps of pods of all workloads that a node may take next, best first."""
        if key not in self._known:
            rows: dict[tuple[int, State, tuple[Piece, ...]], PodStep] = {}
            for of, ways in shapes_of(self.ways):
                for step in self._steps(key, of, ways):
                    look = of[0], step.after[1], tuple(sorted(piece for piece, _ in step.pieces))
                    if look not in rows or step.values < rows[look].values:
                        rows[look] = step
            self._known[key] = sorted(rows.values(), key=lambda step: step.values)
        return self._known[key]

    def every(self, todo: Iterable[NodeKey], most: int, budget: Budget) -> list[PodStep] | None:
        """Return all steps from some states on, None if there are more than `most`, or time is up."""
        found: list[PodStep] = []
        keys = list(dict.fromkeys(todo))
        known = set(keys)
        while keys:
            mine = self.on(keys.pop())
            found += mine
            if len(found) > most or budget.reached:
                return None
            following = dict.fromkeys(step.after for step in mine if step.after not in known)
            known.update(following)
            keys += following
        return found

    def _steps(self, key: NodeKey, of: ShapeOf, ways: AllWays) -> Iterator[PodStep]:
        sees, state = key
        tables = ways.tables
        own: dict[int, Mapping[State, Way]] = {0: {state: (0, ())}}
        own |= ways.of(0, state) if state else {}
        pieces = [
            ((number, kind), position, values)
            for number, able in sees
            for position, kinds in self.pieces.of_shape[of].items()
            for kind, values in kinds
            if kind in able
        ]
        for position, some in own.items():
            mine = tables.lattice.vectors[position]
            rest = tuple(need - have for need, have in zip(tables.need, mine, strict=True))
            taken = list(islice(_in_pieces(rest, pieces, tables.lattice.vectors), MOST_SUMS + 1))
            self.cut = self.cut or len(taken) > MOST_SUMS
            for after, (cost, _) in some.items() if taken else ():
                values = tables.costs.values(cost + tables.fixed, self.pieces.order)
                for more in taken:
                    total = tuple(map(sum, zip(values, *(one for _, _, one in more), strict=True)))
                    given = tuple((piece, at) for piece, at, _ in more)
                    yield PodStep(of, position, key, (sees, after), given, total, ways)


_Pieces = tuple[tuple[Piece, int, Values], ...]
"""Pieces with their positions and values."""


def _in_pieces(
    rest: Vector, pieces: Sequence[tuple[Piece, int, Values]], vectors: Sequence[Vector]
) -> Iterator[_Pieces]:
    """Yield the ways to write a vector as a sum of pieces."""
    if not any(rest):
        yield ()
        return
    for at, piece in enumerate(pieces):
        left = tuple(need - have for need, have in zip(rest, vectors[piece[1]], strict=True))
        if min(left) >= 0:
            for more in _in_pieces(left, pieces[at:], vectors):
                yield (piece, *more)


def shapes_of(ways: Ways) -> Iterator[tuple[ShapeOf, AllWays]]:
    """Yield the ways of each shape."""
    for pod, shapes in enumerate(ways):
        for number, mine in enumerate(shapes):
            yield (pod, number), mine
