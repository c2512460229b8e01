"""The devices that pods take: the ways in which a place gives them, led back to the groups of a node's hardware."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dra_lab.planner.node.allocation_problem import DeviceGroup
from dra_lab.planner.places.shapes import PodAsk
from dra_lab.planner.places.tables import PodTables, ShapeTables, assigned
from dra_lab.planner.places.trees import State, TreePlace, Trees
from dra_lab.planner.states.node_state import NodeState, PodTakes


def take_pods(
    trees: Trees, node: NodeState, pods: Sequence[tuple[int, PodTables]], only: int = -1
) -> tuple[PodTakes, ...]:
    """Return what each pod takes that comes to a node, workload by workload; `pods` are (workload, tables) in order."""
    groups = trees.problems[node.layout].groups
    root, found = tree_of(trees, node, only), []
    for pod, tables in pods:
        best = tables.best(root.state)
        assert best is not None, "the pod was placed there"
        shape = tables.shapes[best[1]]
        mine: Counter[tuple[int, int]] = Counter()
        for ask, group, count in take(shape, shape.given, root, 0, len(shape.lattice.vectors) - 1):
            mine[ask, group] += count
        found.append((pod, as_written(trees.asks[pod], mine, groups)))
    return tuple(takes for _, takes in sorted(found, key=lambda row: row[0]))


def as_written(ask: PodAsk, mine: Mapping[tuple[int, int], int], groups: tuple[DeviceGroup, ...]) -> PodTakes:
    """Return what a pod takes by the asks of the fleet; those of shared devices, with a sign, are known already."""
    shared = [(-1 - one, group, count) for (one, group), count in mine.items() if one < 0]
    merged = {key: count for key, count in mine.items() if key[0] >= 0}
    return tuple(sorted([*shared, *ask.written(merged, groups)]))


Given = Callable[[int, State, Any], tuple[State, Iterable[Any]]]
"""Returns what a place at a depth, in a state, gives for a target: the state left, and the steps.

