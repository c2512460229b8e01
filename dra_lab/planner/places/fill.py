"""Many pods on many nodes: each goes where it is worth most, and every state on the way is kept as a column.

A column is what one node holds: numbers of pods by workload, their values, and the steps that lead there.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from dra_lab.model.sketch import How
from dra_lab.planner.budget import Budget
from dra_lab.planner.places.counting import places_at
from dra_lab.planner.places.shapes import PlaceLink, PodShape, Vector
from dra_lab.planner.places.tables import HARM, SPARE, Costs, Harm, PodTables, ShapeTables
from dra_lab.planner.places.trees import State, Trees

LEAST = 64
"""Pods of a workload that are placed even if time is up."""

_CONTINUED = 200
"""Columns with as many pods that are continued when all orders of workloads are tried on a state."""

_RARE = 64
"""The harm of losing a unit of which the fleet has most."""


@dataclass(eq=False)
class FilledNode:
    """Pods on one node: `counts` by workload, `values` of the goals of devices, and the state that is left.

    `last` is the way of filling and the workload of the last pod, which `before` does not have.
    """

    counts: Vector
    values: Vector
    left: State
    before: FilledNode | None = None
    last: tuple[int, int] = (0, 0)
    after: dict[tuple[int, int], FilledNode | None] = field(default_factory=dict)

    def steps(self) -> list[tuple[int, int]]:
        """Return the way of filling and the workload of each pod, in the order in which they came."""
        found, at = [], self
        while at.before is not None:
            found.append(at.last)
            at = at.before
        return found[::-1]


@dataclass(frozen=True)
class PodsWanted:
    """Pods by workload: `demand` on all nodes, and `each` on one node at most."""

    demand: Sequence[int]
    each: Sequence[int]


@dataclass
class Filler:
    """The ways to fill nodes: goals first, and harm first. `single` has each goal first, for limits from below.

    `columns` has, by state, the best column known of each number of pods; `looked_at` are states where a pod was tried.
    """

    trees: Trees
    order: tuple[str, ...]
    ways: list[list[PodTables]]
    single: Mapping[str, list[PodTables]]
    columns: dict[State, dict[Vector, FilledNode]] = field(default_factory=dict)
    looked_at: set[State] = field(default_factory=set)

    def first(self, state: State) -> FilledNode:
        """Return the column of a node without pods."""
        known = self.columns.get(state)
        if known is None:
            zero = (0,) * len(self.trees.asks)
            known = self.columns[state] = {zero: FilledNode(zero, (0,) * len(self.order), state)}
        return next(iter(known.values()))

    def cost(self, column: FilledNode, way: int, pod: int) -> int | None:
        """Return the cost of one more pod of a workload beside those of a column, None if it does not fit."""
        best = self.ways[way][pod].best(column.left)
        return None if best is None else best[0]

    def step(self, state: State, column: FilledNode, way: int, pod: int) -> FilledNode | None:
        """Return the column with one more pod of a workload, None if it does not fit."""
        key = way, pod
        if key not in column.after:
            tables = self.ways[way][pod]
            best, found = tables.best(column.left), None
            if best is not None:
                values = tables.shapes[best[1]].costs.values(best[0], self.order)
                counts = (*column.counts[:pod], column.counts[pod] + 1, *column.counts[pod + 1 :])
                total = tuple(map(sum, zip(column.values, values, strict=True)))
                found = FilledNode(counts, total, tables.after(column.left), column, key)
                known = self.columns[state].get(counts)
                if known is None or total < known.values:
                    self.columns[state][counts] = found
            column.after[key] = found
        return column.after[key]

    def fill(
        self, way: int, order: Sequence[int], wanted: PodsWanted, many: Mapping[State, int], budget: Budget
    ) -> Counter[tuple[State, Vector]]:
        """Fill all nodes, one workload after the other; return how many nodes of each state hold which pods.

        The next pod goes on the node where it costs least.
        """
        nodes = [(state, self.first(state)) for state in many for _ in range(many[state])]
        for pod in order:
            looked, rest = 0, wanted.demand[pod]
            while looked < len(nodes) and rest:
                if budget.reached and wanted.demand[pod] - rest >= LEAST:
                    break
                queue = self._costs(nodes, looked, way, pod, budget)
                looked += len(queue)
                able = [(cost, number) for number, cost in queue.items() if cost is not None]
                rest -= self._place(nodes, able, way, pod, (rest, wanted.each[pod]), budget)
        return Counter((state, column.counts) for state, column in nodes if any(column.counts))

    def _costs(
        self, nodes: Sequence[tuple[State, FilledNode]], first: int, way: int, pod: int, budget: Budget
    ) -> dict[int, int | None]:
        """Return the cost of one pod on nodes from the first on, on as many as half of the time is enough for."""
        found: dict[int, int | None] = {}
        looking = budget.part(budget.shares.step)
        for number in range(first, len(nodes)):
            if found and looking.reached:
                break
            self.looked_at.add(nodes[number][0])
            found[number] = self.cost(nodes[number][1], way, pod)
        return found

    def _place(
        self,
        nodes: list[tuple[State, FilledNode]],
        queue: list[tuple[int, int]],
        way: int,
        pod: int,
        most: tuple[int, int],
        budget: Budget,
    ) -> int:
        """Place pods of a workload on nodes of a queue, with a limit in all and on each node; return how many."""
        placed, (demand, each) = 0, most
        heapq.heapify(queue)
        while queue and placed < demand and not (placed >= LEAST and budget.reached):
            _, number = queue[0]
            state, column = nodes[number]
            after = self.step(state, column, way, pod)
            assert after is not None, "its cost is known"
            nodes[number] = state, after
            placed += 1
            cost = self.cost(after, way, pod) if after.counts[pod] < each else None
            if cost is None:
                heapq.heappop(queue)
            else:
                heapq.heapreplace(queue, (cost, number))
        return placed

    def explore(self, state: State, most: Vector, budget: Budget) -> None:
        """Keep what every order of workloads and way of filling gives on a state, up to some numbers of pods."""
        layer: dict[tuple[Vector, State], FilledNode] = {(): self.first(state)}  # type: ignore[dict-item]
        while layer:
            following: dict[tuple[Vector, State], FilledNode] = {}
            for column in list(layer.values())[:_CONTINUED]:
                if budget.reached:
                    return
                for way in range(len(self.ways)):
                    for pod, count in enumerate(most):
                        after = self.step(state, column, way, pod) if column.counts[pod] < count else None
                        if after is None:
                            continue
                        key = after.counts, after.left
                        if key not in following or after.values < following[key].values:
                            following[key] = after
            layer = following


def orders_of(pods: int) -> Iterator[tuple[int, ...]]:
    """Yield orders of workloads: all of up to three, else rotations forward and backward."""
    if pods <= 3:
        yield from permutations(range(pods))
        return
    for first in range(pods):
        rotation = tuple((first + step) % pods for step in range(pods))
        yield rotation
        yield rotation[::-1]


def filler_of(trees: Trees, order: Sequence[str], many: Mapping[State, int]) -> Filler:
    """Return the ways to fill a fleet of which `many` nodes have each state."""
    harm = _harm_of(trees, many)
    goals = tuple(order)
    ways = [pod_tables(trees, (*goals, HARM, SPARE), harm), pod_tables(trees, (HARM, *goals, SPARE), harm)]
    single = {
        goal: pod_tables(trees, (goal, *(other for other in goals if other != goal), HARM, SPARE), no_harm)
        for goal in goals
    }
    return Filler(trees, goals, ways, single)


def no_harm(_before: State, _after: State) -> int:
    """Return that nothing is lost: other pods do not count."""
    return 0


def pod_tables(trees: Trees, order: Sequence[str], harm: Harm) -> list[PodTables]:
    """Return the tables of each pod at one order of goals."""
    found = []
    for ask, starts in zip(trees.asks, trees.starts, strict=True):
        devices = max((sum(shape.need) for shape in ask.shapes), default=0)
        costs = Costs(order, _bounds(ask.shapes, devices), devices)
        shapes = [
            ShapeTables(trees, shape, start, costs, harm, paired=ask.paired)
            for shape, start in zip(ask.shapes, starts, strict=True)
        ]
        found.append(PodTables(shapes))
    return found


def _bounds(shapes: Sequence[PodShape], devices: int) -> dict[str, int]:
    """Return the most that each goal of a pod may be."""
    ranks = max((_ranks(shape) for shape in shapes), default=0)
    lost = max((shape.preferences + sum(_pairs(shape, link) for link in shape.links) for shape in shapes), default=0)
    return {"alternatives": ranks, "preferences": lost, "numa": devices, "unpaired": devices, "roots": devices}


def _ranks(shape: PodShape) -> int:
    most = (slot.need * max(rank for _, rank in slot.alternatives) for slot in shape.slots if slot.alternatives)
    return shape.alternatives + sum(most)


def _pairs(shape: PodShape, link: PlaceLink) -> int:
    """Return how many groups of a preferred link may be lost."""
    slots = next((slots for slots, per in link.ends if per == 1), ())
    return 0 if link.must else sum(shape.slots[slot].need for slot in slots)


def _harm_of(trees: Trees, many: Mapping[State, int]) -> Harm:
    """Return what is lost if a leaf gets from one state to another: units of any pod, the rarer the more."""
    units = _units_of(trees)
    known: dict[State, Vector] = {}

    def held(leaf: State) -> Vector:
        if leaf not in known:
            known[leaf] = tuple([_held(trees, leaf, unit) for unit in units]) if leaf else (0,) * len(units)
        return known[leaf]

    leaves: Counter[State] = Counter()
    for state, times in many.items():
        for leaf in places_at(state, trees.depth) if state else ():
            leaves[leaf] += times
    total = [sum(held(leaf)[at] * times for leaf, times in leaves.items()) for at in range(len(units))]
    share = [unit.count / max(1, have) for unit, have in zip(units, total, strict=True)]
    least = min((one for one, have in zip(share, total, strict=True) if have), default=1.0)
    prices = [min(_RARE * 64, round(_RARE * one / least)) for one in share]

    def harm(before: State, after: State) -> int:
        lost = 0
        for unit, price, had, has in zip(units, prices, held(before), held(after), strict=True):
            if had > has:
                # A place with more of what must be apart loses less.
                lost += sum(price // (rest + 1) for rest in range(has, had)) if unit.apart else price * (had - has)
        return lost

    return harm


@dataclass(frozen=True, slots=True)
class _Unit:
    """Devices of one place that a pod takes `count` times: (stream, devices) of each slot."""

    ends: tuple[tuple[int, int], ...]
    count: int
    apart: bool


def _units_of(trees: Trees) -> list[_Unit]:
    """Return the groups of links at leaves, and the slots that are in none, of the first shape of each pod."""
    found = []
    for ask, starts in zip(trees.asks, trees.starts, strict=True):
        if not ask.shapes:
            continue
        shape, start = ask.shapes[0], starts[0]
        linked: set[int] = set()
        for link in shape.links:
            if link.how is How.PAIRWISE and link.level == trees.depth - 1:
                ends = [(slots[0], per) for slots, per in link.ends if len(slots) == 1]
                if len(ends) == len(link.ends) and linked.isdisjoint(slot for slot, _ in ends):
                    linked.update(slot for slot, _ in ends)
                    count = shape.slots[ends[0][0]].need // ends[0][1]
                    found.append(_Unit(tuple((start + slot, per) for slot, per in ends), count, apart=False))
        apart = {
            slot
            for link in shape.links
            if link.how is How.APART and link.level == trees.depth - 1
            for slots, _ in link.ends
            for slot in slots
        }
        found += [
            _Unit(((start + number, 1),), slot.need, number in apart)
            for number, slot in enumerate(shape.slots)
            if number not in linked
        ]
    return found


def _held(trees: Trees, leaf: State, unit: _Unit) -> int:
    kind, amounts = trees.types[leaf[1]], leaf[2]
    counts = []
    for stream, per in unit.ends:
        served = 0
        for _, move in kind.able(stream):
            takes = [amounts[at] // taken for at, taken in kind.moves[move].takes if taken]
            served += min(takes, default=1)
        counts.append(served // per)
    return min(counts)
