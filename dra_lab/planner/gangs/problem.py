"""Where pods of gangs may go: regions of nodes that no level tells apart, and what the nodes of each can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from msgspec.structs import replace as changed

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.place_tables import place_tables
from dra_lab.planner.fleet.question import Clock, FleetProblem, FleetQuestion, Work, look_at
from dra_lab.planner.fleet.search import decide_few
from dra_lab.planner.fleet.sites import Site, parts_on, sites_of, whole_site
from dra_lab.planner.fleet.tables import Table, site_tables
from dra_lab.planner.fleet.together import table as table_on
from dra_lab.planner.gangs.needs import GangNeed, Needs, Path
from dra_lab.planner.places.counting import Counts
from dra_lab.planner.scan import coupled_devices, coupled_pools
from dra_lab.topology.new_nodes import NewPlace

Key = tuple[Path | None, ...]
"""The domain of every tier."""


class Profile:
    """What nodes in one state hold: ways that were found, and numbers of pods that may exist.

    `numbers` are None if they are too many to list. `bound` are the most pods of each kind.
    """

    def __init__(self, table: Table, limits: Table) -> None:
        """Read the tables of what was found and of what may exist; ways are looked for when they are needed."""
        self.table, self.limits = table, limits
        self._steps: dict[tuple[Counts, int], list[int]] = {}
        self.bound: Counts = self.limits.caps

    def read_again(self) -> None:
        """Forget the ways that were read: nodes in the same state share those that are found."""
        self.__dict__.pop("found", None)
        self._steps.clear()

    @cached_property
    def found(self) -> Mapping[Counts, Values]:
        """Return the numbers of pods of which a way was found so far, with its values."""
        return dict(self.table.found())

    @cached_property
    def numbers(self) -> frozenset[Counts] | None:
        """Return all numbers of pods that may be held."""
        numbers = self.limits.numbers()
        return None if numbers is None else frozenset(numbers)

    @cached_property
    def floors(self) -> tuple[Values | None, ...]:
        """Return by kind values that each hold goal by goal for every pod."""
        return tuple(self.limits.floors())

    @cached_property
    def closed(self) -> bool:
        """Say whether the best way for every number is known."""
        return bool(self.limits.least() == self.found)

    def most(self, kind: int) -> int:
        """Return the most pods of a kind alone of which a way was found."""
        return max(self.steps((0,) * len(self.bound), kind), default=0)

    def steps(self, counts: Counts, kind: int) -> list[int]:
        """Return the numbers of further pods of a kind of which a way was found beside others."""
        if (counts, kind) not in self._steps:
            self.table.grow_beside(counts, kind)
            self.__dict__.pop("found", None)
            more = range(1, self.bound[kind] - counts[kind] + 1)
            self._steps[counts, kind] = [n for n in more if plus(counts, kind, n) in self.found]
        return self._steps[counts, kind]

    def decided(self, budget: Budget) -> Profile:
        """Return the profile with the best way for every number, as far as there is time."""
        for table in (self.table,) if self.table is self.limits else (self.table, self.limits):
            for counts in takewhile(lambda _: not budget.reached, table.numbers() or ()):
                table.decide(counts, budget)
        return Profile(self.table, self.limits)


def plus(counts: Counts, kind: int, more: int) -> Counts:
    """Return numbers of pods with more of one kind."""
    return (*counts[:kind], counts[kind] + more, *counts[kind + 1 :])


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
    """Where a node is: its region and its profile, and the spot of one that may be added, -1 for one that is there."""

    region: int
    profile: int
    spot: int = -1


@dataclass(frozen=True)
class Spot:
    """A place for nodes of one type, each with a `cost`; spots of one `group` share `limit` places, None for any."""

    number: int
    type: int
    place: NewPlace
    group: Hashable
    limit: int | None
    cost: int


@dataclass
class NewNodes:
    """Nodes that may be added: those of the cells of spots, whose costs are whole numbers of 1/`unit`.

    `some_of` are groups of spots that are new domains of one kind, with how many of them may be used. `complete` says
    that the cells have all nodes that a cheapest answer may use.
    """

    spots: list[Spot] = field(default_factory=list)
    unit: int = 1
    some_of: list[tuple[tuple[Hashable, ...], int]] = field(default_factory=list)
    complete: bool = True


@dataclass
class GangProblem:
    """Needs beside a look at the cluster: `cells` are nodes with the same profile in the same region.

    `on` says where each node is, `keys` has for each region its domain of every tier. Cells of a spot of `new` are
    places with a cost: their nodes are not there yet.
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
    def device(self) -> tuple[str, ...]:
        """Return the goals that depend on the devices taken."""
        return device_goals(self.needs.goals)

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
        for at in self.cells:
            numbers = self.profiles[at.profile].numbers
            found += most + 1 if numbers is None else len(numbers)
            if found > most:
                return False
        return True

    @cached_property
    def closed(self) -> bool:
        """Say whether everything is known exactly."""
        numbers = {at.profile for at in self.cells}
        return not self.not_examined and all(self.profiles[number].closed for number in numbers)

    def decided(self, budget: Budget) -> GangProblem:
        """Return the problem with the best way for all numbers if it is small, as far as there is time."""
        if not self.small:
            return self
        for number in {at.profile for at in self.cells}:
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
        regions = sorted({at.region for at in self.cells})
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
        return self._most_on(at for at in self.cells if at.spot < 0)

    @cached_property
    def capacity(self) -> list[list[int]]:
        """Return for each region the most pods of each kind that may be there alone, on all nodes that may be added."""
        return self._most_on(self.cells)

    def _most_on(self, cells: Iterable[On]) -> list[list[int]]:
        found = [[0] * self.kinds for _ in self.keys]
        for at in cells:
            for kind, most in enumerate(self.profiles[at.profile].bound):
                found[at.region][kind] += len(self.cells[at]) * most
        return found

    def most_gangs(self, need: GangNeed, regions: Sequence[int]) -> int:
        """Return the most gangs that may be in some regions, by the pods of each kind that may be there alone."""
        caps = (self.pods_in(regions, kind) // pods for kind, pods in need.least_pods.items())
        return min([need.copies, *caps])

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
    problem = GangProblem(fleet, needs, cluster.cordoned)
    work = Work(FleetQuestion(fleet, problem.device), budget.part(budget.shares.step), solver, clock)
    # For every node state the table of what is found, and that of what bounds it. The two differ for nodes that share
    # devices: each is planned with its part of them and bounded as if it had all.
    sites = sites_of(fleet)
    tables = [(table, table) for table in _of_sites(work, [site for site in sites if not site.nodes])]
    for site in (site for site in sites if site.nodes):
        for part in split_sites(fleet, site.all_nodes):
            bound = _of_sites(work, [whole_site(fleet, part.members[0])])
            tables += zip(_of_sites(work, [part]), bound, strict=False)
    profile_of: dict[str, int] = {}
    for number, (table, limits) in enumerate(tables):
        if budget.reached:
            break
        problem.profiles.append(Profile(table, limits))
        profile_of |= {node: number for node in table.site.all_nodes if node not in cluster.cordoned}
    clock.lap("patterns")
    return problem.put(profile_of)


def _of_sites(work: Work, sites: Sequence[Site]) -> list[Table]:
    places = place_tables(work, sites, whole=True)
    others = site_tables(work, places.rest)
    decide_few(work, others)
    return [*places.tables, *others]


def split_sites(fleet: FleetProblem, nodes: Sequence[str]) -> list[Site]:
    """Return nodes that share devices as sites that share none: one node has each device, or pool with counters."""
    mine, have = set(nodes), Counter[tuple[str, str]]()
    owner: dict[tuple[str, ...], str] = {}
    for one, seen in (*coupled_pools(fleet.scan).items(), *coupled_devices(fleet.scan).items()):
        driver = one[0]
        if able := [node for node in seen if node in mine]:
            owner[one] = min(able, key=lambda node: (have[node, driver], node))
            have[owner[one], driver] += 1
    return [_site(fleet, node, owner) for node in nodes]


def _site(fleet: FleetProblem, node: str, owner: Mapping[tuple[str, ...], str]) -> Site:
    """Return a node with its part of devices; a request for all devices that needs another one cannot be served."""
    problem = table_on(fleet, node)
    groups, lost = [], set(problem.impossible)
    for group in problem.groups:
        mine = tuple(one for one in group.devices if owner.get(one[:2], owner.get(one, node)) == node)
        if len(mine) < group.size:
            lost.update(ask for ask in group.asks if problem.asks[ask].all_devices)
        if mine:
            groups.append(changed(group, devices=mine))
    part = changed(problem, groups=tuple(groups), impossible=frozenset(lost))

    def free(_: str) -> Mapping[int, list[DeviceID]]:
        return {at: list(group.devices) for at, group in enumerate(groups)}

    return Site((node,), parts_on(fleet, node), lambda: part, devices=free)
