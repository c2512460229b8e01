"""Many node states of one kind of hardware at once: good ways to fill each of them, found by one walk over matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dra_lab.errors import SolverError
from dra_lab.planner.fleet.columns import Array, Columns, columns_of
from dra_lab.planner.fleet.counting import Counts, Row, room_of, rows_of
from dra_lab.planner.fleet.exhaust import exhaust, first_column, rank
from dra_lab.planner.fleet.local import LocalBound
from dra_lab.planner.fleet.pack import Packed, Takes, Values, pack
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.survey import NodeState, common_unit
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.progress import Limits

MOST_VECTORS = 400


@dataclass(frozen=True)
class Resource:
    """What replicas use up: devices of a group, or, with a key, units of what is left of a shared one."""

    group: int
    key: str = ""
    unit: int = 1
    per: int = 1


class Stock:
    """What the states of a layout have of every resource, and what the columns of the pods use of it.

    Rows of amounts are also kept as words, in which every resource has its own bits and a guard above them: a column
    fits where no guard is lost when it is subtracted.
    """

    def __init__(self, problem: AllocationProblem, states: Sequence[NodeState], columns: Sequence[Columns]) -> None:
        """Lay out the resources of a problem; `columns` are in the order of the pods."""
        self.problem = problem
        self.keys: list[tuple[int, str]] = []
        self.units = {}
        for number, group in enumerate(problem.groups):
            if not group.shareable:
                self.keys.append((number, ""))
            for key, _ in group.remaining if group.shareable else ():
                unit = common_unit(amount for _, uses in group.uses for name, amount in uses if name == key)
                if unit:
                    self.keys.append((number, key))
                    self.units[number, key] = unit
        self.free = np.array([self._row(state) for state in states], np.int64).reshape(len(states), len(self.keys))
        self.columns = [self._possible(found) for found in columns]
        self.uses = [self._uses(found) for found in self.columns]
        self._lay_out()

    def _row(self, state: NodeState) -> list[int]:
        left = dict(state.left)
        row = []
        for number, key in self.keys:
            if not key:
                row.append(state.free[number])
            elif not state.free[number]:
                row.append(0)
            else:
                have = dict(left.get(number, self.problem.groups[number].remaining))[key]
                row.append(max(0, int(have // self.units[number, key])))
        return row

    def _uses(self, found: Columns) -> Array:
        uses = np.zeros((len(found.takes), len(self.keys)), np.int64)
        for at, (number, key) in enumerate(self.keys):
            for column, (ask, group) in enumerate(found.pairs):
                if group != number:
                    continue
                amount = 1
                if key:
                    amount = int(
                        dict(dict(self.problem.groups[number].uses)[ask]).get(key, 0) / self.units[number, key]
                    )
                uses[:, at] += found.takes[:, column].astype(np.int64) * amount
        return uses

    def _possible(self, found: Columns) -> Columns:
        """Return the columns that fit into the most that any state has."""
        most = self.free.max(axis=0) if len(self.free) else np.zeros(len(self.keys), np.int64)
        fits = (self._uses(found) <= most).all(axis=1)
        return Columns(found.pairs, found.takes[fits], found.values[fits])

    def _lay_out(self) -> None:
        most = self.free.max(axis=0) if len(self.free) else np.zeros(len(self.keys), np.int64)
        word, shift = 0, 0
        self.shifts: list[tuple[int, int]] = []
        guards = [0]
        for size in most:
            bits = max(1, int(size).bit_length()) + 1
            if shift + bits > 64:
                word, shift = word + 1, 0
                guards.append(0)
            self.shifts.append((word, shift))
            guards[word] |= 1 << (shift + bits - 1)
            shift += bits
        self.guards = np.array(guards, np.uint64)
        self.left = self.words(self.free)
        self.wanted = [self.words(uses) for uses in self.uses]

    def words(self, amounts: Array) -> Array:
        """Return rows of amounts as words."""
        words = np.zeros((len(amounts), len(self.guards)), np.uint64)
        for at, (word, shift) in enumerate(self.shifts):
            words[:, word] |= amounts[:, at].astype(np.uint64) << np.uint64(shift)
        return words

    def first(self, left: Array, pod: int) -> Array:
        """Return for each row of words the first column of a pod that fits, -1 where none does."""
        return first_column(left, self.wanted[pod], self.guards)


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

    def fill(self, limits: Limits) -> bool:
        """Walk over all numbers of replicas, each from those with one replica less; say whether it came to the end."""
        states = len(self.stock.free)
        nobody = np.zeros(states, np.int64)
        start = Filled(
            np.ones(states, bool), self.stock.left, np.zeros((states, self.goals), np.int64), nobody - 1, nobody
        )
        self.filled[(0,) * self.parts] = start
        for counts in self.vectors:
            if any(counts):
                if limits.reached:
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

    def takes(self, state: int, counts: Counts, kept: Sequence[int]) -> Takes:
        """Return the way found for a state; `kept` is the group of the layout behind each of the site's."""
        rows: list[tuple[int, int]] = []
        while any(counts):
            filled = self.filled[counts]
            pod = int(filled.pod[state])
            rows.append((pod, int(filled.column[state])))
            counts = _less(counts, pod)
        return self.told_takes(rows, kept)

    def told_takes(self, rows: Sequence[tuple[int, int]], kept: Sequence[int]) -> Takes:
        """Return the (pod, column) of each replica as what it takes of which group."""
        position = {group: at for at, group in enumerate(kept)}
        found = []
        for number, (pod, column) in enumerate(sorted(rows)):
            columns = self.stock.columns[pod]
            for (ask, group), count in zip(columns.pairs, columns.takes[column].tolist(), strict=True):
                if count:
                    found.append((number, ask, position[group], count))
        return tuple(found)

    def found(self, state: int) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found on a state, with its values."""
        return {counts: self.told[counts][state] for counts, filled in self.filled.items() if filled.fits[state]}

    @cached_property
    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, the least value of each goal by itself, None where no state holds a replica."""
        columns = (found.values for found in self.stock.columns)
        return tuple(tuple(values.min(axis=0).tolist()) if len(values) else None for values in columns)

    @cached_property
    def told(self) -> dict[Counts, list[Values]]:
        """Return the values of every state, as plain numbers."""
        return {counts: [tuple(row) for row in filled.values.tolist()] for counts, filled in self.filled.items()}

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


