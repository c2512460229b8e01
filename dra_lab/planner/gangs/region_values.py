"""The least values of the goals for numbers of pods in a region, as one number that compares goal after goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm, prod
from operator import le, sub

import numpy as np

from dra_lab.model.fleet import NODES
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.gangs.problem import GangProblem, Profile
from dra_lab.planner.states.columns import Array

NEVER = 1 << 61
"""More than any sum of values; the value of numbers of pods that do not fit."""

Cells = tuple[tuple[int, int], ...]
"""The nodes of a region: how many have each profile."""


Way = tuple[Counts, int, Counts]
"""Pods of gangs on a node, their packed values, and all pods with which they have these values."""


@dataclass(frozen=True)
class Ordinary:
    """What each ordinary pod adds to a plan at least, by kind: the goals of devices, and parts of a node.

    Each node has `parts`, and the ordinary pods on no node have more.
    """

    values: Mapping[int, Values]
    shares: Mapping[int, int]
    parts: int

    @classmethod
    def of(cls, problem: GangProblem) -> Ordinary:
        """Return what the ordinary pods of a problem add."""
        values: dict[int, Values] = {}
        most: dict[int, int] = {}
        every = {counts for one in problem.profiles for counts in one.least or ()}
        for kind in {kind for kind, _ in problem.needs.ordinary}:
            single = tuple(int(kind == other) for other in range(problem.kinds))
            each = [one.least[single] for one in problem.profiles if one.least and single in one.least]
            values[kind] = min(each, default=(0,) * len(problem.device))
            most[kind] = max((counts[kind] for counts in every), default=0)
        whole = lcm(*(number for number in most.values() if number))
        shares = {kind: whole // number if number else 0 for kind, number in most.items()}
        held = (sum(counts[kind] * share for kind, share in shares.items()) for counts in every)
        return cls(values, shares, max(1, *held, 0))

    def least(self, problem: GangProblem, unplaced: int) -> dict[str, int]:
        """Return what all ordinary pods add to the goals at least if some of them have no place."""
        found = [0] * (len(problem.device) + 1)
        each = {kind: (*values, self.shares[kind]) for kind, values in self.values.items()}
        for kind, wanted in problem.needs.ordinary:
            found = [have + wanted * more for have, more in zip(found, each[kind], strict=True)]
        most = [max(values) for values in zip(*each.values(), strict=True)] or [0] * len(found)
        found = [have - unplaced * more for have, more in zip(found, most, strict=True)]
        return dict(zip((*problem.device, NODES), found, strict=True))


_NONE = Ordinary({}, {}, 1)


class RegionValues:
    """Values of pods of gangs on several nodes, by tables over all numbers of pods up to some limits.

    With `least`, they are what no way undercuts, else those of the ways that were found. The goals of a number are
    those of devices and the nodes used. `weights` turn them into one number, and `are_small` says that it has 64 bits.
    Any number of ordinary pods may be on the nodes as well. The values are then those of all pods without what
    `ordinary` says of the ordinary ones.
    """

    def __init__(
        self, problem: GangProblem, regions: Mapping[Cells, object], *, least: bool, ordinary: Ordinary = _NONE
    ) -> None:
        """Weigh the goals so that no sum of a less important one outweighs a more important one."""
        self.goals = (*problem.device, NODES)
        self._problem, self._least, self.ordinary = problem, least, ordinary
        profiles = {profile for cells in regions for profile, _ in cells}
        self._most = {number: self._most_of(problem.profiles[number]) for number in profiles}
        none = np.zeros(len(self.goals), np.int64)
        sums = [sum((nodes * self._most[profile] for profile, nodes in cells), none) for cells in regions]
        # Values of several kinds of pods may be summed.
        self.bases = [problem.kinds * int(base) + 1 for base in np.array([none, *sums]).max(axis=0)]
        self.are_small = prod(self.bases) < NEVER
        self.weights = [prod(self.bases[at + 1 :]) for at in range(len(self.bases))]
        self._of_gangs = {group.kind for need in problem.needs.gangs for group in need.groups}
        self._ways: dict[int, tuple[Profile, list[Way]]] = {}

    def _most_of(self, profile: Profile) -> Array:
        """Return the most of each goal on a node, over the ways that were found and those that may exist."""
        every = [*profile.found.values(), *(profile.least or {}).values()]
        return np.append(np.array(every, np.int64).max(axis=0), self.ordinary.parts)

    def _list_ways(self, numbers: Sequence[int]) -> None:
        """List the ways of nodes with some profiles, each with the least values for the pods of gangs."""
        if not numbers:
            return
        profiles = [self._problem.profiles[number] for number in numbers]
        tables = [(one.least or {}) if self._least else one.found for one in profiles]
        at = np.repeat(np.arange(len(numbers)), [len(table) for table in tables])
        counts = np.array([one for table in tables for one in table], np.int64).reshape(len(at), self._problem.kinds)
        values = np.array([one for table in tables for one in table.values()], np.int64)
        most = np.array([self._most[number] for number in numbers]).reshape(len(numbers), len(self.goals))
        values = np.minimum(values.reshape(len(at), len(self.goals) - 1), most[at, :-1])
        gangs = counts.copy()
        for kind in self.ordinary.values:
            # Any part of the pods of such a kind may be those of gangs.
            times = counts[:, kind] + 1 if kind in self._of_gangs else np.ones(len(counts), np.int64)
            first = np.repeat(np.cumsum(times) - times, times)
            at, counts, values, gangs = (np.repeat(each, times, axis=0) for each in (at, counts, values, gangs))
            gangs[:, kind] = np.arange(len(gangs)) - first
        packed = self._packed(values, counts - gangs)
        found: list[dict[Counts, Way]] = [{} for _ in numbers]
        order = np.lexsort((packed, at))[::-1]
        rows = (each[order].tolist() for each in (at, gangs, packed, counts))
        for number, mine, value, every in zip(*rows, strict=True):
            key = tuple(mine)
            if any(mine) and key in tables[number]:
                found[number][key] = key, value, tuple(every)
        for number, profile, ways in zip(numbers, profiles, found, strict=True):
            self._ways[number] = profile, [*ways.values()]

    def _packed(self, values: Array, ordinary: Array) -> Array:
        """Return values without those of ordinary pods, as one number for each row; no value is below 0."""
        rest, nodes = values.copy(), np.full(len(values), self.ordinary.parts, np.int64)
        for kind, each in self.ordinary.values.items():
            rest -= ordinary[:, kind, None] * np.array(each, np.int64)
            nodes -= ordinary[:, kind] * self.ordinary.shares[kind]
        # No ordinary pods have better values than the best ones, goal after goal, so those that seem to have these.
        rest[(rest < 0).any(axis=1)] = 0
        return rest @ np.array(self.weights[:-1], np.int64) + nodes

    def value(self, packed: Array, goal: str) -> Array:
        """Return one goal of packed values; nodes in parts."""
        at = self.goals.index(goal)
        return packed // self.weights[at] % self.bases[at]

    def table(self, cells: Cells, limits: Counts) -> Array:
        """Return the packed values of all numbers of pods up to limits, NEVER for those that do not fit."""
        return self.tables(cells, limits)[-1]

    def tables(self, cells: Cells, limits: Counts) -> list[Array]:
        """Return the tables of the first nodes, one more node in each."""
        table = np.full([limit + 1 for limit in limits], NEVER, np.int64)
        table[(0,) * len(limits)] = 0
        found = [table]
        profiles, known = self._problem.profiles, self._ways
        self._list_ways([at for at, _ in cells if at not in known or known[at][0] is not profiles[at]])
        for profile, nodes in cells:
            ways = [way for way in known[profile][1] if all(map(le, way[0], limits))]
            for _ in range(nodes):
                before, table = table, table.copy()
                for counts, value, _all in ways:
                    to = tuple(slice(count, None) for count in counts)
                    start = tuple(slice(None, limit + 1 - count) for limit, count in zip(limits, counts, strict=True))
                    np.minimum(table[to], before[start] + value, out=table[to])
                np.minimum(table, NEVER, out=table)
                found.append(table)
        return found

    def pods_on(self, cells: Cells, counts: Counts, tables: Sequence[Array] | None = None) -> list[Way] | None:
        """Return the pods of each node in a best way for some numbers of pods, None where no way is known."""
        tables = self.tables(cells, counts) if tables is None else tables
        if tables[-1][counts] >= NEVER:
            return None
        found: list[Way] = []
        zero = tuple(0 for _ in counts)
        profiles = [profile for profile, nodes in cells for _ in range(nodes)]
        for at in range(len(profiles) - 1, -1, -1):
            for way in ((zero, 0, zero), *self._ways[profiles[at]][1]):
                rest = tuple(map(sub, counts, way[0]))
                if min(rest, default=0) >= 0 and tables[at][rest] + way[1] == tables[at + 1][counts]:
                    found.append(way)
                    counts = rest
                    break
        return found[::-1]
