"""Where pods of gangs may go: regions of nodes that no level tells apart, and what the nodes of each can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, takewhile
from operator import mul

from dra_lab.model.goals import GOAL_WORDS
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.fleet_work import FleetWork
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.search import decide_few
from dra_lab.planner.fleet.sites import Site, sites_of, whole_site
from dra_lab.planner.fleet.tables import AnyTable, site_tables
from dra_lab.planner.gangs.needs import GangNeed, Needs, Path, goal_order
from dra_lab.planner.gangs.split_sites import split_sites
from dra_lab.planner.places.place_table import place_tables

Domain = tuple[int, Path | None]
"""A tier and the path of a domain; no path stands for all nodes that are in no domain of the tier."""


@dataclass(frozen=True)
class Profile:
    """What identical nodes hold: numbers of pods by kind with the values found, and the least that may exist.

    `least` is None if the numbers are too many to list; `rows` then bound them. `floors` are by kind values that each
    hold goal by goal. `table` decides the numbers of which the best way is not known, None if there are none.
    """

    found: Mapping[Counts, Values]
    least: Mapping[Counts, Values] | None
    rows: tuple[tuple[Counts, int], ...]
    floors: tuple[Values | None, ...]
    table: AnyTable | None = None

    @cached_property
    def closed(self) -> bool:
        """Say whether all is known exactly."""
        return self.least is not None and dict(self.least) == dict(self.found)

    @cached_property
    def most(self) -> Counts:
        """Return the most pods of each kind that were found alone."""
        return tuple(max(column) for column in zip(*self.found, strict=True))

    @cached_property
    def bound(self) -> Counts:
        """Return the most pods of each kind that may fit."""
        if self.least is not None:
            return tuple(max(column) for column in zip(*self.least, strict=True))
        kinds = range(len(self.floors))
        return tuple(min(limit // row[at] for row, limit in self.rows if row[at] > 0) for at in kinds)


@dataclass
class Instance:
    """One gang with a place: which need it serves, its domain, and the pods of each group by region."""

    need: int
    domain: Path
    groups: list[dict[int, int]]


@dataclass
class GangSolution:
    """Gangs and ordinary workloads with a place, by region, and the pods of each kind on each node that is used."""

    instances: list[Instance] = field(default_factory=list)
    ordinary: list[dict[int, int]] = field(default_factory=list)
    nodes: dict[str, Counts] = field(default_factory=dict)


@dataclass
class GangProblem:
    """Needs beside a look at the cluster: `cells` are nodes with the same profile in the same region.

    `whole` says that all nodes are there. `on` says for each node its region, profile and table.
    """

    fleet: FleetProblem
    needs: Needs
    order: tuple[str, ...]
    profiles: list[Profile]
    cells: dict[tuple[int, int], list[str]]
    on: Mapping[str, tuple[int, int, AnyTable]]
    keys: list[tuple[Path | None, ...]]
    cordoned: frozenset[str]
    whole: bool
    states: int
    _tried: set[tuple[int, Counts]] = field(default_factory=set)
    _more: dict[int, dict[tuple[Counts, int, bool], int]] = field(default_factory=dict)

    @property
    def kinds(self) -> int:
        """Return the number of kinds of pods."""
        return len(self.needs.kinds)

    @property
    def closed(self) -> bool:
        """Say whether everything is known exactly."""
        return self.whole and all(profile.closed for profile in self.profiles)

    def decide(self, number: int, counts: Counts, budget: Budget) -> bool:
        """Find the best way for some numbers on nodes with a profile, once; say whether it was not known."""
        profile = self.profiles[number]
        is_open = profile.least is not None and profile.least.get(counts) != profile.found.get(counts)
        if profile.table is None or not is_open or (number, counts) in self._tried or budget.reached:
            return False
        self._tried.add((number, counts))
        profile.table.decide(counts, budget)
        self.profiles[number] = _profile(profile.table, profile.table)
        self._more.pop(number, None)
        return True

    def decide_all(self, budget: Budget) -> None:
        """Find the best way for all numbers on all nodes, as long as there is time."""
        for number, profile in enumerate(self.profiles):
            for counts in profile.least or () if profile.table is not None else ():
                if budget.reached:
                    return
                self.decide(number, counts, budget)

    def more(self, number: int, counts: Counts, kind: int, *, least: bool = False) -> int:
        """Return how many more pods of a kind a node with a profile takes beside others; with `least`, may take."""
        key, known = (counts, kind, least), self._more.setdefault(number, {})
        if key not in known:
            profile, more = self.profiles[number], 0
            if least and profile.least is None:
                rows = [(row[kind], limit - sum(map(mul, row, counts))) for row, limit in profile.rows if row[kind]]
                more = max(0, min(left // each for each, left in rows))
            else:
                able = profile.found if profile.least is None else profile.least
                pods = takewhile(lambda n: plus(counts, kind, n) in able, count(1))
                more = max((n for n in pods if least or plus(counts, kind, n) in profile.found), default=0)
            known[key] = more
        return known[key]

    @cached_property
    def device(self) -> tuple[str, ...]:
        """Return the goals of the values of nodes."""
        return device_goals_of(self.order)

    def domain(self, tier: int, region: int) -> Path | None:
        """Return the path of a region's domain of a tier, None if it is in none."""
        return self.keys[region][tier]

    @cached_property
    def inside(self) -> list[dict[Path, list[int]]]:
        """Return for each tier the regions of each domain."""
        found: list[dict[Path, list[int]]] = [{} for _ in self.needs.tiers]
        for region in sorted({region for region, _ in self.cells}):
            for tier, path in enumerate(self.keys[region]):
                if path is not None:
                    found[tier].setdefault(path, []).append(region)
        return found

    @cached_property
    def _profiles_inside(self) -> Mapping[int, Counter[int]]:
        """Return for each region how many of its nodes have each profile."""
        found: dict[int, Counter[int]] = {}
        for (region, profile), nodes in self.cells.items():
            found.setdefault(region, Counter())[profile] += len(nodes)
        return found

    def profiles_of(self, regions: Iterable[int]) -> tuple[tuple[int, int], ...]:
        """Return which profiles the nodes of regions have, each with the number of nodes."""
        found = sum((self._profiles_inside.get(region, Counter()) for region in regions), Counter[int]())
        return tuple(sorted(found.items()))

    @cached_property
    def nodes_inside(self) -> list[dict[Path, list[str]]]:
        """Return for each tier the nodes of each domain, with those that take no pods."""
        found: list[dict[Path, list[str]]] = [{} for _ in self.needs.tiers]
        for mine, tier in zip(found, self.needs.tiers, strict=True):
            for node, path in tier.paths.items():
                mine.setdefault(path, []).append(node)
        return found

    @cached_property
    def capacity(self) -> list[Counts]:
        """Return for each region the most pods of each kind that may be there alone."""
        return self._summed([profile.bound for profile in self.profiles])

    @cached_property
    def found_capacity(self) -> list[Counts]:
        """Return for each region the most pods of each kind that surely are there alone."""
        return self._summed([profile.most for profile in self.profiles])

    def _summed(self, each: Sequence[Counts]) -> list[Counts]:
        found = [[0] * self.kinds for _ in self.keys]
        for (region, profile), nodes in self.cells.items():
            for kind, most in enumerate(each[profile]):
                found[region][kind] += len(nodes) * most
        return [tuple(row) for row in found]


