"""Where pods of gangs may go: regions of nodes that no level tells apart, and what the nodes of each can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import Clock, FleetProblem, Question, Work, look_at
from dra_lab.planner.gangs.levels import Path
from dra_lab.planner.gangs.needs import GroupNeed, Needs
from dra_lab.planner.gangs.spots import Spot
from dra_lab.planner.gangs.tables import Profile, device_goals_of, tables_of_fleet
from dra_lab.planner.places.counting import Counts

Key = tuple[Path | None, ...]
"""The domain of every tier."""


@dataclass
class Instance:
    """One gang with a place: which need it serves, its domain, and the pods of each group by region."""

    need: int
    domain: Path
    groups: list[Counter[int]]


@dataclass
class GangSolution:
    """Gangs and ordinary workloads with a place, by region, and the pods of each kind on each node that is used."""

    instances: list[Instance] = field(default_factory=list)
    ordinary: list[Counter[int]] = field(default_factory=list)
    nodes: dict[str, Counts] = field(default_factory=dict)


class On(NamedTuple):
    """Where a node is: its region and its profile."""

    region: int
    profile: int


@dataclass(frozen=True)
class Slot:
    """Nodes that may be added, all in one spot, region and profile: `most` of them, `cost` each."""

    spot: Spot
    region: int
    profile: int
    most: int
    cost: int


@dataclass
class NewNodes:
    """The nodes that may be added.

    `limits` are slots with the most nodes that they have together, `some_of` slots by new domain of one kind with the
    most domains used. `complete` says that the slots have all nodes that a cheapest answer may use.
    """

    slots: list[Slot] = field(default_factory=list)
    limits: list[tuple[tuple[int, ...], int]] = field(default_factory=list)
    some_of: list[tuple[tuple[tuple[int, ...], ...], int]] = field(default_factory=list)
    complete: bool = True


@dataclass
class GangProblem:
    """Needs beside a look at the cluster: `cells` are nodes with the same profile in the same region.

    `on` says where each node is, `keys` has for each region its domain of every tier. `new` are nodes that may be
    added: places with a cost and no nodes yet.
    """

    fleet: FleetProblem
    needs: Needs
    cordoned: frozenset[str]
    profiles: list[Profile] = field(default_factory=list)
    cells: dict[On, list[str]] = field(default_factory=dict)
    on: dict[str, On] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    new: NewNodes = field(default_factory=NewNodes)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Return the names of all goals, most important first."""
        return self.needs.goals

    @cached_property
    def device(self) -> tuple[str, ...]:
        """Return the goals of the values of nodes."""
        return device_goals_of(self.order)

    @property
    def kinds(self) -> int:
        """Return the number of kinds of pods."""
        return len(self.needs.kinds)

    @cached_property
    def not_examined(self) -> frozenset[str]:
        """Return the nodes that are missing, because there was no time for them."""
        return frozenset(self.fleet.scan.rules.nodes).difference(self.on, self.cordoned)

    @cached_property
    def small(self) -> bool:
        """Say whether the numbers of pods on all nodes are few enough for a model of what each node holds."""
        most, found = self.fleet.sizes.variables, 0
        for _, profile in self.cells:
            numbers = self.profiles[profile].numbers
            found += most + 1 if numbers is None else len(numbers)
            if found > most:
                return False
        return True

    @cached_property
    def closed(self) -> bool:
        """Say whether everything is known exactly."""
        numbers = {number for _, number in self.cells} | {slot.profile for slot in self.new.slots}
        return not self.not_examined and all(self.profiles[number].closed for number in numbers)

    def decided(self, budget: Budget) -> GangProblem:
        """Return the problem with the best way for all numbers if it is small, as far as there is time."""
        if not self.small:
            return self
        for number in {number for _, number in self.cells}:
            self.profiles[number] = self.profiles[number].decided(budget)
        return replace(self)

    def of(self, needs: Needs) -> GangProblem:
        """Return the problem of other gangs of the same kinds of pods on the same nodes."""
        profile_of = {node: on.profile for node, on in self.on.items()}
        return GangProblem(self.fleet, needs, self.cordoned, self.profiles).put(profile_of)

    def put(self, profile_of: Mapping[str, int]) -> GangProblem:
        """Return the problem with nodes, given with the number of their profile, in the regions of its tiers."""
        regions: dict[Key, int] = {}
        for node, number in profile_of.items():
            key = tuple(tier.paths.get(node) for tier in self.needs.tiers)
            self.on[node] = On(regions.setdefault(key, len(regions)), number)
            self.cells.setdefault(self.on[node], []).append(node)
        self.keys = list(regions)
        return self

    @cached_property
    def inside(self) -> list[dict[Path, list[int]]]:
        """Return for each tier the regions of each domain."""
        regions = sorted({region for region, _ in self.cells} | {slot.region for slot in self.new.slots})
        return [self.parted(regions, tier) for tier in range(len(self.needs.tiers))]

    def parted(self, regions: Iterable[int], tier: int) -> dict[Path, list[int]]:
        """Return which of some regions each domain of a tier has, without those that are in none."""
        found: dict[Path, list[int]] = {}
        for region in regions:
            path = self.keys[region][tier]
            if path is not None:
                found.setdefault(path, []).append(region)
        return found

    def preferred(self, regions: Sequence[int], tier: int) -> list[list[int]]:
        """Return regions by their domain of a preferred tier; those that are in none are one more."""
        lone = [region for region in regions if self.keys[region][tier] is None]
        return [*self.parted(regions, tier).values(), *([lone] if lone else [])]

    @cached_property
    def cells_of(self) -> dict[int, list[On]]:
        """Return the cells of each region."""
        found: dict[int, list[On]] = {}
        for at in self.cells:
            found.setdefault(at.region, []).append(at)
        return found

    @cached_property
    def there(self) -> list[list[int]]:
        """Return for each region the most pods of each kind that may be there alone on nodes of the cluster."""
        found = [[0] * self.kinds for _ in self.keys]
        for (region, profile), nodes in self.cells.items():
            for kind, most in enumerate(self.profiles[profile].bound):
                found[region][kind] += len(nodes) * most
        return found

    @cached_property
    def capacity(self) -> list[list[int]]:
        """Return for each region the most pods of each kind that may be there alone, on all nodes that may be added."""
        found = [list(row) for row in self.there]
        for slot in self.new.slots:
            for kind, most in enumerate(self.profiles[slot.profile].bound):
                found[slot.region][kind] += slot.most * most
        return found

    def pods_in(self, regions: Iterable[int], kind: int) -> int:
        """Return the most pods of a kind that may be in some regions."""
        return sum(self.capacity[region][kind] for region in regions)