@dataclass
class WideTable:
    """One state of a layout, as the master asks for it; `packed` holds what was found out exactly since."""

    site: Site
    wide: WideLayout
    number: int
    order: tuple[str, ...]
    solver: str
    packed: dict[Counts, Packed] = field(default_factory=dict)

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        found = self.wide.found(self.number)
        found.update({counts: packed.upper for counts, packed in self.packed.items() if packed.upper is not None})
        return found

    def least(self) -> dict[Counts, Values]:
        """Return all numbers that may be held, with values that no way undercuts."""
        least = dict(self.wide.least[self.number])
        for counts, packed in self.packed.items():
            if packed.lower is None:
                least.pop(counts, None)
            else:
                least[counts] = packed.lower
        return least

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        known = self.packed.get(counts)
        return known.lower if known is not None else self.wide.least[self.number].get(counts)

    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, values each of which no way of a replica undercuts; None where none can stand."""
        return self.wide.floors

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers."""
        known = self.packed.get(counts)
        if known is not None and known.upper is not None:
            return known.takes
        return self.wide.takes(self.number, counts, self.site.kept)

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        known = self.packed.get(counts)
        if known is not None:
            return not known.exact
        filled = self.wide.filled.get(counts)
        found = self.wide.told[counts][self.number] if filled is not None and filled.fits[self.number] else None
        return found != self.wide.least[self.number].get(counts)

    def decide(self, counts: Counts, limits: Limits) -> Packed:
        """Find the best way for some numbers, or what a limit leaves of it; never worse than what was found before."""
        lower = self.lower(counts)
        if lower is None:
            return Packed(None)
        before = self.found().get(counts)
        takes = self.takes(counts) if before is not None else ()
        if limits.reached:
            return Packed(lower, before, takes)
        every = exhaust(self.wide.stock, self.wide.stock.left[self.number], counts, before, self.lower)
        if every is not None:
            if every.rows is not None:
                columns = self.wide.stock.columns
                summed = sum(columns[pod].values[column] for pod, column in every.rows)
                before, takes = tuple(int(v) for v in summed), self.wide.told_takes(every.rows, self.site.kept)
            self.packed[counts] = Packed(before, before, takes)
            return self.packed[counts]
        problem, parts = self.site.problem, self.site.parts
        found = pack(problem, parts, counts, self.order, limits, solver=self.solver, lower=lower)
        if found.lower is None and before is not None:
            raise SolverError("the solver finds no way where one is known; try the solver CBC")
        if before is not None and (found.upper is None or before < found.upper):
            found = Packed(found.lower, before, takes)
        self.packed[counts] = found
        return found


def wide_layout(
    layout: Layout, sites: Sequence[Site], demand: Sequence[int], order: Sequence[str]
) -> WideLayout | None:
    """Return the states of one layout as matrices; None where the ways of some pod are too many to list."""
    parts = sites[0].parts
    columns = [columns_of(layout.problem, part, order) for part in parts]
    whole = Site(("",), parts, lambda: layout.problem)
    room = room_of(whole, demand)
    vectors = room.vectors(MOST_VECTORS)
    if vectors is None or any(found is None for found in columns):
        return None
    states = [site.state for site in sites if site.state is not None]
    stock = Stock(layout.problem, states, [found for found in columns if found is not None])
    rows = rows_of(whole)
    may = _may_hold(stock, rows, vectors)
    singles = [stock.first(stock.left, pod) for pod in range(len(parts))]
    local = LocalBound.of(layout.problem, stock.free, stock.keys, stock.units, rows, order, stock.columns)
    return WideLayout(stock, len(parts), len(order), vectors, may, singles, local=local)


def _may_hold(stock: Stock, rows: Sequence[Row], vectors: Sequence[Counts]) -> dict[Counts, Array]:
    """Say for all numbers of replicas on which states counting does not rule them out."""
    limits = [row.limits(stock.free, stock.keys, stock.units) for row in rows]
    found = {}
    for counts in vectors:
        may = np.ones(len(stock.free), bool)
        for row, limit in zip(rows, limits, strict=True):
            need = float(sum(weight * count for weight, count in zip(row.weights, counts, strict=True)))
            may &= need <= limit + 1e-6
        found[counts] = may
    return found


def _less(counts: Counts, at: int) -> Counts:
    return tuple(count - (position == at) for position, count in enumerate(counts))