def plus(counts: Counts, kind: int, more: int) -> Counts:
    """Return numbers of pods with more of one kind."""
    return (*counts[:kind], counts[kind] + more, *counts[kind + 1 :])


def fewest(sizes: Iterable[int], wanted: int) -> int:
    """Return how few domains of some sizes hold as many pods as wanted; all of them if they do not."""
    found = 0
    for size in sorted(sizes, reverse=True):
        if wanted <= 0:
            break
        found, wanted = found + 1, wanted - size
    return found


def fewest_domains(problem: GangProblem, need: GangNeed, tier: int, groups: Collection[int]) -> int:
    """Return in how few domains of a tier the pods of some groups of a gang are, 0 if the gang fits nowhere."""
    kinds = {need.groups[at].kind for at in groups}
    wanted, found = sum(need.groups[at].least for at in groups), []
    for regions in problem.inside[need.required].values():
        sizes = Counter[Path | None]()
        for region in regions:
            sizes[problem.domain(tier, region)] += sum(problem.capacity[region][kind] for kind in kinds)
        if sizes.total() >= wanted:
            found.append(fewest(sizes.values(), wanted))
    return min(found, default=0)


def device_goals_of(order: Sequence[str]) -> tuple[str, ...]:
    """Return the goals that depend on the devices taken."""
    return tuple(goal for goal in order if goal in GOAL_WORDS)


