"""Sets of gangs, or of slices of gangs, that a region may have, and what each costs in each region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from dra_lab.model.gang import BEYOND, DOMAINS, GANGS, LEVELS
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.goal_values import priority_of
from dra_lab.planner.gangs.needs import WHOLE, GangNeed, Path, splits
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance
from dra_lab.planner.gangs.region_values import NEVER, Cells, Ordinary, RegionValues
from dra_lab.planner.gangs.set_items import REGIONS, Extra, SetItems, Split, is_single, may_be_split
from dra_lab.planner.states.columns import Array

Chosen = dict[tuple[int, int], int]
"""How many regions of a class have which set, by their numbers; and extra columns, as class -1."""


RegionClass = tuple[Cells, tuple[int, ...], tuple[Path | None, ...], bool]


def gang_sets(problem: GangProblem, budget: Budget, *, in_two: bool) -> GangSets | None:
    """Return the sets, None if levels or numbers of pods are such that sets cannot tell, or if there are too many.

    With `in_two`, no gang that prefers a level has pods in more of its domains than it must.
    """
    needs = problem.needs
    if not needs.gangs or not problem.whole or any(profile.least is None for profile in problem.profiles):
        return None
    for need in needs.gangs:
        if any(group.required >= 0 for group in need.groups):
            return None
        single = is_single(problem, need.required)
        if any(splits(needs.tiers, need, one) for one in need.preferences):
            if single or not may_be_split(problem, need):
                return None
            continue
        for group in need.groups:
            if group.slices and (single or len(group.slices) > 1 or not is_single(problem, group.slices[0][1])):
                return None
            if not single and group.least < group.most:
                return None
    sets = GangSets(problem, budget, in_two=in_two)
    return sets if sets.are_listed else None


class GangSets:
    """Classes of domains with identical nodes, sets of gangs, and what each set costs in each class.

    A set has the most pods that fit beyond the minimum, those of a high priority first, and then the least values: this
    is what no way undercuts. `open` says which sets may be where. Sets of several kinds of pods have the sum of what
    each kind has alone, until `learn` finds out more. `compared` are the goals that are compared for each set.
    """

    def __init__(self, problem: GangProblem, budget: Budget, *, in_two: bool) -> None:
        """List the sets and their costs."""
        self.problem = problem
        self.needs = problem.needs.gangs
        self.layout = SetItems(problem, in_two=in_two)
        self.items, self.rows, self.extras = self.layout.items, self.layout.rows, self.layout.extras
        self._least = np.array([item.least for item in self.items], np.int64)
        self._most = np.array([item.most for item in self.items], np.int64)
        self.classes = self._classes()
        self.numbers = np.array([len(regions) for regions in self.classes.values()], np.int64)
        self.ordinary = Ordinary.of(problem)
        self.values = self._values(least=True)
        self.compared = {*self.values.goals, *(goal for goal in problem.order if goal.startswith(BEYOND))}
        self._found: RegionValues | None = None
        self._costs: dict[str, Array] = {}
        self.are_listed = bool(self.classes) and self.values.are_small and self._list_sets(budget)

    def _values(self, *, least: bool) -> RegionValues:
        cells = {cells: None for cells, *_ in self.classes}
        return RegionValues(self.problem, cells, least=least, ordinary=self.ordinary)

    def _classes(self) -> dict[RegionClass, list[int]]:
        """Return regions by the profiles of their nodes, the rows of the items that may be there, and wide domains.

        If a region may be the largest slot, the first one of a class is a class of its own.
        """
        slot = self.problem.needs.slot
        is_region = slot is not None and slot.tier not in self.layout.wide
        found: dict[RegionClass, list[int]] = {}
        for region in dict.fromkeys(region for region, _ in sorted(self.problem.cells)):
            rows = tuple(self.layout.row(at, region) for at in range(len(self.items)))
            domains = tuple(self.problem.domain(tier, region) for tier in self.layout.wide)
            if max(rows, default=-1) >= 0:
                mine = self.problem.profiles_of([region]), rows, domains
                found.setdefault((*mine, is_region and (*mine, True) not in found), []).append(region)
        return found

    def _list_sets(self, budget: Budget) -> bool:
        """List all sets of gangs that a domain may have; say whether they are few enough."""
        copies = self.layout.copies()
        wanted = np.array(copies, np.int64) @ self._most
        regions = [regions[0] for regions in self.classes.values()]
        self.limits = np.minimum(np.array(self.problem.capacity, np.int64)[regions], wanted)
        if (np.prod(self.limits + 1.0, axis=1) > budget.sizes.domain_pods).any():
            return False
        limits = self.limits.max(axis=0)
        tables = [self._alone(kind, int(limit), budget) for kind, limit in enumerate(limits)]
        self.rows_of = np.array([rows for _, rows, *_ in self.classes], np.int64)
        able = self.rows_of >= 0
        zero = (0,) * len(self.items)
        rows, held = [zero], [np.ones(len(self.classes), bool)]
        queue = [(zero, 0, held[0])]
        while queue:
            before, first, holds = queue.pop()
            for at in range(first, len(self.items)):
                if before[at] == copies[at]:
                    continue
                more = (*before[:at], before[at] + 1, *before[at + 1 :])
                pods = np.array(more) @ self._least
                fits = holds & able[:, at]
                for table, count in zip(tables, pods.tolist(), strict=True):
                    fits &= table[:, count] < NEVER if count < table.shape[1] else False
                if not fits.any():
                    continue
                rows.append(more)
                queue.append((more, at, fits))
                if len(rows) * len(self.classes) > budget.sizes.domain_sets or budget.reached:
                    return False
        if budget.reached:
            return False
        self.sets = np.array(rows, np.int64).reshape(len(rows), len(self.items))
        self.number = {row: at for at, row in enumerate(rows)}
        self.at_least, self._at_most = self.sets @ self._least, self.sets @ self._most
        self._sum_up(tables)
        self.packed[~((able[:, None, :] | (self.sets == 0)[None]).all(axis=2))] = NEVER
        self.open = self.packed < NEVER
        self._exact = np.zeros(self.packed.shape, bool)
        closed = [self._is_closed(cells) for cells, *_ in self.classes]
        self._exact[np.array(closed, bool)] = (self._at_most > 0).sum(axis=1) <= 1
        self._domains = np.array([self._domains_of(row) for row in rows], np.int64)
        self._link()
        return True

    def _link(self) -> None:
        """Note what sets are in rows of their items, and in rows of domains that are used."""
        links = np.array(self.layout.link(self.classes.values()), np.int64)
        self.rows_of = np.concatenate([self.rows_of, links], axis=1)
        signs = np.array([1 if item.need >= 0 else -1 for item in self.items], np.int64)
        tiers = np.array([item.tiers[0] for item in self.items], np.int64)
        uses = [(self.sets[:, tiers == tier] > 0).any(axis=1, keepdims=True) for tier in self.layout.wide]
        self.factors = np.concatenate([self.sets * signs, *uses], axis=1)

    def _alone(self, kind: int, limit: int, budget: Budget) -> Array:
        """Return for each class the packed values of all numbers of pods of one kind; without time, of none."""
        limits = tuple(limit if kind == other else 0 for other in range(self.problem.kinds))
        found = np.full((len(self.classes), limit + 1), NEVER, np.int64)
        for number, (cells, *_) in enumerate(self.classes):
            if not budget.reached:
                found[number] = self.values.table(cells, limits).ravel()
        return found

    def _sum_up(self, tables: Sequence[Array]) -> None:
        """Note the pods of sets and what they cost: the sum over the kinds, on as many nodes as one of them needs."""
        self.pods = np.zeros((len(self.classes), *self.at_least.shape), np.int64)
        total = np.zeros(self.pods.shape[:2], np.int64)
        nodes, never = np.zeros_like(total), np.zeros(total.shape, bool)
        for kind, table in enumerate(tables):
            # The most pods that fit, up to some number; without any, none fit.
            fitting = np.maximum.accumulate(np.where(table < NEVER, np.arange(table.shape[1]), 0), axis=1)
            pods = fitting[:, np.minimum(self._at_most[:, kind], table.shape[1] - 1)]
            never |= pods < self.at_least[:, kind]
            mine = np.take_along_axis(table, pods, axis=1)
            used = mine % self.values.bases[-1]
            total += mine - used
            nodes = np.maximum(nodes, used)
            self.pods[:, :, kind] = pods
        self.packed = np.where(never, NEVER, total + nodes)

    def _is_closed(self, cells: Cells) -> bool:
        return all(self.problem.profiles[profile].closed for profile, _ in cells)

    def are_exact(self, number: int, at: int) -> bool:
        """Say whether it is known what a set costs in a class, as far as it can be."""
        return bool(self._exact[number, at])

    def learn(self, number: int, sets: Sequence[int], budget: Budget) -> None:
        """Find out what some sets cost in a class: decide the numbers of pods that they rest on."""
        cells, limits = list(self.classes)[number][0], self.limits[number]
        # Tables for these sets alone are smaller than those for all sets.
        most = np.minimum(limits, self._at_most[list(sets)].max(axis=0))
        tables = self.values.tables(cells, tuple(most.tolist()))
        while sum(self._decide(cells, tables, most, at, budget) for at in sets):
            tables = self.values.tables(cells, tuple(most.tolist()))
        tables = self.values.tables(cells, tuple(limits.tolist()))
        for at in np.flatnonzero(self.open[number] & (self._at_most > 0).any(axis=1)).tolist():
            pods = self._best_pods(tables[-1], limits, at)
            self.open[number, at] = pods is not None
            if pods is not None:
                self.packed[number, at] = tables[-1][pods]
                self.pods[number, at] = pods
        self._exact[number, slice(None) if self._is_closed(cells) else list(sets)] = True
        for goal in self.compared & self._costs.keys():
            self._costs[goal][number] = self._compared(goal, number)

    def _decide(self, cells: Cells, tables: Sequence[Array], limits: Array, at: int, budget: Budget) -> int:
        """Decide the numbers of pods of each node that a set rests on; return how many there were."""
        pods = self._best_pods(tables[-1], limits, at)
        ways = None if pods is None else self.values.pods_on(cells, pods, tables)
        profiles = (profile for profile, nodes in cells for _ in range(nodes))
        rests = dict.fromkeys((at, counts) for at, (*_, counts) in zip(profiles, ways or (), strict=False))
        return sum(self.problem.decide(at, counts, budget) for at, counts in rests)

    def _best_pods(self, table: Array, limits: Array, at: int) -> Counts | None:
        """Return the pods of a set: most beyond the minimum, by priority, then the least values; None if none fit."""
        least, most = self.at_least[at], np.minimum(self._at_most[at], limits)
        if (least > limits).any():
            return None
        if (least == most).all():
            return tuple(least.tolist()) if table[tuple(least)] < NEVER else None
        part = table[tuple(slice(low, high + 1) for low, high in zip(least, most, strict=True))]
        pods = np.argwhere(part < NEVER) + least
        for goal in self.problem.order if len(pods) else ():
            if goal.startswith(BEYOND):
                more = self._beyond(goal, pods - least, self.sets[at])
                pods = pods[more == more.max()]
        return min((tuple(row) for row in pods.tolist()), key=lambda row: int(table[row]), default=None)

    def _beyond(self, goal: str, more: Array, sets: Array) -> Array:
        """Return how many pods beyond the minimum are those of a priority, if the higher ones have them first."""
        _, priority = priority_of(goal, self.problem.needs)
        ranges = self._most - self._least
        # Slices have no pods beyond the minimum; which priority they are given does not matter.
        mine = np.array([[self.needs[item.need].priority] for item in self.items])
        first, mine = (sets @ np.where(chosen, ranges, 0) for chosen in (mine > priority, mine == priority))
        return np.clip(more - first, 0, mine).sum(axis=-1)

    def _domains_of(self, row: Counts) -> int:
        # The domains of gangs that may be in several regions are counted by extra columns.
        mine = (item for item, count in zip(self.items, row, strict=True) if count and item.need >= 0)
        used = (item for item in mine if item.need not in self.layout.splits)
        return len({self.problem.needs.counted(item.tiers[0], ()) for item in used} - {(WHOLE, ())})

    def cost(self, goal: str) -> Array:
        """Return what every set costs in a goal, in each class."""
        if goal not in self._costs:
            name, priority = priority_of(goal, self.problem.needs)
            if goal in self.compared:
                mine = self._compared(goal, slice(None))
            elif name == GANGS:
                mine = self.sets @ self._by_item(lambda need: -(need.priority == priority))
            elif name in (LEVELS, REGIONS):
                mine = self.sets @ self._by_item(lambda need: len(need.preferences))
                parts = [item.preferred for item in self.items] if name == REGIONS else []
                mine = mine + (self.sets[:, parts] > 0).sum(axis=1) if any(parts) else mine
            else:
                mine = self._domains if name == DOMAINS else np.zeros(len(self.sets), np.int64)
            self._costs[goal] = mine if mine.ndim > 1 else np.broadcast_to(mine, self.packed.shape)
        return self._costs[goal]

    def _compared(self, goal: str, classes: int | slice) -> Array:
        """Return what every set costs in some classes, in a goal that is compared."""
        if goal in self.values.goals:
            return self.values.value(self.packed[classes], goal)
        return -self._beyond(goal, self.pods[classes] - self.at_least, self.sets)

    def _by_item(self, value: Callable[[GangNeed], int]) -> Array:
        return np.array([value(self.needs[item.need]) if item.need >= 0 else 0 for item in self.items], np.int64)

    # ------------------------------------------------------------------ solutions

    def chosen(self, solution: GangSolution) -> Chosen:
        """Return the sets and extra columns of a solution, without the sets that are not listed."""
        inside: dict[int, Counter[int]] = {}
        in_domains: Counter[tuple[int, tuple[int, Path], Split]] = Counter()
        item_of = {item.need: at for at, item in enumerate(self.items)}
        for one in solution.instances:
            need = self.layout.first[one.need]
            tier = self.needs[need].required
            regions = {region for row in one.groups for region, pods in row.items() if pods}
            if need in self.layout.splits:
                in_domains[-1, self.problem.needs.counted(tier, one.domain), ()] = 1
            if need not in self.layout.splits or (need in item_of and len(regions) == 1):
                inside.setdefault(regions.pop(), Counter())[item_of[need]] += 1
                continue
            split = []
            for at, pods_of_group in enumerate(one.groups):
                parts = Counter[int]()
                for region, item, count in self._parts(need, at, pods_of_group):
                    inside.setdefault(region, Counter())[item] += count
                    parts[item] += count
                split.append(tuple(sorted(parts.items())))
            in_domains[need, (tier, one.domain), tuple(split)] += 1
        class_of = {region: at for at, regions in enumerate(self.classes.values()) for region in regions}
        found: Counter[tuple[int, int]] = Counter()
        for region, mine in inside.items():
            row = tuple(mine[at] for at in range(len(self.items)))
            if row in self.number:
                found[class_of[region], self.number[row]] += 1
        found.update({(-1, at): in_domains[one.need, one.domain, one.split] for at, one in enumerate(self.extras)})
        return {key: count for key, count in found.items() if count}

    def _parts(self, need: int, group: int, pods: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield the parts of a group by region: the item, and how many of it."""
        items = {item for split in self.layout.splits[need] for item, _ in split[group]}
        sizes = {max(self.items[item].least): item for item in items}
        for region, count in pods.items():
            size = count if count in sizes else min(sizes)
            if count:
                yield region, sizes[size], count // size

    def solution(self, chosen: Chosen) -> GangSolution | None:
        """Return a solution with the sets chosen, on nodes for which a way was found; None if there is none."""
        self._found = self._found or self._values(least=False)
        solution = GangSolution(ordinary=[{} for _ in self.problem.needs.ordinary])
        slices: dict[tuple[int, Path], list[int]] = {}
        classes = list(self.classes.items())
        free = {number: iter(regions) for number, (_, regions) in enumerate(classes)}
        for (number, at), times in sorted(chosen.items()):
            if number < 0 or not at:
                continue
            cells = classes[number][0][0]
            counts = self.pods[number, at].tolist()
            pods = self._found.pods_on(cells, tuple(counts))
            if pods is None:
                return None
            for region in islice(free[number], times):
                solution.instances += self._instances(region, at, counts)
                for item, path, count in self._slices(region, at):
                    slices.setdefault((item, path), []).extend([region] * count)
                names = [node for profile, _ in cells for node in self.problem.cells[region, profile]]
                solution.nodes.update({name: mine for name, (mine, *_) in zip(names, pods, strict=True) if any(mine)})
        for at, extra in enumerate(self.extras):
            for _ in range(chosen.get((-1, at), 0) if extra.need >= 0 else 0):
                solution.instances.append(self._in_domain(extra, slices))
        members = {first: iter(mine) for first, mine in self.layout.members.items()}
        for one in solution.instances:
            one.need = next(members[one.need])
        return solution

    def _slices(self, region: int, at: int) -> Iterator[tuple[int, Path, int]]:
        """Yield the slices of a set, each with the domain of its gang and their number."""
        for number, (item, count) in enumerate(zip(self.items, self.sets[at].tolist(), strict=True)):
            path = self.problem.domain(item.tiers[0], region)
            if count and item.need < 0 and path is not None:
                yield number, path, count

    def _in_domain(self, extra: Extra, slices: Mapping[tuple[int, Path], list[int]]) -> Instance:
        """Return a gang with parts in its domain, which are taken away."""
        groups: list[dict[int, int]] = []
        for parts in extra.split:
            row = Counter[int]()
            for item, count in parts:
                for _ in range(count):
                    row[slices[item, extra.domain[1]].pop()] += max(self.items[item].least)
            groups.append(dict(row))
        return Instance(extra.need, extra.domain[1], groups)

    def _instances(self, region: int, at: int, counts: Sequence[int]) -> Iterator[Instance]:
        """Yield the gangs of a set with their pods; the first ones have most beyond their minimum."""
        more = [have - least for have, least in zip(counts, self.at_least[at].tolist(), strict=True)]
        for item, copies in zip(self.items, self.sets[at].tolist(), strict=True):
            for _ in range(copies if item.need >= 0 else 0):
                need = self.needs[item.need]
                path = self.problem.domain(need.required, region)
                assert path is not None, "a gang is where its level is"
                groups: list[dict[int, int]] = []
                for group in need.groups:
                    beyond = min(more[group.kind], group.most - group.least)
                    more[group.kind] -= beyond
                    groups.append({region: group.least + beyond} if group.least + beyond else {})
                yield Instance(item.need, path, groups)
