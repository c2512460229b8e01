"""Pods on nodes that share devices, one after the other, each where it costs least."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.providers import SharedSet
from dra_lab.planner.fleet.shared_states import NodeKey, Piece, PodStep
from dra_lab.planner.places.fill import LEAST
from dra_lab.planner.places.shapes import Vector
from dra_lab.planner.places.trees import State


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
