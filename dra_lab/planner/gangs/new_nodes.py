"""Nodes that may be added as a part of the problem of gangs, and a first answer that greedy finds with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import NodeType
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.gangs.greedy import greedy
from dra_lab.planner.gangs.levels import HOST_DEPTH, Path, Tier
from dra_lab.planner.gangs.needs import GangNeed, Needs, read_needs, replaced, without_preferences
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, NewNodes, On, Slot
from dra_lab.planner.gangs.spots import Spot, Spots, spots_of
from dra_lab.topology.new_nodes import NewNode, hierarchies_with, new_names

Key = tuple[Path | None, ...]
"""The domain of every tier."""

Chosen = Sequence[tuple[Spot, int]]
"""Spots with the number of nodes that are added there."""


def wanted_gangs(gangs: Sequence[Gang], *, full: bool) -> tuple[Gang, ...]:
    """Return gangs that want the pods that must fit: their minimum, or all replicas if `full`."""
    found = []
    for gang in gangs:
        least = [replace(group, workload=replaced(group.workload, group.least)) for group in gang.groups if group.least]
        groups = gang.groups if full else least
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

    def __post_init__(self) -> None:
        """Make whole numbers of the costs: `unit` is what they are divided by."""
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
            by_need.setdefault(without_preferences(need), []).extend(need.gangs)
        gangs = [replace(need, gangs=tuple(mine)) for need, mine in by_need.items()]
        inner = {
            tier for need in gangs for group in need.groups for tier in (group.required, *dict(group.slices).values())
        }
        used = inner | {need.required for need in gangs}
        tiers = [tier if at in used else Tier("", 0, {}) for at, tier in enumerate(needs.tiers)]
        return replace(needs, tiers=tiers, gangs=gangs)

    def keys(self, places: Sequence[Mapping[str, Path]]) -> list[Key]:
        """Return the domain of every tier of a new node in each of some places."""
        tiers = self.needs({f"+{at}": paths for at, paths in enumerate(places)}).tiers
        return [tuple(tier.paths.get(f"+{at}") for tier in tiers) for at in range(len(places))]


# ---------------------------------------------------------------------- all nodes that may be of use


def enlarged(
    question: AddQuestion,
    base: GangProblem,
    profiles: Sequence[int],
    domains: int,
    sizes: Sizes,
    most_cost: int | None = None,
) -> tuple[GangProblem, Spots]:
    """Return a problem with nodes that may be added, and their spots.

    `profiles` are those of the node types, -1 if one was not examined in time. There are at most `domains` new domains
    of each kind, and no more nodes than an answer of `most_cost` may have.
    """
    allowed = min(domains, sizes.variables // max(1, len(question.types)))
    spots = spots_of(question.cluster, question.types, question.trees, base.needs, allowed)
    new = NewNodes(complete=allowed == domains or not spots.fewer)
    # Spots that no gang tells apart are one slot, unless they share their places with other spots.
    merged: dict[tuple[int, Key, int], list[int]] = {}
    lone = Counter(spot.group for spot in spots.found)
    for at, key in enumerate(question.keys([spot.place.paths for spot in spots.found])):
        spot = spots.found[at]
        own = spot.group if lone[spot.group] > 1 or spot.place.new else -1
        merged.setdefault((spot.type, _on_host(base.needs, key, ""), own), []).append(at)
    regions = {key: region for region, key in enumerate(base.keys)}
    inside: dict[int, list[int]] = {}
    for (kind, key, _), mine in merged.items():
        if profiles[kind] < 0:
            new.complete = False
            continue
        groups = dict.fromkeys(spots.found[at].group for at in mine)
        limits = [spots.limits[group] for group in groups]
        # More nodes than pods are never of use.
        most = min([_pods(base.needs), *([] if None in limits else [sum(limit or 0 for limit in limits)])])
        most = most if most_cost is None else min(most, most_cost // question.costs[kind])
        for group in groups if len(groups) == 1 else ():
            inside.setdefault(group, []).append(len(new.slots))
        region = regions.setdefault(_on_host(base.needs, key, f"+{len(new.slots)}"), len(regions))
        new.slots.append(Slot(tuple(mine), region, profiles[kind], most, question.costs[kind]))
    for group, slots in inside.items():
        limit = spots.limits[group]
        if limit is not None and sum(new.slots[slot].most for slot in slots) > limit:
            new.limits.append((tuple(slots), limit))
    for several, count in spots.some_of:
        new.some_of.append((tuple(tuple(inside.get(group, ())) for group in several), count))
    return replace(base, keys=list(regions), new=new), spots


def _on_host(needs: Needs, key: Key, host: str) -> Key:
    """Return the domains of a region that is one host."""
    return tuple(
        (host,) if path is not None and tier.depth == HOST_DEPTH else path
        for path, tier in zip(key, needs.tiers, strict=True)
    )


def _pods(needs: Needs) -> int:
    pods = sum(need.copies * sum(need.least_pods.values()) for need in needs.gangs)
    return pods + sum(wanted for _, wanted in needs.ordinary)


def useful_domains(question: AddQuestion, needs: Needs, most_cost: int | None) -> int:
    """Return how many new domains are of use: a gang is in one of its level, and each has a node with a pod."""
    inner = max(({tier.depth for tier in needs.tiers if tier.paths} - {HOST_DEPTH}), default=0)
    same = all(need.required and needs.tiers[need.required].depth >= inner for need in needs.gangs)
    domains = sum(need.copies for need in needs.gangs) if same and not needs.ordinary else _pods(needs)
    return domains if most_cost is None else min(domains, most_cost // min(question.costs, default=1))


def one_by_one(problem: GangProblem, most: int) -> GangProblem:
    """Return the problem with a slot for every single node if a gang names hosts."""
    if not any(tier.depth == HOST_DEPTH and tier.paths for tier in problem.needs.tiers):
        return problem
    limit = max(1, most // max(1, len(problem.new.slots)))
    regions = {key: region for region, key in enumerate(problem.keys)}
    new = NewNodes(complete=problem.new.complete and all(slot.most <= limit for slot in problem.new.slots))
    singles: list[range] = []
    for slot in problem.new.slots:
        first = len(new.slots)
        for number in range(first, first + min(slot.most, limit)):
            key = _on_host(problem.needs, problem.keys[slot.region], f"+{number}")
            new.slots.append(replace(slot, most=1, region=regions.setdefault(key, len(regions))))
        singles.append(range(first, len(new.slots)))

    def single(slots: Iterable[int]) -> tuple[int, ...]:
        return tuple(number for slot in slots for number in singles[slot])

    new.limits = [(single(slots), limit) for slots, limit in problem.new.limits]
    new.some_of = [(tuple(map(single, rows)), count) for rows, count in problem.new.some_of]
    return replace(problem, keys=list(regions), new=new)


def chosen(problem: GangProblem, spots: Spots, counts: Sequence[int]) -> Chosen:
    """Return how many nodes each spot has, if each slot has some."""
    found: Counter[int] = Counter()
    free = dict(enumerate(spots.limits))
    for slot, nodes in zip(problem.new.slots, counts, strict=True):
        left = nodes
        for spot in slot.spots:
            group = spots.found[spot].group
            # Slots of several spots have groups of their own.
            limit = free[group] if len(slot.spots) > 1 else None
            mine = left if limit is None else min(left, limit)
            if limit is not None:
                free[group] = limit - mine
            found[spot] += mine
            left -= mine
    return [(spots.found[spot], count) for spot, count in sorted(found.items()) if count]


def nodes_of(question: AddQuestion, added: Chosen) -> list[NewNode]:
    """Return the nodes to add with their names."""
    taken = set(question.cluster.node_names)
    found = []
    for spot, count in added:
        one = question.types[spot.type]
        for name in islice(new_names(one.name, taken), count):
            taken.add(name)
            found.append(NewNode(name, one, spot.place))
    return found


# ---------------------------------------------------------------------- a first answer


def missing(problem: GangProblem, solution: GangSolution) -> Counter[int]:
    """Return how many gangs of each need have no place, and behind them the pods of each workload."""
    placed = Counter(one.need for one in solution.instances)
    gangs = problem.needs.gangs
    found = Counter({at: need.copies - placed[at] for at, need in enumerate(gangs)})
    for at, (_, wanted) in enumerate(problem.needs.ordinary):
        found[len(gangs) + at] = wanted - sum(solution.ordinary[at].values())
    return +found


class FirstAnswer:
    """New nodes for what greedy does not place on the nodes of the cluster."""

    def __init__(self, problem: GangProblem, budget: Budget) -> None:
        """Open no nodes yet: `opened` is their number in each slot."""
        self.problem, self.budget = problem, budget
        self.opened = [0] * len(problem.new.slots)
        self.limits = {slot: row for row in problem.new.limits for slot in row[0]}

    def find(self, lacking: Counter[int]) -> list[int] | None:
        """Return how many nodes of each slot greedy uses to place everything, None if it does not."""
        needs = self.problem.needs
        for number, count in lacking.items():
            if number < len(needs.gangs):
                for _ in range(count):
                    self._open(needs.gangs[number])
            else:
                every = range(len(self.opened))
                self._add(self._cheapest(every, {needs.ordinary[number - len(needs.gangs)][0]: count}))
        before = 0
        while before < sum(self.opened) and not self.budget.reached:
            before = sum(self.opened)
            problem, slot_of = self._with_opened()
            found = greedy(problem, self.budget.part(self.budget.shares.step))
            if not missing(problem, found):
                used = Counter(slot_of[node] for node in found.nodes if node in slot_of)
                return [used[slot] for slot in range(len(self.opened))] if self._may_be(used) else None
            for slot, count in enumerate(self.opened):
                self.opened[slot] += min(count, self._left(slot))
        return None

    def _may_be(self, used: Mapping[int, int]) -> bool:
        """Say whether no more new domains have nodes than there may be."""
        return all(
            sum(any(used[slot] for slot in slots) for slots in several) <= most
            for several, most in self.problem.new.some_of
        )

    def _left(self, slot: int) -> int:
        """Return how many more nodes a slot has places for."""
        slots, limit = self.limits.get(slot, ((), 0))
        alone = self.problem.new.slots[slot].most - self.opened[slot]
        return min(alone, limit - sum(self.opened[one] for one in slots)) if slots else alone

    def _open(self, gang: GangNeed) -> None:
        """Open nodes that hold one gang, in the domain where they cost least."""
        inside: dict[Path | None, list[int]] = {}
        for slot, new in enumerate(self.problem.new.slots):
            inside.setdefault(self.problem.keys[new.region][gang.required], []).append(slot)
        inside.pop(None, None)
        every = [found for mine in inside.values() if (found := self._cheapest(mine, gang.least_pods))]
        self._add(min(every, key=self._cost, default=None))

    def _cost(self, nodes: Mapping[int, int]) -> int:
        return sum(self.problem.new.slots[slot].cost * count for slot, count in nodes.items())

    def _add(self, nodes: Mapping[int, int] | None) -> None:
        for slot, count in (nodes or {}).items():
            self.opened[slot] += min(count, self._left(slot))

    def _cheapest(self, slots: Iterable[int], pods: Mapping[int, int]) -> Counter[int] | None:
        """Return how many new nodes of each slot hold the pods of each kind at about least cost, None if none do."""
        found, new = Counter[int](), self.problem.new.slots
        for kind, count in pods.items():
            each = {slot: most for slot in slots if (most := self.problem.profiles[new[slot].profile].most(kind))}
            cost = {slot: -(-count // most) * new[slot].cost for slot, most in each.items()}
            left = count
            for slot in sorted(each, key=lambda slot: (each[slot] * self._left(slot) < count, cost[slot])):
                found[slot] += (nodes := min(-(-left // each[slot]), self._left(slot)))
                left = max(0, left - nodes * each[slot])
            if left:
                return None
        return found

    def _with_opened(self) -> tuple[GangProblem, dict[str, int]]:
        """Return the problem with the nodes that are opened, and the slot of each of these."""
        problem, slot_of = self.problem, dict[str, int]()
        cells, on = {key: list(nodes) for key, nodes in problem.cells.items()}, dict(problem.on)
        regions = {key: region for region, key in enumerate(problem.keys)}
        for slot, count in enumerate(self.opened):
            new = problem.new.slots[slot]
            for number in range(count):
                slot_of[name := f"+{slot}.{number}"] = slot
                key = _on_host(problem.needs, problem.keys[new.region], name)
                on[name] = On(regions.setdefault(key, len(regions)), new.profile)
                cells.setdefault(on[name], []).append(name)
        return replace(problem, cells=cells, on=on, keys=list(regions), new=NewNodes()), slot_of
