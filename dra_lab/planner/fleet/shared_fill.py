"""Pods on nodes that share devices, one after the other, each where it costs least; then the devices of each."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.providers import NodeKind, SharedSet
from dra_lab.planner.fleet.shared_states import NodeKey, Piece, PodStep
from dra_lab.planner.fleet.sites import PodsOnNode, Site
from dra_lab.planner.places.fill import LEAST
from dra_lab.planner.places.hand_out import as_written, copy_of, take
from dra_lab.planner.places.shapes import Vector
from dra_lab.planner.places.trees import State, TreePlace, Trees


@dataclass(frozen=True)
class Filled:
    """How often each step of a pod is taken, and how many providers in a state give which maximal pieces."""

    steps: Counter[PodStep] = field(default_factory=Counter)
    given: Counter[tuple[int, State, Vector]] = field(default_factory=Counter)

    @cached_property
    def pods(self) -> Counter[int]:
        """Return the pods of each workload."""
        found = Counter[int]()
        for step, times in self.steps.items():
            found[step.of[0]] += times
        return found


def fill_shared(
    shared: SharedSet, on: Callable[[NodeKey], Iterable[PodStep]], demand: Sequence[int], budget: Budget
) -> Filled:
    """Return a plan of as many pods as there is time for, workload after workload; `on` has the steps on a state."""
    steps: dict[NodeKey, Mapping[int, list[PodStep]]] = {}

    def steps_of(key: NodeKey, pod: int) -> list[PodStep]:
        if key not in steps:
            mine = defaultdict(list)
            for step in on(key):
                mine[step.of[0]].append(step)
            steps[key] = mine
        return steps[key][pod]

    return _Greedy(shared, steps_of, budget).filled(demand)


_Unit = tuple[State, Vector]
"""A provider: the state in which it begins, and the pieces that it gives."""

_Change = tuple[int, _Unit, _Unit]
"""The nodes that see a provider, and what it is before and after a piece."""


class _Greedy:
    """Pods that are placed one after the other."""

    def __init__(self, shared: SharedSet, steps_of: Callable[[NodeKey, int], list[PodStep]], budget: Budget) -> None:
        """Begin without pods."""
        self.pieces, self.steps_of, self.budget = shared.pieces, steps_of, budget
        self.left = Counter(shared.members)
        self.used = Counter[NodeKey]()
        self.units: dict[int, Counter[_Unit]] = defaultdict(Counter)
        for (number, state), count in shared.units.items():
            self.units[number][state, (0,) * len(shared.pieces.most[()][0])] = count
        self._rests: dict[_Unit, int] = {}
        self._best_unit: dict[Piece, _Unit | None] = {}

    def filled(self, demand: Sequence[int]) -> Filled:
        """Place workload after workload, each pod where it costs least; nodes that have pods come first."""
        steps = Counter[PodStep]()
        for pod in range(len(demand)):
            rest = demand[pod]
            queue: list[tuple[tuple[Values, bool], int, NodeKey]] = []
            for key in list(self.left):
                self._push(queue, key, pod)
            while queue and rest and not (self.budget.reached and steps.total() >= LEAST):
                look, _, key = heapq.heappop(queue)
                found = self._best(key, pod) if self.left[key] else None
                if found is None:
                    continue
                step, changes = found
                if (step.values, not self.used[key]) > look:
                    # Providers have less than before.
                    self._push(queue, key, pod)
                    continue
                times = min([rest, *self._often(step, changes)])
                rest -= times
                steps[step] += times
                self._take(step, changes, times)
                for at in {step.before, step.after}:
                    self._push(queue, at, pod)
        return Filled(steps, self._given())

    def _push(self, queue: list[tuple[tuple[Values, bool], int, NodeKey]], key: NodeKey, pod: int) -> None:
        found = self._best(key, pod) if self.left[key] else None
        if found is not None:
            heapq.heappush(queue, ((found[0].values, not self.used[key]), len(queue), key))

    def _often(self, step: PodStep, changes: Sequence[_Change]) -> list[int]:
        """Return how often a step can be taken at once: of several pieces, once."""
        nodes = [self.used[step.before] or self.left[step.before]] if step.before != step.after else []
        return [*nodes, *(self.units[number][unit] if len(changes) == 1 else 1 for number, unit, _ in changes[:1])]

    def _take(self, step: PodStep, changes: Sequence[_Change], times: int) -> None:
        self.left[step.before] -= times
        self.left[step.after] += times
        self.used[step.before] = max(0, self.used[step.before] - times)
        self.used[step.after] += times if step.before != step.after else 1
        for number, unit, after in changes:
            self.units[number][unit] -= times
            self.units[number][after] += times
        if changes:
            self._best_unit.clear()

    def _given(self) -> Counter[tuple[int, State, Vector]]:
        found = Counter[tuple[int, State, Vector]]()
        for number, units in self.units.items():
            for (state, taken), count in units.items():
                if count and any(taken):
                    found[number, state, self._around(state, taken)[0]] += count
        return found

    def _around(self, state: State, taken: Vector) -> list[Vector]:
        every = self.pieces.most[state]
        return [most for most in every if all(a <= b for a, b in zip(taken, most, strict=True))]

    def _rest(self, unit: _Unit) -> int:
        """Return how many pieces more a provider can give, -1 if it cannot give what it has given."""
        if unit not in self._rests:
            around = self._around(*unit)
            self._rests[unit] = max(map(sum, around)) - sum(unit[1]) if around else -1
        return self._rests[unit]

    def _best(self, key: NodeKey, pod: int) -> tuple[PodStep, list[_Change]] | None:
        """Return the step on a node that costs least, and which providers give its pieces."""
        for step in self.steps_of(key, pod):
            changes = self._provided(step)
            if changes is not None:
                return step, changes
        return None

    def _provided(self, step: PodStep) -> list[_Change] | None:
        """Return which providers give the pieces of a pod; None if these are not there."""
        found: list[_Change] = []
        change: Counter[tuple[int, _Unit]] = Counter()
        for piece, _ in step.pieces:
            unit = self._unit(piece, change)
            if unit is None:
                return None
            after = _with_one(unit, piece[1])
            change[piece[0], unit] -= 1
            change[piece[0], after] += 1
            found.append((piece[0], unit, after))
        return found

    def _unit(self, piece: Piece, change: Mapping[tuple[int, _Unit], int]) -> _Unit | None:
        """Return the provider that loses least by a piece, among these one that has little left."""
        if not change and piece in self._best_unit:
            return self._best_unit[piece]
        number, kind = piece
        best: tuple[int, int, _Unit] | None = None
        for unit in dict.fromkeys([*self.units[number], *(unit for at, unit in change if at == number)]):
            if self.units[number][unit] + change.get((number, unit), 0) > 0:
                after = self._rest(_with_one(unit, kind))
                look = self._rest(unit) - after, after, unit
                if after >= 0 and (best is None or look < best):
                    best = look
        found = None if best is None else best[2]
        if not change:
            self._best_unit[piece] = found
        return found


def _with_one(unit: _Unit, kind: int) -> _Unit:
    state, taken = unit
    return state, (*taken[:kind], taken[kind] + 1, *taken[kind + 1 :])


_Takes = Counter[tuple[int, int]]
"""Devices that a pod takes, by ask and group."""


def hand_out(trees: Trees, shared: SharedSet, filled: Filled) -> list[PodsOnNode]:
    """Return the pods on each node, with their devices."""
    found = _HandOut(trees, shared)
    found.on_nodes(filled)
    found.by_providers(filled)
    sites = {id(kind): kind.site(found.given) for kind in shared.kinds}
    return [found.on_node(node, rows, sites[id(found.kind_of[node])]) for node, rows in found.takes.items()]


class _HandOut:
    def __init__(self, trees: Trees, shared: SharedSet) -> None:
        self.trees, self.shared, self.pieces = trees, shared, shared.pieces
        self.takes: dict[str, list[tuple[int, _Takes]]] = defaultdict(list)
        self.given: dict[str, dict[int, list[DeviceID]]] = defaultdict(dict)
        self.kind_of = {node: kind for kind in shared.kinds for node in kind.nodes}
        self.waiting: dict[Piece, list[tuple[str, PodStep, int, _Takes]]] = defaultdict(list)
        self.group_of: dict[int, dict[DeviceID, int]] = {}

    def on_node(self, node: str, rows: list[tuple[int, _Takes]], site: Site) -> PodsOnNode:
        """Return the pods on a node."""
        counts, takes = [0] * len(self.trees.asks), []
        for pod, mine in sorted(rows, key=lambda row: row[0]):
            counts[pod] += 1
            takes.append(as_written(self.trees.asks[pod], mine, self.kind_of[node].problem.groups))
        at = {part.pod: count for part, count in zip(site.parts, counts, strict=True)}
        return PodsOnNode(site, node, tuple(at[part.pod] for part in site.parts), lambda: tuple(takes))

    def on_nodes(self, filled: Filled) -> None:
        """Let nodes take their own devices for the steps of pods."""
        there: dict[NodeKey, list[tuple[str, TreePlace]]] = defaultdict(list)
        for key, kind in zip(self.shared.keys, self.shared.kinds, strict=True):
            there[key] += [(node, copy_of(kind.own)) for node in reversed(kind.nodes)]
        for step in _in_order(filled.steps):
            for _ in range(filled.steps[step]):
                # Nodes that have pods were added last.
                node, place = there[step.before].pop()
                self._take(node, place, step)
                there[step.after].append((node, place))

    def _take(self, node: str, place: TreePlace, step: PodStep) -> None:
        mine = _Takes()
        if step.position:
            target = step.position, step.after[1]
            for ask, group, count in take(step.ways.tables, step.ways.given, place, 0, target):
                mine[ask, group] += count
        self.takes[node].append((step.of[0], mine))
        for piece, position in step.pieces:
            self.waiting[piece].append((node, step, position, mine))

    def by_providers(self, filled: Filled) -> None:
        """Let providers give the pieces that pods wait for."""
        units: dict[tuple[int, State], list[tuple[NodeKind, TreePlace]]] = defaultdict(list)
        for one in self.shared.providers:
            units[one.number, one.state] += [(one.kind, copy_of(place)) for place in one.places]
        left: dict[tuple[int, int], list[DeviceID]] = {}
        for (number, state, most), times in filled.given.items():
            for _ in range(times):
                kind, place = units[number, state].pop()
                wanted = tuple(min(count, len(self.waiting[number, piece])) for piece, count in enumerate(most))
                for piece, after in self._path(state, wanted):
                    node, pod, position, mine = self.waiting[number, piece].pop()
                    ways = self.pieces.ways[pod.of[0]][pod.of[1]]
                    for ask, group, count in take(ways.tables, ways.given, place, 1, (position, after)):
                        able = left.setdefault((id(kind), group), list(kind.problem.groups[group].devices))
                        for _ in range(count):
                            device = able[0] if kind.problem.groups[group].shareable else able.pop()
                            self._give(node, device, ask, mine)

    def _path(self, state: State, wanted: Vector) -> Iterator[tuple[int, State]]:
        """Yield piece after piece, and the state left, until a provider has given what is wanted."""
        rest = list(wanted)
        while any(rest):
            piece, after = next(
                (piece, after)
                for piece, some in self.pieces.given[state].items()
                if rest[piece]
                for after in some
                if self.pieces.has(after, tuple(n - (at == piece) for at, n in enumerate(rest)))
            )
            rest[piece] -= 1
            state = after
            yield piece, after

    def _give(self, node: str, device: DeviceID, ask: int, mine: _Takes) -> None:
        kind = self.kind_of[node]
        if id(kind) not in self.group_of:
            self.group_of[id(kind)] = {
                one: at for at, group in enumerate(kind.problem.groups) if kind.seen[at] for one in group.devices
            }
        group = self.group_of[id(kind)][device]
        mine[ask, group] += 1
        devices = self.given[node].setdefault(group, [])
        if device not in devices:
            devices.append(device)


def _in_order(steps: Counter[PodStep]) -> Iterator[PodStep]:
    """Yield steps so that those that lead to a state come first, then those that stay there, then those that leave."""
    following: dict[NodeKey, list[PodStep]] = defaultdict(list)
    before: dict[NodeKey, set[NodeKey]] = defaultdict(set)
    for step in steps:
        following[step.before].append(step)
        before[step.after] |= {step.before} - {step.after}
    for key in TopologicalSorter(before).static_order():
        yield from sorted(following[key], key=lambda step: step.before != step.after)
