"""What the nodes of a fleet hold: the tables of their states, and profiles of nodes that hold the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec.structs import replace

from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.place_tables import place_tables
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.question import Work
from dra_lab.planner.fleet.search import decide_few
from dra_lab.planner.fleet.sites import Site, parts_on, sites_of, whole_site
from dra_lab.planner.fleet.sites import table as table_on
from dra_lab.planner.fleet.tables import Table, site_tables
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.scan import coupled_devices, coupled_pools


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
            for counts in table.numbers() or ():
                if budget.reached:
                    break
                if table.is_open(counts):
                    table.decide(counts, budget)
        return Profile(self.table, self.limits)


def plus(counts: Counts, kind: int, more: int) -> Counts:
    """Return numbers of pods with more of one kind."""
    return (*counts[:kind], counts[kind] + more, *counts[kind + 1 :])


def tables_of_fleet(work: Work) -> list[tuple[Table, Table]]:
    """Return for every node state the table of what is found, and that of what bounds it.

    The two differ for nodes that share devices: each is planned with its part of them and bounded as if it had all.
    """
    sites = sites_of(work.question.fleet)
    found = [(table, table) for table in _of_sites(work, [site for site in sites if not site.nodes])]
    for site in (site for site in sites if site.nodes):
        for part in split_sites(work.question.fleet, site.all_nodes):
            bound = _of_sites(work, [whole_site(work.question.fleet, part.members[0])])
            found += zip(_of_sites(work, [part]), bound, strict=False)
    return found


def _of_sites(work: Work, sites: Sequence[Site]) -> list[Table]:
    places = place_tables(work, sites, whole=True)
    others = site_tables(work, places.rest)
    decide_few(work, others)
    return [*places.tables, *others]


def device_goals_of(order: Sequence[str]) -> tuple[str, ...]:
    """Return the goals that depend on the devices taken."""
    return tuple(goal for goal in order if goal in GOAL_WORDS)


def split_sites(fleet: FleetProblem, nodes: Sequence[str]) -> list[Site]:
    """Return nodes that share devices as sites that share none: one node has each device, or pool with counters."""
    mine, have = set(nodes), Counter[tuple[str, str]]()
    pools: dict[tuple[str, str], str] = {}
    devices: dict[DeviceID, str] = {}
    for pool, seen in coupled_pools(fleet.scan).items():
        if able := [node for node in seen if node in mine]:
            pools[pool] = min(able, key=lambda node: (have[node, pool[0]], node))
            have[pools[pool], pool[0]] += 1
    for device, seen in coupled_devices(fleet.scan).items():
        if able := [node for node in seen if node in mine]:
            devices[device] = min(able, key=lambda node: (have[node, device.driver], node))
            have[devices[device], device.driver] += 1
    return [_site(fleet, node, pools, devices) for node in nodes]


def _site(
    fleet: FleetProblem, node: str, pools: Mapping[tuple[str, str], str], devices: Mapping[DeviceID, str]
) -> Site:
    problem = _part(table_on(fleet, node), pools, devices)

    def free(_: str) -> Mapping[int, list[DeviceID]]:
        return {at: list(group.devices) for at, group in enumerate(problem.groups)}

    return Site((node,), parts_on(fleet, node), lambda: problem, devices=free)


def _part(
    problem: AllocationProblem, pools: Mapping[tuple[str, str], str], devices: Mapping[DeviceID, str]
) -> AllocationProblem:
    """Return a node's problem with its part; a request for all devices that needs another one cannot be served."""
    groups, lost = [], set(problem.impossible)
    for group in problem.groups:
        mine = tuple(
            device
            for device in group.devices
            if pools.get((device.driver, device.pool), devices.get(device, problem.node)) == problem.node
        )
        if len(mine) < group.size:
            lost.update(ask for ask in group.asks if problem.asks[ask].all_devices)
        if mine:
            groups.append(replace(group, devices=mine))
    return replace(problem, groups=tuple(groups), impossible=frozenset(lost))
