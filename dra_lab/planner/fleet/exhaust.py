"""Every way to fill one node state that could be better than the one known: a search over whole columns at once.

Benchmark row that needs it: 2,500 claims on 500 mixed nodes (`bench_fleet`) take 1.6 s to the proof; without it no
goal after the placed replicas is proven in 10 s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.states.columns import Array
from dra_lab.planner.states.stock import Stock, first_column, fitting

Rows = tuple[tuple[int, int], ...]
"""(pod, column) of each replica."""

_BASE = 1_000
_AT_ONCE = 1_000_000
"""Pairs of a partial way and a column that are looked at in one array."""


@dataclass(frozen=True)
class _Able:
    """The columns of a pod that fit into a state: their numbers, words and ranks, best first."""

    number: Array
    wanted: Array
    ranks: Array


@dataclass(frozen=True)
class _Partial:
    """Partial ways: what is left, their ranks, their latest column, and which way each continues."""

    left: Array
    rank: Array
    column: Array
    parent: Array


def rank(values: Array) -> Array:
    """Return one number for each row of values that orders them by their first difference."""
    found = np.zeros(len(values), np.int64)
    for at in range(values.shape[1]):
        found = found * _BASE + values[:, at]
    return found


def exhaust(
    stock: Stock,
    free: Array,
    counts: Counts,
    best: Values | None,
    lower: Callable[[Counts], Values | None],
    budget: Budget,
) -> Rows | None:
    """Look for a way for `counts` that is better than `best` in a state with the words `free`.

    `lower(rest)` are values that no way to place a part of the replicas there undercuts, None where there is none.
    The answer is the best way, or () if none is better: every way that these values do not rule out is compared. It is
    None if a step would compare more than `Sizes.extended` partial ways with a way, or the budget is reached.
    """
    if not _ranks_hold(stock, counts):
        return None
    able = {pod: _able(stock, free, pod) for pod, count in enumerate(counts) if count}
    pods = [pod for pod in sorted(able, key=lambda pod: -len(able[pod].number)) for _ in range(counts[pod])]
    limit = np.iinfo(np.int64).max if best is None else _ranked(best)
    whole = np.array([0])
    steps = [_Partial(free.reshape(1, -1), np.zeros(1, np.int64), whole, whole)]
    rest = list(counts)
    for depth, pod in enumerate(pods[:-1]):
        rest[pod] -= 1
        least = lower(tuple(rest))
        if least is None:
            return ()
        again = depth > 0 and pods[depth - 1] == pod
        following = _extended(steps[-1], able[pod], stock.guards, limit - _ranked(least), budget, again=again)
        if following is None:
            return None
        if not len(following.rank):
            return ()
        steps.append(following)
    if len(steps[-1].rank) * len(able[pods[-1]].number) > budget.sizes.extended:
        return None
    return _last(steps, [able[pod] for pod in pods], pods, stock.guards, limit)


def _ranks_hold(stock: Stock, counts: Counts) -> bool:
    """Say whether no goal of this many replicas is so large that it would count as one of the goal before it."""
    most = [
        count * stock.columns[pod].values.max(axis=0)
        for pod, count in enumerate(counts)
        if count and len(stock.columns[pod].values)
    ]
    return not most or bool((sum(most) < _BASE).all())


def _able(stock: Stock, free: Array, pod: int) -> _Able:
    number = np.flatnonzero(fitting(free.reshape(1, -1), stock.wanted[pod], stock.guards)[0])
    return _Able(number, stock.wanted[pod][number], rank(stock.columns[pod].values[number]))


def _ranked(values: Values) -> int:
    return int(rank(np.array([values], np.int64).reshape(1, len(values)))[0])


def _extended(
    front: _Partial, able: _Able, guards: Array, limit: int, budget: Budget, *, again: bool
) -> _Partial | None:
    """Return the partial ways with one replica more that stay below a limit; None when too many, or time is over."""
    ends = np.searchsorted(able.ranks, limit - front.rank, side="left")
    columns_below = int(ends.max(initial=0))
    if columns_below * len(front.rank) > budget.sizes.extended:
        return None
    at = np.arange(columns_below)
    size = max(1, _AT_ONCE // max(1, columns_below))
    parents, columns = [], []
    for start in range(0, len(front.rank), size):
        if budget.reached:
            return None
        part = slice(start, start + size)
        fits = fitting(front.left[part], able.wanted[:columns_below], guards)
        fits &= at[None, :] < ends[part, None]
        if again:
            # Replicas of one kind are interchangeable: their columns come in order.
            fits &= at[None, :] >= front.column[part, None]
        parent, column = np.nonzero(fits)
        parents.append(parent + start)
        columns.append(column)
    parent, column = np.concatenate([*parents, whole := np.zeros(0, np.int64)]), np.concatenate([*columns, whole])
    return _Partial(front.left[parent] - able.wanted[column], front.rank[parent] + able.ranks[column], column, parent)


def _last(steps: Sequence[_Partial], able: Sequence[_Able], pods: Sequence[int], guards: Array, limit: int) -> Rows:
    front = steps[-1]
    column = first_column(front.left, able[-1].wanted, guards)
    fits = np.flatnonzero(column >= 0)
    total = front.rank[fits] + able[-1].ranks[column[fits]]
    if not len(fits) or total.min() >= limit:
        return ()
    at = int(fits[total.argmin()])
    rows = [(pods[-1], int(able[-1].number[column[at]]))]
    for depth in range(len(steps) - 1, 0, -1):
        rows.append((pods[depth - 1], int(able[depth - 1].number[steps[depth].column[at]])))
        at = int(steps[depth].parent[at])
    return tuple(sorted(rows))
