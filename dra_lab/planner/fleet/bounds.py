"""From tables to the master and back: the best of what was found, and the best that could still exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.master import GoalBound, Master, Mastered
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.shared_devices import SharedNodes
from dra_lab.planner.fleet.site_classes import Chosen, HomeNodes, SiteClass, home_nodes_of
from dra_lab.planner.fleet.starts import best_start
from dra_lab.planner.fleet.tables import Table
from dra_lab.planner.node.solver_outcome import agreed

_Patterns = tuple[frozenset[tuple[Counts, Values]], bool]
"""Patterns with their values, and whether they are those of components."""

_Identical = dict[_Patterns, tuple[Mapping[Counts, Values], list[Table]]]
"""The tables with the same patterns, and these in the order of the first table."""


Start = Callable[[], Iterable[tuple[Table, str, Counts]]]
"""Yields the table, member and numbers of pods of each node of a plan."""


@dataclass
class ClassedSites:
    """Site classes with the tables that each stands for, and the nodes of which several members are parts.

    `shared` are the nodes beside them that are planned at once.
    """

    classes: list[SiteClass] = field(default_factory=list)
    tables: list[list[Table]] = field(default_factory=list)
    home_nodes: tuple[HomeNodes, ...] = ()
    shared: tuple[SharedNodes, ...] = ()

    def find_home_nodes(self) -> None:
        """Put together the nodes whose components are members, and those that take many patterns at once."""
        self.home_nodes = home_nodes_of(
            (table.site.home_nodes.get(member, member), number)
            for number, (site_class, tables) in enumerate(zip(self.classes, self.tables, strict=True))
            for table in tables
            if site_class.rows or table.site.home_nodes
            for member in table.site.members
        )

    def placed(self, chosen: Chosen) -> Iterator[tuple[Table, str, Counts]]:
        """Yield who takes what in a solution, most replicas first; of components, those on nodes that are used."""
        used = {node for home, n in zip(self.home_nodes, chosen.home_nodes, strict=True) for node in home.nodes[:n]}
        for taken, tables in zip(chosen.patterns, self.tables, strict=True):
            able = (
                (table, member)
                for table in tables
                for member in table.site.members
                if not table.site.home_nodes or table.site.home_nodes[member] in used
            )
            for counts, times in sorted(taken.items(), key=lambda row: (-sum(row[0]), row[0])):
                for table, member in islice(able, times):
                    yield table, member, counts

    def again(self, placed: Iterable[tuple[Table, str, Counts]]) -> Chosen:
        """Return the solution in which the same members take the same, as far as these site classes know it."""
        number = {id(table): at for at, tables in enumerate(self.tables) for table in tables}
        patterns: list[dict[Counts, int]] = [{} for _ in self.classes]
        used: set[str] = set()
        for table, member, counts in placed:
            at = number.get(id(table))
            if at is None:
                continue
            site_class, taken = self.classes[at], patterns[at]
            for pattern, times in _ones(counts) if site_class.rows else ((counts, 1),):
                if pattern in site_class.patterns:
                    taken[pattern] = taken.get(pattern, 0) + times
                    used.add(table.site.home_nodes.get(member, member))
        return Chosen(patterns, [len(used.intersection(home.nodes)) for home in self.home_nodes])


def found_classes(tables: Sequence[Table]) -> ClassedSites:
    """Return the patterns for which a way was found; sites with the same ones are one site class."""
    identical: _Identical = {}
    for table in tables:
        _add(identical, table, table.found())
    return _classed(identical)


def least_classes(tables: Sequence[Table], budget: Budget) -> ClassedSites | None:
    """Return every pattern that may exist, with values that it cannot undercut.

    If a site has too many patterns to list, single replicas are returned, as many as counting allows. Nothing is
    returned if time ends before.
    """
    identical: _Identical = {}
    singles = ClassedSites()
    for table in tables:
        if budget.reached:
            return None
        least = table.least()
        if least is None:
            _add_singles(singles, table)
        else:
            _add(identical, table, least)
    classed = _classed(identical)
    whole = ClassedSites(classed.classes + singles.classes, classed.tables + singles.tables)
    whole.find_home_nodes()
    return whole


def _add(identical: _Identical, table: Table, patterns: Mapping[Counts, Values]) -> None:
    key = frozenset(patterns.items()), bool(table.site.home_nodes)
    identical.setdefault(key, (patterns, []))[1].append(table)


def _classed(identical: _Identical) -> ClassedSites:
    classed = ClassedSites()
    for (_, components), (patterns, tables) in identical.items():
        count = sum(table.site.count for table in tables)
        classed.classes.append(SiteClass(count, dict(patterns), 0 if components else 1))
        classed.tables.append(tables)
    classed.find_home_nodes()
    return classed


def _add_singles(classed: ClassedSites, known: Table) -> None:
    caps = known.caps
    ones = [tuple(int(position == at) for position in range(len(caps))) for at in range(len(caps))]
    lower = {one: known.lower(one) for one, cap in zip(ones, caps, strict=True) if cap}
    patterns = {one: values for one, values in lower.items() if values is not None}
    if patterns:
        classed.classes.append(SiteClass(known.site.count, patterns, 0, known.rows))
        classed.tables.append([known])


def _ones(counts: Counts) -> Iterator[tuple[Counts, int]]:
    """Yield single replicas with how many there are of each."""
    for at, count in enumerate(counts):
        if count:
            yield tuple(int(position == at) for position in range(len(counts))), count


@dataclass
class Answer:
    """The best plan known and what is proven of it; `goals` covers all of them, in order.

    `not_examined` is the number of nodes that were not examined before time was over.
    """

    goals: tuple[GoalBound, ...] = ()
    chosen: Chosen | None = None
    classed: ClassedSites = field(default_factory=ClassedSites)
    infeasible: bool = False
    least: Mastered | None = None
    least_classed: ClassedSites = field(default_factory=ClassedSites)
    not_examined: int = 0

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven."""
        return bool(self.goals) and all(goal.proven for goal in self.goals)

    @property
    def values(self) -> tuple[int, ...]:
        """Return the values of the goals, most important first."""
        return tuple(goal.value for goal in self.goals)


