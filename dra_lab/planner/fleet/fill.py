"""The node states of one kind of hardware, filled with pods: good ways for numbers of pods, for all states at once.

Each number of pods continues the best ways for one pod less. If there are too many numbers to list, pods come one after
the other in some order instead.

Benchmark rows that need it: 2,500 claims on 500 mixed nodes (`bench_fleet`) place 1,780 pods, and 456 in 10 s without
every number. Whole nodes beside nine kinds of pods on 2,000 mixed nodes (`bench_crowded`) place 6,251 pods in 10 s, and
1,683 without an order; shares of GPU memory of four sizes on 200 nodes place all 23,471 that fit, proven, and 13,247.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, permutations
from typing import NamedTuple

import numpy as np

from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet.counting import CountRow, Counts
from dra_lab.planner.fleet.exhaust import rank
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.states.columns import Array
from dra_lab.planner.states.stock import Stock

Rows = list[tuple[int, int]]
"""(pod, column of the stock) of each pod."""


class _Level(NamedTuple):
    """States with as many pods in all, sorted by `key`: what is `left`, the pods' values, and the last pod.

    `key` is the position of the state times the number of all vectors, plus the position of the vector. `parent` is the
    row of the level before that a row continues with one more `pod`, which takes a `column`.
    """

    key: Array
    left: Array
    values: Array
    pod: Array
    column: Array
    parent: Array


@dataclass
class StateFill:
    """States of one problem with every number of pods: `vectors`, each after those that it contains.

    `may` says which of them (columns) counting allows on which states (rows). `found` has, state by state, the numbers
    of pods for which a way was found, with its values.
    """

    stock: Stock
    vectors: list[Counts]
    may: Array
    levels: list[_Level] = field(default_factory=list)
    found: list[dict[Counts, Values]] = field(default_factory=list)
    _same: dict[Values, Values] = field(default_factory=dict)
    """Values by themselves: thousands of numbers of pods have the same, which are kept once."""

    @classmethod
    def of(cls, stock: Stock, vectors: list[Counts], rows: Sequence[CountRow], order: Sequence[str]) -> StateFill:
        """Return the states of a stock without pods; `rows` are the counts that pods share there."""
        may = np.ones((len(stock.free), len(vectors)), bool)
        for row in rows:
            limit = row.limits(stock.free, stock.keys, stock.units) + 1e-6
            need = [float(sum(w * n for w, n in zip(row.weights, counts, strict=True))) for counts in vectors]
            may &= np.array(need) <= limit[:, None]
        states, goals = np.arange(len(stock.free)), np.zeros((len(stock.free), len(order)), np.int64)
        nobody = _Level(states * len(vectors), stock.left, goals, states * 0 - 1, states * 0, states)
        filled = cls(stock, vectors, may, found=[{} for _ in stock.free])
        filled._keep(nobody)
        return filled

    def run(self, budget: Budget) -> None:
        """Place one pod more on all states until none fits; one pod of each workload even if time is over."""
        while len(self.levels[-1].key) and not (len(self.levels) > 1 and budget.reached):
            before = self.levels[-1]
            self._keep(self._next(before))
            # Copies, as a part of an array keeps the whole.
            self.levels[-2] = before._replace(left=before.left[:0].copy(), values=before.values[:0].copy())

    def _keep(self, level: _Level) -> None:
        self.levels.append(level)
        state, vector = np.divmod(level.key, len(self.vectors))
        rows = map(tuple, level.values.tolist())
        for at, number, row in zip(state.tolist(), vector.tolist(), rows, strict=True):
            self.found[at][self.vectors[number]] = self._same.setdefault(row, row)

    def _next(self, before: _Level) -> _Level:
        """Return the best continuations of all rows of a level."""
        state, vector = np.divmod(before.key, len(self.vectors))
        found = []
        for pod, columns in enumerate(self.stock.columns):
            more = self._more[pod][vector]
            rows = np.flatnonzero((more >= 0) & self.may[state, more])
            column = self.stock.first(before.left[rows], pod)
            rows, column = rows[column >= 0], column[column >= 0]
            key = state[rows] * len(self.vectors) + more[rows]
            left = before.left[rows] - self.stock.wanted[pod][column]
            values = before.values[rows] + columns.values[column]
            found.append(_Level(key, left, values, np.full(len(rows), pod), column, rows))
        every = _Level(*map(np.concatenate, zip(*found, strict=True)))
        best = np.lexsort((rank(every.values), every.key))
        best = best[np.unique(every.key[best], return_index=True)[1]]
        return _Level(*(part[best] for part in every))

    @cached_property
    def _number(self) -> dict[Counts, int]:
        return {counts: number for number, counts in enumerate(self.vectors)}

    @cached_property
    def _more(self) -> list[Array]:
        """Return, pod by pod, the position of each vector with one such pod more, -1 where it is not listed."""
        pods = range(len(self.stock.columns))
        more = [[tuple(n + (at == pod) for at, n in enumerate(counts)) for counts in self.vectors] for pod in pods]
        return [np.array([self._number.get(counts, -1) for counts in mine], np.int64) for mine in more]

    def rows(self, state: int, counts: Counts) -> Rows:
        """Return the way found for some numbers on a state, by its position."""
        level, found = sum(counts), []
        key = state * len(self.vectors) + self._number[counts]
        at = int(np.searchsorted(self.levels[level].key, key))
        for step in reversed(self.levels[1 : level + 1]):
            found.append((int(step.pod[at]), int(step.column[at])))
            at = int(step.parent[at])
        return found

    @cached_property
    def caps(self) -> list[Counts]:
        """Return, state by state, the most of each workload's pods that counting allows."""
        most = [(self.may * self._counts[:, pod]).max(axis=1) for pod in range(self._counts.shape[1])]
        return [*map(tuple, np.stack(most, axis=1).tolist())]

    def is_whole(self, state: int) -> bool:
        """Say whether a way was found for all numbers that may be held on a state."""
        return len(self.found[state]) == int(self._able[state].sum())

    @cached_property
    def _counts(self) -> Array:
        return np.array(self.vectors, np.int64).reshape(len(self.vectors), len(self.stock.columns))

    @cached_property
    def _single(self) -> list[Array]:
        """Return, pod by pod, the first way of one alone on each state, -1 where there is none."""
        return [self.stock.first(self.stock.left, pod) for pod in range(len(self.stock.columns))]

    @cached_property
    def _able(self) -> Array:
        """Return what counting allows of the pods that fit on a state alone."""
        able = self.may.copy()
        for pod, single in enumerate(self._single):
            able &= (single >= 0)[:, None] | (self._counts[:, pod] == 0)
        return able

    @cached_property
    def least(self) -> list[dict[Counts, Values]]:
        """Return, state by state, all numbers that may be held, with values that no way undercuts."""
        summed = np.zeros((*self.may.shape, self.levels[0].values.shape[1]), np.int64)
        for pod, (columns, single) in enumerate(zip(self.stock.columns, self._single, strict=True)):
            if len(columns.values):
                summed += self._counts[:, pod, None] * columns.values[np.maximum(single, 0)][:, None, :]
        found = []
        for able, values in zip(self._able, summed, strict=True):
            at = np.flatnonzero(able)
            rows = map(tuple, values[at].tolist())
            mine = {self.vectors[n]: self._same.setdefault(row, row) for n, row in zip(at.tolist(), rows, strict=True)}
            found.append(mine)
        return found


