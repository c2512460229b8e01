"""Good ways for all numbers of pods on one state at once: each number continues the best ways for one pod less.

Benchmark row that needs it: shares of GPU memory on 200 nodes (`bench_crowded`) take 0.5 s to the proof, and 8.6 s
without it, with three goals open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.exhaust import rank
from dra_lab.planner.fleet.pack import Packed
from dra_lab.planner.fleet.tables import Table, way
from dra_lab.planner.states.columns import Array
from dra_lab.planner.states.stock import Stock


@dataclass(frozen=True)
class _Level:
    """Ways for numbers of pods with one sum: what is left, what they are worth, the pod that came last, its column.

    `parent` is the row of the level before that each continues.
    """

    counts: list[Counts]
    left: Array
    values: Array
    pod: Array
    column: Array
    parent: Array


def walk(table: Table, budget: Budget) -> None:
    """Keep a way for each of a table's listed numbers for which one is found; the table has a stock of its own.

    A way is claimed to be the best for its numbers only where nothing is below it: several pods may need another way
    for the first of them.
    """
    stock, vectors = table.stock, table.vectors
    if stock is None or vectors is None:
        return
    sums: dict[int, list[Counts]] = {}
    for counts in vectors:
        sums.setdefault(sum(counts), []).append(counts)
    goals = len(table.order)
    nobody = np.zeros(1, np.int64)
    levels = [
        _Level([table.site.zero], stock.left[:1], np.zeros((1, goals), np.int64), nobody - 1, nobody, nobody),
    ]
    for size in range(1, max(sums, default=0) + 1):
        if size > 1 and budget.reached:
            return
        level = _next(stock, levels[-1], sums.get(size, []))
        if level is None:
            return
        levels.append(level)
        _keep(table, stock, levels)


def _next(stock: Stock, before: _Level, vectors: Sequence[Counts]) -> _Level | None:
    """Return the best continuations of one level, None where there are none."""
    wanted = {counts: number for number, counts in enumerate(vectors)}
    number, parent, column, pod = [], [], [], []
    for one in range(len(stock.columns)):
        rows = [
            (row, wanted[more])
            for row, counts in enumerate(before.counts)
            if (more := (*counts[:one], counts[one] + 1, *counts[one + 1 :])) in wanted
        ]
        if rows:
            mine = np.array(rows, np.int64)
            found = stock.first(before.left[mine[:, 0]], one)
            fits = found >= 0
            parent.append(mine[fits, 0])
            number.append(mine[fits, 1])
            column.append(found[fits])
            pod.append(np.full(int(fits.sum()), one))
    if not sum(map(len, number)):
        return None
    numbers, parents, columns, pods = map(np.concatenate, (number, parent, column, pod))
    left, values = before.left[parents], before.values[parents]
    for one in range(len(stock.columns)):
        mine = pods == one
        left[mine] -= stock.wanted[one][columns[mine]]
        values[mine] += stock.columns[one].values[columns[mine]]
    order = np.lexsort((rank(values), numbers))
    best = order[np.unique(numbers[order], return_index=True)[1]]
    told = [vectors[at] for at in numbers[best].tolist()]
    return _Level(told, left[best], values[best], pods[best], columns[best], parents[best])


def _keep(table: Table, stock: Stock, levels: Sequence[_Level]) -> None:
    for row, counts in enumerate(levels[-1].counts):
        known, lower = table.packed.get(counts), table.lower(counts)
        found = tuple(levels[-1].values[row].tolist())
        if lower is None or (known is not None and known.upper is not None and known.upper <= found):
            continue
        rows, at = [], row
        for level in reversed(levels[1:]):
            rows.append((int(level.pod[at]), int(level.column[at])))
            at = int(level.parent[at])
        values, takes = way(stock, rows)
        # All ways of one pod are listed, best first: no other is better.
        table.learn(counts, Packed(values if len(rows) == 1 else lower, values, takes))