def over_nodes(
    fleet: FleetProblem,
    needs: Needs,
    pairs: Sequence[tuple[AnyTable, AnyTable]],
    cordoned: frozenset[str],
    budget: Budget | None = None,
) -> GangProblem:
    """Return the problem of gangs over the tables of a fleet, without the nodes that take no pods (`cordoned`).

    Nodes that are left when the budget is reached are not there: no gang would be placed on them.
    """
    profiles: list[Profile] = []
    known: dict[object, int] = {}
    regions: dict[tuple[Path | None, ...], int] = {}
    cells: dict[tuple[int, int], list[str]] = {}
    on: dict[str, tuple[int, int, AnyTable]] = {}
    for table, bound in pairs:
        if budget is not None and budget.reached:
            break
        profile = _profile(table, bound)
        least = None if profile.least is None else tuple(sorted(profile.least.items()))
        # Nodes of two tables may differ in numbers that are not decided.
        key = (tuple(sorted(profile.found.items())), least, profile.rows, profile.table and id(table))
        if key not in known:
            known[key] = len(profiles)
            profiles.append(profile)
        for node in table.site.all_nodes:
            if node in cordoned:
                continue
            where = tuple(tier.paths.get(node) for tier in needs.tiers)
            region = regions.setdefault(where, len(regions))
            cells.setdefault((region, known[key]), []).append(node)
            on[node] = region, known[key], table
    whole = {*on} | cordoned >= {*fleet.scan.rules.nodes}
    order = goal_order(needs)
    return GangProblem(fleet, needs, order, profiles, cells, on, list(regions), cordoned, whole, len(pairs))


def _profile(table: AnyTable, bound: AnyTable) -> Profile:
    """Return what the nodes of a table hold; `bound` is the table that says what may exist."""
    found, least = dict(table.found()), bound.least()
    # Counting again takes longer than all else, and is only of use if numbers are not listed.
    rows = bound.rows if least is None else ()
    is_open = table is bound and least is not None and least != found
    return Profile(found, None if least is None else dict(least), rows, bound.floors(), table if is_open else None)


def state_tables(work: FleetWork) -> list[tuple[AnyTable, AnyTable]]:
    """Return for every node state what is found and what bounds it.

    The two differ for nodes that share devices: each is planned with its part of them and bounded as if it had all.
    """
    sites = sites_of(work.fleet)
    shared = [site for site in sites if site.nodes]
    alone = _of_sites(work, [site for site in sites if not site.nodes])
    found = [(table, table) for table in alone]
    for site in shared:
        for part in split_sites(work.fleet, site.all_nodes):
            bound = _of_sites(work, [whole_site(work.fleet, part.members[0])])
            found += zip(_of_sites(work, [part]), bound, strict=False)
    return found


def _of_sites(work: FleetWork, sites: Sequence[Site]) -> list[AnyTable]:
    places = place_tables(work, sites, every=True)
    others = site_tables(work, places.rest)
    decide_few(work, others)
    return [*places.tables, *others]


def decide_all(pairs: Sequence[tuple[AnyTable, AnyTable]], budget: Budget) -> None:
    """Decide every number of pods of which the best way is not known, as long as there is time."""
    for table in (one for pair in pairs for one in pair):
        for counts in table.least() or ():
            if budget.reached:
                return
            if table.is_open(counts):
                table.decide(counts, budget)
