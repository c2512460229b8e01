"""Pods on one tree of NUMA nodes and PCIe roots: the best place of one pod, and one pod after the other.

The best place of a pod is a dynamic programme: roots of a NUMA node, then NUMA nodes of a node. Its states are the
units that the pod has so far. Everything is stored by canonical state, so that a fleet of thousands of nodes asks
for it a few hundred times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from math import prod
from operator import add, le, sub

import numpy as np

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.shapes import PodShape, Unit, Vector
from dra_lab.planner.fleet.tree_states import FleetTree, NumaState, TreeState
from dra_lab.planner.states.columns import Array

SCARCITY = "scarcity"

GOALS_OF_TREES = frozenset(("alternatives", "preferences", "numa", "unpaired", "roots"))
"""The goals of devices that are counted on trees."""

Values = tuple[int, ...]
"""Goals of devices, most important first."""


Price = tuple[Unit, int, bool]
"""A unit, its value, and whether pods need it on different roots: its value is less on a root with more."""


@dataclass(frozen=True, slots=True)
class InNuma:
    """The devices that a pod takes on one NUMA node, and what is `left` of it.

    `units` are all units there, `roots` has (free devices of a root, units) for each root.
    """

    numa: NumaState
    units: Vector
    roots: tuple[tuple[Vector, Vector], ...]
    left: NumaState


@dataclass(frozen=True, slots=True)
class TreePlaced:
    """One pod on a tree: which shape of which workload, its values, where it lies, and what is left."""

    pod: int
    shape: int
    values: Values
    inside: tuple[InNuma, ...]
    left: TreeState


@dataclass(frozen=True, slots=True)
class Piece:
    """What a pod can take on one root: units, devices, and what that costs."""

    units: Vector
    root: Vector
    values: Values
    spare: int


@dataclass(frozen=True)
class _Lattice:
    """All numbers of units up to what a shape needs; the first is none, the last is all.

    `less[a, b]` is the position of the a-th vector without the b-th, the number of vectors where that is negative.
    `in_numa` says which vectors links let a pod have on one NUMA node.
    """

    vectors: tuple[Vector, ...]
    at: dict[Vector, int]
    less: Array
    in_numa: Array

    @classmethod
    def of(cls, shape: PodShape) -> _Lattice:
        """Return the lattice up to what a shape needs."""
        need = shape.need
        vectors = tuple(product(*(range(count + 1) for count in need)))
        # Unit by unit, in the order of `product`: large matrices are gone through once, not once for each unit.
        less = np.zeros((1, 1), np.int64)
        for count in need:
            one = np.subtract.outer(np.arange(count + 1), np.arange(count + 1))
            one[one < 0] = len(vectors)
            side = len(less) * (count + 1)
            less = (less[:, None, :, None] * (count + 1) + one[None, :, None, :]).reshape(side, side)
        less = np.minimum(less, len(vectors))
        in_numa = np.array([shape.fits_numa(vector) for vector in vectors], bool)
        return cls(vectors, {vector: at for at, vector in enumerate(vectors)}, less, in_numa)

    def step(self, costs: Array, columns: Array, prices: Array) -> tuple[Array, Array]:
        """Return the costs of all vectors after one more piece, and which piece each takes, -1 for none.

        Args:
            costs: The cost of each vector so far.
            columns: The vectors that pieces are.
            prices: What each piece costs.
        """
        ways = np.append(costs, NEVER)[self.less[:, columns]] + prices
        chosen = ways.argmin(axis=1)
        cost = ways[np.arange(len(costs)), chosen]
        better = cost < costs
        return np.where(better, cost, costs), np.where(better, chosen, -1)


@dataclass(frozen=True)
class _Inside:
    """The best way to take any units of a pod on one NUMA node: costs by vector, and what each root gives to them."""

    costs: Array
    columns: Array
    roots: tuple[tuple[Vector, Array, Array], ...]


NEVER = 2**62
"""The cost of what is impossible."""


@dataclass
class Fill:
    """The trees of a fleet, filled with pods.

    `order` names the goals of devices, most important first. SCARCITY may be one of them: what a pod takes away of the
    units that pods need, each at its price.
    """

    tree: FleetTree
    order: tuple[str, ...]
    prices: tuple[Price, ...] = ()
    _best: dict[tuple[TreeState, int], TreePlaced | None] = field(default_factory=dict)
    _insides: dict[tuple[NumaState, int, int], _Inside] = field(default_factory=dict)
    _pieces: dict[tuple[Vector, int, int], list[Piece]] = field(default_factory=dict)
    _steps: dict[tuple[Vector, int, int], tuple[Array, Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note the zero of all goals, and the weight of each goal in the cost of a pod's places.

        The weights make costs compare as goals do, and after them as devices that are left beside a pod on its roots.
        """
        self.zero = (0,) * len(self.order)
        # A pod takes at most a piece for each of its units: what a goal, or what is left beside it, may add up to.
        pieces = max((sum(shape.need) for shapes in self.tree.shapes for shape in shapes), default=0)
        left_on_roots = pieces * self.tree.largest_root
        lost = left_on_roots * sum(price for _, price, _ in self.prices)
        most = {"numa": pieces, "unpaired": left_on_roots, "roots": pieces, SCARCITY: lost}
        bounds = [most.get(goal, 0) for goal in self.order] + [left_on_roots]
        self._weights = [prod(bound + 1 for bound in bounds[at + 1 :]) for at in range(len(bounds))]
        self._exact = np.int64 if prod(bound + 1 for bound in bounds) < NEVER else object
        self._shapes = [
            sorted(range(len(shapes)), key=partial(self._fixed, pod)) for pod, shapes in enumerate(self.tree.shapes)
        ]
        self._lattices = [[_Lattice.of(shape) for shape in shapes] for shapes in self.tree.shapes]

    def values(self, **amounts: int) -> Values:
        """Return values of goals, 0 for those not named."""
        return tuple(amounts.get(goal, 0) for goal in self.order)

    def _fixed(self, pod: int, number: int) -> Values:
        """Return the values of a shape wherever it is placed: no place of it is better."""
        shape = self.tree.shapes[pod][number]
        return self.values(alternatives=shape.alternatives, preferences=shape.preferences)

    def _cost(self, values: Values, spare: int = 0) -> int:
        return sum(weight * value for weight, value in zip(self._weights, (*values, spare), strict=True))

    def _read(self, cost: int) -> tuple[Values, int]:
        """Return the values of goals, and the devices left beside a pod, of a cost."""
        found = []
        for weight in self._weights:
            found.append(cost // weight)
            cost %= weight
        return tuple(found[:-1]), found[-1]

    # ------------------------------------------------------------------ one pod

    def best(self, state: TreeState, pod: int) -> TreePlaced | None:
        """Return the best place of one pod on a tree, of equally good ones the one that fits most tightly."""
        key = state, pod
        if key not in self._best:
            found: tuple[Values, int, TreePlaced] | None = None
            for number in self._shapes[pod]:
                if found is not None and found[0] < self._fixed(pod, number):
                    break
                one = self._placed(state, pod, number)
                if one is not None and (found is None or one[:2] < found[:2]):
                    found = one
            self._best[key] = None if found is None else found[2]
        return self._best[key]

    def _placed(self, state: TreeState, pod: int, number: int) -> tuple[Values, int, TreePlaced] | None:
        shape, lattice = self.tree.shapes[pod][number], self._lattices[pod][number]
        last = len(lattice.vectors) - 1
        one = self._cost(self.values(numa=1))
        costs = self._costs(last + 1)
        costs[0] = 0
        steps: list[tuple[NumaState, Array, Array]] = []
        for numa, many in Counter(state).items():
            inside = self._inside(numa, pod, number)
            columns = inside.columns[lattice.in_numa[inside.columns]]
            for _ in range(min(many, sum(shape.need)) if len(columns) else 0):
                costs, chosen = lattice.step(costs, columns, inside.costs[columns] + one)
                if (chosen < 0).all():
                    break
                steps.append((numa, columns, chosen))
        if costs[last] >= NEVER:
            return None
        values, spare = self._read(int(costs[last]))
        values = tuple(map(add, values, self._fixed(pod, number)))
        inside_of: list[InNuma] = []
        at = last
        for numa, columns, chosen in reversed(steps):
            if chosen[at] >= 0:
                column = int(columns[chosen[at]])
                inside_of.append(self._in_numa(numa, pod, number, column))
                at = int(lattice.less[at, column])
        taken = tuple(reversed(inside_of))
        return values, spare, TreePlaced(pod, number, values, taken, _left(state, taken))

    def _costs(self, length: int) -> Array:
        costs = np.empty(length, self._exact)
        costs[:] = NEVER
        return costs

    def _in_numa(self, numa: NumaState, pod: int, number: int, column: int) -> InNuma:
        """Return the best way to take a vector of units on one NUMA node."""
        lattice, at = self._lattices[pod][number], column
        roots = []
        for root, columns, chosen in reversed(self._inside(numa, pod, number).roots):
            if chosen[at] >= 0:
                piece = int(columns[chosen[at]])
                roots.append((root, lattice.vectors[piece]))
                at = int(lattice.less[at, piece])
        units, on_roots = lattice.vectors[column], tuple(reversed(roots))
        return InNuma(numa, units, on_roots, self.numa_left(self.tree.shapes[pod][number], numa, units, on_roots))

    def _inside(self, numa: NumaState, pod: int, number: int) -> _Inside:
        """Return the best ways to take any units of a pod on one NUMA node."""
        key = numa, pod, number
        found = self._insides.get(key)
        if found is None:
            found = self._insides[key] = self._find_inside(numa, pod, number)
        return found

    def _find_inside(self, numa: NumaState, pod: int, number: int) -> _Inside:
        shape, lattice = self.tree.shapes[pod][number], self._lattices[pod][number]
        in_pools = [range(unit.count + 1) if any(unit.pool) else range(1) for unit in shape.units]
        costs = self._costs(len(lattice.vectors))
        for units in product(*in_pools):
            if all(map(le, pools_of_units(shape, units), numa[0])):
                costs[lattice.at[units]] = 0
        steps: list[tuple[Vector, Array, Array]] = []
        for root, many in sorted(Counter(numa[1]).items(), reverse=True):
            columns, prices = self._step_on(root, pod, number)
            for _ in range(min(many, sum(shape.need)) if len(columns) else 0):
                after, chosen = lattice.step(costs, columns, prices)
                if (chosen < 0).all():
                    break
                costs = after
                steps.append((root, columns, chosen))
        able = np.flatnonzero(costs < NEVER)
        return _Inside(costs, able[able > 0], tuple(steps))

    def _step_on(self, root: Vector, pod: int, number: int) -> tuple[Array, Array]:
        """Return the vectors that a pod can take on one root, and what they cost."""
        key = root, pod, number
        if key not in self._steps:
            pieces, at = self.pieces_on(root, pod, number), self._lattices[pod][number].at
            columns = np.array([at[piece.units] for piece in pieces], np.int64)
            prices = np.array([self._cost(piece.values, piece.spare) for piece in pieces], self._exact)
            self._steps[key] = columns, prices
        return self._steps[key]

    def numa_left(
        self, shape: PodShape, numa: NumaState, units: Vector, on_roots: Sequence[tuple[Vector, Vector]]
    ) -> NumaState:
        """Return what a pod leaves of a NUMA node; the arguments are as in `InNuma`."""
        pool, roots = numa[0], list(numa[1])
        for root, mine in on_roots:
            roots.remove(root)
            roots.append(tuple(map(sub, root, devices_of_units(shape, mine))))
        return self.tree.numa_state(tuple(map(sub, pool, pools_of_units(shape, units))), roots)

    def pieces_on(self, root: Vector, pod: int, number: int) -> list[Piece]:
        """Return everything that a pod can take on one root."""
        key = root, pod, number
        found = self._pieces.get(key)
        if found is None:
            shape = self.tree.shapes[pod][number]
            most = [
                min([unit.count, *(have // each for have, each in zip(root, unit.root, strict=True) if each)])
                if any(unit.root)
                else 0
                for unit in shape.units
            ]
            found = self._pieces[key] = []
            for units in product(*(range(count + 1) for count in most)):
                devices = devices_of_units(shape, units)
                if any(units) and all(map(le, devices, root)) and shape.fits_root(units):
                    lost = self._lost(root, tuple(map(sub, root, devices)))
                    values = self.values(roots=1, unpaired=self.unpaired(shape, devices), scarcity=lost)
                    found.append(Piece(units, devices, values, sum(root) - sum(devices)))
        return found

    def _lost(self, before: Vector, after: Vector) -> int:
        lost = 0
        for unit, price, apart in self.prices:
            had, has = held_by(unit, before), held_by(unit, after)
            lost += sum(price // (rest + 1) for rest in range(has, had)) if apart else price * (had - has)
        return lost

    def unpaired(self, shape: PodShape, devices: Vector) -> int:
        """Return the GPUs of one pod on one root that have no NIC of their own there."""
        if not shape.paired:
            return 0
        kinds = self.tree.kinds
        return max(0, sum(devices[kind] for kind in kinds.gpu) - sum(devices[kind] for kind in kinds.nic))

    # ------------------------------------------------------------------ many pods

    def in_order(self, state: TreeState, order: Sequence[int], most: Counts) -> Iterator[TreePlaced]:
        """Yield pods, each on the best place that is left: those of the first workload that fit, then of the next.

        Without an order they take turns.
        """
        counts, able = [0] * len(most), {pod for pod, count in enumerate(most) if count}
        while able:
            pod = min(able, key=lambda pod: (order.index(pod) if order else counts[pod] / most[pod], pod))
            placed = self.best(state, pod) if counts[pod] < most[pod] else None
            if placed is None:
                able.discard(pod)
                continue
            counts[pod], state = counts[pod] + 1, placed.left
            yield placed


def _left(state: TreeState, inside: Sequence[InNuma]) -> TreeState:
    left = list(state)
    for taken in inside:
        left.remove(taken.numa)
        if any(taken.left[0]) or taken.left[1]:
            left.append(taken.left)
    return tuple(sorted(left))


def held_by(unit: Unit, place: Vector) -> int:
    """Return how many units of one kind a root, or the pools of a NUMA node, hold if nothing else is taken."""
    return times_in(unit.root if any(unit.root) else unit.pool, place)


@lru_cache(maxsize=2**14)
def times_in(each: Vector, place: Vector) -> int:
    """Return how often some amounts are in others."""
    return min(have // want for have, want in zip(place, each, strict=True) if want)


def devices_of_units(shape: PodShape, units: Vector) -> Vector:
    """Return the devices on roots that some units of a shape take."""
    return _weighted([unit.root for unit in shape.units], units)


def pools_of_units(shape: PodShape, units: Vector) -> Vector:
    """Return what some units of a shape take of pools."""
    return _weighted([unit.pool for unit in shape.units], units)


def _weighted(vectors: Sequence[Vector], weights: Vector) -> Vector:
    found = [0] * len(vectors[0])
    for vector, weight in zip(vectors, weights, strict=True):
        if weight:
            for at, amount in enumerate(vector):
                found[at] += weight * amount
    return tuple(found)
