"""How many pods fit on one tree, and at what values: what was found, and what no way undercuts, by numbers of pods.

Three sources, cheapest first: pods one after the other (found), counting (least), and every way of small trees (both).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice, product
from operator import add, le, sub
from typing import Any

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.fill import orders_of
from dra_lab.planner.fleet.pack import Packed
from dra_lab.planner.fleet.shapes import OnePerPlace, PodShape, Unit, Vector
from dra_lab.planner.fleet.tree_fill import (
    Fill,
    InNuma,
    TreePlaced,
    Values,
    devices_of_units,
    held_by,
    pools_of_units,
    times_in,
)
from dra_lab.planner.fleet.tree_states import FleetTree, NumaState, TreeState, free_on

Where = tuple[tuple[int, Vector, tuple[tuple[int, Vector], ...]], ...]
"""What a pod takes of a tree: (position of the NUMA node, units of its pools, (position of the root, units))."""

Recipe = tuple[tuple[int, int, Where], ...]
"""(workload, shape, places) of each pod on a tree, workload by workload."""

Step = tuple[int, int | None, int, int, int]
"""Devices that a pod takes: (position of the NUMA node, that of the root or None for its pools, ask, kind, number)."""

_LOOK = 50
"""Pods after which the clock is looked at."""


@dataclass
class TreeNumbers:
    """What is known of one tree: numbers of pods with the best values found and the least that may exist.

    `floors` are values that no pod of each workload undercuts on any tree of the fleet, None if it fits nowhere. `most`
    is the largest number of pods of each workload that counting allows. Pods are placed twice, once at the best
    values (`fill`), and once so that as many as can be follow (`sparing`).
    """

    fill: Fill
    sparing: Fill
    state: TreeState
    demand: Counts
    floors: tuple[Values | None, ...] = ()
    packed: dict[Counts, Packed] = field(default_factory=dict)
    chains: dict[Counts, tuple[list[TreePlaced], int]] = field(default_factory=dict)
    recipes: dict[Counts, Recipe] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Count how many pods the tree holds at most."""
        self.most = tuple(min(wanted, self._cap(pod)) for pod, wanted in enumerate(self.demand))
        self._least: dict[Counts, Values] | None = None
        zero = (0,) * len(self.demand)
        self.found: dict[Counts, Values] = {zero: self.fill.zero}
        self.chains[zero] = [], 0
        self._fullest: tuple[tuple[int, Values], Counts] = (0, self.fill.zero), zero
        self.examined = False
        self._steps: dict[Counts, tuple[Recipe, list[list[Step]]]] = {}

    def place(self, budget: Budget, *, first: bool) -> None:
        """Fill the tree with pods in one way, or in all others: at either values, in several orders of workloads."""
        if first:
            self.examined = True
        for chain in islice(self._chains(), 1) if first else islice(self._chains(), 1, None):
            # Without this, a fleet whose nodes took all the time to examine would have no plan.
            if not first and budget.reached:
                return
            self._keep(chain, budget)
        # Most plans have as many pods as fit. Later, the processor's cache no longer has what places them.
        self.steps(self._fullest[1])

    def _chains(self) -> Iterator[Iterator[TreePlaced]]:
        for fill in (self.sparing, self.fill):
            for order in orders_of(self.most, self.fill.tree.most.orders):
                yield fill.in_order(self.state, order, self.most)

    def _keep(self, placed: Iterable[TreePlaced], budget: Budget) -> None:
        counts, values = [0] * len(self.demand), self.fill.zero
        chain: list[TreePlaced] = []
        most = self.fill.tree.most.node_pods
        for one in placed:
            if len(chain) % _LOOK == _LOOK - 1 and budget.reached:
                break
            counts[one.pod] += 1
            # the values of the pod without its scarcity, which comes first
            values = tuple(map(add, values, one.values[-len(values) :]))
            chain.append(one)
            if len(chain) <= most or len(chain) % max(1, most // 4) == 0:
                self._note(tuple(counts), values, chain)
        self._note(tuple(counts), values, chain)
        self._fullest = min(self._fullest, ((-len(chain), values), tuple(counts)))

    def _note(self, counts: Counts, values: Values, chain: list[TreePlaced]) -> None:
        known = self.found.get(counts)
        if known is None or values < known:
            self.found[counts] = values
            self.chains[counts] = chain, len(chain)
            self.recipes.pop(counts, None)

    # ------------------------------------------------------------------ counting

    def _cap(self, pod: int) -> int:
        """Return how many pods of a workload fit at most, by counting what they need."""
        kinds, sums = self.fill.tree.needs[pod]
        caps = [sum(self._cap_of(shape, self.demand[pod]) for shape in self.fill.tree.shapes[pod])]
        for whole, least, least_sum in zip(self._have, kinds, sums, strict=True):
            caps.extend(amount // need for amount, need in zip(whole, least, strict=True) if need)
            if least_sum:
                caps.append(sum(whole) // least_sum)
        return min(caps)

    def _cap_of(self, shape: PodShape, demand: int) -> int:
        """Return how many pods of one shape fit at most."""
        caps = [demand, *(self._alone(shape, part) for part in shape.parts)]
        caps.extend(self._apart(shape, one) for one in shape.apart)
        needs = devices_of_units(shape, shape.need), pools_of_units(shape, shape.need)
        for whole, need in zip(self._have, needs, strict=True):
            caps.extend(amount // wanted for amount, wanted in zip(whole, need, strict=True) if wanted)
        return min(caps)

    @cached_property
    def _have(self) -> tuple[Vector, Vector]:
        """Return what is free of each kind on roots, and of each pool, on the whole tree."""
        kinds = self.fill.tree.kinds
        return free_on(self.state, len(kinds.root), len(kinds.key))

    def _alone(self, shape: PodShape, part: Vector) -> int:
        """Return how many pods find a bundle, or their units of one kind, if nothing else is taken."""
        units = [(unit, each) for unit, each in zip(shape.units, part, strict=True) if each]
        inside = sum(min(units_inside(unit, numa) // each for unit, each in units) for numa in self.state)
        return inside // (units[0][0].count // units[0][1])

    def _apart(self, shape: PodShape, apart: OnePerPlace) -> int:
        """Return how many pods find devices that one place has only one of for each of them."""
        if any(weight > 1 for weight in apart.weights):
            return 0
        units = [unit for unit, weight in zip(shape.units, apart.weights, strict=True) if weight]
        wanted = sum(unit.count for unit in units)
        if apart.on_root:
            inside = [sum(held_by(unit, root) for unit in units) for _, roots in self.state for root in roots]
        else:
            inside = [sum(units_inside(unit, numa) for unit in units) for numa in self.state]
        # A place counts once for each pod: with one pod more, it counts for that pod at most.
        pods = sum(inside) // wanted if wanted else 0
        while wanted and sum(min(pods, here) for here in inside) < pods * wanted:
            pods = sum(min(pods, here) for here in inside) // wanted
        return pods if wanted else max(self.demand)

    @property
    def size(self) -> int:
        """Return the number of free devices and shares on the tree."""
        return sum(sum(pool) + sum(map(sum, roots)) for pool, roots in self.state)

    @cached_property
    def ideal(self) -> tuple[Values | None, ...]:
        """Return values that no pod of each workload undercuts: those of one alone on the tree, if it was examined."""
        if not self.examined:
            return self.floors
        alone = (self.fill.best(self.state, pod) for pod in range(len(self.demand)))
        return tuple(None if placed is None else placed.values for placed in alone)

    def rows(self) -> Iterator[tuple[Counts, int]]:
        """Yield rows that numbers of pods keep: weights, and what the weighted sum does not exceed."""
        for pod, cap in enumerate(self.most):
            yield tuple(int(at == pod) for at in range(len(self.most))), cap
        for at, whole in enumerate(self._have):
            for kind, amount in enumerate(whole):
                weights = tuple(kinds[at][kind] for kinds, _ in self.fill.tree.needs)
                if sum(map(bool, weights)) > 1:
                    yield weights, amount

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way undercuts: no pod has better values than the best one that is alone on the tree."""
        known = self.packed.get(counts)
        if known is not None:
            return known.lower
        values = self.fill.zero
        for count, ideal in zip(counts, self.ideal, strict=True):
            if count and ideal is None:
                return None
            if count and ideal is not None:
                values = tuple(a + count * b for a, b in zip(values, ideal, strict=True))
        return values

    def least(self, most: int) -> dict[Counts, Values] | None:
        """Return all numbers that may fit, with values that no way undercuts; None if they are more than `most`."""
        if self._least is None:
            rows = [row for row in self.rows() if sum(map(bool, row[0])) > 1]
            vectors: list[Counts] = []
            for counts in product(*(range(cap + 1) for cap in self.most)):
                if all(sum(a * b for a, b in zip(counts, row, strict=True)) <= limit for row, limit in rows):
                    vectors.append(counts)
                if len(vectors) > most:
                    return None
            lowers = ((counts, self.lower(counts)) for counts in vectors)
            self._least = {counts: lower for counts, lower in lowers if lower is not None}
        return self._least

    def learn(self, counts: Counts, found: Packed, recipe: Recipe | None) -> None:
        """Keep what was found out of some numbers, and where the pods lie if that is new."""
        self.packed[counts] = found
        if recipe is not None:
            self.recipes[counts] = recipe
        if self._least is not None:
            self._least.pop(counts, None)
            if found.lower is not None:
                self._least[counts] = found.lower
        if found.upper is not None and (counts not in self.found or found.upper < self.found[counts]):
            self.found[counts] = found.upper

    # ------------------------------------------------------------------ places

    def _recipe(self, counts: Counts) -> Recipe:
        """Return the places of the pods of the best way found for some numbers."""
        found = self.recipes.get(counts)
        if found is None:
            chain, length = self.chains[counts]
            found = self.recipes[counts] = self._written(chain[:length])
        return found

    def steps(self, counts: Counts) -> list[list[Step]]:
        """Return what each pod of the best way found takes; all nodes with this tree share the answer."""
        recipe, known = self._recipe(counts), self._steps.get(counts)
        if known is None or known[0] is not recipe:
            shapes = self.fill.tree.shapes
            known = recipe, [summed(_steps_of(shapes[pod][shape], where)) for pod, shape, where in recipe]
            self._steps[counts] = known
        return known[1]

    def _written(self, chain: Sequence[TreePlaced]) -> Recipe:
        """Return pods that were placed one after the other by the positions of what they take."""
        numas: list[NumaState | None] = list(self.state)
        roots: list[list[Vector]] = [list(mine) for _, mine in self.state]
        written = []
        for placed in chain:
            shape = self.fill.tree.shapes[placed.pod][placed.shape]
            where = []
            for taken in placed.inside:
                at = numas.index(taken.numa)
                # The pod takes nothing more there.
                numas[at] = None
                pool_units = tuple(
                    units if any(unit.pool) else 0 for units, unit in zip(taken.units, shape.units, strict=True)
                )
                where.append((at, pool_units, self._take(shape, taken, roots[at])))
            for (at, _, _), taken in zip(where, placed.inside, strict=True):
                numas[at] = taken.left
            written.append((placed.pod, placed.shape, tuple(where)))
        return tuple(sorted(written, key=lambda row: row[0]))

    def _take(self, shape: PodShape, taken: InNuma, roots: list[Vector]) -> tuple[tuple[int, Vector], ...]:
        """Take the devices of a pod from roots; return on which roots."""
        inside = []
        for root, units in taken.roots:
            number = roots.index(root)
            inside.append((number, units))
            roots[number] = ()
        for (root, units), (number, _) in zip(taken.roots, inside, strict=True):
            roots[number] = self.fill.tree.usable(tuple(map(sub, root, devices_of_units(shape, units))))
        return tuple(inside)


def _steps_of(shape: PodShape, where: Where) -> Iterator[Step]:
    units = [iter(unit.takes) for unit in shape.units]
    for numa, pool_units, roots in where:
        for root, taken in ((None, pool_units), *roots):
            for number, times in enumerate(taken):
                for takes in islice(units[number], times):
                    for ask, kind, wanted in takes:
                        yield numa, root, ask, kind, wanted


def summed(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return rows with their last numbers added up where all others are equal, in the order of the first of them."""
    found: dict[tuple[Any, ...], int] = {}
    for row in rows:
        found[row[:-1]] = found.get(row[:-1], 0) + row[-1]
    return [(*key, count) for key, count in found.items()]


def floors_of(tree: FleetTree, order: tuple[str, ...], states: Iterable[TreeState]) -> tuple[Values | None, ...]:
    """Return, goal by goal, the least value of one pod of each workload on any tree; None if it fits on none.

    They are the values on a tree into which every other one fits. Each of its NUMA nodes has the most of each pool. It
    has as many roots of each kind as the NUMA node with the most roots has in all.
    """
    numas = {numa for state in states for numa in state}
    pools, roots = {pool for pool, _ in numas}, {root for _, mine in numas for root in mine}
    if not numas:
        return (None,) * len(tree.shapes)
    most = max(len(mine) for _, mine in numas)
    large = sorted(root for root in roots if not any(root != other and all(map(le, root, other)) for other in roots))
    widest = tuple(map(max, *pools)) if len(pools) > 1 else next(iter(pools))
    whole = ((widest, tuple(root for root in large for _ in range(most))),) * tree.most_numas
    found: list[Values | None] = []
    fills = [Fill(tree, (goal,)) for goal in order]
    for pod in range(len(tree.shapes)):
        each = [fill.best(whole, pod) for fill in fills]
        values = tuple(placed.values[0] for placed in each if placed is not None)
        found.append(values if len(values) == len(fills) else None)
    return tuple(found)


def units_inside(unit: Unit, numa: NumaState) -> int:
    """Return how many units of one kind a NUMA node holds if nothing else is taken there."""
    return _on_numa(unit.root, numa[1]) if any(unit.root) else held_by(unit, numa[0])


@lru_cache(maxsize=2**14)
def _on_numa(each: Vector, roots: tuple[Vector, ...]) -> int:
    # Shapes of one pod have the same units, and many nodes the same NUMA nodes.
    return sum(times_in(each, root) for root in roots)
