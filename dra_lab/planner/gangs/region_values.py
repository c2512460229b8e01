"""The least values of the goals for numbers of pods in a region, as one number that compares goal after goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from operator import le, mul, sub

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


class RegionValues:
    """Values of pods on several nodes, by tables over all numbers of pods up to some limits.

    With `least`, they are what no way undercuts, else those of the ways that were found. The goals of a number are
    those of devices and the nodes used. `weights` turn them into one number, and `are_small` says that it has 64 bits.
    """

    def __init__(self, problem: GangProblem, regions: Mapping[Cells, object], *, least: bool) -> None:
        """Weigh the goals so that no sum of a less important one outweighs a more important one."""
        self.goals = (*problem.device, NODES)
        self._ways = [_ways(profile, least=least) for profile in problem.profiles]
        most = [np.array([values for _, values in ways] or [(0,) * len(self.goals)]).max(axis=0) for ways in self._ways]
        sums = [sum(nodes * most[profile] for profile, nodes in cells) for cells in regions]
        self.bases = [int(base) + 1 for base in np.array(sums or [(0,) * len(self.goals)]).max(axis=0)]
        self.are_small = prod(self.bases) < NEVER
        self.weights = [prod(self.bases[at + 1 :]) for at in range(len(self.bases))]
        self._packed = [[(counts, sum(map(mul, self.weights, v))) for counts, v in ways] for ways in self._ways]

    def value(self, packed: Array, goal: str) -> Array:
        """Return one goal of packed values."""
        at = self.goals.index(goal)
        return packed // self.weights[at] % self.bases[at]

    def table(self, cells: Cells, limits: Counts) -> Array:
        """Return the packed values of all numbers of pods up to limits, NEVER for those that do not fit."""
        return self._tables(cells, limits)[-1]

    def _tables(self, cells: Cells, limits: Counts) -> list[Array]:
        """Return the tables of the first nodes, one more node in each."""
        table = np.full([limit + 1 for limit in limits], NEVER, np.int64)
        table[(0,) * len(limits)] = 0
        found = [table]
        for profile, nodes in cells:
            ways = [way for way in self._packed[profile] if all(map(le, way[0], limits))]
            for _ in range(nodes):
                before, table = table, table.copy()
                for counts, value in ways:
                    to = tuple(slice(count, None) for count in counts)
                    start = tuple(slice(None, limit + 1 - count) for limit, count in zip(limits, counts, strict=True))
                    np.minimum(table[to], before[start] + value, out=table[to])
                np.minimum(table, NEVER, out=table)
                found.append(table)
        return found

    def pods_on(self, cells: Cells, counts: Counts) -> list[Counts] | None:
        """Return the pods of each node in a best way for some numbers of pods, None where no way is known."""
        tables = self._tables(cells, counts)
        if tables[-1][counts] >= NEVER:
            return None
        found: list[Counts] = []
        profiles = [profile for profile, nodes in cells for _ in range(nodes)]
        for at in range(len(profiles) - 1, -1, -1):
            for mine, value in ((tuple(0 for _ in counts), 0), *self._packed[profiles[at]]):
                rest = tuple(map(sub, counts, mine))
                if min(rest, default=0) >= 0 and tables[at][rest] + value == tables[at + 1][counts]:
                    found.append(mine)
                    counts = rest
                    break
        return found[::-1]


def _ways(profile: Profile, *, least: bool) -> Sequence[tuple[Counts, Values]]:
    known = (profile.least or {}) if least else profile.found
    return [(counts, (*values, 1)) for counts, values in known.items() if any(counts)]