def best_answer(
    tables: Sequence[Table],
    demand: Sequence[int],
    order: Sequence[str],
    budget: Budget,
    solver: str,
    *,
    all_placed: bool = False,
    closed: bool = False,
    shared: Sequence[SharedNodes] = (),
    start: Start | None = None,
    worth: Sequence[int] = (),
) -> Answer:
    """Solve the master over what was found; where not all is known (`closed`), hold it against what may exist.

    `shared` are planned at once with what stands in the tables. `start` yields a plan that is known.
    """
    classed = replace(found_classes(tables), shared=tuple(shared))
    worth = tuple(worth) or (1,) * len(demand)
    master = _master(classed, demand, order, solver, worth)
    part = budget if closed else budget.part(budget.shares.step)
    given = None if start is None else classed.again(start())
    begin = best_start(master, given, part, all_placed=all_placed)
    found = master.run(begin, part, all_placed=all_placed, reports=True)
    goals = found.goals
    if len(goals) < len(order) and found.chosen is not None:
        goals = [*goals, *(GoalBound(g, master.value(g, found.chosen), None) for g in order[len(goals) :])]
    answer = Answer(tuple(goals), found.chosen, classed, found.infeasible and closed)
    if not closed:
        return _checked_against(answer, tables, demand, budget, solver, tuple(order), worth, all_placed=all_placed)
    if any(goal.bound is None for goal in goals) and not shared:
        floors = _floors(tables, classed.classes, demand, worth, answer, budget)
        answer.goals = tuple(
            replace(goal, bound=agreed(max(floor, goal.bound or 0), goal.value))
            for goal, floor in zip(goals, floors, strict=True)
        )
    return answer


def _master(
    classed: ClassedSites, demand: Sequence[int], order: Sequence[str], solver: str, worth: Sequence[int]
) -> Master:
    return Master(classed.classes, demand, order, solver, classed.home_nodes, classed.shared, worth)


