"""Gangs as columns and domain rows of the master: which gang in which domain, which pods where, what nodes hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from operator import le, mul
from typing import Any

import numpy as np
from msgspec.structs import replace

from dra_lab.model.goals import BEYOND, DOMAINS, GANGS, LEVELS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import MasterModel, rows_of
from dra_lab.planner.gangs.goals import fewest
from dra_lab.planner.gangs.needs import WHOLE, GangNeed, GroupNeed, Path, splits
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance, On
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.places.counting import Counts, one_pod

Factors = dict[int, int]
"""Columns with their factors."""

COST = "cost"
"""The goal that counts what nodes that are added cost."""


class GangModel:
    """The model over what may exist, which bounds what counts pods; nodes hold up to some numbers of pods.

    With `values`, the model over what was found of nodes: they have numbers of pods and what these are worth.
    """

    def __init__(self, problem: GangProblem, solver: str, budget: Budget, *, values: bool = False) -> None:
        """Make the model, or a part of it if the budget is reached; then no solver is asked either."""
        self.problem, self.solver, self.values = problem, solver, values
        self._most: list[int] = []
        self._entries: list[tuple[int, int, int]] = []
        self._limits: list[tuple[float, int]] = []
        self._levels: Any = None
        self._possible = True
        self.gangs: dict[tuple[int, Path], int] = {}
        self.groups: dict[tuple[int, int, Path], int] = {}
        self.pods: dict[tuple[int, int, int], int] = {}
        self.ordinary: dict[tuple[int, int], int] = {}
        self.cells: dict[On, dict[Counts, int]] = {}
        self.costs: dict[str, Factors] = {goal: {} for goal in (*problem.needs.goals, COST)}
        self._taken: dict[tuple[int, int], Factors] = {}
        self._largest: dict[tuple[int, tuple[bool, ...]], tuple[Counts, ...]] = {}
        new = (at for at in problem.cells if at.spot >= 0)
        self.nodes = {at: self._column(len(problem.cells[at]), COST, problem.new.spots[at.spot].cost) for at in new}
        self._add_pods(budget)
        self._add_nodes(budget)
        self._add_domains()

    # ------------------------------------------------------------------ columns and rows

    def _column(self, most: int, goal: str = "", cost: int = 1) -> int:
        """Add a column of 0 to `most`; return its number."""
        self._most.append(most)
        if goal:
            self.costs[goal][len(self._most) - 1] = cost
        return len(self._most) - 1

    def _row(self, factors: Mapping[int, int], limit: int, *, equal: bool = False) -> None:
        left = {column: factor for column, factor in factors.items() if factor}
        if not left and (limit < 0 or (equal and limit)):
            # A row that nothing keeps, in the form that the solver reads.
            left, limit = {self._column(0): 1}, -1
        if left:
            self._entries += [(len(self._limits), column, factor) for column, factor in left.items()]
            self._limits.append((limit if equal else -math.inf, limit))

    def _take(self, region: int, kind: int, column: int, factor: int = 1) -> None:
        self._taken.setdefault((region, kind), {})[column] = factor

    # ------------------------------------------------------------------ gangs and ordinary pods

    def _add_pods(self, budget: Budget) -> None:
        for number, need in enumerate(self.problem.needs.gangs):
            if not budget.reached:
                self._add_gang(number, need)
        for number, (kind, pods) in enumerate(self.problem.needs.ordinary):
            for region, most in enumerate(self.problem.capacity):
                if most[kind]:
                    self.ordinary[number, region] = column = self._column(min(most[kind], pods), UNPLACED, -1)
                    self._take(region, kind, column)
            self._row({v: 1 for (n, _), v in self.ordinary.items() if n == number}, pods)

    def _add_gang(self, number: int, need: GangNeed) -> None:
        problem, goal = self.problem, self.problem.needs.goal
        for path, regions in problem.inside[need.required].items():
            if most := problem.most_gangs(need, regions):
                self.gangs[number, path] = gang = self._column(most, goal(GANGS, need.priority), -1)
                self.costs[goal(BEYOND, need.priority)][gang] = sum(group.least for group in need.groups)
                for at, group in enumerate(need.groups):
                    self._add_group((number, at), group, regions, gang, most)
                for preference in need.preferences:
                    self._add_preference(number, need, preference, regions, gang)
                self._need_nodes(need, regions, gang, most)
        self._row({v: 1 for (n, _), v in self.gangs.items() if n == number}, need.copies)

    def _add_group(self, key: tuple[int, int], group: GroupNeed, inside: Sequence[int], gang: int, most: int) -> None:
        problem, (number, _) = self.problem, key
        tiers = [tier for tier in (group.required, *(tier for _, tier in group.slices)) if tier >= 0]
        able = [region for region in inside if all(problem.keys[region][tier] is not None for tier in tiers)]
        if group.required < 0:
            self._place_group(key, group, able, gang, most)
        else:
            split = {gang: -1}
            for path, regions in problem.parted(able, group.required).items():
                shared = self.groups.get((number, group.same_as, path))
                if group.same_as < 0 or shared is not None:
                    self.groups[*key, path] = here = self._column(most) if shared is None else shared
                    split[here] = 1
                    self._place_group(key, group, regions, here, most)
            self._row(split, 0, equal=True)
        for size, tier in group.slices:
            for regions in problem.parted(able, tier).values():
                pods = [self.pods[*key, region] for region in regions]
                self._row({**dict.fromkeys(pods, 1), self._column(most * group.most // size): -size}, 0, equal=True)

    def _place_group(
        self, key: tuple[int, int], group: GroupNeed, regions: Sequence[int], gang: int, most: int
    ) -> None:
        """Add the pods of a group in regions; `gang` counts the gangs whose group is there, `most` at most."""
        needs = self.problem.needs
        beyond = needs.goal(BEYOND, needs.gangs[key[0]].priority)
        for region in regions:
            cap = min(self.problem.capacity[region][group.kind], most * group.most)
            self.pods[*key, region] = self._column(cap, beyond, -1)
            self._take(region, group.kind, self.pods[*key, region])
        every = [self.pods[*key, region] for region in regions]
        self._row({**dict.fromkeys(every, 1), gang: -group.most}, 0, equal=group.least == group.most)
        if group.least < group.most:
            self._row({**dict.fromkeys(every, -1), gang: group.least}, 0)

    def _add_preference(
        self, number: int, need: GangNeed, preference: tuple[int, tuple[int, ...]], regions: Sequence[int], gang: int
    ) -> None:
        (tier, groups), costs = preference, self.costs[LEVELS]
        if not splits(self.problem.needs.tiers, need, preference):
            costs[gang] = costs.get(gang, 0) + 1
            return
        whole, sizes = sum(need.groups[at].most for at in groups), []
        kinds, every = {need.groups[at].kind for at in groups}, Factors()
        for mine in self.problem.preferred(regions, tier):
            keys = [(number, at, region) for at in groups for region in mine]
            pods = {self.pods[key]: 1 for key in keys if key in self.pods}
            most = min(whole, sum(self.problem.pods_in(mine, kind) for kind in kinds))
            if pods and most:
                used = self._column(1, LEVELS)
                self._row({**pods, used: -most}, 0)
                every[used] = -1
                sizes.append(most)
        # Without this, the relaxation uses parts of domains.
        self._row({**every, gang: fewest(sizes, sum(need.groups[at].least for at in groups))}, 0)

    def _add_domains(self) -> None:
        """Count the domains of required levels that have a gang."""
        inside: dict[tuple[int, Path], list[int]] = {}
        for (number, path), gang in self.gangs.items():
            tier = self.problem.needs.gangs[number].required
            if tier != WHOLE:
                inside.setdefault(self.problem.needs.counted(tier, path), []).append(gang)
        for gangs in inside.values():
            used = self._column(1, DOMAINS)
            for gang in gangs:
                self._row({gang: 1, used: -self._most[gang]}, 0)

    # ------------------------------------------------------------------ nodes

    def _add_nodes(self, budget: Budget) -> None:
        """Let the nodes of each region have its pods, or hold them: those of the cluster, and those that are added."""
        new, inside = self.problem.new, dict[Hashable, list[int]]()
        for at, nodes in self.problem.cells.items():
            if budget.reached:
                return
            self._add_cell(at, len(nodes))
        for at, number in self.nodes.items():
            inside.setdefault(new.spots[at.spot].group, []).append(number)
        limits = {spot.group: spot.limit for spot in new.spots}
        for group, mine in inside.items():
            if (limit := limits[group]) is not None and sum(self._most[nodes] for nodes in mine) > limit:
                self._row(dict.fromkeys(mine, 1), limit)
        for groups, most in new.some_of:
            used = [self._column(1) for _ in groups]
            for column, cells in zip(used, (inside.get(group, []) for group in groups), strict=True):
                for cell in cells:
                    self._row({cell: 1, column: -self._most[cell]}, 0)
            self._row(dict.fromkeys(used, 1), most)
        for factors in self._taken.values():
            self._row(factors, 0, equal=self.values)

    def _add_cell(self, at: On, count: int) -> None:
        profile, mine = self.problem.profiles[at.profile], dict[Counts, int]()
        if not self.values and profile.numbers is None:
            # They are too many to list, so the nodes hold what counting allows.
            single = [self._column(most * count) for most in profile.bound]
            mine = {one_pod(len(single), kind): column for kind, column in enumerate(single)}
            rows = [(dict(zip(single, weights, strict=True)), limit) for weights, limit in profile.limits.rows]
        else:
            numbers = self._found_in(at) if self.values else self._largest_in(at)
            mine = {counts: self._column(count) for counts in numbers}
            rows = [(dict.fromkeys(mine.values(), 1), 1)]
        for counts, column in mine.items():
            for kind, pods in enumerate(counts):
                if pods and (at.region, kind) in self._taken:
                    self._take(at.region, kind, column, -pods)
            values = (*profile.found[counts], 1) if self.values else ()
            for goal, value in zip((*self.problem.device, NODES), values, strict=False):
                self.costs[goal][column] = value
        self.cells[at] = mine
        for factors, limit in rows:
            new = at in self.nodes
            self._row({**factors, self.nodes[at]: -limit} if new else factors, 0 if new else limit * count)

    def _found_in(self, at: On) -> list[Counts]:
        """Return the numbers of pods that may be in a region of which a way was found."""
        never = {kind for kind in range(self.problem.kinds) if (at.region, kind) not in self._taken}
        found = filter(any, self.problem.profiles[at.profile].found)
        return [counts for counts in found if not any(counts[kind] for kind in never)]

    def _largest_in(self, at: On) -> tuple[Counts, ...]:
        """Return the largest numbers of the pods that may be in a region that nodes of a profile hold."""
        asked = tuple((at.region, kind) in self._taken for kind in range(self.problem.kinds))
        if (at.profile, asked) not in self._largest:
            numbers = self.problem.profiles[at.profile].numbers or ()
            self._largest[at.profile, asked] = _largest({tuple(map(mul, counts, asked)) for counts in numbers})
        return self._largest[at.profile, asked]

    def _need_nodes(self, need: GangNeed, regions: Sequence[int], gang: int, most: int) -> None:
        """Add what the relaxation does not see: a further gang in a domain needs whole new nodes."""
        new = [at for region in regions for at in self.problem.cells_of.get(region, ()) if at.spot >= 0]
        for kind, pods in need.least_pods.items() if new else ():
            each = max(self.problem.profiles[at.profile].bound[kind] for at in new)
            free = sum(self.problem.there[region][kind] for region in regions)
            if each and most > free // pods:
                # How many nodes each further gang needs at least, on average over any number of them.
                gangs = range(1, most - free // pods + 1)
                nodes = [-(-(number * pods - free % pods) // each) for number in gangs]
                least, number = min(zip(nodes, gangs, strict=True), key=lambda row: row[0] / row[1])
                self._row({**{self.nodes[at]: -number for at in new}, gang: least}, least * (free // pods))

    # ------------------------------------------------------------------ goals

    @cached_property
    def _master(self) -> MasterModel:
        lower, upper = [row[0] for row in self._limits], [row[1] for row in self._limits]
        rows = rows_of(self._most, np.array(self._entries, float).reshape(-1, 3), lower, upper)
        costs = {goal: np.zeros(len(self._most)) for goal in self.costs}
        for goal, factors in self.costs.items():
            costs[goal][[*factors]] = [*factors.values()]
        return MasterModel(rows, costs, self.problem.needs.wanted)

    def keep(self, goal: str, value: int) -> None:
        """Demand that a goal is not above a value."""
        self._possible = self._master.keep(goal, value) and self._possible

    def minimise(self, goal: str, budget: Budget, have: int | None = None) -> Outcome:
        """Minimise a goal; only the relaxation is solved if it shows that `have` is the best value."""
        if budget.reached or not self._possible:
            return Outcome(None, None, infeasible=not (self._possible or budget.reached))
        bound = 0 if have is None else self._master.bound(goal, budget)
        if have is not None and bound >= have:
            return Outcome(None, bound)
        outcome, self._levels = self._master.minimise(goal, self._levels, self.solver, budget)
        return replace(outcome, bound=max(bound, outcome.bound or 0))

    # ------------------------------------------------------------------ answers

    def _level(self, column: int | None) -> int:
        return 0 if self._levels is None or column is None else int(self._levels[column])

    def added(self) -> dict[On, int]:
        """Return the number of nodes that are added, by cell."""
        return {at: self._level(column) for at, column in self.nodes.items()}

    def read(self) -> GangSolution:
        """Return the solution of a model with values."""
        needs = self.problem.needs
        found = GangSolution(ordinary=[Counter() for _ in needs.ordinary])
        for (number, region), column in self.ordinary.items():
            found.ordinary[number] += Counter({region: self._level(column)})
        for at, mine in self.cells.items():
            names = iter(self.problem.cells[at])
            for counts, column in sorted(mine.items(), key=lambda row: (-sum(row[0]), row[0])):
                found.nodes.update((next(names), counts) for _ in range(self._level(column)))
        for (number, path), column in sorted(self.gangs.items()):
            gangs = self._level(column)
            rows = [list(self._pods_of(number, at, path, gangs)) for at in range(len(needs.gangs[number].groups))]
            found.instances += [Instance(number, path, [row[one] for row in rows]) for one in range(gangs)]
        return found

    def _pods_of(self, number: int, at: int, path: Path, gangs: int) -> Iterator[Counter[int]]:
        """Yield the pods of a group of each of several gangs in a domain; slices end where domains of their levels do.

        All have the minimum, and what is beyond it the first ones.
        """
        problem, need = self.problem, self.problem.needs.gangs[number]
        group, regions = need.groups[at], problem.inside[need.required][path]
        inner = {path: regions} if group.required < 0 else problem.parted(regions, group.required)
        for domain, mine in inner.items():
            here = gangs if group.required < 0 else self._level(self.groups.get((number, at, domain)))
            pods = {region: self._level(self.pods.get((number, at, region))) for region in mine}
            order = sorted(mine, key=lambda one: (*(str(problem.keys[one][tier]) for _, tier in group.slices), one))
            each = iter([region for region in order for _ in range(pods[region])])
            beyond = sum(pods.values()) - here * group.least
            for _ in range(here):
                more = min(beyond, group.most - group.least)
                beyond -= more
                yield Counter(islice(each, group.least + more))


def _largest(every: Iterable[Counts]) -> tuple[Counts, ...]:
    """Return the numbers of pods that no other ones contain."""
    kept: list[Counts] = []
    for counts in sorted(every, key=lambda counts: (-sum(counts), counts)):
        if any(counts) and not any(all(map(le, counts, more)) for more in kept):
            kept.append(counts)
    return tuple(kept)
