"""A first plan for nodes that share devices: pod after pod, each with good devices of those that are left.

Benchmark row that needs it (`bench_crowded`): one MIG partition and a NIC a pod, 200 nodes before 16 chassis; with a
limit of 1 s it places all 400 pods that fit. The one model of these nodes takes longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from math import ceil

from dra_lab.index.counter_draws import consumption
from dra_lab.index.node_binding import Tie
from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.fleet.bounds import Answer
from dra_lab.planner.fleet.first_ways import FirstWays, Way
from dra_lab.planner.fleet.fleet_work import FleetWork
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.placing import PodsOnNode
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Site, alone_sites, table_devices
from dra_lab.planner.node.allocation_problem import AllocationProblem

_Shared = tuple[object, ...]
"""What several nodes see and pods take: a device's capacity (device, name), or a counter (driver, pool, set, name)."""


@dataclass
class _Ledger:
    """The shared devices, capacities and counters that pods use."""

    placed: int = 0
    devices: set[DeviceID] = field(default_factory=set)
    amounts: dict[_Shared, Fraction] = field(default_factory=dict)


@dataclass
class _Taken:
    """The devices of pods on one node: `own` are its own free amounts, `given` are shared devices by group."""

    own: list[int]
    ways: list[tuple[int, Way]] = field(default_factory=list)
    given: dict[int, list[DeviceID]] = field(default_factory=dict)


@dataclass(frozen=True)
class FirstPlan:
    """Pods that fit together: who stands where, how many they are, and the values of the goals of devices.

    `whole` says that all nodes were tried.
    """

    by_node: Sequence[PodsOnNode] = ()
    replicas: int = 0
    values: Values = ()
    whole: bool = False

    def is_better(self, work: FleetWork, answer: Answer) -> bool:
        """Say whether it is better than an answer, which may have no plan, or one that is not proven."""
        wanted = sum(work.fleet.demand)
        if not self.replicas or (work.all_placed and self.replicas < wanted):
            return False
        values = dict(zip(device_goals(work.order), self.values, strict=True))
        values |= {UNPLACED: wanted - self.replicas, NODES: len(self.by_node)}
        return answer.chosen is None or tuple(values[goal] for goal in work.order) < answer.values


def first_plan(
    fleet: FleetProblem, sites: Sequence[Site], order: Sequence[str], demand: Sequence[int], budget: Budget
) -> FirstPlan:
    """Return pods that fit together on some sites, found without a solver; more may fit.

    `order` names the goals of devices, `demand` the replicas wanted of each workload. Workloads take their turn by
    size, once the smallest and once the largest first, and nodes are filled one after the other; the plan with more
    pods is returned. Nothing is placed on nodes where the order of devices counts or where all shares are requested,
    nor of a fleet with admin access.
    """
    if any(ask.admin_access for ask in fleet.scan.rules.asks):
        return FirstPlan()
    identical = [_Nodes(fleet, site, order) for site in _alone(fleet, sites) if _is_counted(site.problem)]
    sizes = [max((nodes.size_of(pod) for nodes in identical), default=0.0) for pod in range(len(fleet.pods))]
    smallest = sorted(range(len(sizes)), key=sizes.__getitem__)
    best = FirstPlan()
    for turn in dict.fromkeys((tuple(smallest), tuple(reversed(smallest)))):
        if best.replicas and (budget.reached or best.replicas == sum(demand)):
            break
        found = _filled(demand, identical, turn, budget)
        best = found if found.replicas > best.replicas else best
    return best


def _alone(fleet: FleetProblem, sites: Sequence[Site]) -> Iterator[Site]:
    """Yield classes of equal nodes that see the same shared devices and counters, each node by itself."""
    seeing = {*coupled_devices(fleet.scan).values(), *coupled_pools(fleet.scan).values()}
    for site in sites:
        if not site.nodes:
            yield site
            continue
        identical: dict[frozenset[tuple[str, ...]], list[str]] = {}
        sets = [(seen, frozenset(seen)) for seen in seeing]
        for node in site.all_nodes:
            identical.setdefault(frozenset(seen for seen, nodes in sets if node in nodes), []).append(node)
        for nodes in identical.values():
            yield from alone_sites(fleet, nodes)


def _is_counted(problem: AllocationProblem) -> bool:
    """Say whether pods only have to leave enough for each other; shares that pay counters together each pay them."""
    return not any(
        group.tie is Tie.TERMS or (group.shareable and any(problem.asks[ask].all_devices for ask in group.asks))
        for group in problem.groups
    )


def _filled(demand: Sequence[int], identical: Sequence[_Nodes], turn: Sequence[int], budget: Budget) -> FirstPlan:
    ledger, rest = _Ledger(), list(demand)
    for nodes in identical:
        nodes.begin()
    for pod in turn:
        for nodes in identical:
            if rest[pod]:
                rest[pod] -= nodes.place(pod, rest[pod], ledger, budget)
    values = zip(*(way.values for nodes in identical for _, way in nodes.ways()), strict=True)
    by_node = [on_node for nodes in identical for on_node in nodes.by_node()]
    return FirstPlan(by_node, ledger.placed, tuple(map(sum, values)), not budget.reached)


