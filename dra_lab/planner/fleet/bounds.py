"""From tables to the master and back: the best of what was found, and the best that could still exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.master import GoalBound, Master, Mastered
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.shared_devices import SharedNodes
from dra_lab.planner.fleet.site_classes import Chosen, HomeNodes, SiteClass
from dra_lab.planner.fleet.tables import Table
from dra_lab.planner.node.solver_outcome import agreed

Start = Callable[[], Iterable[tuple[Table, str, Counts]]]
"""Yields the table, member and numbers of pods of each node of a plan."""


@dataclass
class ClassedSites:
    """Site classes with the tables that each stands for, and the nodes whose leaves are their members.

    `shared` are the nodes beside them that share devices.
    """

    classes: list[SiteClass] = field(default_factory=list)
    tables: list[list[Table]] = field(default_factory=list)
    shared: tuple[SharedNodes, ...] = ()

    @cached_property
    def home_nodes(self) -> list[HomeNodes]:
        """Return equal nodes together, by name, of all members that are leaves; those of loose classes are not."""
        nodes: dict[str, Counter[int]] = {}
        for number, (site_class, tables) in enumerate(zip(self.classes, self.tables, strict=True)):
            leaves = tables if 0 < site_class.each < 1 else []
            for node in (node for table in leaves for node in table.site.home_nodes.values()):
                nodes.setdefault(node, Counter())[number] += 1
        identical: dict[tuple[tuple[int, int], ...], list[str]] = {}
        for node, classes in nodes.items():
            identical.setdefault(tuple(sorted(classes.items())), []).append(node)
        return [HomeNodes(tuple(sorted(names)), dict(key)) for key, names in identical.items()]

    def placed(self, chosen: Chosen) -> Iterator[tuple[Table, str, Counts]]:
        """Yield who takes what in a solution, most replicas first; of leaves, those on nodes that are used."""
        used = {node for home, n in zip(self.home_nodes, chosen.home_nodes, strict=True) for node in home.nodes[:n]}
        for site_class, taken, tables in zip(self.classes, chosen.patterns, self.tables, strict=True):
            able = (
                (table, member)
                for table in tables
                for member in table.site.members
                if site_class.each == 1 or table.site.home_nodes[member] in used
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
            used.add(table.site.home_nodes.get(member, member))
            site_class, taken = self.classes[at], patterns[at]
            for pattern, times in _ones(counts) if site_class.rows else ((counts, 1),):
                if pattern in site_class.patterns:
                    taken[pattern] = taken.get(pattern, 0) + times
        return Chosen(patterns, [len(used.intersection(home.nodes)) for home in self.home_nodes])


def _classed(tables: Iterable[Table], patterns_of: Callable[[Table], Mapping[Counts, Values]]) -> ClassedSites:
    """Return the patterns of tables; sites with the same ones are one site class."""
    identical: dict[object, tuple[Mapping[Counts, Values], list[Table]]] = {}
    leaves = Counter[str]()
    for table in tables:
        patterns = patterns_of(table)
        key = frozenset(patterns.items()), bool(table.site.home_nodes)
        identical.setdefault(key, (patterns, []))[1].append(table)
        leaves.update(table.site.home_nodes.values())
    most = max(leaves.values(), default=1)
    classed = ClassedSites()
    for patterns, mine in identical.values():
        each = 1 / most if mine[0].site.home_nodes else 1
        classed.classes.append(SiteClass(sum(table.site.count for table in mine), dict(patterns), each))
        classed.tables.append(mine)
    return classed


def least_classes(tables: Sequence[Table], budget: Budget) -> ClassedSites | None:
    """Return every pattern that may exist, with values that it cannot undercut.

    If a site has too many patterns to list, single replicas are returned, as many as counting allows. Nothing is
    returned if time ends before.
    """
    listed: dict[int, Mapping[Counts, Values]] = {}
    for at, table in enumerate(tables):
        if budget.reached:
            return None
        least = table.least()
        if least is not None:
            listed[at] = least
    number = {id(table): at for at, table in enumerate(tables)}
    classed = _classed([tables[at] for at in listed], lambda table: listed[number[id(table)]])
    for table in (table for at, table in enumerate(tables) if at not in listed):
        ones = [tuple(int(other == at) for other in range(len(table.caps))) for at, cap in enumerate(table.caps) if cap]
        patterns = {one: values for one in ones if (values := table.lower(one)) is not None}
        if patterns:
            classed.classes.append(SiteClass(table.site.count, patterns, 0, table.rows))
            classed.tables.append([table])
    return classed


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
    classed = replace(_classed(tables, lambda table: table.found()), shared=tuple(shared))
    worth = tuple(worth) or (1,) * len(demand)
    master = Master(classed.classes, demand, order, solver, classed.home_nodes, classed.shared, worth)
    part = budget if closed else budget.part(budget.shares.step)
    begin = master.filled(None if start is None else classed.again(start()), part)
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
    master = Master(classed.classes, demand, order, solver, classed.home_nodes, classed.shared, worth)
    values = answer.values
    known = None
    if answer.chosen is not None:
        known = classed.again(answer.classed.placed(answer.chosen))
        known.shared = answer.chosen.shared
    start = master.filled(known, budget)
    least = master.run(start, budget, whole=False, all_placed=all_placed, stop_at=values)
    answer.least, answer.least_classed = least, classed
    answer.infeasible = least.infeasible
    given = tables, classed.classes, demand, worth, answer, budget
    floors = [0] * len(values) if classed.shared else _floors(*given)
    goals, sure = [], True
    for at, goal in enumerate(answer.goals):
        bound = floors[at]
        # Values that no way undercuts compare as goals do: behind a goal that is not proven they bound nothing.
        if sure:
            bound = max([bound, *(known.bound or 0 for known in least.goals[at : at + 1])])
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
    several = any(site_class.each < 1 for site_class in classes) or not most
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
