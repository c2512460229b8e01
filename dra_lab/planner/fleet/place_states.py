"""What is known of the states of a fleet: the columns that were found, and what counting says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.places.below import Below
from dra_lab.planner.places.counting import Counting, all_below
from dra_lab.planner.places.fill import Column, Filler
from dra_lab.planner.places.trees import State

FIRST = 24
"""Columns with as many pods that are continued when a state is first looked at more closely."""


@dataclass
class PlaceStates:
    """What is known of all states of a fleet: the columns that were found, and what counting says."""

    filler: Filler
    counting: Counting
    below: Below
    demand: Counts
    most: int
    _least: dict[State, dict[Counts, Values] | None] = field(default_factory=dict)
    _caps: dict[State, Counts] = field(default_factory=dict)
    _rows: dict[State, list[tuple[Counts, int]]] = field(default_factory=dict)
    _tried: set[tuple[State, Counts]] = field(default_factory=set)

    def found(self, state: State) -> dict[Counts, Values]:
        """Return the numbers of pods for which a way was found, with its values."""
        return {counts: column.values for counts, column in self.columns(state).items()}

    def columns(self, state: State) -> dict[Counts, Column]:
        """Return the best column known of each number of pods."""
        self.filler.first(state)
        return self.filler.columns[state]

    def caps(self, state: State) -> Counts:
        """Return the most pods of each workload, by counting; none where not one fits."""
        if state not in self._caps:
            able = [not tables.exact or tables.best(state) is not None for tables in self.filler.ways[0]]
            most = self.counting.most(state)
            self._caps[state] = tuple(
                min(cap, wanted) if fits else 0 for cap, wanted, fits in zip(most, self.demand, able, strict=True)
            )
        return self._caps[state]

    def rows(self, state: State) -> list[tuple[Counts, int]]:
        """Return rows that numbers of pods keep, by counting."""
        if state not in self._rows:
            self._rows[state] = self.counting.rows(state)
        return self._rows[state]

    def least(self, state: State) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        if state not in self._least:
            self._least[state] = self._find_least(state)
        return self._least[state]

    def numbers(self, state: State) -> list[Counts] | None:
        """Return all numbers of pods that counting allows on a node; None when they are too many."""
        caps = self.caps(state)
        if not any(caps):
            return [(0,) * len(caps)]
        if len(caps) == 1:
            return [(count,) for count in range(caps[0] + 1)] if caps[0] < self.most else None
        return all_below(self.counting.together(state, caps), self.rows(state), self.most)

    def _find_least(self, state: State) -> dict[Counts, Values] | None:
        caps, numbers = self.caps(state), self.numbers(state)
        if numbers is None:
            return None
        floors = [self._floors(state, pod, cap) for pod, cap in enumerate(caps)]
        best = [self._best(state, pod) if cap else None for pod, cap in enumerate(caps)]
        return {counts: _not_undercut(_sum_at(floors, counts), best, counts) for counts in numbers}

    def _best(self, state: State, pod: int) -> Values | None:
        """Return the values of the best pod of a workload on a node, None if they are not known."""
        tables = self.filler.ways[0][pod]
        best = tables.best(state) if tables.exact else None
        return None if best is None else tables.shapes[best[1]].costs.values(best[0], self.filler.order)

    def _floors(self, state: State, pod: int, most: int) -> list[Values]:
        """Return limits from below of the goals of 0 to `most` pods of one workload on a node."""
        rows = []
        for goal in self.filler.order:
            one = self.alone(state, pod, goal) if most else 0
            limits = [one * count for count in range(most + 1)]
            if most and self.filler.ways[0][pod].may_be(goal):
                limits = list(map(max, limits, self.below.limits(goal, pod, state, most)))
            rows.append(limits)
        return list(zip(*rows, strict=True)) if rows else [()] * (most + 1)

    def alone(self, state: State, pod: int, goal: str) -> int:
        """Return the least value of a goal of one pod on a node that has no others."""
        tables = self.filler.single[goal][pod]
        best = tables.best(state) if tables.exact and tables.may_be(goal) else None
        return 0 if best is None else tables.shapes[best[1]].costs.values(best[0], (goal,))[0]

    def lower(self, state: State, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        least = self.least(state)
        if least is not None:
            return least.get(counts)
        if any(count > cap for count, cap in zip(counts, self.caps(state), strict=True)) or any(
            sum(map(mul, weights, counts)) > limit for weights, limit in self.rows(state)
        ):
            return None
        rows = [
            [count * self.alone(state, pod, goal) if count else 0 for goal in self.filler.order]
            for pod, count in enumerate(counts)
        ]
        best = [self._best(state, pod) if count else None for pod, count in enumerate(counts)]
        return _not_undercut(tuple(map(sum, zip(*rows, strict=True))), best, counts)

    def is_open(self, state: State, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist that was not looked for yet."""
        column = self.columns(state).get(counts)
        known = None if column is None else column.values
        return (state, counts) not in self._tried and known != self.lower(state, counts)

    def widen(self, state: State, budget: Budget) -> None:
        """Look for ways for all numbers on a state, in many orders of workloads, if that was not done yet."""
        if state and (state, self.caps(state)) not in self._tried:
            self._tried.add((state, self.caps(state)))
            self.filler.explore(state, self.caps(state), budget, limit=FIRST)

    def decide(self, state: State, counts: Counts, budget: Budget) -> None:
        """Look for a way for some numbers in every order of workloads."""
        if not budget.reached and (state, counts) not in self._tried:
            self.widen(state, budget)
            self._tried.add((state, counts))
            column = self.columns(state).get(counts)
            if column is None or column.values != self.lower(state, counts):
                self.filler.explore(state, counts, budget)


def _not_undercut(floors: Values, best: Sequence[Values | None], counts: Counts) -> Values:
    """Return values that no way for some numbers undercuts, compared as goals are.

    `floors` hold goal by goal. No pod is better than the best one alone on the node, whose values hold together: they
    say nothing behind a goal in which they are surpassed.
    """
    if any(count and one is None for count, one in zip(counts, best, strict=True)):
        return floors
    rows = [[count * value for value in one] for count, one in zip(counts, best, strict=True) if count and one]
    alone = [sum(column) for column in zip(*rows, strict=True)] or [0] * len(floors)
    found = []
    together = True
    for floor, value in zip(floors, alone, strict=True):
        found.append(max(floor, value) if together else floor)
        together = together and value >= floor
    return tuple(found)


def _sum_at(floors: Sequence[Sequence[Values]], counts: Counts) -> Values:
    rows = [floors[pod][count] for pod, count in enumerate(counts)]
    return tuple(map(sum, zip(*rows, strict=True)))
