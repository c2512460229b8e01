"""Sets of gangs that a domain may have, if every domain is one region, and what each costs in each domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dra_lab.model.gang import DOMAINS, GANGS, LEVELS
from dra_lab.planner.budget import Sizes
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.needs import WHOLE, GangNeed, splits
from dra_lab.planner.gangs.problem import GangProblem, Instance, Solution
from dra_lab.planner.gangs.region_values import NEVER, Cells, RegionValues
from dra_lab.planner.gangs.worth import priority_of
from dra_lab.planner.states.columns import Array

Chosen = dict[tuple[int, int], int]
"""How many domains of a class have which set, by their numbers."""


def gang_sets(problem: GangProblem, sizes: Sizes, *, full: bool) -> GangSets | None:
    """Return the sets, None if a gang has levels inside that of its own, or if there are too many sets.

    With `full`, gangs have all pods that they want, else their minimum.
    """
    needs = problem.needs
    for need in needs.gangs:
        if any(len(regions) > 1 for regions in problem.inside[need.required].values()):
            return None
        if any(group.required >= 0 or group.slices for group in need.groups):
            return None
        if any(splits(needs.tiers, need, one) for one in need.preferences):
            return None
    if not problem.whole or any(profile.least is None for profile in problem.profiles):
        return None
    sets = GangSets(problem, sizes, full=full)
    return sets if sets.are_listed else None


class GangSets:
    """Classes of domains with identical nodes, sets of gangs, and what each set costs in each class.

    The costs are what no way undercuts, and `open` says which sets may be where. Sets of several kinds of pods have the
    sum of what each kind costs alone, until `learn` finds what they cost.
    """

    def __init__(self, problem: GangProblem, sizes: Sizes, *, full: bool) -> None:
        """List the sets and their costs."""
        self.problem, self.full = problem, full
        self.needs = problem.needs.gangs
        self.pods = np.array([_pods(problem, need, full=full) for need in self.needs], np.int64)
        self.classes = self._classes()
        self.numbers = np.array([len(regions) for regions in self.classes.values()], np.int64)
        self.values = self._values(least=True)
        self._found: RegionValues | None = None
        self._costs: dict[str, Array] = {}
        self.are_listed = self.values.are_small and self._list_sets(sizes)

    def _values(self, *, least: bool) -> RegionValues:
        return RegionValues(self.problem, {cells: None for cells, _ in self.classes}, least=least)

    def _classes(self) -> dict[tuple[Cells, tuple[bool, ...]], list[int]]:
        """Return regions by the profiles of their nodes and the gangs that may be there."""
        found: dict[tuple[Cells, tuple[bool, ...]], list[int]] = {}
        for region in dict.fromkeys(region for region, _ in sorted(self.problem.cells)):
            able = tuple(self.problem.domain(need.required, region) is not None for need in self.needs)
            if any(able):
                found.setdefault((self.problem.profiles_of([region]), able), []).append(region)
        return found

    def _list_sets(self, sizes: Sizes) -> bool:
        """List all sets of gangs that a domain may have; say whether they are few enough."""
        wanted = np.array([need.copies for need in self.needs], np.int64) @ self.pods
        regions = [regions[0] for regions in self.classes.values()]
        self.limits = np.minimum(np.array(self.problem.room, np.int64)[regions], wanted)
        if (np.prod(self.limits + 1.0, axis=1) > sizes.domain_pods).any():
            return False
        limits = self.limits.max(axis=0)
        tables = [self._alone(kind, int(limit)) for kind, limit in enumerate(limits)]
        able = np.array([mine for _, mine in self.classes], bool).reshape(len(self.classes), len(self.needs))
        zero = (0,) * len(self.needs)
        rows, held = [zero], [np.ones(len(self.classes), bool)]
        queue = [(zero, 0, held[0])]
        while queue:
            before, first, holds = queue.pop()
            for at in range(first, len(self.needs)):
                if before[at] == self.needs[at].copies:
                    continue
                more = (*before[:at], before[at] + 1, *before[at + 1 :])
                fits = holds & able[:, at] & (self._summed(tables, np.array([more])) < NEVER)[:, 0]
                if not fits.any():
                    continue
                rows.append(more)
                queue.append((more, at, fits))
                if len(rows) * len(self.classes) > sizes.domain_sets:
                    return False
        self.sets = np.array(rows, np.int64).reshape(len(rows), len(self.needs))
        self.number = {row: at for at, row in enumerate(rows)}
        self.packed = self._summed(tables, self.sets)
        self.packed[~((able[:, None, :] | (self.sets == 0)[None]).all(axis=2))] = NEVER
        self.open = self.packed < NEVER
        self._together = ((self.sets @ self.pods) > 0).sum(axis=1) > 1
        self._exact = np.zeros(len(self.classes), bool)
        self._domains = np.array([self._domains_of(row) for row in rows], np.int64)
        return True

    def _alone(self, kind: int, limit: int) -> Array:
        """Return for each class the packed values of all numbers of pods of one kind."""
        limits = tuple(limit if kind == other else 0 for other in range(self.problem.kinds))
        return np.array([self.values.table(cells, limits).ravel() for cells, _ in self.classes])

    def _summed(self, tables: Sequence[Array], sets: Array) -> Array:
        """Return what sets cost in each class: the sum over the kinds, on as many nodes as one of them needs."""
        total = np.zeros((len(self.classes), len(sets)), np.int64)
        nodes, never = np.zeros_like(total), np.zeros(total.shape, bool)
        for table, pods in zip(tables, (sets @ self.pods).T, strict=True):
            mine = table[:, np.minimum(pods, table.shape[1] - 1)]
            never |= (mine >= NEVER) | (pods >= table.shape[1])
            used = mine % self.values.bases[-1]
            total += np.where(never, 0, mine - used)
            nodes = np.maximum(nodes, used)
        return np.where(never, NEVER, total + nodes)

    def are_exact(self, number: int, at: int) -> bool:
        """Say whether it is known what a set costs in a class."""
        return bool(self._exact[number]) or not self._together[at]

    def learn(self, number: int) -> None:
        """Find out what the sets cost in a class."""
        limits, pods = self.limits[number], self.sets @ self.pods
        table = self.values.table(list(self.classes)[number][0], tuple(limits.tolist()))
        fits = (pods <= limits).all(axis=1) & self.open[number]
        mine = np.where(fits, table[tuple(np.minimum(pods, limits).T)], NEVER)
        self.packed[number] = np.where(self.open[number], mine, self.packed[number])
        self.open[number] &= mine < NEVER
        self._exact[number] = True
        for goal in self.values.goals:
            self._costs.pop(goal, None)

    def _domains_of(self, row: Counts) -> int:
        tiers = {self.problem.needs.counted(self.needs[at].required, ()) for at, count in enumerate(row) if count}
        return len(tiers - {(WHOLE, ())})

    def cost(self, goal: str) -> Array:
        """Return what every set costs in a goal, in each class."""
        if goal not in self._costs:
            name, priority = priority_of(goal, self.problem.needs)
            if goal in self.values.goals:
                mine = self.values.value(self.packed, goal)
            elif name == GANGS:
                mine = self.sets @ np.array([-(need.priority == priority) for need in self.needs], np.int64)
            elif name == LEVELS:
                mine = self.sets @ np.array([len(need.preferences) for need in self.needs], np.int64)
            else:
                mine = self._domains if name == DOMAINS else np.zeros(len(self.sets), np.int64)
            self._costs[goal] = np.broadcast_to(mine, self.packed.shape)
        return self._costs[goal]

    # ------------------------------------------------------------------ solutions

    def sets_of(self, solution: Solution) -> Chosen:
        """Return the sets that domains have in a solution, without those that are not listed."""
        inside: dict[int, Counter[int]] = {}
        for one in solution.instances:
            region = self.problem.inside[self.needs[one.need].required][one.domain][0]
            inside.setdefault(region, Counter())[one.need] += 1
        class_of = {region: at for at, regions in enumerate(self.classes.values()) for region in regions}
        found: Counter[tuple[int, int]] = Counter()
        for region, mine in inside.items():
            row = tuple(mine[at] for at in range(len(self.needs)))
            if row in self.number:
                found[class_of[region], self.number[row]] += 1
        return dict(found)

    def solution(self, chosen: Chosen) -> Solution | None:
        """Return a solution with the sets chosen, on nodes for which a way was found; None if there is none."""
        if self._found is None:
            self._found = self.values if self.problem.closed else self._values(least=False)
        solution = Solution(ordinary=[{} for _ in self.problem.needs.ordinary])
        classes = list(self.classes.items())
        free = {number: iter(regions) for number, (_, regions) in enumerate(classes)}
        for (number, at), times in sorted(chosen.items()):
            cells = classes[number][0][0]
            pods = self._found.pods_on(cells, tuple(int(n) for n in self.sets[at] @ self.pods)) if at else []
            if pods is None:
                return None
            for _ in range(times if at else 0):
                self._put(solution, next(free[number]), self.sets[at], cells, pods)
        return solution

    def _put(self, solution: Solution, region: int, row: Array, cells: Cells, pods: Sequence[Counts]) -> None:
        for at, copies in enumerate(row.tolist()):
            for _ in range(copies):
                need = self.needs[at]
                path = self.problem.domain(need.required, region)
                assert path is not None, "a gang is where its level is"
                groups = [{region: size} if size else {} for size in _sizes(need, full=self.full)]
                solution.instances.append(Instance(at, path, groups))
        names = [node for profile, _ in cells for node in self.problem.cells[region, profile]]
        solution.nodes.update({name: counts for name, counts in zip(names, pods, strict=True) if any(counts)})


def _sizes(need: GangNeed, *, full: bool) -> list[int]:
    return [group.most if full else group.least for group in need.groups]


def _pods(problem: GangProblem, need: GangNeed, *, full: bool) -> list[int]:
    """Return the pods of each kind that a gang has."""
    found = [0] * problem.kinds
    for group, size in zip(need.groups, _sizes(need, full=full), strict=True):
        found[group.kind] += size
    return found
