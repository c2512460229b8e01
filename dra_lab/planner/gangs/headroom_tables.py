"""How many pods of a gang of several groups, and how many such gangs, a domain has: all numbers that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from operator import le

import numpy as np

from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.needs import GangNeed
from dra_lab.planner.gangs.problem import GangProblem
from dra_lab.planner.states.columns import Array


def tables_for(problem: GangProblem, need: GangNeed, budget: Budget) -> HeadroomTables | None:
    """Return the tables of a gang, None if it has one group only, or levels inside that of its own."""
    plain = not any(group.required >= 0 or group.slices for group in need.groups)
    known = problem.whole and all(profile.least is not None for profile in problem.profiles)
    return HeadroomTables(problem, need, budget.sizes) if plain and known and len(need.groups) > 1 else None


Cells = tuple[tuple[int, int], ...]
"""The nodes of a region: how many have each profile."""


class HeadroomTables:
    """The numbers of pods that fit together in each domain of the required level of a gang."""

    def __init__(self, problem: GangProblem, need: GangNeed, sizes: Sizes) -> None:
        """Note what one gang has of each kind of pods."""
        self.problem, self.sizes = problem, sizes
        self.least, self.most, self.shared = np.zeros((3, problem.kinds), np.int64)
        for group in need.groups[need.pods :]:
            self.shared[group.kind] += 1
        for group in need.groups:
            self.least[group.kind] += group.least
            self.most[group.kind] += group.most
        self._known: dict[Cells, tuple[int, int, int, int]] = {}

    def headroom(self, regions: Sequence[int]) -> tuple[int, int, int, int] | None:
        """Return the most pods of one gang in regions and its bound, and the same of whole gangs.

        None if the numbers are too many to list.
        """
        cells = self.problem.profiles_of(regions)
        if cells not in self._known:
            able = np.array([self.problem.capacity[region] for region in regions], np.int64).reshape(-1, len(self.most))
            headroom = able.sum(axis=0)
            times = int(min(headroom[kind] // count for kind, count in enumerate(self.least) if count))
            limits = np.minimum(headroom, np.maximum(self.most, self.least * times))
            if np.prod(limits + 1.0) > self.sizes.domain_pods:
                return None
            bounds = self._fits(cells, tuple(limits.tolist()), least=True)
            found = bounds if self.problem.closed else self._fits(cells, tuple(limits.tolist()), least=False)
            pods = self._pods(found), self._pods(bounds)
            self._known[cells] = *pods, self._gangs(found, times), self._gangs(bounds, times)
        return self._known[cells]

    def _fits(self, cells: Cells, limits: Counts, *, least: bool) -> Array:
        """Say of all numbers of pods up to limits whether nodes hold them, by the ways that may exist or were found."""
        table = np.zeros([limit + 1 for limit in limits], bool)
        table[(0,) * len(limits)] = True
        for number, nodes in cells:
            profile = self.problem.profiles[number]
            able = (profile.least or {}) if least else profile.found
            ways = [one for one in able if all(map(le, one, limits))]
            for _ in range(nodes):
                before, table = table, table.copy()
                for counts in ways:
                    start = tuple(slice(None, limit + 1 - count) for limit, count in zip(limits, counts, strict=True))
                    table[tuple(slice(count, None) for count in counts)] |= before[start]
        return table

    def _pods(self, fits: Array) -> int:
        """Return the most pods of one gang; its shared claims are there, and count as none."""
        pods = np.argwhere(fits)
        pods = pods[(pods <= self.most).all(axis=1)]
        pods = pods[(pods >= self.shared).all(axis=1)] - self.shared
        return int(pods.sum(axis=1).max(initial=0))

    def _gangs(self, fits: Array, times: int) -> int:
        return next((n for n in range(times, 0, -1) if fits[tuple((self.least * n).tolist())]), 0)
