"""Nodes that share devices, planned at once: a variable for every way of a pod on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.crowd_ways_model import WaysModel
from dra_lab.planner.fleet.crowds import CrowdTaken
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.partition_kinds import Supply, by_kind
from dra_lab.planner.fleet.share_kinds import moved, shares_by_kind
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.columns import Array, Columns, columns_of
from dra_lab.planner.states.copies import JointProblem, Part
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable
from dra_lab.planner.variables import Expression

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
        """Return what so many ways and feeds are worth."""
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

    def _given(self, fed: Sequence[Sequence[int]]) -> Mapping[int, Sequence[DeviceID]]:
        found = {at: list(group.devices) for at, group in enumerate(self.site.problem.groups)}
        found |= {kind: [] for supply in self.supplies for kind in supply.kinds}
        # Where nobody stands nothing is fed.
        for supply, often in zip(self.supplies, fed, strict=False):
            for kind, devices in supply.devices(often):
                found[kind].extend(devices)
        return found


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
    groups = tuple(replace(group, devices=()) for group in alone.groups)
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
        number: replace(
            group,
            asks=tuple(ask - mine.start for ask in group.asks if ask in mine),
            places=group.places[slice(*part.links)],
            uses=tuple((ask - mine.start, uses) for ask, uses in group.uses if ask in mine),
        )
        for number, group in enumerate(seen)
        if any(ask in mine for ask in group.asks)
    }
    # On equal nodes they are in one order, whoever saw the shared ones first.
    numbers = tuple(sorted(groups, key=lambda number: (repr(replace(groups[number], devices=())), groups[number].size)))
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
