"""Every number of pods on small trees, exactly: all places of one pod, then all numbers on what each place leaves.

Benchmark row that needs it: three workloads with CPUs on 5,000 irregular nodes (`bench_pairs`) take 2.9 s to the proof,
and 12.8 s without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from operator import add, le

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.shapes import PodShape, Vector
from dra_lab.planner.fleet.tree_fill import Fill, InNuma, TreePlaced, Values, pools_of_units
from dra_lab.planner.fleet.tree_states import NumaState, TreeState

Rows = dict[Counts, tuple[Values, TreePlaced | None]]
"""The best values of each number of pods, and the first of these pods."""


_LOOK = 2_000
"""Steps after which the clock is looked at."""


class TooMany(Exception):
    """There are more places or numbers than are looked at, or time is over."""


@dataclass
class EveryNumber:
    """Exact tables of the trees of a fleet; trees that are left by pods are stored like those of nodes.

    `steps` is how many places and numbers may still be looked at.
    """

    fill: Fill
    demand: Counts
    budget: Budget
    steps: int = 0
    _tables: dict[tuple[TreeState, int], Rows] = field(default_factory=dict)
    _inside: dict[tuple[NumaState, int, int], list[tuple[Vector, InNuma, NumaState, Values]]] = field(
        default_factory=dict
    )

    def rows(self, state: TreeState, first: int = 0) -> Rows:
        """Return all numbers of pods that fit on a tree, of the workloads from `first` on. Raises TooMany."""
        key = state, first
        if key in self._tables:
            return self._tables[key]
        found: Rows = {(0,) * len(self.demand): (self.fill.zero, None)}
        for pod in range(first, len(self.demand)):
            for placed in self._places(state, pod):
                rows = self.rows(placed.left, pod)
                self._spend(len(rows))
                for counts, (values, _) in rows.items():
                    if counts[pod] == self.demand[pod]:
                        continue
                    more = (*counts[:pod], counts[pod] + 1, *counts[pod + 1 :])
                    total = tuple(map(add, values, placed.values))
                    if more not in found or total < found[more][0]:
                        found[more] = total, placed
        self._tables[key] = found
        return found

    def chain(self, state: TreeState, counts: Counts) -> tuple[TreePlaced, ...]:
        """Return the pods of the best way to place some numbers, one after the other."""
        found: list[TreePlaced] = []
        first = 0
        while any(counts):
            placed = self._tables[state, first][counts][1]
            assert placed is not None, "only no pods at all have no first one"
            found.append(placed)
            state, first = placed.left, placed.pod
            counts = (*counts[:first], counts[first] - 1, *counts[first + 1 :])
        return tuple(found)

    def _spend(self, steps: int) -> None:
        before, self.steps = self.steps, self.steps - steps
        if self.steps < 0 or (before // _LOOK > self.steps // _LOOK and self.budget.reached):
            raise TooMany

    def _places(self, state: TreeState, pod: int) -> list[TreePlaced]:
        """Return the places of one pod on a tree: of those that leave the same, the best."""
        best: dict[TreeState, TreePlaced] = {}
        for number in range(len(self.fill.tree.shapes[pod])):
            for placed in self._of_shape(state, pod, number):
                self._spend(1)
                known = best.get(placed.left)
                if known is None or placed.values < known.values:
                    best[placed.left] = placed
        return list(best.values())

    def _of_shape(self, state: TreeState, pod: int, number: int) -> Iterator[TreePlaced]:
        shape = self.fill.tree.shapes[pod][number]
        need, nothing = shape.need, (0,) * len(shape.units)
        fixed = self.fill.values(alternatives=shape.alternatives, preferences=shape.preferences)
        layer: dict[tuple[Vector, TreeState], tuple[Values, tuple[InNuma, ...]]] = {(nothing, ()): (fixed, ())}
        for numa in state:
            after = {(have, (*left, numa)): known for (have, left), known in layer.items()}
            for units, inside, rest, added in self._in_numa(numa, pod, number):
                for (have, left), (values, taken) in layer.items():
                    sum_of = tuple(map(add, have, units))
                    if all(map(le, sum_of, need)):
                        self._spend(1)
                        key = sum_of, (*left, rest)
                        total = tuple(map(add, values, added))
                        if key not in after or total < after[key][0]:
                            after[key] = total, (*taken, inside)
            layer = after
        for (have, left), (values, taken) in layer.items():
            if have == need:
                kept = tuple(sorted(numa for numa in left if any(numa[0]) or numa[1]))
                yield TreePlaced(pod, number, values, taken, kept)

    def _in_numa(self, numa: NumaState, pod: int, number: int) -> list[tuple[Vector, InNuma, NumaState, Values]]:
        """Return every way to take units of a pod on one NUMA node that its links allow: units, way, rest, values."""
        key = numa, pod, number
        found = self._inside.get(key)
        if found is None:
            found = self._inside[key] = self._find_inside(numa, pod, number)
        return found

    def _find_inside(self, numa: NumaState, pod: int, number: int) -> list[tuple[Vector, InNuma, NumaState, Values]]:
        shape = self.fill.tree.shapes[pod][number]
        nothing = (0,) * len(shape.units)
        one = self.fill.values(numa=1)
        best: dict[tuple[Vector, NumaState], tuple[Values, InNuma]] = {}
        in_pools = [range(unit.count + 1) if any(unit.pool) else range(1) for unit in shape.units]
        for pool_units in product(*in_pools):
            if not all(map(le, pools_of_units(shape, pool_units), numa[0])):
                continue
            for units, taken, added in self._on_roots(shape, pod, number, numa, pool_units):
                self._spend(1)
                if units == nothing or not shape.fits_numa(units):
                    continue
                key = units, self.fill.numa_left(shape, numa, units, taken)
                values = tuple(map(add, one, added))
                if key not in best or values < best[key][0]:
                    best[key] = values, InNuma(numa, units, taken, key[1])
        return [(units, inside, left, values) for (units, left), (values, inside) in best.items()]

    def _on_roots(
        self, shape: PodShape, pod: int, number: int, numa: NumaState, begun: Vector
    ) -> Iterator[tuple[Vector, tuple[tuple[Vector, Vector], ...], Values]]:
        """Yield every way to take units on roots of a NUMA node beside those begun; equal roots in one order."""
        need = shape.need
        layer: list[tuple[Vector, tuple[tuple[Vector, Vector], ...], Values]] = [(begun, (), self.fill.zero)]
        for root, many in Counter(numa[1]).items():
            pieces = self.fill.pieces_on(root, pod, number)
            following = []
            for have, taken, values in layer:
                todo = [(have, taken, values, 0, many)]
                while todo:
                    have_now, taken_now, values_now, start, left = todo.pop()
                    following.append((have_now, taken_now, values_now))
                    for at in range(start, len(pieces)) if left else ():
                        units = tuple(map(add, have_now, pieces[at].units))
                        if all(map(le, units, need)):
                            self._spend(1)
                            total = tuple(map(add, values_now, pieces[at].values))
                            todo.append((units, (*taken_now, (root, pieces[at].units)), total, at, left - 1))
            layer = following
        yield from layer
