"""What the nodes of a fleet hold: the tables of their states, and profiles of nodes that hold the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.fleet_work import FleetWork
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.place_tables import place_tables
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.search import decide_few
from dra_lab.planner.fleet.sites import Site, parts_on, sites_of, whole_site
from dra_lab.planner.fleet.sites import table as table_on
from dra_lab.planner.fleet.tables import AnyTable, site_tables
from dra_lab.planner.node.allocation_problem import AllocationProblem

Pair = tuple[AnyTable, AnyTable]
"""The table of what was found on nodes in one state, and that of what may exist there."""


class Profile:
    """What identical nodes hold: numbers of pods by kind with the values found, and the least that may exist.

    `least` is None if the numbers are too many to list; `rows` then bound them. `floors` are by kind values that each
    hold goal by goal. `most` and `bound` are the most pods of each kind that were found and that may fit.
    """

    def __init__(self, pair: Pair) -> None:
        """Read the two tables of a node state."""
        table, limits = pair
        least = limits.least()
        self.found: Mapping[Counts, Values] = dict(table.found())
        self.least: Mapping[Counts, Values] | None = None if least is None else dict(least)
        # Counting again takes longer than all else, and is only of use if numbers are not listed.
        self.rows: tuple[tuple[Counts, int], ...] = limits.rows if least is None else ()
        self.floors: tuple[Values | None, ...] = limits.floors()
        self.closed = self.least == self.found
        self.most: Counts = tuple(map(max, zip(*self.found, strict=True)))
        self.bound = self.most if self.closed else self._bound()
        open_least = None if self.closed or least is None else frozenset(least.items())
        self.key = frozenset(self.found.items()), open_least, self.rows

    def _bound(self) -> Counts:
        if self.least is not None:
            return tuple(map(max, zip(*self.least, strict=True)))
        return tuple(min(limit // row[at] for row, limit in self.rows if row[at] > 0) for at in range(len(self.floors)))


def open_numbers(pairs: Iterable[Pair]) -> Iterator[tuple[AnyTable, Counts]]:
    """Yield the numbers of pods of which the best way is not known."""
    for table, limits in pairs:
        for one in (table,) if table is limits else (table, limits):
            yield from ((one, counts) for counts in one.least() or () if one.is_open(counts))


def decide(pairs: Sequence[Pair], budget: Budget) -> None:
    """Find the best way for every number of pods, as long as there is time."""
    for table, counts in open_numbers(pairs):
        if budget.reached:
            return
        table.decide(counts, budget)


def tables_of_fleet(work: FleetWork) -> list[Pair]:
    """Return for every node state what is found and what bounds it.

    The two differ for nodes that share devices: each is planned with its part of them and bounded as if it had all.
    """
    sites = sites_of(work.fleet)
    found = [(table, table) for table in _of_sites(work, [site for site in sites if not site.nodes])]
    for site in (site for site in sites if site.nodes):
        for part in split_sites(work.fleet, site.all_nodes):
            bound = _of_sites(work, [whole_site(work.fleet, part.members[0])])
            found += zip(_of_sites(work, [part]), bound, strict=False)
    return found


def _of_sites(work: FleetWork, sites: Sequence[Site]) -> list[AnyTable]:
    places = place_tables(work, sites, every=True)
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
