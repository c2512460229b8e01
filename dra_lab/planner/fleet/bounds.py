"""From tables to the master and back: the best of what was found, and the best that could still exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from operator import ge

from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_state import ByState
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.master import GoalBound, Master, Mastered
from dra_lab.planner.fleet.master_model import Chosen, HomeNodes, SiteClass
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.question import Work
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
    shared: tuple[ByState, ...] = ()

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
        known: dict[int, list[int]] = {}
        for at, table in ((at, table) for at, tables in enumerate(self.tables) for table in tables):
            known.setdefault(id(table), []).append(at)
        patterns: list[dict[Counts, int]] = [{} for _ in self.classes]
        used: set[str] = set()
        for table, member, counts in placed:
            used.add(table.site.home_nodes.get(member, member))
            for at in known.get(id(table), ()):
                # A class without nodes has single replicas of one workload.
                for pattern, times in ((counts, 1),) if self.classes[at].each else _ones(counts):
                    if pattern in self.classes[at].patterns:
                        patterns[at][pattern] = patterns[at].get(pattern, 0) + times
        return Chosen(patterns, [len(used.intersection(home.nodes)) for home in self.home_nodes])


def _classed(
    tables: Iterable[Table], patterns_of: Callable[[Table], Mapping[Counts, Values]], *, least: bool = False
) -> ClassedSites:
    """Return the patterns of tables; sites with the same ones are one site class, sets of nodes are one each.

    `least` asks for the least nodes of a pattern, not for those that were found.
    """
    identical: dict[object, tuple[Mapping[Counts, Values], list[Table]]] = {}
    leaves = Counter[str]()
    for table in tables:
        patterns = patterns_of(table)
        key = id(table) if table.site.nodes else (frozenset(patterns.items()), bool(table.site.home_nodes))
        identical.setdefault(key, (patterns, []))[1].append(table)
        leaves.update(table.site.home_nodes.values())
    most = max(leaves.values(), default=1)
    classed = ClassedSites()
    for patterns, mine in identical.values():
        each = 1 / most if mine[0].site.home_nodes else 1
        nodes = {counts: mine[0].nodes(counts)[least] for counts in patterns} if mine[0].site.nodes else {}
        classed.classes.append(SiteClass(sum(table.site.count for table in mine), dict(patterns), each, nodes))
        classed.tables.append(mine)
    return classed


def least_classes(tables: Sequence[Table], budget: Budget) -> ClassedSites | None:
    """Return every pattern that may exist, with values that it cannot undercut.

    If a site has too many patterns to list, single replicas are returned, as many as counting allows of each workload.
    Nothing is returned if time ends before.
    """
    listed: dict[int, Mapping[Counts, Values]] = {}
    for at, table in enumerate(tables):
        if budget.reached:
            return None
        least = table.least()
        if least is not None:
            listed[at] = least
    number = {id(table): at for at, table in enumerate(tables)}
    classed = _classed([tables[at] for at in listed], lambda table: listed[number[id(table)]], least=True)
    for table in (table for at, table in enumerate(tables) if at not in listed):
        for pod, cap in enumerate(table.caps):
            one = tuple(int(other == pod) for other in range(len(table.caps)))
            values = table.lower(one) if cap else None
            if values is not None:
                classed.classes.append(SiteClass(cap * table.site.count, {one: values}, 0))
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
    work: Work,
    tables: Sequence[Table],
    shared: Sequence[ByState],
    *,
    closed: bool,
    start: Start | None,
) -> Answer:
    """Solve the master over what was found; where not all is known (`closed`), hold it against what may exist.

    `shared` are planned at once with what stands in the tables. `start` yields a plan that is known.
    """
    question, budget = work.question, work.budget
    classed = replace(_classed(tables, lambda table: table.found()), shared=tuple(shared))
    master = _master(work, classed)
    part = budget if closed else budget.part(budget.shares.step)
    begin = master.filled(None if start is None else classed.again(start()), part)
    found = master.run(begin, part, all_placed=question.all_placed)
    goals = list(found.goals)
    if found.chosen is not None:
        goals += [GoalBound(goal, master.value(goal, found.chosen), None) for goal in question.order[len(goals) :]]
    answer = Answer(tuple(goals), found.chosen, classed, found.infeasible and closed)
    bounds = [goal.bound or 0 for goal in goals]
    if not closed:
        bounds = _least_bounds(work, answer, tables)
    if not shared and not all(map(ge, bounds, answer.values)):
        bounds = list(map(max, bounds, _floors(work, tables, answer)))
    answer.goals = tuple(
        replace(goal, bound=agreed(bound, goal.value)) for goal, bound in zip(goals, bounds, strict=True)
    )
    return answer


def _master(work: Work, classed: ClassedSites) -> Master:
    question = work.question
    given = question.demand, question.order, work.solver, classed.home_nodes, classed.shared, question.worths
    return Master(classed.classes, *given)


def _least_bounds(work: Work, answer: Answer, tables: Sequence[Table]) -> list[int]:
    """Return bounds over what may exist, goal by goal, as long as the goals before are proven; 0 for the others."""
    bounds = [0] * len(answer.goals)
    classed = least_classes(tables, work.budget)
    if classed is None:
        return bounds
    classed = replace(classed, shared=answer.classed.shared)
    known = None
    if answer.chosen is not None:
        known = replace(classed.again(answer.classed.placed(answer.chosen)), shared=answer.chosen.shared)
    master = _master(work, classed)
    start, all_placed = master.filled(known, work.budget), work.question.all_placed
    least = master.run(start, work.budget, all_placed=all_placed, stop_at=answer.values)
    answer.least, answer.least_classed, answer.infeasible = least, classed, least.infeasible
    for at, (goal, found) in enumerate(zip(answer.goals, least.goals, strict=False)):
        bounds[at] = found.bound or 0
        if bounds[at] < goal.value:
            # Values that no way undercuts compare as goals do: behind a goal that is not proven they bound nothing.
            break
    return bounds


def _floors(work: Work, tables: Sequence[Table], answer: Answer) -> list[int]:
    """Return, goal by goal, what no plan undercuts that places as many replicas as the one found.

    Every replica has at least the value that no way of its workload undercuts anywhere, goal by goal. No node has more
    replicas than the one with most. So the bound holds whichever replicas are placed.
    """
    question = work.question
    rows = set()
    for table in tables:
        if work.budget.reached or answer.chosen is None:
            return [0] * len(answer.goals)
        rows.add(table.floors())
    cheapest: dict[int, Values] = {}
    for pod in range(len(question.demand)):
        some = [floors for row in rows if (floors := row[pod]) is not None]
        if some:
            cheapest[pod] = tuple(map(min, zip(*some, strict=True)))
    classes = (answer.least_classed if answer.least is not None else answer.classed).classes
    most = max((sum(counts) for site_class in classes for counts in site_class.patterns), default=0)
    several = any(one.each < 1 or one.nodes for one in classes) or not most
    missing = next((goal.value for goal in answer.goals if goal.goal == UNPLACED), sum(question.demand))
    placed = sum(question.demand) - missing
    never = (
        count * worth
        for pod, (count, worth) in enumerate(zip(question.demand, question.worths, strict=True))
        if pod not in cheapest
    )
    found = {UNPLACED: sum(never), NODES: 0 if several else -(-placed // most)}
    for at, goal in enumerate(device_goals(question.order)):
        found[goal], left = 0, placed
        for value, count in sorted((values[at], question.demand[pod]) for pod, values in cheapest.items()):
            found[goal] += value * min(count, left)
            left -= min(count, left)
    return [found[goal.goal] for goal in answer.goals]
