"""The least cost of nodes to add by trying everything: every gang in every way on all nodes that may be there."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

from brute_force import TooLarge
from brute_force_gangs import BruteForceGangs
from random_gangs import hierarchy_of

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import NodeType
from dra_lab.model.what_if import with_more_nodes
from dra_lab.model.workload import Workload

STATES = 4_000


@dataclasses.dataclass
class New:
    """A node that may be added: its type, its rack, and the new rack whose places it shares."""

    name: str
    type: NodeType
    path: tuple[str, ...]
    shares: tuple[str, ...] | None


def smallest(gangs: tuple[Workload, ...]) -> tuple[Workload, ...]:
    """Return gangs with their minimum alone."""
    found = []
    for gang in gangs:
        groups = [dataclasses.replace(g, minimum=None, count=g.least) for g in gang.pods if g.least]
        found.append(dataclasses.replace(gang, pods=groups))
    return tuple(found)


class BruteForceNodes:
    """Gangs on a cluster with every node that its types allow; a case is the nodes of it that are used."""

    def __init__(self, cluster: Cluster, places, gangs, workloads, types, release) -> None:
        """`places` has the rack of each node; each type names racks with a number, and new racks with `most`."""
        self.gangs, self.workloads = smallest(gangs), workloads
        self.new: list[New] = []
        self.base, self.places = cluster.node_names, dict(places)
        for one in types:
            for rack, count in one.places.items():
                self.add(one, [tuple(rack.split("/"))] * count, None)
            if one.new_domains is not None:
                for block in sorted({path[0] for path in places.values() if path}):
                    for number in range(one.new_domains.most):
                        path = (block, f"new-{number}")
                        self.add(one, [path] * one.new_domains.nodes, path)
        larger = cluster
        for one in types:
            mine = [new for new in self.new if new.type is one]
            before = set(larger.node_names)
            larger = with_more_nodes(larger, like=one.node, count=len(mine))
            for new, name in zip(mine, [n for n in larger.node_names if n not in before], strict=True):
                new.name = name
                self.places[name] = new.path
        larger = self.usable(larger)
        self.hierarchy: Hierarchy = hierarchy_of(self.places)
        self.brute = BruteForceGangs(larger, self.gangs, workloads, [self.hierarchy], release)
        self.ways = [sorted({way.pods for way in self.brute.ways(gang)}) for gang in self.gangs]
        self.costs = [Fraction(str(new.type.cost)) for new in self.new]
        self.most = max([one.new_domains.most for one in types if one.new_domains] or [0])
        self.size = max([one.new_domains.nodes for one in types if one.new_domains] or [0])

    def usable(self, cluster: Cluster) -> Cluster:
        """Return the cluster in which a copy of a cordoned node is not cordoned."""
        names = {new.name for new in self.new}
        nodes = [dataclasses_free(node) if node.name in names else node for node in cluster.nodes]
        return dataclasses.replace(cluster, nodes=tuple(nodes))

    def add(self, one: NodeType, paths, shares) -> None:
        """Add nodes that may be there."""
        self.new += [New("", one, path, shares) for path in paths]

    def both(self, pods, more):
        """Return the sum of pods, None if a node does not hold it."""
        found = tuple(tuple(a + b for a, b in zip(x, y, strict=True)) for x, y in zip(pods, more, strict=True))
        return found if all(row in self.brute.best[at] for at, row in enumerate(found)) else None

    def reached(self, ways, start):
        """Return what is reached with one more gang, or with more pods."""
        found = {both for pods in start for way in ways if (both := self.both(pods, way)) is not None}
        if len(found) > STATES or len(start) * len(ways) > 60 * STATES:
            raise TooLarge
        return found

    def cost(self, pods) -> Fraction | None:
        """Return the cost of the new nodes that have pods; None if they are more than new racks may have."""
        at = {name: number for number, name in enumerate(self.brute.names)}
        used = [n for n, new in enumerate(self.new) if any(pods[at[new.name]])]
        return self.cost_of(used)

    def cost_of(self, used) -> Fraction | None:
        inside: dict = {}
        for number in used:
            if (shares := self.new[number].shares) is not None:
                inside[shares] = inside.get(shares, 0) + 1
        if len(inside) > self.most or any(count > self.size for count in inside.values()):
            return None
        return sum((self.costs[number] for number in used), Fraction(0))

    def least(self) -> Fraction | None:
        """Return the least cost, None if no nodes help."""
        names = self.brute.names
        states = {tuple((0,) * len(self.brute.kinds) for _ in names)}
        for gang, ways in zip(self.gangs, self.ways, strict=True):
            for _ in range(gang.replicas):
                states = self.reached(ways, states)
        for workload in self.workloads:
            kind = self.brute.kinds.index(workload.claims)
            rows = self.brute.spread(kind, workload.replicas, workload.replicas, range(len(names)))
            states = self.reached([self.brute.as_pods(workload, row) for row in rows], states)
        return min((cost for pods in states if (cost := self.cost(pods)) is not None), default=None)


def dataclasses_free(node):
    """Return a node that is not cordoned."""
    from msgspec.structs import replace

    return replace(node, spec=replace(node.spec, unschedulable=False))