def _checked_against(
    answer: Answer,
    tables: Sequence[Table],
    demand: Sequence[int],
    budget: Budget,
    solver: str,
    order: tuple[str, ...],
    worth: Sequence[int],
    *,
    all_placed: bool,
) -> Answer:
    """Replace the bounds by those of what may exist, goal by goal, as long as the goals before are proven."""
    classed = least_classes(tables, budget)
    if classed is None:
        # Time is over.
        floors = [0] * len(answer.goals)
        answer.goals = tuple(
            replace(goal, bound=agreed(floor, goal.value)) for goal, floor in zip(answer.goals, floors, strict=True)
        )
        return answer
    classed = replace(classed, shared=answer.classed.shared)
    master = _master(classed, demand, order, solver, worth)
    values = answer.values
    known = None if answer.chosen is None else classed.again(answer.classed.placed(answer.chosen))
    if known is not None and answer.chosen is not None:
        known.shared = answer.chosen.shared
    start = best_start(master, known, budget, all_placed=all_placed)
    least = master.run(start, budget, whole=False, all_placed=all_placed, stop_at=values)
    answer.least, answer.least_classed = least, classed
    answer.infeasible = least.infeasible
    given = tables, classed.classes, demand, worth, answer, budget
    floors = [0] * len(values) if classed.shared else _floors(*given)
    kept = _master(classed, demand, order, solver, worth).bounds(values, budget)
    goals, sure = [], True
    for at, goal in enumerate(answer.goals):
        bound = floors[at]
        # Values that no way undercuts compare as goals do: behind a goal that is not proven they bound nothing.
        if sure:
            bound = max(bound, *kept[at : at + 1], *(known.bound or 0 for known in least.goals[at : at + 1]))
        goals.append(GoalBound(goal.goal, goal.value, agreed(bound, goal.value)))
        sure = sure and goals[-1].proven
    answer.goals = tuple(goals)
    return answer


def _floors(
    tables: Sequence[Table],
    classes: Sequence[SiteClass],
    demand: Sequence[int],
    worth: Sequence[int],
    answer: Answer,
    budget: Budget,
) -> list[int]:
    """Return, goal by goal, what no plan undercuts that places as many replicas as the one found.

    Every replica has at least the value that no way of its workload undercuts anywhere, goal by goal. No node has more
    replicas than the one with most. So the bound holds whichever replicas are placed.
    """
    order = tuple(goal.goal for goal in answer.goals)
    if not order:
        return []
    device = device_goals(order)
    missing = next((goal.value for goal in answer.goals if goal.goal == UNPLACED), sum(demand))
    cheapest = np.full((len(demand), len(device)), np.inf)
    known: set[tuple[int, Values | None]] = set()
    for table in tables:
        if budget.reached:
            return [0] * len(order)
        known.update(enumerate(table.floors()))
    for floors in known:
        if floors[1] is not None:
            cheapest[floors[0]] = np.minimum(cheapest[floors[0]], floors[1])
    able = [at for at in range(len(demand)) if np.isfinite(cheapest[at]).all()]
    most = max((sum(counts) for site_class in classes for counts in site_class.patterns), default=0)
    several = any(not site_class.each for site_class in classes) or not most
    found = []
    for goal in order:
        if goal == NODES:
            found.append(0 if several else -(-(sum(demand) - missing) // most))
        elif goal == UNPLACED:
            found.append(sum(demand[at] * worth[at] for at in range(len(demand)) if at not in able))
        else:
            rows = sorted((cheapest[at][device.index(goal)], demand[at]) for at in able)
            found.append(_sum_of_least(rows, sum(demand) - missing))
    return found


def _sum_of_least(rows: Sequence[tuple[float, int]], placed: int) -> int:
    """Return the least sum of some numbers, each given with how often it occurs."""
    total = 0
    for value, count in rows:
        total += int(value) * min(count, placed)
        placed -= min(count, placed)
    return total
