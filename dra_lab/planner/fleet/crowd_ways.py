"""Nodes that share devices, planned at once: a variable for every way of a pod on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from msgspec.structs import replace as changed

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.crowds import CrowdTaken
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.partition_kinds import Supply, by_kind
from dra_lab.planner.fleet.share_kinds import moved, shares_by_kind
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import JointProblem, Part
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression
from dra_lab.planner.states.columns import Array, Columns, columns_of
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable

LARGEST = 10**6
"""Amounts up to here are told apart by the solver for certain."""


@dataclass(frozen=True)
class WaysCrowd:
    """Nodes that share devices as one model sees them.

    `site` has the problem in which partitions of a kind are one group, `stock` what there is of every resource and the
    ways of each part of the site; `supplies` feed the kinds.
    """

    site: Site
    stock: Stock
    supplies: tuple[Supply, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes."""
        return self.site.nodes[0]

    @property
    def variables(self) -> int:
        """Return about how many variables their model has: a way each."""
        return sum(map(len, self.stock.uses))

    def values(self, part: int, way: int) -> Values:
        """Return what a way is worth, by the goals of devices."""
        return tuple(self.stock.columns[part].values[way].tolist())

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> WaysModel:
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""
        return WaysModel(lp, number, self, demand)

    def some(self, demand: Sequence[int], budget: Budget) -> CrowdTaken:
        """Return a solution that is found quickly: pods take the first way that fits, node by node."""
        fed = tuple(_in_turn(len(supply.sets), len(supply.vectors)) for supply in self.supplies)
        free = self.stock.free[0].copy()
        for supply, often in zip(self.supplies, fed, strict=True):
            held = np.array(often) @ np.array(supply.vectors)
            for kind, count in zip(supply.kinds, held.tolist(), strict=True):
                free[self.fed[kind]] = min(free[self.fed[kind]], count)
        rest, ways = list(demand), dict[tuple[int, int], int]()
        for part, uses in enumerate(self.stock.uses):
            pod = self.site.parts[part].pod
            while rest[pod] and not budget.reached:
                fits = np.flatnonzero((uses <= free).all(axis=1))
                if not len(fits):
                    break
                way = int(fits[0])
                used = uses[way] > 0
                times = int(min(rest[pod], (free[used] // uses[way][used]).min(initial=rest[pod])))
                ways[part, way] = ways.get((part, way), 0) + times
                rest[pod] -= times
                free = free - times * uses[way]
        return self.taken(ways, fed)

    def taken(self, ways: Mapping[tuple[int, int], int], fed: tuple[tuple[int, ...], ...]) -> CrowdTaken:
        """Return what this many ways and feeds are worth."""
        worth = [np.array(self.values(*one)) * times for one, times in ways.items()]
        values = tuple(np.sum(worth, axis=0).tolist()) if worth else ()
        pods: Counter[int] = Counter()
        for (part, _), times in ways.items():
            pods[self.site.parts[part].pod] += times
        return CrowdTaken(pods, len({self.site.parts[part].node for part, _ in ways}), values, ways, fed)

    @cached_property
    def fed(self) -> dict[int, int]:
        """Return the resources that counters feed, by their group."""
        kinds = {kind for supply in self.supplies for kind in supply.kinds}
        return {group: at for at, (group, key) in enumerate(self.stock.keys) if not key and group in kinds}

    def of_node(self) -> dict[int, str]:
        """Return the resources that one node alone sees, with it."""
        problem = self.site.problem
        asked_on = {ask: part.node for part in self.site.parts for ask in range(*part.asks)}
        found = {}
        for at, (group, _) in enumerate(self.stock.keys):
            nodes = {asked_on[ask] for ask in problem.groups[group].asks} if group >= 0 else set()
            if len(nodes) == 1:
                found[at] = nodes.pop()
        return found

    def standing(self, taken: CrowdTaken) -> tuple[Site, tuple[int, ...], Takes]:
        """Return the site with the devices that are fed, the numbers of pods, part by part, and what they take."""
        counts = [0] * len(self.site.parts)
        takes: list[tuple[int, int, int, int]] = []
        number = 0
        for (part, way), times in sorted(taken.ways.items()):
            columns = self.stock.columns[part]
            counts[part] += times
            for _ in range(times):
                row = zip(columns.pairs, columns.takes[way].tolist(), strict=True)
                takes.extend((number, ask, group, count) for (ask, group), count in row if count)
                number += 1
        given = self._given(taken.fed)
        site = replace(self.site, make=lambda: self.site.problem, devices=lambda _: given)
        return site, tuple(counts), tuple(takes)

    def _given(self, fed: Sequence[Sequence[int]]) -> Mapping[int, list[DeviceID]]:
        found = {at: list(group.devices) for at, group in enumerate(self.site.problem.groups)}
        found |= {kind: [] for supply in self.supplies for kind in supply.kinds}
        # Without pods, nothing is fed.
        for supply, often in zip(self.supplies, fed, strict=False):
            for kind, devices in supply.devices(often):
                found[kind].extend(devices)
        return found


class WaysModel:
    """How often each way is taken, what each set of counters feeds, and which nodes are used."""

    def __init__(self, lp: Expression, number: int, crowd: WaysCrowd, demand: Sequence[int]) -> None:
        """Make the variables, and the rows of all resources."""
        self.lp = lp
        self.crowd, self.number, self.demand = crowd, number, demand
        self.takes: dict[tuple[int, int], Expression] = {}
        stock, free = crowd.stock, crowd.stock.free[0]
        for part, uses in enumerate(stock.uses):
            wanted = demand[crowd.site.parts[part].pod]
            often = np.where(uses > 0, free // np.maximum(uses, 1), wanted).min(axis=1, initial=wanted)
            for way, most in enumerate(often.tolist()):
                if most:
                    self.takes[part, way] = self._integer(f"w_{number}_{part}_{way}", most)
        self.node = {node: self._integer(f"u_{number}_{at}", 1) for at, node in enumerate(crowd.nodes)}
        self.fed = [
            [self._integer(f"s_{number}_{at}_{vector}", len(supply.sets)) for vector in range(len(supply.vectors))]
            for at, supply in enumerate(crowd.supplies)
        ]
        self.rows: dict[int, dict[Expression, int]] = {at: {} for at in range(len(stock.keys))}
        for part, uses in enumerate(stock.uses):
            for way, resource in zip(*(at.tolist() for at in np.nonzero(uses)), strict=True):
                if (part, way) in self.takes:
                    self.rows[resource][self.takes[part, way]] = int(uses[way, resource])
        self._keep(free.tolist())

    def _integer(self, name: str, most: int) -> Expression:
        return self.lp.add_variable(name, 0, int(most), pulp.LpInteger)

    def _keep(self, free: Sequence[int]) -> None:
        """Demand that no more is taken of a resource than there is, or than counters feed of it."""
        supplied: dict[int, dict[Expression, int]] = {}
        for at, (supply, feeds) in enumerate(zip(self.crowd.supplies, self.fed, strict=True)):
            self._add(dict.fromkeys(feeds, 1), len(supply.sets), f"sets_{at}")
            for variable, vector in zip(feeds, supply.vectors, strict=True):
                for kind, count in zip(supply.kinds, vector, strict=True):
                    if count:
                        supplied.setdefault(kind, {})[variable] = -count
        fed = {at: group for group, at in self.crowd.fed.items()}
        for at, row in self.rows.items():
            more = supplied.get(fed[at], {}) if at in fed else {}
            self._add({**row, **more}, 0 if at in fed else free[at], f"free_{at}")

    def _add(self, factors: Mapping[Expression, int], most: int, name: str) -> None:
        if factors:
            self.lp.addConstraint(pulp.LpAffineExpression(factors) <= most, f"crowd_{self.number}_{name}")

    def count_nodes(self) -> None:
        """Demand that no pod stands on a node that is not counted as used."""
        free = self.crowd.stock.free[0].tolist()
        for at, node in self.crowd.of_node().items():
            if self.rows[at]:
                self._add({**self.rows[at], self.node[node]: -free[at]}, 0, f"node_free_{at}")
        parts: dict[int, dict[Expression, int]] = {}
        for (part, _), variable in self.takes.items():
            parts.setdefault(part, {})[variable] = 1
        for part, row in parts.items():
            most = min(sum(int(variable.upBound) for variable in row), self.demand[self.crowd.site.parts[part].pod])
            self._add({**row, self.node[self.crowd.site.parts[part].node]: -most}, 0, f"node_part_{part}")

    @property
    def placed(self) -> Sequence[tuple[Part, Expression]]:
        """Return the variables that count replicas, each with the part on which these stand."""
        return [(self.crowd.site.parts[part], variable) for (part, _), variable in self.takes.items()]

    @property
    def taken(self) -> Iterator[tuple[int, int, Expression, int]]:
        """Yield (ask, group of the site, variable, devices that the variable counts for the ask) of all takes."""
        for (part, way), variable in self.takes.items():
            columns = self.crowd.stock.columns[part]
            for (ask, group), count in zip(columns.pairs, columns.takes[way].tolist(), strict=True):
                if count:
                    yield ask, group, variable, count

    @property
    def values(self) -> Sequence[Mapping[Expression, int]]:
        """Return what the variables are worth, goal by goal of devices, as factors."""
        rows = [(variable, self.crowd.values(*one)) for one, variable in self.takes.items()]
        goals = len(rows[0][1]) if rows else 0
        return [{variable: values[at] for variable, values in rows if values[at]} for at in range(goals)]

    @property
    def used(self) -> Sequence[Expression]:
        """Return the 0/1 of every node that is used, once `count_nodes` was called."""
        return tuple(self.node.values())

    def cut(self) -> bool:
        """Say that nothing has to be cut off: all amounts are small enough for the solver (LARGEST)."""
        return False

    def read(self) -> CrowdTaken:
        """Return what the variables hold."""
        ways = {one: int(variable.varValue) for one, variable in self.takes.items() if variable.varValue}
        return self.crowd.taken(ways, tuple(tuple(int(v.varValue or 0) for v in feeds) for feeds in self.fed))

    def start_from(self, taken: CrowdTaken) -> None:
        """Set the variables."""
        for one, variable in self.takes.items():
            variable.varValue = taken.ways.get(one, 0)
        for number, feeds in enumerate(self.fed):
            for vector, variable in enumerate(feeds):
                variable.varValue = taken.fed[number][vector] if taken.fed else 0
        standing = {self.crowd.site.parts[part].node for part, _ in taken.ways}
        for node, variable in self.node.items():
            variable.varValue = int(node in standing)


def ways_crowd(site: Site, order: Sequence[str], budget: Budget) -> WaysCrowd | None:
    """Return nodes that share devices with all ways of their pods; None where these cannot be listed, or time is up.

    `order` names the goals of devices.
    """
    problem, fed = by_kind(site.problem, budget.sizes)
    problem, held, now_at = shares_by_kind(problem, site.parts, budget.sizes)
    supplies = (*moved(fed, now_at), *held)
    if not is_listable(problem, site.parts):
        return None
    columns: list[Columns] = []
    known: dict[Hashable, Columns] = {}
    ways = 0
    for part in site.parts:
        found = None if budget.reached else _columns(problem, part, order, known, budget.sizes.pod_ways)
        if found is None:
            return None
        ways += len(found.takes)
        if ways > budget.sizes.pod_ways:
            return None
        columns.append(found)
    stock = Stock(problem, [NodeState(-1, tuple(group.size for group in problem.groups))], columns)
    if max((_largest(amounts) for amounts in (stock.free, *stock.uses)), default=0) > LARGEST:
        return None
    return WaysCrowd(replace(site, make=lambda: problem), stock, supplies)


def _columns(
    problem: AllocationProblem, part: Part, order: Sequence[str], known: dict[Hashable, Columns], most: int
) -> Columns | None:
    """Return every way of one part, None where there are too many; parts on equal nodes are looked at once."""
    alone, numbers = _alone(problem, part)
    first = part.asks[0]
    # The asks of a pod are the same on every node, up to their names.
    asks = len(alone.asks)
    groups = tuple(changed(group, devices=()) for group in alone.groups)
    sizes = tuple(group.size for group in alone.groups)
    links = tuple((link.where, link.how, link.must, alone.covered(at)) for at, link in enumerate(alone.links))
    key = (alone.requests, links, groups, sizes, alone.impossible, alone.claims, part.pod)
    if key not in known:
        mine = Part(part.pod, part.node, (0, asks), (0, len(alone.requests)), (0, len(alone.links)), part.paired)
        found = columns_of(alone, mine, order, most)
        if found is None:
            return None
        known[key] = found
    return replace(known[key], pairs=tuple((first + ask, numbers[group]) for ask, group in known[key].pairs))


def _alone(problem: AllocationProblem, part: Part) -> tuple[AllocationProblem, tuple[int, ...]]:
    """Return the problem of one part as its node sees it, and the numbers that its groups have in the whole."""
    seen = problem.seen_from(part.node) if isinstance(problem, JointProblem) else problem.groups
    mine = range(*part.asks)
    groups = {
        number: changed(
            group,
            asks=tuple(ask - mine.start for ask in group.asks if ask in mine),
            places=group.places[slice(*part.links)],
            uses=tuple((ask - mine.start, uses) for ask, uses in group.uses if ask in mine),
        )
        for number, group in enumerate(seen)
        if any(ask in mine for ask in group.asks)
    }
    # On identical nodes they are in one order, whichever node saw the shared ones first.
    numbers = tuple(sorted(groups, key=lambda number: (repr(changed(groups[number], devices=())), groups[number].size)))
    alone = AllocationProblem(
        problem.node,
        problem.asks[mine.start : mine.stop],
        tuple(tuple(ask - mine.start for ask in row) for row in problem.requests[slice(*part.requests)]),
        problem.links[slice(*part.links)],
        tuple(groups[number] for number in numbers),
        frozenset(ask - mine.start for ask in problem.impossible if ask in mine),
        part.paired,
        problem.counters,
        tuple(problem.claim_of(ask) - problem.claim_of(mine.start) for ask in mine),
    )
    return alone, numbers


def _in_turn(sets: int, vectors: int) -> tuple[int, ...]:
    """Return how many sets feed each vector, one after the other."""
    return tuple(sets // vectors + (at < sets % vectors) for at in range(vectors))


def _largest(amounts: Array) -> int:
    return int(np.max(amounts, initial=0))
