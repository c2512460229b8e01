"""Gangs on a cluster and on nodes that may be added, as the planner needs them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import NodeType
from dra_lab.planner.budget import Sizes
from dra_lab.planner.gangs.needs import (
    HOST_DEPTH,
    GangNeed,
    GroupNeed,
    Needs,
    Path,
    Tier,
    read_needs,
    replaced,
    without_preferences,
)
from dra_lab.planner.gangs.new_spots import Spot, Spots, hosts_matter, spots_of
from dra_lab.planner.gangs.problem import GangProblem
from dra_lab.topology.new_nodes import NewNode, hierarchies_with, new_names


@dataclass(frozen=True)
class Slot:
    """Nodes that may be added, all in one region with one profile: `most` of them, `cost` each.

    `spots` are the numbers of the places that it stands for.
    """

    spots: tuple[int, ...]
    type: int
    region: int
    profile: int
    most: int
    cost: int


@dataclass
class AddProblem:
    """Gangs on a cluster and on nodes that may be added.

    `keys` has for each region its domain of every tier. `limits` are slots with the most nodes that they have
    together, `interchangeable` slots by new domain of one kind with the most domains used, `chains` slots of which
    one is used before the next.
    """

    base: GangProblem
    keys: list[tuple[Path | None, ...]]
    slots: list[Slot]
    sizes: Sizes
    limits: list[tuple[tuple[int, ...], int]] = field(default_factory=list)
    interchangeable: list[tuple[tuple[tuple[int, ...], ...], int | None]] = field(default_factory=list)
    chains: list[tuple[int, ...]] = field(default_factory=list)
    most_cost: int | None = None
    complete: bool = True
    """Whether the slots have all nodes that a cheapest answer may use."""


def wanted_gangs(gangs: Sequence[Gang], *, full: bool) -> tuple[Gang, ...]:
    """Return gangs that want the pods that must fit: their minimum, or all replicas if `full`."""
    found = []
    for gang in gangs:
        groups = [
            replace(group, workload=replaced(group.workload, group.least), min=None) if not full else group
            for group in gang.groups
            if full or group.least
        ]
        found.append(replace(gang, groups=[replace(group, min=None) for group in groups]))
    return tuple(found)


@dataclass
class AddQuestion:
    """What is asked, with the ways to read it for other sets of nodes."""

    cluster: Cluster
    gangs: tuple[Gang, ...]
    workloads: tuple[Workload, ...]
    types: tuple[NodeType, ...]
    trees: tuple[Hierarchy, ...]
    costs: tuple[int, ...] = ()
    unit: int = 1
    """By what the whole costs of the planner are divided."""

    def __post_init__(self) -> None:
        """Make whole numbers of the costs."""
        exact = [one.exact_cost for one in self.types]
        self.unit = math.lcm(*(cost.denominator for cost in exact))
        self.costs = tuple(int(cost * self.unit) for cost in exact)

    def needs(self, names: Mapping[str, Mapping[str, Path]]) -> Needs:
        """Return what is asked for the nodes of the cluster and new ones, of which the paths are given.

        What is preferred and the priorities do not matter, because everything must fit.
        """
        trees = hierarchies_with(self.trees, names) if names else self.trees
        needs = read_needs(self.gangs, self.workloads, trees, [*self.cluster.node_names, *names])
        by_need: dict[GangNeed, list[int]] = {}
        for need in needs.gangs:
            plain = without_preferences(need)
            by_need.setdefault(plain, []).extend(need.gangs)
        gangs = [replace(need, gangs=tuple(mine)) for need, mine in by_need.items()]
        used = {tier for need in gangs for tier in (need.required, *(t for g in need.groups for t in _tiers(g)))}
        tiers = [tier if at in used else Tier("", 0, {}) for at, tier in enumerate(needs.tiers)]
        return replace(needs, tiers=tiers, gangs=gangs)


def _tiers(group: GroupNeed) -> list[int]:
    return [tier for tier in (group.required, *(tier for _, tier in group.slices)) if tier >= 0]


@dataclass
class Enlarged:
    """The problem of nodes to add, with what its slots stand for."""

    problem: AddProblem
    spots: Spots

    def chosen(self, counts: Sequence[int]) -> list[tuple[Spot, int]]:
        """Return how many nodes each spot has, if each slot has some."""
        found: Counter[int] = Counter()
        free = dict(enumerate(self.spots.limits))
        for slot, nodes in zip(self.problem.slots, counts, strict=True):
            count = nodes
            for spot in slot.spots:
                group = self.spots.found[spot].group
                # Slots that stand for several spots have groups of their own.
                limit = free[group] if len(slot.spots) > 1 else None
                mine = count if limit is None else min(count, limit)
                if limit is not None:
                    free[group] = limit - mine
                found[spot] += mine
                count = count - mine
        return [(self.spots.found[spot], count) for spot, count in sorted(found.items()) if count]


def enlarged(
    question: AddQuestion, base: GangProblem, profiles: Sequence[int], most_cost: int | None, sizes: Sizes
) -> Enlarged:
    """Return the problem with every node that a cheapest answer may use.

    `base` has the nodes of the cluster, `profiles` the profile of each node type, -1 if it was not examined in time,
    and `most_cost` the cost of an answer that is known.
    """
    needs = base.needs
    pods = sum(need.copies * sum(group.least for group in need.groups) for need in needs.gangs)
    pods += sum(wanted for _, wanted in needs.ordinary)
    # A gang is in one domain of its level, and each new domain has a pod.
    domains = pods if needs.ordinary or any(not need.required for need in needs.gangs) else _domains(needs, pods)
    cheapest = min(question.costs, default=1)
    if most_cost is not None:
        domains = min(domains, most_cost // cheapest)
    allowed = min(domains, sizes.add_spots // max(1, len(question.types)))
    spots = spots_of(question.cluster, question.types, question.trees, needs, allowed)
    complete = (allowed == domains or not spots.fewer) and all(profiles[spot.type] >= 0 for spot in spots.found)
    names = {f"+{at}": spot.place.paths for at, spot in enumerate(spots.found)}
    with_new = question.needs(names)
    merged: dict[tuple[int, tuple[Path | None, ...], int], list[int]] = {}
    lone = Counter(spot.group for spot in spots.found)
    for at, spot in enumerate(spots.found):
        where = tuple(None if tier.depth == HOST_DEPTH else tier.paths.get(f"+{at}") for tier in with_new.tiers)
        own = spot.group if lone[spot.group] > 1 or spot.place.new else -1
        merged.setdefault((spot.type, where, own), []).append(at)
    slots: list[Slot] = []
    for (kind, _, _), mine in merged.items():
        limits = [spots.limits[spots.found[at].group] for at in mine]
        known = [limit for limit in limits if limit is not None]
        # More nodes than these are never of use: each has a pod.
        most = pods
        if most_cost is not None:
            most = min(most, most_cost // question.costs[kind])
        if len(known) == len(limits):
            most = min(most, sum(known))
        if profiles[kind] < 0:
            continue
        slots.append(Slot(tuple(mine), kind, 0, profiles[kind], most, question.costs[kind]))
    chains: list[tuple[int, ...]] = []
    keys = list(base.keys)
    split = hosts_matter(with_new)
    if split:
        slots, chains, short = _single_nodes(slots, sizes.add_spots)
        complete = complete and not short
    own_names = {f"+{at}": spots.found[slot.spots[0]].place.paths for at, slot in enumerate(slots)}
    with_new = question.needs(own_names)
    known_keys = {key: at for at, key in enumerate(keys)}
    for at, slot in enumerate(slots):
        key = tuple(tier.paths.get(f"+{at}") for tier in with_new.tiers)
        if key not in known_keys:
            known_keys[key] = len(keys)
            keys.append(key)
        slots[at] = replace(slot, region=known_keys[key])
    problem = AddProblem(base, keys, slots, sizes, chains=chains, most_cost=most_cost, complete=complete)
    _add_limits(problem, spots)
    return Enlarged(problem, spots)


def _domains(needs: Needs, pods: int) -> int:
    """Return how many domains of any level gangs use at most."""
    inner = {tier.depth for tier in needs.tiers if tier.paths}
    same = all(needs.tiers[need.required].depth >= max(inner - {HOST_DEPTH}, default=0) for need in needs.gangs)
    return sum(need.copies for need in needs.gangs) if same else pods


def _single_nodes(slots: Sequence[Slot], most: int) -> tuple[list[Slot], list[tuple[int, ...]], bool]:
    """Return a slot for every single node, which of them are used in order, and whether some were left out."""
    limit = max(1, most // max(1, len(slots)))
    found: list[Slot] = []
    chains = []
    for slot in slots:
        first = len(found)
        found += [replace(slot, most=1)] * min(slot.most, limit)
        chains.append(tuple(range(first, len(found))))
    return found, chains, any(slot.most > limit for slot in slots)


def _add_limits(problem: AddProblem, spots: Spots) -> None:
    inside: dict[int, list[int]] = {}
    for at, slot in enumerate(problem.slots):
        mine = {spots.found[spot].group for spot in slot.spots}
        if len(mine) == 1:
            inside.setdefault(mine.pop(), []).append(at)
    for group, slots in inside.items():
        limit = spots.limits[group]
        if limit is not None and sum(problem.slots[slot].most for slot in slots) > limit:
            problem.limits.append((tuple(slots), limit))
    merged: dict[tuple[int, ...], list[int]] = {}
    for at, slot in enumerate(problem.slots):
        if len({spots.found[spot].group for spot in slot.spots}) > 1:
            merged.setdefault(slot.spots, []).append(at)
    for mine_too, slots in merged.items():
        limits = [spots.limits[spots.found[spot].group] for spot in mine_too]
        if None not in limits:
            problem.limits.append((tuple(slots), sum(limit or 0 for limit in limits)))
    for groups, most in spots.interchangeable:
        rows = tuple(tuple(inside.get(group, ())) for group in groups)
        problem.interchangeable.append((tuple(row for row in rows if row), most))


def new_nodes(question: AddQuestion, chosen: Sequence[tuple[Spot, int]]) -> list[NewNode]:
    """Return the nodes to add with their names."""
    taken = set(question.cluster.node_names)
    found = []
    for spot, count in chosen:
        one = question.types[spot.type]
        for name in islice(new_names(one.name, taken), count):
            taken.add(name)
            found.append(NewNode(name, one, spot.place))
    return found