A step of a leaf is (slot, move, devices), one of another place (state of a place inside, target).
"""


def take(shape: ShapeTables, given: Given, place: TreePlace, depth: int, target: Any) -> Iterator[tuple[int, int, int]]:
    """Take the devices of a pod from a place; yield (ask, group, devices). States stay current.

    Asks are those of merged requests, or those of the fleet with a sign for devices that pods share.
    """
    after, steps = given(depth, place.state, target)
    used: set[int] = set()
    for step in steps:
        if depth < shape.trees.depth:
            one = next(inside for inside in place.children if inside.state == step[0] and id(inside) not in used)
            used.add(id(one))
            yield from take(shape, given, one, depth + 1, step[1])
            continue
        slot, move, rest = step
        for entry in place.groups[move]:
            group, ask, left = entry
            part = rest if left < 0 else min(rest, left)
            if part:
                entry[2] -= part if left >= 0 else 0
                rest -= part
                yield shape.shape.slots[slot].merged if ask < 0 else -1 - ask, group, part
    place.state = after


def tree_of(trees: Trees, node: NodeState, only: int = -1) -> TreePlace:
    """Return the tree of a node, or that of one of its leaves alone."""
    root = trees.place(node)
    if only < 0:
        return root
    return [chain for chain in chains_of(root, trees.depth) if chain.state][only]


def chains_of(place: TreePlace, depth: int) -> Iterator[TreePlace]:
    """Yield the trees of each leaf alone."""
    if not depth:
        yield place
        return
    for child in place.children:
        for inside in chains_of(child, depth - 1):
            state = (int(place.known), (inside.state,)) if inside.state else ()
            yield TreePlace(known=place.known, children=[inside], state=state)


Way = tuple[int, Any]
"""Cost, and the steps: (slot, move, devices) of a leaf, or (state of a place inside, position, state left, places)."""

_Inside = dict[tuple[int, tuple[State, ...]], tuple[int, tuple[Any, ...]]]
"""By position and the states left of the places inside: cost and steps."""


_Partial = dict[tuple[int, tuple[State, ...], int], tuple[int, tuple[Any, ...]]]
"""The same, with how many places are left that give nothing yet."""


class AllWays:
    """All ways of one shape of a pod; only the `most` cheapest of each vector are kept, and then it is not `exact`."""

    def __init__(self, tables: ShapeTables, most: int) -> None:
        """Use the costs, links and vectors of tables."""
        self.tables, self.most, self.exact = tables, most, tables.lattice.exact
        self._known: dict[tuple[int, State], dict[int, dict[State, Way]]] = {}

    def of(self, depth: int, state: State) -> Mapping[int, Mapping[State, Way]]:
        """Return the ways by the position of the vector given, and the state left."""
        key = depth, state
        if key not in self._known:
            found = self._leaf(state) if depth == self.tables.trees.depth else self._inner(depth, state)
            self._known[key] = {position: self._kept(ways) for position, ways in found.items()}
        return self._known[key]

    def _kept(self, ways: dict[State, Way]) -> dict[State, Way]:
        if len(ways) <= self.most:
            return ways
        self.exact = False
        return dict(sorted(ways.items(), key=lambda row: row[1][0])[: self.most])

    def _leaf(self, state: State) -> dict[int, dict[State, Way]]:
        tables, (known, kind, amounts) = self.tables, state
        found: dict[int, dict[State, Way]] = {}
        for position, able in tables.on_leaf(state):
            own = int(tables.own[-1][known][position])
            vector = tables.lattice.vectors[position]
            for rank, uses, left in assigned(tables.trees.types[kind], able, vector, amounts):
                after = tables.trees.leaf_state(known, kind, left)
                _keep(found.setdefault(position, {}), after, tables.costs.pack(alternatives=rank) + own, uses)
        return found

    def _inner(self, depth: int, state: State) -> dict[int, dict[State, Way]]:
        tables, (known, children) = self.tables, state
        ways: _Inside = {(0, ()): (0, ())}
        inside: Counter[State] = Counter(children)
        for child, many in inside.items():
            ways = self._with_places(ways, depth + 1, child, many)
        found: dict[int, dict[State, Way]] = {}
        for (position, left), (cost, steps) in ways.items():
            if position and tables.allowed[depth][position]:
                after = (known, tuple(sorted(left))) if left else ()
                own = int(tables.own[depth][known][position])
                _keep(found.setdefault(position, {}), after, cost + own, steps)
        return found

    def _with_places(self, before: _Inside, depth: int, child: State, many: int) -> _Inside:
        """Return the ways with some equal places more, each of which gives one vector at most."""
        every = self.of(depth, child).items()
        options = [(position, after, cost) for position, ways in every for after, (cost, _) in ways.items()]
        partial = {(position, inside, many): found for (position, inside), found in before.items()}
        for position, after, cost in options:
            following = dict(partial)
            for (start, inside, rest), (spent, steps) in partial.items():
                at, left = start, inside
                for times in range(1, rest + 1):
                    at = self.tables.lattice.sum_of(at, position)
                    if at < 0:
                        break
                    left = (*left, after) if after else left
                    key = at, tuple(sorted(left)), rest - times
                    more = spent + cost * times, (*steps, (child, position, after, times))
                    if key not in following or more[0] < following[key][0]:
                        following[key] = more
            partial = self._cheapest(following)
        found: _Inside = {}
        for (position, inside, rest), way in partial.items():
            end = position, tuple(sorted((*inside, *[child] * rest)))
            if end not in found or way[0] < found[end][0]:
                found[end] = way
        return found

    def _cheapest(self, partial: _Partial) -> _Partial:
        """Return the cheapest ways of each position, if there are more than can all be kept."""
        if len(partial) <= self.most:
            return partial
        kept, many = {}, Counter[int]()
        for key, way in sorted(partial.items(), key=lambda row: row[1][0]):
            many[key[0]] += 1
            if many[key[0]] <= self.most:
                kept[key] = way
        self.exact = self.exact and len(kept) == len(partial)
        return kept

    def given(self, depth: int, state: State, target: tuple[int, State]) -> tuple[State, Iterable[Any]]:
        """Return the state left, and the steps, of the way that gives the vector at a position and leaves a state."""
        position, after = target
        steps = self.of(depth, state)[position][after][1]
        if depth == self.tables.trees.depth:
            return after, steps
        return after, [(child, (column, left)) for child, column, left, times in steps for _ in range(times)]


def _keep(ways: dict[State, Way], after: State, cost: int, steps: Any) -> None:
    if after not in ways or cost < ways[after][0]:
        ways[after] = cost, steps


def copy_of(place: TreePlace) -> TreePlace:
    """Return a place whose devices can be taken without changing the original."""
    groups = {move: [list(entry) for entry in entries] for move, entries in place.groups.items()}
    children = [copy_of(child) for child in place.children]
    return TreePlace(place.known, children, place.type, place.amounts, groups, place.state)
