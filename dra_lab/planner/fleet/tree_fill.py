"""Pods on one tree of NUMA nodes and PCIe roots: the best place of one pod, and one pod after the other.

The best place of a pod is a dynamic programme: roots of a NUMA node, then NUMA nodes of a node. Its states are the
units that the pod has so far. Everything is remembered by canonical state, so that a fleet of thousands of nodes asks
for it a few hundred times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from operator import add, le, sub

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pod_shapes import Shape, Unit, Vector
from dra_lab.planner.fleet.tree_states import FleetTree, NumaState, TreeState

SCARCITY = "scarcity"

GOALS_OF_TREES = frozenset(("alternatives", "preferences", "numa", "unpaired", "roots"))
"""The goals of devices that are counted on trees."""

Values = tuple[int, ...]
"""Goals of devices, most important first."""


@dataclass(frozen=True, slots=True)
class InNuma:
    """What a pod takes on one NUMA node: units of the pools, and (free devices of a root, units) for each root."""

    numa: NumaState
    units: Vector
    roots: tuple[tuple[Vector, Vector], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """One pod on a tree: which shape of which workload, what that is worth, where it lies, and what is left."""

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


_Part = tuple[Values, int, tuple[tuple[Vector, Vector], ...]]
"""Values, devices left beside it on its roots, and what is taken on which root."""


@dataclass
class Fill:
    """The trees of a fleet, filled with pods.

    `order` names the goals of devices, most important first. SCARCITY may be one of them: what a pod takes away of the
    units that pods need, each at its price.
    """

    tree: FleetTree
    order: tuple[str, ...]
    prices: tuple[tuple[Unit, int], ...] = ()
    _best: dict[tuple[TreeState, int], Placed | None] = field(default_factory=dict)
    _parts: dict[tuple[NumaState, int, int], dict[Vector, _Part]] = field(default_factory=dict)
    _pieces: dict[tuple[Vector, int, int], list[Piece]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note the zero of all goals."""
        self.zero = (0,) * len(self.order)

    def values(self, **amounts: int) -> Values:
        """Return values of goals, 0 for those not named."""
        return tuple(amounts.get(goal, 0) for goal in self.order)

    # ------------------------------------------------------------------ one pod

    def best(self, state: TreeState, pod: int) -> Placed | None:
        """Return the best place of one pod on a tree, of equally good ones the one that fits most tightly."""
        key = state, pod
        if key not in self._best:
            found: tuple[Values, int, Placed] | None = None
            for number in range(len(self.tree.shapes[pod])):
                one = self._placed(state, pod, number)
                if one is not None and (found is None or one[:2] < found[:2]):
                    found = one
            self._best[key] = None if found is None else found[2]
        return self._best[key]

    def _placed(self, state: TreeState, pod: int, number: int) -> tuple[Values, int, Placed] | None:
        shape = self.tree.shapes[pod][number]
        need, nothing = shape.need, (0,) * len(shape.units)
        one = self.values(numa=1)
        layer: dict[Vector, tuple[Values, int, tuple[tuple[NumaState, Vector, _Part], ...]]] = {
            nothing: (self.zero, 0, ())
        }
        for numa in state:
            after = dict(layer)
            for units, part in self._in_numa(numa, pod, number).items():
                if shape.one_numa and units != need:
                    continue
                cost = tuple(map(add, one, part[0]))
                for have, (values, spare, taken) in layer.items():
                    sum_of = tuple(map(add, have, units))
                    if all(map(le, sum_of, need)):
                        worth = tuple(map(add, values, cost)), spare + part[1]
                        known = after.get(sum_of)
                        if known is None or worth < known[:2]:
                            after[sum_of] = (*worth, (*taken, (numa, units, part)))
            layer = after
        if need not in layer:
            return None
        values, spare, taken = layer[need]
        fixed = self.values(alternatives=shape.alternatives, preferences=shape.preferences)
        values = tuple(map(add, values, fixed))
        inside = tuple(InNuma(numa, units, part[2]) for numa, units, part in taken)
        return values, spare, Placed(pod, number, values, inside, self._left(state, shape, inside))

    def _left(self, state: TreeState, shape: Shape, inside: Sequence[InNuma]) -> TreeState:
        left = list(state)
        for taken in inside:
            left.remove(taken.numa)
            after = self.numa_left(shape, taken)
            if any(after[0]) or after[1]:
                left.append(after)
        return tuple(sorted(left))

    def numa_left(self, shape: Shape, taken: InNuma) -> NumaState:
        """Return what a pod leaves of a NUMA node."""
        pool, roots = taken.numa[0], list(taken.numa[1])
        for root, units in taken.roots:
            roots.remove(root)
            roots.append(tuple(map(sub, root, devices_of_units(shape, units))))
        return self.tree.numa_state(tuple(map(sub, pool, pools_of_units(shape, taken.units))), roots)

    def _in_numa(self, numa: NumaState, pod: int, number: int) -> dict[Vector, _Part]:
        """Return the best way to take any units of a pod on one NUMA node, by units; not for none."""
        key = numa, pod, number
        found = self._parts.get(key)
        if found is None:
            found = self._parts[key] = self._find_parts(numa, pod, number)
        return found

    def _find_parts(self, numa: NumaState, pod: int, number: int) -> dict[Vector, _Part]:
        shape = self.tree.shapes[pod][number]
        need, nothing = shape.need, (0,) * len(shape.units)
        in_pools = [range(unit.count + 1) if any(unit.pool) else range(1) for unit in shape.units]
        layer: dict[Vector, _Part] = {
            units: (self.zero, 0, ())
            for units in product(*in_pools)
            if all(map(le, pools_of_units(shape, units), numa[0]))
        }
        for root, many in sorted(Counter(numa[1]).items(), reverse=True):
            pieces = self.pieces_on(root, pod, number)
            for _ in range(min(many, sum(need))):
                after = dict(layer)
                for have, (values, spare, taken) in layer.items():
                    for piece in pieces:
                        units = tuple(map(add, have, piece.units))
                        if all(map(le, units, need)):
                            worth = tuple(map(add, values, piece.values)), spare + piece.spare
                            known = after.get(units)
                            if known is None or worth < known[:2]:
                                after[units] = (*worth, (*taken, (root, piece.units)))
                if after == layer:
                    break
                layer = after
        layer.pop(nothing, None)
        return layer

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
                if any(units) and all(map(le, devices, root)):
                    lost = self._lost(root, tuple(map(sub, root, devices)))
                    worth = self.values(roots=1, unpaired=self.unpaired(shape, devices), scarcity=lost)
                    found.append(Piece(units, devices, worth, sum(root) - sum(devices)))
        return found

    def _lost(self, before: Vector, after: Vector) -> int:
        return sum(price * (held_by(unit, before) - held_by(unit, after)) for unit, price in self.prices)

    def unpaired(self, shape: Shape, devices: Vector) -> int:
        """Return the GPUs of one pod on one root that have no NIC of their own there."""
        if not shape.paired:
            return 0
        kinds = self.tree.kinds
        return max(0, sum(devices[kind] for kind in kinds.gpu) - sum(devices[kind] for kind in kinds.nic))

    # ------------------------------------------------------------------ many pods

    def after_another(self, state: TreeState, order: Sequence[int], most: Counts) -> Iterator[Placed]:
        """Yield pods, each on the best place that is left: all of one workload that fit, then of the next."""
        for pod in order:
            for _ in range(most[pod]):
                placed = self.best(state, pod)
                if placed is None:
                    break
                state = placed.left
                yield placed

    def in_turn(self, state: TreeState, most: Counts) -> Iterator[Placed]:
        """Yield pods of all workloads in turn, each on the best place that is left."""
        counts, open_ = [0] * len(most), {pod for pod, count in enumerate(most) if count}
        while open_:
            pod = min(open_, key=lambda pod: (counts[pod] / most[pod], pod))
            placed = self.best(state, pod) if counts[pod] < most[pod] else None
            if placed is None:
                open_.discard(pod)
                continue
            counts[pod], state = counts[pod] + 1, placed.left
            yield placed


def held_by(unit: Unit, place: Vector) -> int:
    """Return how many units of one kind a root, or the pools of a NUMA node, hold if nothing else is taken."""
    each = unit.root if any(unit.root) else unit.pool
    return min(have // want for have, want in zip(place, each, strict=True) if want)


def devices_of_units(shape: Shape, units: Vector) -> Vector:
    """Return the devices on roots that some units of a shape take."""
    return _weighted([unit.root for unit in shape.units], units)


def pools_of_units(shape: Shape, units: Vector) -> Vector:
    """Return what some units of a shape take of pools."""
    return _weighted([unit.pool for unit in shape.units], units)


def _weighted(vectors: Sequence[Vector], weights: Vector) -> Vector:
    found = [0] * len(vectors[0])
    for vector, weight in zip(vectors, weights, strict=True):
        if weight:
            for at, amount in enumerate(vector):
                found[at] += weight * amount
    return tuple(found)
