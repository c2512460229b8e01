"""The resources that node states have left and that each way to place a pod takes, as machine words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dra_lab.index.node_binding import Tie
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.states.columns import Array, Columns, PodTakes
from dra_lab.planner.states.node_state import NodeState, common_unit

_BLOCK = 256


def fitting(left: Array, wanted: Array, guards: Array) -> Array:
    """Say for rows of words and columns of words whether the column fits: a matrix of truth values."""
    fits = np.ones((len(left), len(wanted)), bool)
    for word, guard in enumerate(guards):
        rest = (left[:, word] | guard)[:, None] - wanted[None, :, word]
        fits &= (rest & guard) == guard
    return fits


def first_column(left: Array, wanted: Array, guards: Array) -> Array:
    """Return for each row of words the first column that fits, -1 where none does."""
    found = np.full(len(left), -1, np.int64)
    still = np.arange(len(left))
    start, size = 0, 8
    while start < len(wanted) and len(still):
        block = wanted[start : start + size]
        fits = fitting(left[still], block, guards)
        hit = fits.any(axis=1)
        found[still[hit]] = start + fits[hit].argmax(axis=1)
        still = still[~hit]
        start += len(block)
        size = min(_BLOCK, size * 2)
    return found


class Stock:
    """The amount of every resource that the states of a layout have, and that the columns of the pods use.

    Rows of amounts are also kept as words, in which every resource has its own bits and a guard above them: a column
    fits where no guard is lost when it is subtracted.
    """

    def __init__(self, problem: AllocationProblem, states: Sequence[NodeState], columns: Sequence[Columns]) -> None:
        """Lay out the resources of a problem; `columns` are in the order of the pods.

        Shared counters are resources too, as a state or else the problem says what is left of them; not where a
        shareable device draws on them, which pays once for all its shares.
        """
        self.problem = problem
        self.keys: list[tuple[int, str]] = []
        self.units: dict[tuple[int, str], Fraction] = {}
        for number, group in enumerate(problem.groups):
            if not group.shareable:
                self.keys.append((number, ""))
            for key, _ in group.remaining if group.shareable else ():
                unit = common_unit(amount for _, uses in group.uses for name, amount in uses if name == key)
                if unit:
                    self.keys.append((number, key))
                    self.units[number, key] = unit
        self._taken: dict[tuple[int, int], dict[int, int]] = {}
        self._counters = dict(problem.counters)
        # Counters stand below all groups: what asks by group passes them by.
        self._counted = {-1 - number: counter for number, counter in enumerate(self._counters)}
        self._counter_at = {counter: len(self.keys) + at for at, counter in enumerate(self._counted.values())}
        self.keys.extend((number, "counter") for number in self._counted)
        self._of_group: dict[int, list[int]] = {}
        for at, (number, _) in enumerate(self.keys):
            self._of_group.setdefault(number, []).append(at)
        self.free = np.array([self._row(state) for state in states], np.int64).reshape(len(states), len(self.keys))
        possible = [self._possible(found) for found in columns]
        self.columns, self.uses = [found for found, _ in possible], [uses for _, uses in possible]
        self._lay_out()

    def _row(self, state: NodeState) -> list[int]:
        left = dict(state.left)
        row = []
        for number, key in self.keys:
            if number in self._counted:
                row.append(
                    max(0, state.counters[-1 - number] if state.counters else self._counters[self._counted[number]])
                )
            elif not key:
                row.append(state.free[number])
            elif not state.free[number]:
                row.append(0)
            else:
                have = dict(left.get(number, self.problem.groups[number].remaining))[key]
                row.append(max(0, int(have // self.units[number, key])))
        return row

    def _uses(self, found: Columns) -> Array:
        # A row of its own for each resource, in which only what is used is written: both are much faster.
        uses, takes = np.zeros((len(self.keys), len(found.takes)), np.int64), np.ascontiguousarray(found.takes.T)
        for (ask, group), counts in zip(found.pairs, takes, strict=True):
            some = np.flatnonzero(counts)
            taken = counts[some].astype(np.int64)
            for at, amount in self.taken(ask, group).items():
                uses[at, some] += taken * amount
        return uses.T

    def taken(self, ask: int, group: int) -> Mapping[int, int]:
        """Return what one device of a group takes for an ask, by the positions of the resources."""
        key = (ask, group)
        if self.problem.asks[ask].admin_access:
            # it looks into what others may have, and keeps nothing
            return {}
        if key not in self._taken:
            found = self.problem.groups[group]
            uses, draws = dict(dict(found.uses).get(ask, ())), dict(found.draws)
            amounts = {self._counter_at[one]: amount for one, amount in draws.items() if one in self._counter_at}
            for at in self._of_group.get(group, ()):
                name = self.keys[at][1]
                amounts[at] = int(uses.get(name, 0) / self.units[group, name]) if name else 1
            self._taken[key] = {at: amount for at, amount in amounts.items() if amount}
        return self._taken[key]

    def _possible(self, found: Columns) -> tuple[Columns, Array]:
        """Return the columns that fit into the most that any state has, and what they use."""
        most = self.free.max(axis=0) if len(self.free) else np.zeros(len(self.keys), np.int64)
        uses = self._uses(found)
        fits = (uses <= most).all(axis=1)
        if fits.all():
            # The uses alone may take 90 MB.
            return found, uses
        return Columns(found.pairs, found.takes[fits], found.values[fits]), np.compress(fits, uses.T, axis=1).T

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
        words, amounts = np.zeros((len(self.guards), len(amounts)), np.uint64), np.ascontiguousarray(amounts.T)
        for at, (word, shift) in enumerate(self.shifts):
            words[word] |= amounts[at].astype(np.uint64) << np.uint64(shift)
        return words.T

    def values(self, rows: Sequence[tuple[int, int]]) -> tuple[int, ...]:
        """Return the values of pods with these (pod, column)."""
        return tuple(int(value) for value in sum(self.columns[pod].values[column] for pod, column in rows))

    def takes(self, rows: Sequence[tuple[int, int]]) -> tuple[PodTakes, ...]:
        """Return what each pod with these (pod, column) takes, by pod: (ask, group, number of devices)."""
        return tuple(self.columns[pod].way(column) for pod, column in sorted(rows))

    @cached_property
    def floors(self) -> tuple[tuple[int, ...] | None, ...]:
        """Return, pod by pod, the least value of each goal by itself over all columns, None where there are none."""
        columns = (found.values for found in self.columns)
        return tuple(tuple(values.min(axis=0).tolist()) if len(values) else None for values in columns)

    def first(self, left: Array, pod: int) -> Array:
        """Return for each row of words the first column of a pod that fits, -1 where none does."""
        return first_column(left, self.wanted[pod], self.guards)


def is_listable(problem: AllocationProblem, parts: Sequence[CopyPart]) -> bool:
    """Say whether ways of pods differ only in what they take.

    They do without node selectors of many terms, shares that pay a counter together, and requests for all devices that
    may be shared. They do also without admin access to shares, or of pods with several claims, because devices are
    distinguished for it.
    """
    asks = problem.asks
    for part in parts:
        mine = range(*part.asks)
        if len({problem.claim_of(ask) for ask in mine}) > 1 and any(asks[ask].admin_access for ask in mine):
            return False
    return not any(
        group.tie is Tie.TERMS
        or (group.shareable and (group.draws or any(asks[ask].all_devices for ask in group.asks)))
        or ((group.shareable or group.draws) and any(asks[ask].admin_access for ask in group.asks))
        for group in problem.groups
    )
