"""Nodes that may be added as a part of the problem of gangs, and what greedy places with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import NodeType
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.gangs.greedy import greedy
from dra_lab.planner.gangs.levels import HOST_DEPTH, Path
from dra_lab.planner.gangs.needs import Needs, read_needs, required_only
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Key, NewNodes, On, Slot
from dra_lab.planner.gangs.spots import spots_of
from dra_lab.topology.new_nodes import NewNode, hierarchies_with, new_names


def wanted_gangs(gangs: Sequence[Workload], *, full: bool) -> tuple[Workload, ...]:
    """Return gangs that want the pods that must fit: their minimum, or all replicas if `full`."""
    found = []
    for gang in gangs:
        least = [replace(group, count=group.least) for group in gang.pods if group.least]
        groups = gang.pods if full else least
        found.append(replace(gang, pods=tuple(replace(group, minimum=None) for group in groups)))
    return tuple(found)


@dataclass
class AddQuestion:
    """What is asked, with the ways to read it for other sets of nodes."""

    cluster: Cluster
    gangs: tuple[Workload, ...]
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
        gangs = [required_only(gang, self.trees) for gang in self.gangs]
        return read_needs(gangs, self.workloads, trees, [*self.cluster.node_names, *names])

    def keys(self, places: Sequence[Mapping[str, Path]]) -> list[Key]:
        """Return the domain of every tier of a new node in each of some places."""
        tiers = self.needs({f"+{at}": paths for at, paths in enumerate(places)}).tiers
        return [tuple(tier.paths.get(f"+{at}") for tier in tiers) for at in range(len(places))]


# ---------------------------------------------------------------------- all nodes that may be of use


def enlarged(question: AddQuestion, base: GangProblem, profiles: Sequence[int], sizes: Sizes) -> GangProblem:
    """Return a problem with nodes that may be added; `profiles` are those of the types, -1 if one was not examined.

    Single nodes have slots of their own if a gang names hosts.
    """
    domains = _useful_domains(base.needs)
    allowed = min(domains, sizes.variables // max(1, len(question.types)))
    spots = spots_of(question.cluster, question.types, question.trees, base.needs, allowed)
    new = NewNodes(complete=allowed == domains or not spots.fewer)
    single = any(tier.depth == HOST_DEPTH and tier.paths for tier in base.needs.tiers)
    most_single = max(1, sizes.variables // max(1, len(spots.found)))
    regions = {key: region for region, key in enumerate(base.keys)}
    inside: dict[Hashable, list[int]] = {}
    for spot, key in zip(spots.found, question.keys([spot.place.paths for spot in spots.found]), strict=True):
        if profiles[spot.type] < 0:
            new.complete = False
            continue
        cost, limit = question.costs[spot.type], spot.limit
        # More nodes than pods are never of use.
        most = _pods(base.needs) if limit is None else min(limit, _pods(base.needs))
        new.complete = new.complete and not (single and most > most_single)
        for count in [1] * min(most, most_single) if single else [most]:
            number = len(new.slots)
            region = regions.setdefault(_on_host(base.needs, key, f"+{number}"), len(regions))
            inside.setdefault(spot.group, []).append(number)
            new.slots.append(Slot(spot, region, profiles[spot.type], count, cost))
    for slots in inside.values():
        limit = new.slots[slots[0]].spot.limit
        if limit is not None and sum(new.slots[slot].most for slot in slots) > limit:
            new.limits.append((tuple(slots), limit))
    new.some_of = [
        (tuple(tuple(inside.get(group, ())) for group in several), count) for several, count in spots.some_of
    ]
    return replace(base, keys=list(regions), new=new)


def _on_host(needs: Needs, key: Key, host: str) -> Key:
    """Return the domains of a region that is one host."""
    return tuple(
        (host,) if path is not None and tier.depth == HOST_DEPTH else path
        for path, tier in zip(key, needs.tiers, strict=True)
    )


def _pods(needs: Needs) -> int:
    pods = sum(need.copies * sum(need.least_pods.values()) for need in needs.gangs)
    return pods + sum(wanted for _, wanted in needs.ordinary)


def _useful_domains(needs: Needs) -> int:
    """Return how many new domains are of use: a gang is in one of its level, and each has a node with a pod."""
    inner = max(({tier.depth for tier in needs.tiers if tier.paths} - {HOST_DEPTH}), default=0)
    same = all(need.required and needs.tiers[need.required].depth >= inner for need in needs.gangs)
    return sum(need.copies for need in needs.gangs) if same and not needs.ordinary else _pods(needs)


def chosen(problem: GangProblem, counts: Sequence[int]) -> dict[int, int]:
    """Return how many nodes each spot has, if each slot has some."""
    found = Counter[int]()
    for slot, count in zip(problem.new.slots, counts, strict=True):
        found[slot.spot.number] += count
    return {number: count for number, count in sorted(found.items()) if count}


def nodes_of(question: AddQuestion, problem: GangProblem, counts: Sequence[int]) -> list[NewNode]:
    """Return the nodes to add with their names."""
    taken = set(question.cluster.node_names)
    spots = {slot.spot.number: slot.spot for slot in problem.new.slots}
    found = []
    for number, count in chosen(problem, counts).items():
        one = question.types[spots[number].type]
        for name in islice(new_names(one.name, taken), count):
            taken.add(name)
            found.append(NewNode(name, one, spots[number].place))
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


def opened(problem: GangProblem, nodes: Sequence[int] | None, budget: Budget) -> list[int] | None:
    """Return how many new nodes of each slot greedy uses to place everything, None if it does not.

    It has the nodes of the model, or else one in each spot. If they are too few, it has twice as many, and so on.
    """
    new = problem.new
    if nodes is None:
        closed = {slot for several, most in new.some_of for slots in several[most:] for slot in slots}
        nodes = [int(slot.most > 0 and number not in closed) for number, slot in enumerate(new.slots)]
    wanted, able, before = Counter(chosen(problem, nodes)), list(nodes), 0
    while before < sum(able) and not budget.reached:
        before = sum(able)
        larger, slot_of = _with(problem, able)
        found = greedy(larger, budget.part(budget.shares.step))
        if not missing(larger, found):
            used = Counter(slot_of[node] for node in found.nodes if node in slot_of)
            return [used[slot] for slot in range(len(able))]
        wanted += wanted
        able = _slots_of(problem, wanted)
    return None


def _slots_of(problem: GangProblem, wanted: Mapping[int, int]) -> list[int]:
    """Return how many nodes each slot has if spots have some, as far as there are places for them."""
    left, places = Counter(wanted), dict[Hashable, int | None]()
    found = []
    for slot in problem.new.slots:
        limit = places.setdefault(slot.spot.group, slot.spot.limit)
        mine = min(slot.most, left[slot.spot.number])
        mine = mine if limit is None else min(mine, limit)
        left[slot.spot.number] -= mine
        places[slot.spot.group] = None if limit is None else limit - mine
        found.append(mine)
    return found


def _with(problem: GangProblem, able: Sequence[int]) -> tuple[GangProblem, dict[str, int]]:
    """Return the problem with a number of new nodes of each slot, and the slot of each of these."""
    slot_of: dict[str, int] = {}
    cells, on = {key: list(nodes) for key, nodes in problem.cells.items()}, dict(problem.on)
    regions = {key: region for region, key in enumerate(problem.keys)}
    for slot, count in enumerate(able):
        new = problem.new.slots[slot]
        for number in range(count):
            slot_of[name := f"+{slot}.{number}"] = slot
            key = _on_host(problem.needs, problem.keys[new.region], name)
            on[name] = On(regions.setdefault(key, len(regions)), new.profile)
            cells.setdefault(on[name], []).append(name)
    return replace(problem, cells=cells, on=on, keys=list(regions), new=NewNodes()), slot_of