def most_vectors(states: int, sizes: Sizes) -> int:
    """Return how many numbers of replicas are distinguished in a fleet with this many node states."""
    return max(1, min(sizes.numbers, sizes.numbers_at_once // max(1, states)))


def orders_of(caps: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield orders in which pods are placed that fit somewhere; () is for those of whom the fewest are there yet."""
    pods = [pod for pod, cap in enumerate(caps) if cap]
    if len(pods) > 1:
        yield ()
    yield from islice(permutations(pods), most)


def in_order(stock: Stock, caps: Array, order: Sequence[int], budget: Budget) -> list[Rows]:
    """Return for each state the pods that take their turn until none fits or time is over, at most `caps` of each."""
    states, pods = caps.shape
    left, free, counts, able = stock.left.copy(), stock.free.copy(), np.zeros_like(caps), caps > 0
    found: list[Rows] = [[] for _ in range(states)]
    place = np.array([order.index(pod) if pod in order else pods for pod in range(pods)], float)
    while able.any() and not budget.reached:
        turn = np.where(able, place if order else counts / np.maximum(caps, 1), np.inf)
        chosen = np.where(able.any(axis=1), turn.argmin(axis=1), -1)
        for pod in range(pods):
            mine = np.flatnonzero(chosen == pod)
            if not len(mine):
                continue
            column = np.where(counts[mine, pod] < caps[mine, pod], stock.first(left[mine], pod), -1)
            able[mine[column < 0], pod] = False
            mine, column = mine[column >= 0], column[column >= 0]
            uses, rest = stock.uses[pod][column], caps[mine, pod] - counts[mine, pod]
            # in a given order, the same way is taken as long as it fits
            fits = np.where(uses > 0, free[mine] // np.maximum(uses, 1), rest[:, None])
            times = np.column_stack([rest, fits]).min(axis=1) if order else np.ones_like(rest)
            free[mine] -= uses * times[:, None]
            left[mine] -= stock.wanted[pod][column] * times[:, None].astype(np.uint64)
            counts[mine, pod] += times
            for at, taken, often in zip(mine.tolist(), column.tolist(), times.tolist(), strict=True):
                found[at].extend([(pod, taken)] * often)
    return found
