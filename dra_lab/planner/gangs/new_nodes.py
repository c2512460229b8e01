"""Nodes that may be added as a part of the problem of gangs, and what greedy places with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import AddedNodes, NewDomains, NodeType
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import tree_with
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.gangs.needs import HOST_DEPTH, Needs, read_needs, required_only
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, NewNodes, On, Spot
from dra_lab.planner.gangs.search import greedy
from dra_lab.topology.new_nodes import (
    NewNode,
    NewPlace,
    Path,
    anywhere,
    check_own_devices,
    existing_places,
    hierarchies_with,
    new_names,
    new_place,
)


def wanted_gangs(gangs: Sequence[Workload], *, full: bool) -> tuple[Workload, ...]:
    """Return gangs that want the pods that must fit: their minimum, or all replicas if `full`."""
    found = []
    for gang in gangs:
        least = [replace(group, count=group.least) for group in gang.pods if group.least]
        groups = gang.pods if full else least
        found.append(replace(gang, pods=tuple(replace(group, minimum=None) for group in groups)))
    return tuple(found)


def needs_with(asked: AddedNodes, names: Mapping[str, Mapping[str, Path]]) -> Needs:
    """Return what is asked for the nodes of the cluster and new ones, of which the paths are given.

    What is preferred and the priorities do not matter, because everything must fit.
    """
    trees = hierarchies_with(asked.hierarchies, names) if names else asked.hierarchies
    gangs = [required_only(gang, asked.hierarchies) for gang in asked.wanted]
    return read_needs(gangs, asked.workloads, trees, [*asked.cluster.node_names, *names])


# ---------------------------------------------------------------------- all nodes that may be of use


def enlarged(asked: AddedNodes, base: GangProblem, profiles: Sequence[int], sizes: Sizes) -> GangProblem:
    """Return a problem with nodes that may be added; `profiles` are those of the types, -1 if one was not examined.

    Each node has a cell of its own if a gang names hosts.
    """
    domains = _useful_domains(base.needs)
    allowed = min(domains, sizes.variables // max(1, len(asked.types)))
    spots = spots_of(asked, base.needs, allowed)
    new = NewNodes(spots.found, spots.unit, spots.some_of, complete=allowed == domains or not spots.fewer)
    # The domain of every tier of a new node in each spot.
    tiers = needs_with(asked, {f"+{spot.number}": spot.place.paths for spot in spots.found}).tiers
    hosts = [tier.depth == HOST_DEPTH and bool(tier.paths) for tier in base.needs.tiers]
    most_single = max(1, sizes.variables // max(1, len(spots.found)))
    regions, cells = {key: region for region, key in enumerate(base.keys)}, dict(base.cells)
    for spot in spots.found:
        path = [tier.paths.get(f"+{spot.number}") for tier in tiers]
        # More nodes than pods are never of use.
        most = _pods(base.needs) if spot.limit is None else min(spot.limit, _pods(base.needs))
        new.complete = new.complete and profiles[spot.type] >= 0 and not (any(hosts) and most > most_single)
        most = min(most, most_single) if any(hosts) else most
        for name in [f"+{spot.number}.{number}" for number in range(most)] if profiles[spot.type] >= 0 else ():
            key = tuple((name,) if one and host else one for one, host in zip(path, hosts, strict=True))
            at = On(regions.setdefault(key, len(regions)), profiles[spot.type], spot.number)
            cells.setdefault(at, []).append(name)
    return replace(base, cells=cells, keys=list(regions), new=new)


def _pods(needs: Needs) -> int:
    pods = sum(need.copies * sum(need.least_pods.values()) for need in needs.gangs)
    return pods + sum(wanted for _, wanted in needs.ordinary)


def _useful_domains(needs: Needs) -> int:
    """Return how many new domains are of use: a gang is in one of its level, and each has a node with a pod."""
    inner = max(({tier.depth for tier in needs.tiers if tier.paths} - {HOST_DEPTH}), default=0)
    same = all(need.required and needs.tiers[need.required].depth >= inner for need in needs.gangs)
    return sum(need.copies for need in needs.gangs) if same and not needs.ordinary else _pods(needs)


def _by_spot(counts: Mapping[On, int]) -> Counter[int]:
    found = Counter[int]()
    for at, count in counts.items():
        found[at.spot] += count
    return +found


def nodes_of(asked: AddedNodes, spots: Sequence[Spot], counts: Mapping[On, int]) -> list[NewNode]:
    """Return the nodes to add with their names; each cell has some."""
    taken, found = set(asked.cluster.node_names), []
    for number, count in sorted(_by_spot(counts).items()):
        one = asked.types[spots[number].type]
        for name in islice(new_names(one.name, taken), count):
            taken.add(name)
            found.append(NewNode(name, one, spots[number].place))
    return found


# ---------------------------------------------------------------------- a first answer


def missing(problem: GangProblem, solution: GangSolution) -> bool:
    """Say whether a gang, or a pod of an ordinary workload, has no place."""
    wanted = sum(need.copies for need in problem.needs.gangs), sum(pods for _, pods in problem.needs.ordinary)
    return (len(solution.instances), sum(row.total() for row in solution.ordinary)) != wanted


def opened(problem: GangProblem, nodes: Mapping[On, int] | None, budget: Budget) -> Mapping[On, int] | None:
    """Return how many new nodes of each cell greedy uses to place everything, None if it does not.

    It has the nodes of the model, or else one in each spot. If they are too few, it has twice as many, and so on.
    """
    new = problem.new
    if nodes is None:
        closed = {group for groups, most in new.some_of for group in groups[most:]}
        nodes = {at: int(new.spots[at.spot].group not in closed) for at in problem.cells if at.spot >= 0}
    wanted, able, before = _by_spot(nodes), nodes, 0
    while before < sum(able.values()) and not budget.reached:
        before = sum(able.values())
        cells = {at: names[: able.get(at, 0)] if at.spot >= 0 else names for at, names in problem.cells.items()}
        on = problem.on | {name: at for at, names in cells.items() if at.spot >= 0 for name in names}
        larger = replace(problem, cells={at: names for at, names in cells.items() if names}, on=on)
        found = greedy(larger, budget.part(budget.shares.step))
        if not missing(larger, found):
            return Counter(on[node] for node in found.nodes if on[node].spot >= 0)
        wanted += wanted
        able = _cells_of(problem, wanted)
    return None


def _cells_of(problem: GangProblem, wanted: Mapping[int, int]) -> dict[On, int]:
    """Return how many nodes each cell has if spots have some, as far as there are places for them."""
    left, places, found = Counter(wanted), dict[Hashable, int](), {}
    for at in (at for at in problem.cells if at.spot >= 0):
        spot, most = problem.new.spots[at.spot], len(problem.cells[at])
        free = places.setdefault(spot.group, left.total() if spot.limit is None else spot.limit)
        found[at] = mine = min(most, left[at.spot], free)
        left[at.spot] -= mine
        places[spot.group] -= mine
    return found


@dataclass
class Spots:
    """All spots of a cluster, with at most `most` new domains of each kind.

    `some_of` are groups that are new domains of one kind, with how many of them may be used. `fewer` says that new
    domains that are allowed were left out. Costs are whole numbers of 1/`unit`.
    """

    cluster: Cluster
    trees: Sequence[Hierarchy]
    types: Sequence[NodeType]
    needs: Needs
    most: int
    found: list[Spot] = field(default_factory=list)
    some_of: list[tuple[tuple[Hashable, ...], int]] = field(default_factory=list)
    fewer: bool = False
    unit: int = 1
    _made: dict[tuple[NewDomains, str, str], list[NewPlace]] = field(default_factory=dict)

    def add(self, number: int, one: NodeType) -> None:
        """Add the spots of a node type, given with its number.

        Raises InputError for levels and domains that do not exist, and for devices that several nodes share.
        """
        first = len(self.found)
        tree, level = self._level_of(one)
        if tree is None:
            if isinstance(one.places, Mapping) or one.new_domains is not None:
                message = "names domains, and nothing says where the nodes of this cluster are"
                raise InputError(f"node type {one.name!r} {message}")
            self._add_spot(number, anywhere(self.cluster, self.trees), number, one.places)
        else:
            limits = _limits(one, tree, level)
            for place in existing_places(self.cluster, self.trees, tree, level):
                if limits[place.domain] != 0:
                    self._add_spot(number, place, (number, place.domain), limits[place.domain])
            if isinstance(new := one.new_domains, NewDomains):
                key = new, tree.name, new.level or level
                if key not in self._made:
                    self._made[key] = self._make(one, new, tree, key[2])
                for at, place in enumerate(self._made[key]):
                    self._add_spot(number, place, (*key, at), new.nodes)
        check_own_devices(self.cluster, one, [spot.place for spot in self.found[first:]])

    def _add_spot(self, number: int, place: NewPlace, group: Hashable, limit: int | None) -> None:
        cost = int(self.types[number].exact_cost * self.unit)
        self.found.append(Spot(len(self.found), number, place, group, limit, cost))

    def _level_of(self, one: NodeType) -> tuple[Hierarchy | None, str]:
        """Return the hierarchy and the level to which the places of a node type belong."""
        tree = tree_with(f"node type {one.name!r}", one.hierarchy, [one.level] if one.level else [], self.trees)
        if tree is not None and one.level:
            return tree, one.level
        required = [self.needs.tiers[need.required].hierarchy for need in self.needs.gangs]
        used = [known for name in required for known in self.trees if known.name == name]
        tree = tree or next(iter((*used, *self.trees)), None)
        return (tree, tree.levels[-1].name) if tree is not None and tree.domains else (None, "")

    def _make(self, one: NodeType, new: NewDomains, tree: Hierarchy, level: str) -> list[NewPlace]:
        """Return the new domains of one kind."""
        depth = tree.level_index(level)
        nodes_above: dict[Path, str] = {}
        for domain in tree.at(level):
            if not new.inside or new.inside in ("/".join(domain.parent), *domain.parent[-1:]):
                mine = one.node if one.node in domain.nodes else ""
                nodes_above[domain.parent] = mine or nodes_above.get(domain.parent) or domain.nodes[0]
        if not nodes_above:
            raise InputError(f"node type {one.name!r}: there is no domain {new.inside!r} above the level {level!r}")
        named = [tier for tier in self.needs.tiers if tier.hierarchy and tier.paths]
        if all(tier.hierarchy == tree.name and tier.depth > depth for tier in named):
            # No gang names a level above it or another hierarchy, so it does not matter which domain contains it.
            own = next((parent for parent, node in nodes_above.items() if node == one.node), next(iter(nodes_above)))
            nodes_above = {own: nodes_above[own]}
        self.fewer = self.fewer or new.most is None or new.most > self.most
        made: list[NewPlace] = []
        for node in nodes_above.values():
            for _ in range(self.most if new.most is None else min(new.most, self.most)):
                made.append(new_place(self.cluster, self.trees, tree, level, node, len(made) + 1))
        if new.most is not None and len(nodes_above) > 1:
            self.some_of.append((tuple((new, tree.name, level, at) for at in range(len(made))), new.most))
        return made


def spots_of(asked: AddedNodes, needs: Needs, domains: int) -> Spots:
    """Return the spots of all node types, with at most `domains` new domains of each kind."""
    unit = math.lcm(*(one.exact_cost.denominator for one in asked.types))
    spots = Spots(asked.cluster, asked.hierarchies, asked.types, needs, domains, unit=unit)
    for number, one in enumerate(asked.types):
        spots.add(number, one)
    return spots


def _limits(one: NodeType, tree: Hierarchy, level: str) -> dict[Path, int | None]:
    """Return how many nodes of a type each domain has places for."""
    paths = [domain.path for domain in tree.at(level)]
    if not isinstance(one.places, Mapping):
        return dict.fromkeys(paths, one.places)
    found: dict[Path, int | None] = dict.fromkeys(paths, 0)
    for name, count in one.places.items():
        mine = [path for path in paths if name in (path[-1], "/".join(path))]
        if len(mine) != 1:
            values = [path[-1] for path in paths]
            advice = did_you_mean(name, values) if not mine else "; write its path, for example " + "/".join(mine[0])
            raise InputError(f"node type {one.name!r}: {len(mine) or 'no'} domains are called {name!r}{advice}")
        found[mine[0]] = count
    return found
