"""Many node states of one kind of hardware at once: good ways to fill each of them, found by one walk over matrices.

Benchmark row that needs it: 2,500 claims on 500 mixed nodes (`bench_fleet`) place 1,780 pods, and 456 in 10 s without
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet.counting import Counts, Row, room_of, rows_of
from dra_lab.planner.fleet.exhaust import rank
from dra_lab.planner.fleet.local import LocalBound
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Site, parts_on
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.states.columns import Array, columns_of, number_of_ways
from dra_lab.planner.states.stock import Stock


@dataclass
class Filled:
    """The best ways found for some numbers of replicas on every state of a layout.

    `left` is what is left then, `values` the goals (only where `fits`), `pod` and `column` the replica added last.
    """

    fits: Array
    left: Array
    values: Array
    pod: Array
    column: Array


@dataclass
class WideLayout:
    """All states of one layout with what was found for them."""

    stock: Stock
    parts: int
    goals: int
    vectors: list[Counts]
    may: dict[Counts, Array]
    singles: list[Array]
    filled: dict[Counts, Filled] = field(default_factory=dict)
    local: LocalBound | None = None

    def fill(self, budget: Budget) -> bool:
        """Walk over all numbers of replicas, each from those with one replica less; say whether it came to the end.

        One replica of each workload is placed even if time is over.
        """
        states = len(self.stock.free)
        nobody = np.zeros(states, np.int64)
        start = Filled(
            np.ones(states, bool), self.stock.left, np.zeros((states, self.goals), np.int64), nobody - 1, nobody
        )
        self.filled[(0,) * self.parts] = start
        for counts in self.vectors:
            if any(counts):
                if sum(counts) > 1 and budget.reached:
                    return False
                self._extend(counts)
        return True

    def _extend(self, counts: Counts) -> None:
        states = len(self.stock.free)
        best = Filled(
            np.zeros(states, bool),
            np.zeros_like(self.stock.left),
            np.zeros((states, self.goals), np.int64),
            np.full(states, -1),
            np.zeros(states, np.int64),
        )
        order = np.full(states, np.iinfo(np.int64).max)
        for pod in (pod for pod, count in enumerate(counts) if count):
            before = self.filled.get(_less(counts, pod))
            if before is None:
                continue
            rows = np.flatnonzero(before.fits & self.may[counts])
            column = self.stock.first(before.left[rows], pod)
            rows, column = rows[column >= 0], column[column >= 0]
            values = before.values[rows] + self.stock.columns[pod].values[column]
            mine = rank(values)
            better = mine < order[rows]
            rows, column = rows[better], column[better]
            best.fits[rows] = True
            best.left[rows] = before.left[rows] - self.stock.wanted[pod][column]
            best.values[rows] = values[better]
            best.pod[rows], best.column[rows] = pod, column
            order[rows] = mine[better]
        if best.fits.any():
            self.filled[counts] = best

    def takes(self, state: int, counts: Counts) -> Takes:
        """Return the way found for a state, in groups of the layout."""
        rows: list[tuple[int, int]] = []
        while any(counts):
            filled = self.filled[counts]
            pod = int(filled.pod[state])
            rows.append((pod, int(filled.column[state])))
            counts = _less(counts, pod)
        return self.told_takes(rows)

    def told_takes(self, rows: Sequence[tuple[int, int]]) -> Takes:
        """Return the (pod, column) of each replica as what it takes of which group of the layout."""
        found = []
        for number, (pod, column) in enumerate(sorted(rows)):
            columns = self.stock.columns[pod]
            for (ask, group), count in zip(columns.pairs, columns.takes[column].tolist(), strict=True):
                if count:
                    found.append((number, ask, group, count))
        return tuple(found)

    @cached_property
    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, the least value of each goal by itself, None where no state holds a replica."""
        columns = (found.values for found in self.stock.columns)
        return tuple(tuple(values.min(axis=0).tolist()) if len(values) else None for values in columns)

    @cached_property
    def found(self) -> list[dict[Counts, Values]]:
        """Return, state by state, the sorted numbers of replicas for which a way was found, with its values."""
        found: list[dict[Counts, Values]] = [{} for _ in range(len(self.stock.free))]
        for counts, filled in sorted(self.filled.items(), key=lambda row: row[0]):
            states = np.flatnonzero(filled.fits)
            for state, values in zip(states.tolist(), filled.values[states].tolist(), strict=True):
                found[state][counts] = tuple(values)
        return found

    @cached_property
    def least(self) -> list[dict[Counts, Values]]:
        """Return, state by state, all numbers that may be held, with values that no way undercuts."""
        found: list[dict[Counts, Values]] = [{} for _ in range(len(self.stock.free))]
        local = self.local.least(self.vectors) if self.local is not None else None
        for counts in self.vectors:
            may = self.may[counts].copy()
            summed = np.zeros((len(may), self.goals), np.int64)
            for pod, count in enumerate(counts):
                if count:
                    may &= self.singles[pod] >= 0
                    values = self.stock.columns[pod].values
                    if len(values):
                        summed += count * values[np.maximum(self.singles[pod], 0)]
            for state in np.flatnonzero(may).tolist():
                row = tuple(summed[state].tolist())
                other = local[state].get(counts) if local is not None else None
                found[state][counts] = row if other is None else max(row, other)
        return found


