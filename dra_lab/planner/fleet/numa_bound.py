"""How many pods can each stay on one NUMA node of theirs: a bound for the NUMA nodes that numbers of pods span.

Benchmark rows that need it: 10,500 claims on 5,000 nodes without links (`bench_fleet`) take 7 s to the proof, and 14 s
without it. Four workloads on 500 mixed nodes (`bench_crowded`) have a bound of 3,914 of 3,918 NUMA nodes, and of 3,886.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from dra_lab.planner.fleet.counting import CountRow, Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.node.allocation_problem import NUMA_KINDS, AllocationProblem
from dra_lab.planner.states.columns import Array
from dra_lab.planner.states.stock import Stock

_GOAL = "numa"


@dataclass
class NumaBound:
    """The contents of the states of a layout on each NUMA node, row by row (`CountRow`), and what pods need there.

    A pod spans one NUMA node only where all its devices are on it; every other spans two at least. Counting says which
    numbers of pods a NUMA node can hold.
    """

    position: int
    floors: Array
    weights: list[tuple[int, ...]]
    limits: list[Array]

    @classmethod
    def of(cls, stock: Stock, rows: Sequence[CountRow], order: Sequence[str]) -> NumaBound | None:
        """Return the bound, None where the goal is not there or some device's NUMA node or kind is not known."""
        groups = stock.problem.groups
        if _GOAL not in order or not groups or any(g.numa is None or g.kind not in NUMA_KINDS for g in groups):
            return None
        position = list(order).index(_GOAL)
        if any(floor is not None and floor[position] < 1 for floor in stock.floors):
            return None
        floors = np.array([floor or (0,) * len(order) for floor in stock.floors], np.int64)
        limits = []
        for numa in dict.fromkeys(group.numa for group in groups):
            inside = partial(_is_on, stock.problem, numa)
            here = [np.floor(row.limits(stock.free, stock.keys, stock.units, inside) + 1e-6) for row in rows]
            limits.append(np.stack(here, axis=1).astype(int) if here else np.zeros((len(stock.free), 0), int))
        weights = [tuple(int(np.ceil(float(w) - 1e-9)) for w in row.weights) for row in rows]
        if any(
            Fraction(w) != v
            for row, mine in zip(rows, weights, strict=True)
            for w, v in zip(row.weights, mine, strict=True)
        ):
            return None
        return cls(position, floors, weights, limits)

    def least(self, vectors: Sequence[Counts]) -> list[dict[Counts, Values]]:
        """Return, state by state, values that no way undercuts for each of the numbers."""
        most = tuple(max(counts[at] for counts in vectors) for at in range(len(vectors[0])))
        every = np.array(list(product(*(range(count + 1) for count in most))), np.int64)
        base = [2 * count + 1 for count in most]
        bits = [_digits(counts, base) for counts in every.tolist()]
        allowed, shape = sum(1 << bit for bit in bits), [count + 1 for count in most]
        needs = every @ np.array(self.weights, np.int64).reshape(-1, len(most)).T
        places: dict[tuple[int, ...], tuple[int, ...]] = {}
        sums: dict[tuple[tuple[int, ...], ...], int] = {}
        known: dict[int, dict[Counts, Values]] = {}
        found = []
        for state in range(len(self.limits[0])):
            key = []
            for limits in self.limits:
                row = tuple(limits[state].tolist())
                if row not in places:
                    holds = (needs <= limits[state]).all(axis=1)
                    places[row] = tuple(bits[at] for at in np.flatnonzero(holds).tolist())
                if len(places[row]) > 1:
                    key.append(places[row])
            whole = tuple(sorted(key))
            if whole not in sums:
                sums[whole] = _summed(whole, allowed)
            if sums[whole] not in known:
                reached = sums[whole]
                octets = np.frombuffer(reached.to_bytes(bits[-1] // 8 + 1, "little"), np.uint8)
                held = np.unpackbits(octets, bitorder="little")[bits].astype(bool)
                known[reached] = self._values(np.where(held, every.sum(axis=1), -1).reshape(shape), vectors)
            found.append(known[sums[whole]])
        return found

    def _values(self, totals: Array, vectors: Sequence[Counts]) -> dict[Counts, Values]:
        """Return the bounds where all NUMA nodes together hold what has its total of pods in `totals`, others have -1.

        `totals` has an axis for each pod, along which its number grows.
        """
        # The most of all numbers that are not above some numbers, pod by pod.
        for axis in range(totals.ndim):
            totals = np.maximum.accumulate(totals, axis=axis)
        wanted = np.array(vectors)
        values = wanted @ self.floors
        spread = 2 * wanted.sum(axis=1) - totals[tuple(wanted.T)]
        values[:, self.position] = np.maximum(values[:, self.position], spread)
        return dict(zip(vectors, map(tuple, values.tolist()), strict=True))


def _is_on(problem: AllocationProblem, numa: object, group: int) -> bool:
    return problem.groups[group].numa == numa


def _summed(places: tuple[tuple[int, ...], ...], allowed: int) -> int:
    """Return all sums of one number of pods from each place, as a set of bits."""
    reached = 1
    for inside in places:
        following = 0
        for at in inside:
            following |= reached << at
        reached = following & allowed
    return reached


def _digits(counts: Counts, base: Sequence[int]) -> int:
    number = 0
    for count, size in zip(counts, base, strict=True):
        number = number * size + count
    return number
