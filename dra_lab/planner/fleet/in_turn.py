"""Good ways to fill places that hold too many pods to list all their numbers: one pod after the other, many at once.

Benchmark rows that need it (`bench_crowded`): whole nodes beside nine kinds of pods on 2,000 mixed nodes place 6,251
pods in 10 s, and 1,683 without it. Shares of GPU memory of four sizes on 200 nodes place all 23,471 that fit, proven,
and 13,247 without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.tables import Table, way
from dra_lab.planner.states.columns import Array
from dra_lab.planner.states.stock import Stock

Rows = list[tuple[int, int]]
"""(pod, column of the stock) of each pod."""


def fill_in_turn(
    stock: Stock, tables: Sequence[Table], budget: Budget, states: int, *, orders: range | None = None
) -> None:
    """Keep the ways that pods find who come in different orders, each taking the best that is left.

    `tables` are those of the states of the stock, of `states` in the whole fleet; a stock of its own is that of a
    table's problem. `orders` are those to be tried, by their numbers, None for all. Every way is feasible; none is
    claimed to be the best for its numbers, but that of one pod alone: ways are listed best first, and all of them.
    """
    groups = [None if table.stock is stock else _groups(table.site) for table in tables]
    caps = np.array([table.room.caps for table in tables], np.int64)
    for pod in range(caps.shape[1]):
        for at, column in enumerate(stock.first(stock.left, pod).tolist()):
            if column < 0:
                tables[at].learn(_one(caps.shape[1], pod), Packed(None))
            elif caps[at, pod]:
                values, takes = way(stock, [(pod, column)], groups[at])
                tables[at].learn(_one(caps.shape[1], pod), Packed(values, values, takes))
    sizes = budget.sizes
    tried = orders or range(sizes.more_orders)
    kept = max(2, min(sizes.kept, sizes.kept_in_all // max(1, states) // sizes.more_orders))
    most = range(tried.start, max(sizes.orders, min(tried.stop, sizes.ordered // max(1, states))))
    for order in _orders(caps.max(axis=0).tolist(), most):
        if budget.reached:
            return
        for at, rows in enumerate(_filled(stock, caps, order)):
            step = max(1, len(rows) // kept)
            for end in {*range(step, len(rows), step), len(rows)} if rows else ():
                _keep(stock, tables[at], rows[:end], groups[at])


def _orders(caps: Sequence[int], numbers: range) -> Iterator[tuple[int, ...]]:
    """Yield () for those of whom the fewest are there yet, first, and orders of the pods that some place can hold."""
    if not numbers.start:
        yield ()
    pods = [pod for pod, cap in enumerate(caps) if cap]
    yield from islice(permutations(pods), numbers.start, numbers.stop)


def _filled(stock: Stock, caps: Array, order: Sequence[int]) -> list[Rows]:
    """Return for each state the pods that take their turn until none fits."""
    states, pods = caps.shape
    left, counts, able = stock.left.copy(), np.zeros_like(caps), caps > 0
    found: list[Rows] = [[] for _ in range(states)]
    rank = np.array([order.index(pod) if pod in order else pods for pod in range(pods)], float)
    while able.any():
        turn = np.where(able, rank if order else counts / np.maximum(caps, 1), np.inf)
        chosen = np.where(able.any(axis=1), turn.argmin(axis=1), -1)
        for pod in range(pods):
            mine = np.flatnonzero(chosen == pod)
            if not len(mine):
                continue
            column = np.where(counts[mine, pod] < caps[mine, pod], stock.first(left[mine], pod), -1)
            able[mine[column < 0], pod] = False
            mine, column = mine[column >= 0], column[column >= 0]
            left[mine] -= stock.wanted[pod][column]
            counts[mine, pod] += 1
            for at, taken in zip(mine.tolist(), column.tolist(), strict=True):
                found[at].append((pod, taken))
    return found


def _keep(stock: Stock, table: Table, rows: Rows, groups: Mapping[int, int] | None) -> None:
    counts = tuple(sum(pod == mine for pod, _ in rows) for mine in range(len(table.room.caps)))
    known = table.packed.get(counts)
    lower = table.lower(counts)
    values, takes = way(stock, rows, groups)
    if lower is None or (known is not None and known.upper is not None and known.upper <= values):
        return
    table.learn(counts, Packed(lower, values, takes))


def _groups(site: Site) -> dict[int, int]:
    """Return the position in the site's problem of each group of its hardware."""
    return {group: at for at, group in enumerate(site.kept)}


def _one(length: int, at: int) -> Counts:
    return tuple(int(position == at) for position in range(length))
