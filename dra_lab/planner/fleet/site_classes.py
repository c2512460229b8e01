"""Sites as columns of the master, and from its levels back to who takes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_state import ByState
from dra_lab.planner.fleet.master import GoalBound, MasterColumn, Mastered, Row
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.sites import PodsOnNode
from dra_lab.planner.fleet.tables import Table
from dra_lab.planner.node.solver_outcome import Array
from dra_lab.planner.places.counting import Counts, one_pod

Placed = Iterable[tuple[Table, str, Counts]]
"""The table, member and numbers of pods of each node of a plan."""


NODE, LEAF, POD = "node", "leaf", "pod"
"""A member of a class is a node or a set of them, a leaf of a node, or a pod of which a node may have many."""


@dataclass(frozen=True, slots=True)
class SiteClass:
    """Sites that offer the same patterns: how many members there are, and each pattern's values.

    `patterns` maps numbers of replicas, by workload, to the values of the goals of devices. A member takes one at most,
    on as many nodes as `nodes` says where it is several.
    """

    count: int
    patterns: Mapping[Counts, Values]
    member: str = NODE
    nodes: Mapping[Counts, int] = field(default_factory=dict)

    @property
    def with_pods(self) -> list[Counts]:
        """Return the patterns that have pods."""
        return [counts for counts in self.patterns if any(counts)]

    def nodes_of(self, counts: Counts) -> int:
        """Return how many nodes a pattern uses; those of leaves count by themselves."""
        return self.nodes.get(counts, 1) if self.member == NODE else 0


@dataclass(frozen=True, slots=True)
class HomeNodes:
    """Equal nodes whose leaves are members of classes: their names, and how many members of which class one has."""

    nodes: tuple[str, ...]
    classes: Mapping[int, int]


@dataclass
class ClassedSites:
    """Site classes with the tables that each stands for, and nodes beside them that share devices.

    Columns are the patterns of classes, the nodes whose leaves are members, and what nodes take that share devices.
    """

    classes: list[SiteClass] = field(default_factory=list)
    tables: list[list[Table]] = field(default_factory=list)
    shared: tuple[ByState, ...] = ()

    @cached_property
    def home_nodes(self) -> list[HomeNodes]:
        """Return equal nodes together, by name, of all members that are leaves."""
        nodes: dict[str, Counter[int]] = {}
        for number, (one, tables) in enumerate(zip(self.classes, self.tables, strict=True)):
            for node in (node for table in tables for node in table.site.home_nodes.values()):
                if one.member == LEAF:
                    nodes.setdefault(node, Counter())[number] += 1
        identical: dict[tuple[tuple[int, int], ...], list[str]] = {}
        for node, classes in nodes.items():
            identical.setdefault(tuple(sorted(classes.items())), []).append(node)
        return [HomeNodes(tuple(sorted(names)), dict(key)) for key, names in identical.items()]

    def columns(self, demand: Sequence[int], goals: int) -> tuple[list[MasterColumn], dict[Row, int]]:
        """Return all columns, and the limits of their rows; `goals` is the number of goals of devices."""
        nothing, no_values, found = (0,) * len(demand), (0,) * goals, list[MasterColumn]()
        at_home = {number for home in self.home_nodes for number in home.classes}
        limits: dict[Row, int] = {}
        for number, one in enumerate(self.classes):
            limits["class", number] = 0 if number in at_home else one.count
            for counts in one.with_pods:
                values, nodes = one.patterns[counts], one.nodes_of(counts)
                found.append(MasterColumn(one.count, counts, values, nodes, {("class", number): 1}))
        for home in self.home_nodes:
            rows = {("class", number): -members for number, members in home.classes.items()}
            found.append(MasterColumn(len(home.nodes), nothing, no_values, 1, rows))
        for shared in self.shared:
            more, rest = shared.columns(demand)
            found += more
            limits |= rest
        return found, limits

    def taken(self, levels: Array) -> list[dict[Counts, int]]:
        """Return how often each class takes each pattern."""
        level = map(int, levels)
        rows = (zip(one.with_pods, level, strict=False) for one in self.classes)
        return [{counts: times for counts, times in row if times} for row in rows]

    def of_shared(self, levels: Array) -> Array:
        """Return the levels of nodes that share devices, which are the last."""
        return levels[sum(len(one.with_pods) for one in self.classes) + len(self.home_nodes) :]

    def placed(self, levels: Array) -> Iterator[tuple[Table, str, Counts]]:
        """Yield who takes what in a solution, most replicas first; of leaves, those on nodes that are used."""
        homes = levels[sum(len(one.with_pods) for one in self.classes) :]
        used = {node for home, times in zip(self.home_nodes, homes, strict=False) for node in home.nodes[: int(times)]}
        for one, taken, tables in zip(self.classes, self.taken(levels), self.tables, strict=True):
            able = (
                (table, member)
                for table in tables
                for member in table.site.members
                if one.member == NODE or table.site.home_nodes[member] in used
            )
            for counts, times in sorted(taken.items(), key=lambda row: (-sum(row[0]), row[0])):
                for table, member in islice(able, times):
                    yield table, member, counts

    def on_shared(self, levels: Array) -> Iterator[PodsOnNode]:
        """Yield the pods on nodes that share devices."""
        level = iter(self.of_shared(levels))
        for nodes in self.shared:
            yield from nodes.placed([int(next(level)) for _ in range(nodes.size)])

    def again(self, placed: Placed, shared: Array = ()) -> Array:
        """Return the levels with which the same members take the same, as far as these classes know it.

        `shared` are the levels of nodes that share devices, where they are known.
        """
        known: dict[int, list[int]] = {}
        for at, table in ((at, table) for at, tables in enumerate(self.tables) for table in tables):
            known.setdefault(id(table), []).append(at)
        taken: list[Counter[Counts]] = [Counter() for _ in self.classes]
        used: set[str] = set()
        for table, member, counts in placed:
            used.add(table.site.home_nodes.get(member, member))
            for at in known.get(id(table), ()):
                if self.classes[at].member == POD:
                    taken[at].update({one_pod(len(counts), pod): count for pod, count in enumerate(counts) if count})
                else:
                    taken[at][counts] += 1
        return self._levels(taken, [len(used.intersection(home.nodes)) for home in self.home_nodes], shared)

    def _levels(self, taken: Sequence[Mapping[Counts, int]], homes: Sequence[int], shared: Array) -> Array:
        own = [mine.get(counts, 0) for one, mine in zip(self.classes, taken, strict=True) for counts in one.with_pods]
        rest = list(shared) or [0] * sum(nodes.size for nodes in self.shared)
        return np.array([*own, *homes, *rest], float)

    def filled(self, levels: Array, demand: Sequence[int]) -> Array:
        """Return levels with more pods: first on nodes that share devices, then patterns with most replicas first."""
        taken, left, shared = self.taken(levels), list(demand), list(self.of_shared(levels))
        if not levels.any():
            shared = [level for nodes in self.shared for level in nodes.start]
            for nodes in self.shared:
                left = [have - nodes.first.pods[pod] for pod, have in enumerate(left)]
        homes: Array = levels[sum(len(one.with_pods) for one in self.classes) :][: len(self.home_nodes)]
        for mine in taken:
            left = _less(left, mine)
        for one, mine in zip(self.classes, taken, strict=True):
            rest = one.count - sum(mine.values()) if any(left) else 0
            for counts in sorted(one.with_pods, key=lambda counts: -sum(counts)) if rest else ():
                times = min(rest, *(have // count for have, count in zip(left, counts, strict=True) if count))
                if times > 0:
                    homes = [len(home.nodes) for home in self.home_nodes]
                    mine[counts] = mine.get(counts, 0) + times
                    rest -= times
                    left = _less(left, {counts: times})
        return self._levels(taken, homes, shared)


@dataclass
class BestPlan:
    """The best plan known and what is proven of it; `goals` covers all of them, in order.

    `not_examined` is the number of nodes that were not examined before time was over.
    """

    goals: tuple[GoalBound, ...] = ()
    chosen: Array | None = None
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


def classed(
    tables: Iterable[Table],
    patterns_of: Callable[[Table], Mapping[Counts, Values]],
    shared: Sequence[ByState],
    *,
    least: bool = False,
) -> ClassedSites:
    """Return the patterns of tables; sites with the same ones are one site class, sets of nodes are one each.

    `least` asks for the least nodes of a pattern, not for those that were found.
    """
    identical: dict[object, tuple[Mapping[Counts, Values], list[Table]]] = {}
    for table in tables:
        patterns = patterns_of(table)
        key = id(table) if table.site.nodes else (frozenset(patterns.items()), bool(table.site.home_nodes))
        identical.setdefault(key, (patterns, []))[1].append(table)
    found = ClassedSites(shared=tuple(shared))
    for patterns, mine in identical.values():
        member = LEAF if mine[0].site.home_nodes else NODE
        nodes = {counts: mine[0].nodes(counts)[least] for counts in patterns} if mine[0].site.nodes else {}
        found.classes.append(SiteClass(sum(table.site.count for table in mine), dict(patterns), member, nodes))
        found.tables.append(mine)
    return found


def least_classes(tables: Sequence[Table], shared: Sequence[ByState], budget: Budget) -> ClassedSites | None:
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
    found = classed([tables[at] for at in listed], lambda table: listed[number[id(table)]], shared, least=True)
    for table in (table for at, table in enumerate(tables) if at not in listed):
        for pod, cap in enumerate(table.caps):
            one = one_pod(len(table.caps), pod)
            values = table.lower(one) if cap else None
            if values is not None:
                found.classes.append(SiteClass(cap * table.site.count, {one: values}, POD))
                found.tables.append([table])
    return found


def _less(left: Sequence[int], taken: Mapping[Counts, int]) -> list[int]:
    for counts, times in taken.items():
        left = [have - times * count for have, count in zip(left, counts, strict=True)]
    return list(left)
