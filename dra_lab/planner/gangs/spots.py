"""Where nodes of each type may be added: spots in existing and new domains, and how many nodes each has places for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import NewDomains, NodeType
from dra_lab.planner.gangs.levels import tree_with
from dra_lab.planner.gangs.needs import Needs
from dra_lab.topology.new_nodes import NewPlace, Path, anywhere, check_own_devices, existing_places, new_place


@dataclass(frozen=True)
class Spot:
    """Nodes of one type in one place; spots of one `group` share `limit` places, any number if it is None."""

    number: int
    type: int
    place: NewPlace
    group: Hashable
    limit: int | None


@dataclass
class Spots:
    """All spots of a cluster, with at most `most` new domains of each kind.

    `some_of` are groups that are new domains of one kind, with how many of them may be used. `fewer` says that new
    domains that are allowed were left out.
    """

    cluster: Cluster
    trees: Sequence[Hierarchy]
    needs: Needs
    most: int
    found: list[Spot] = field(default_factory=list)
    some_of: list[tuple[tuple[Hashable, ...], int]] = field(default_factory=list)
    fewer: bool = False
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
            if (new := one.new_domains) is not None:
                key = new, tree.name, new.level or level
                if key not in self._made:
                    self._made[key] = self._make(one, new, tree, key[2])
                for at, place in enumerate(self._made[key]):
                    self._add_spot(number, place, (*key, at), new.nodes)
        check_own_devices(self.cluster, one, [spot.place for spot in self.found[first:]])

    def _add_spot(self, number: int, place: NewPlace, group: Hashable, limit: int | None) -> None:
        self.found.append(Spot(len(self.found), number, place, group, limit))

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
        if not self._is_distinguished(tree, depth):
            # Nothing that is wanted depends on which domain contains the new ones.
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

    def _is_distinguished(self, tree: Hierarchy, depth: int) -> bool:
        """Say whether a gang may depend on what contains a domain: a level above it, or another hierarchy."""
        named = [tier for tier in self.needs.tiers if tier.hierarchy and tier.paths]
        return any(tier.hierarchy != tree.name or tier.depth - 1 < depth for tier in named)


def spots_of(
    cluster: Cluster, types: Sequence[NodeType], trees: Sequence[Hierarchy], needs: Needs, domains: int
) -> Spots:
    """Return the spots of all node types, with at most `domains` new domains of each kind."""
    spots = Spots(cluster, trees, needs, domains)
    for number, one in enumerate(types):
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