class _Nodes:
    """Equal nodes that see the same shared devices, and what pods take there."""

    def __init__(self, fleet: FleetProblem, site: Site, order: Sequence[str]) -> None:
        """Find out what the nodes share with others, and what each has to itself (`_own`, by resource)."""
        self._fleet, self._site = fleet, site
        self._ways = FirstWays(site.problem, order, fleet.sizes)
        shared = coupled_devices(fleet.scan)
        each = ([one for one in group.devices if one in shared] for group in site.problem.groups)
        self._far = {at: devices for at, devices in enumerate(each) if devices}
        self._amounts = dict(self._shared_amounts())
        self._all: list[int] = self._ways.stock.free[0].tolist()
        self._own = [0 if at in self._amounts else amount for at, amount in enumerate(self._all)]
        for group, devices in self._far.items():
            if group in self._ways.count_at:
                self._own[self._ways.count_at[group]] -= len(devices)
        self._kept = [at for at, amount in enumerate(self._own) if amount]
        self._taken: dict[str, _Taken] = {}

    def _shared_amounts(self) -> Iterator[tuple[int, tuple[_Shared, Fraction]]]:
        """Yield the resources that are amounts of what other nodes see too, each with its name and its unit."""
        stock, problem, scan = self._ways.stock, self._site.problem, self._fleet.scan
        view = scan.views.view(self._site.members[0])
        pools, seen = coupled_pools(scan), {item.id: item for item in view.devices}
        drawing = {counter: group for group in problem.groups for counter, _ in group.draws}
        for at, (group, name) in enumerate(stock.keys):
            if group >= 0:
                if name and group in self._far:
                    yield at, ((self._far[group][0], name), stock.units[group, name])
                continue
            counter = problem.counters[-1 - group][0]
            pool = view.counted[counter[0]]
            if (pool.driver, pool.name) in pools and counter in drawing:
                one = drawing[counter]
                raw = dict(consumption(seen[one.devices[0]].device, counter[0]))[counter]
                yield at, ((pool.driver, pool.name, *counter[1:]), Fraction(raw, dict(one.draws)[counter]))

    def size_of(self, pod: int) -> float:
        """Return which part of the devices that it may take one pod takes."""
        problem, part = self._site.problem, self._site.parts[pod]
        sizes = {ask: sum(g.size for g in problem.groups if ask in g.asks) for ask in range(*part.asks)}
        shares = (
            [problem.need(ask) / sizes[ask] for ask in row if sizes[ask]]
            for row in problem.requests[slice(*part.requests)]
        )
        return sum(min(share, default=0.0) for share in shares)

    def begin(self) -> None:
        """Forget all pods."""
        self._taken = {}

    def place(self, pod: int, most: int, ledger: _Ledger, budget: Budget) -> int:
        """Place pods of a workload, node after node, up to a number; return how many."""
        shared, free = self._left(ledger)
        failed: set[tuple[int, ...]] = set()
        way: Way | None = None
        rest = most
        for node in self._site.members:
            taken = self._taken.get(node) or _Taken(list(self._own))
            if tuple([taken.own[at] for at in self._kept]) in failed:
                continue
            have = list(shared)
            for at in self._kept:
                have[at] += taken.own[at]
            while rest and not (budget.reached and ledger.placed):
                found = way if way is not None and way.times(have, 1) else self._ways.best(self._site.parts[pod], have)
                if found is None:
                    failed.add(tuple([taken.own[at] for at in self._kept]))
                    break
                way, times = found, found.times(have, rest)
                rest -= times
                ledger.placed += times
                taken.ways.extend([(pod, way)] * times)
                self._taken[node] = taken
                for at, amount in way.needs:
                    have[at] -= amount * times
                    mine = min(taken.own[at], amount * times)
                    taken.own[at] -= mine
                    shared[at] -= amount * times - mine
                    self._give(at, amount * times - mine, taken, free, ledger)
            if not rest or budget.reached:
                break
        return most - rest

    def _left(self, ledger: _Ledger) -> tuple[list[int], dict[int, list[DeviceID]]]:
        """Return what is left of what others see too, by resource, and the devices of it by group."""
        shared = [0] * len(self._all)
        free = {group: [one for one in mine if one not in ledger.devices] for group, mine in self._far.items()}
        for group, devices in free.items():
            if group in self._ways.count_at:
                shared[self._ways.count_at[group]] = len(devices)
        for at, (name, unit) in self._amounts.items():
            shared[at] = self._all[at] - ceil(ledger.amounts.get(name, 0) / unit)
        return shared, free

    def _give(self, at: int, amount: int, taken: _Taken, free: dict[int, list[DeviceID]], ledger: _Ledger) -> None:
        """Note that pods on a node take so much of a resource that others see too."""
        if at in self._amounts:
            name, unit = self._amounts[at]
            ledger.amounts[name] = ledger.amounts.get(name, 0) + amount * unit
        elif amount:
            group = self._ways.stock.keys[at][0]
            given, free[group] = free[group][:amount], free[group][amount:]
            ledger.devices.update(given)
            taken.given.setdefault(group, []).extend(given)

    def ways(self) -> Iterator[tuple[int, Way]]:
        """Yield the workload of each pod, and what it takes."""
        return chain.from_iterable(taken.ways for taken in self._taken.values())

    def by_node(self) -> Iterator[PodsOnNode]:
        """Yield who stands where, with which devices."""
        problem = self._site.problem
        site = replace(self._site, make=lambda: problem, devices=partial(self._devices, self._taken))
        for node, taken in self._taken.items():
            counts = [0] * len(site.parts)
            for pod, _ in taken.ways:
                counts[pod] += 1
            takes = tuple(way.takes for _, way in sorted(taken.ways, key=lambda one: one[0]))
            yield PodsOnNode(site, node, tuple(counts), takes)

    def _devices(self, every: Mapping[str, _Taken], node: str) -> dict[int, list[DeviceID]]:
        """Return the devices that pods on a node take, by group: those of the node first."""
        taken = every[node]
        groups = sorted({group for _, way in taken.ways for _, group, _ in way.takes})
        found = table_devices(self._fleet, node, groups)
        for group in groups:
            far = set(self._far.get(group, ()))
            if group in self._ways.count_at:
                found[group] = [*(one for one in found[group] if one not in far), *taken.given.get(group, ())]
        return found
