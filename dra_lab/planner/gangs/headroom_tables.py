"""How many pods of a gang of several groups, and how many such gangs, a domain has: all numbers that fit together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.gangs.needs import GangNeed
from dra_lab.planner.gangs.problem import GangProblem
from dra_lab.planner.gangs.region_values import NEVER, Cells, RegionValues
from dra_lab.planner.states.columns import Array


def tables_for(problem: GangProblem, need: GangNeed, budget: Budget) -> HeadroomTables | None:
    """Return the tables of a gang, None if it has one group only, or levels inside that of its own."""
    plain = not any(group.required >= 0 or group.slices for group in need.groups)
    known = problem.whole and all(profile.least is not None for profile in problem.profiles)
    tables = HeadroomTables(problem, need, budget.sizes) if plain and known and len(need.groups) > 1 else None
    return tables if tables is not None and tables.are_small else None


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
        every = {problem.profiles_of(regions): None for regions in problem.inside[need.required].values()}
        self._bounds = RegionValues(problem, every, least=True)
        self._found = self._bounds if problem.closed else RegionValues(problem, every, least=False)
        self.are_small = self._bounds.are_small and self._found.are_small
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
            found, bounds = (each.table(cells, tuple(limits.tolist())) < NEVER for each in (self._found, self._bounds))
            pods = self._pods(found), self._pods(bounds)
            self._known[cells] = *pods, self._gangs(found, times), self._gangs(bounds, times)
        return self._known[cells]

    def _pods(self, fits: Array) -> int:
        """Return the most pods of one gang; its shared claims are there, and count as none."""
        pods = np.argwhere(fits)
        pods = pods[(pods <= self.most).all(axis=1)]
        pods = pods[(pods >= self.shared).all(axis=1)] - self.shared
        return int(pods.sum(axis=1).max(initial=0))

    def _gangs(self, fits: Array, times: int) -> int:
        return next((n for n in range(times, 0, -1) if fits[tuple((self.least * n).tolist())]), 0)
