"""Good ways to fill a place that holds too many pods to list all their numbers: one pod after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed
from dra_lab.planner.fleet.tables import Table
from dra_lab.planner.progress import Limits

MOST_ORDERS = 24
"""Orders in which kinds of pods take their turns, that are tried at most."""

_KEPT = 40
"""Steps on the way of one order that are kept at most, for plans that want less than the whole."""


def fill_in_turn(table: Table, limits: Limits) -> None:
    """Keep the ways that pods find who come in different orders, each taking the best that is left.

    Every way is feasible; none is claimed to be the best for its numbers. Nothing is kept where the ways of a pod are
    too many to list.
    """
    if table.stock is None:
        return
    for order in _orders(table.room.caps):
        if limits.reached:
            return
        rows = list(_filled(table, order))
        step = max(1, len(rows) // _KEPT)
        for end in {*range(step, len(rows), step), len(rows)} if rows else ():
            _keep(table, rows[:end])


def _orders(caps: Counts) -> Iterator[tuple[int, ...]]:
    """Yield orders of the pods that a place can hold, and at last () for those of whom the fewest are there yet."""
    yield from islice(permutations([pod for pod, cap in enumerate(caps) if cap]), MOST_ORDERS)
    yield ()


def _filled(table: Table, order: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (pod, column) of one pod after the other until none fits."""
    assert table.stock is not None
    stock, caps = table.stock, table.room.caps
    left, counts = stock.left[:1].copy(), [0] * len(caps)
    able = [pod for pod, cap in enumerate(caps) if cap]
    while able:
        pod = min(able, key=order.index if order else lambda pod: (counts[pod] / caps[pod], pod))
        column = int(stock.first(left, pod)[0]) if counts[pod] < caps[pod] else -1
        if column < 0:
            able.remove(pod)
            continue
        left -= stock.wanted[pod][column]
        counts[pod] += 1
        yield pod, column


def _keep(table: Table, rows: Sequence[tuple[int, int]]) -> None:
    counts = tuple(sum(pod == mine for pod, _ in rows) for mine in range(len(table.room.caps)))
    known = table.packed.get(counts)
    lower = table.lower(counts)
    values, takes = table.way(rows)
    if lower is None or (known is not None and known.upper is not None and known.upper <= values):
        return
    table.learn(counts, Packed(lower, values, takes))