def most_vectors(states: int, sizes: Sizes) -> int:
    """Return how many numbers of replicas are told apart in a fleet with so many node states."""
    return max(1, min(sizes.numbers, sizes.numbers_at_once // max(1, states)))


def is_listed(fleet: Fleet, sizes: Sizes, *, numbers: bool = True) -> bool:
    """Say whether the ways of all pods on all kinds of hardware, and the `numbers` of pods, are few enough to list.

    Listed ways fill all states of one kind of hardware at once. That is faster than a tree for each state, by ten times
    for pods without links; it needs few kinds of hardware, and few ways on each.
    """
    layouts = {state.layout for state in fleet.survey.states.values()}
    if not 0 < len(layouts) <= sizes.layouts:
        return False
    ways, vectors = 0, most_vectors(len(set(fleet.survey.states.values())), sizes)
    for problem in (fleet.scan.layouts[number].problem for number in layouts):
        parts = parts_on(fleet, "")
        each = [number_of_ways(problem, part) for part in parts]
        ways += sum(each)
        if max(each) > sizes.pod_ways or ways > sizes.ways:
            return False
        if not numbers:
            continue
        room = room_of(Site(("",), parts, partial(_same, problem)), fleet.demand)
        if room.vectors(vectors) is None:
            return False
    return True


def _same(problem: AllocationProblem) -> AllocationProblem:
    return problem


def wide_layout(
    layout: Layout, sites: Sequence[Site], demand: Sequence[int], order: Sequence[str], states: int, sizes: Sizes
) -> WideLayout | None:
    """Return the states of one layout as matrices; None where there are too many ways of some pod, or numbers of pods.

    `states` is the number of node states of the fleet.
    """
    parts = sites[0].parts
    columns = [columns_of(layout.problem, part, order, sizes.pod_ways) for part in parts]
    whole = Site(("",), parts, partial(_same, layout.problem))
    room = room_of(whole, demand)
    vectors = room.vectors(most_vectors(states, sizes))
    if vectors is None or any(found is None for found in columns):
        return None
    known = [site.state for site in sites if site.state is not None]
    stock = Stock(layout.problem, known, [found for found in columns if found is not None])
    rows = rows_of(whole)
    may = _may_hold(stock, rows, vectors)
    singles = [stock.first(stock.left, pod) for pod in range(len(parts))]
    local = LocalBound.of(layout.problem, stock.free, stock.keys, stock.units, rows, order, stock.columns)
    return WideLayout(stock, len(parts), len(order), vectors, may, singles, local=local)


def _may_hold(stock: Stock, rows: Sequence[Row], vectors: Sequence[Counts]) -> dict[Counts, Array]:
    """Say for all numbers of replicas on which states counting does not rule them out."""
    budget = [row.limits(stock.free, stock.keys, stock.units) for row in rows]
    found = {}
    for counts in vectors:
        may = np.ones(len(stock.free), bool)
        for row, limit in zip(rows, budget, strict=True):
            need = float(sum(weight * count for weight, count in zip(row.weights, counts, strict=True)))
            may &= need <= limit + 1e-6
        found[counts] = may
    return found


def _less(counts: Counts, at: int) -> Counts:
    return tuple(count - (position == at) for position, count in enumerate(counts))