def problem_of(
    cluster: Cluster,
    needs: Needs,
    release: KubernetesRelease,
    budget: Budget,
    solver: str,
    clock: Clock,
) -> GangProblem:
    """Return the problem of gangs on a cluster; nodes that were not examined in time are not there."""
    fleet = look_at(cluster, needs.kinds, release, budget.part(budget.shares.first), cordoned=True)
    clock.lap("scan")
    work = Work(Question(fleet, device_goals_of(needs.goals)), budget.part(budget.shares.step), solver, clock)
    problem = GangProblem(fleet, needs, cluster.cordoned)
    profile_of: dict[str, int] = {}
    for number, (table, limits) in enumerate(tables_of_fleet(work)):
        if budget.reached:
            break
        problem.profiles.append(Profile(table, limits))
        profile_of |= {node: number for node in table.site.all_nodes if node not in cluster.cordoned}
    clock.lap("patterns")
    return problem.put(profile_of)


def hand_out(
    problem: GangProblem,
    gangs: Mapping[tuple[int, Path], int],
    groups: Mapping[tuple[int, int, Path], int],
    pods: Mapping[tuple[int, int, int], int],
) -> list[Instance]:
    """Return each gang with its pods; slices are cut where domains of their levels end.

    Each need has a number of `gangs` in each domain, of `groups` in each domain of a level of theirs, and of `pods` of
    each group in each region.
    """
    found = []
    for (number, path), count in sorted(gangs.items()):
        need = problem.needs.gangs[number]
        regions = problem.inside[need.required][path]
        rows: list[list[Counter[int]]] = []
        for at, group in enumerate(need.groups):
            mine = Counter({region: pods[number, at, region] for region in regions if (number, at, region) in pods})
            if group.required < 0:
                rows.append(list(_parts(problem, group, mine, count)))
                continue
            inner = problem.parted(regions, group.required)
            times = {one: groups.get((number, at, one), 0) for one in inner}
            own = {one: Counter({region: mine[region] for region in inner[one]}) for one in inner}
            rows.append([part for one in inner for part in _parts(problem, group, own[one], times[one])])
        found += [Instance(number, path, [row[one] for row in rows]) for one in range(count)]
    return found


def _parts(problem: GangProblem, group: GroupNeed, pods: Counter[int], gangs: int) -> Iterator[Counter[int]]:
    """Yield the pods of each of several gangs: the minimum for all, and what is beyond it for the first ones."""
    order = sorted(pods, key=lambda region: (*(str(problem.keys[region][tier]) for _, tier in group.slices), region))
    each = iter([region for region in order for _ in range(pods[region])])
    beyond = pods.total() - gangs * group.least
    for _ in range(gangs):
        more = min(beyond, group.most - group.least)
        beyond -= more
        yield Counter(islice(each, group.least + more))
