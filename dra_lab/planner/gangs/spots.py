"""Where nodes of each type may be added: spots in existing and new domains, and how many nodes each has places for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.node_type import NewDomains, NodeType
from dra_lab.planner.gangs.levels import has_level
from dra_lab.planner.gangs.needs import Needs
from dra_lab.topology.new_nodes import NewPlace, Path, anywhere, check_own_devices, existing_places, new_place


@dataclass(frozen=True)
class Spot:
    """Nodes of one type in one place; `group` is the number of the group of spots whose places they share."""

    type: int
    place: NewPlace
    group: int


@dataclass
class Spots:
    """All spots. `limits` has for each group the places that it has, None for no limit.

    `some_of` are groups that are new domains of one kind, with how many of them may be used.
    """

    found: list[Spot] = field(default_factory=list)
    limits: list[int | None] = field(default_factory=list)
    some_of: list[tuple[tuple[int, ...], int]] = field(default_factory=list)
    fewer: bool = False
    """Whether new domains that are allowed were left out because their number has no limit."""

    def group(self, limit: int | None) -> int:
        """Return the number of another group of spots."""
        self.limits.append(limit)
        return len(self.limits) - 1


def spots_of(
    cluster: Cluster, types: Sequence[NodeType], trees: Sequence[Hierarchy], needs: Needs, domains: int
) -> Spots:
    """Return the spots of all node types, with at most `domains` new domains of each kind.

    Raises InputError for levels and domains that do not exist, and for devices that several nodes share.
    """
    spots = Spots()
    made: dict[tuple[NewDomains, str, str], list[int]] = {}
    places: dict[int, NewPlace] = {}
    for number, one in enumerate(types):
        tree, level = _level_of(one, trees, needs)
        first = len(spots.found)
        if tree is None:
            _add_anywhere(cluster, spots, number, one, trees)
        else:
            _add_existing(cluster, spots, number, one, trees, tree, level)
            if one.new_domains is not None:
                key = (one.new_domains, tree.name, one.new_domains.level or level)
                if key not in made:
                    made[key] = _make(cluster, spots, places, one, trees, tree, key[2], needs, domains)
                spots.found += [Spot(number, places[group], group) for group in made[key]]
        check_own_devices(cluster, one, [spot.place for spot in spots.found[first:]])
    return spots


def _level_of(one: NodeType, trees: Sequence[Hierarchy], needs: Needs) -> tuple[Hierarchy | None, str]:
    """Return the hierarchy and the level to which the places of a node type belong."""
    where = f"node type {one.name!r}"
    known = {tree.name: tree for tree in trees}
    if one.hierarchy and one.hierarchy not in known:
        raise InputError(f"{where}: there is no hierarchy {one.hierarchy!r}; there are: {', '.join(known) or 'none'}")
    if one.level:
        able = [tree for tree in trees if one.hierarchy in ("", tree.name) and has_level(tree, one.level)]
        if len(able) == 1:
            return able[0], one.level
        if able:
            raise InputError(f"{where}: several hierarchies have {one.level!r}; name one of {', '.join(known)}")
        every = "; ".join(f"{tree.name}: {', '.join(level.name for level in tree.levels)}" for tree in trees)
        raise InputError(f"{where}: no hierarchy has {one.level!r}; there are: {every or 'none'}")
    used = [known[name] for need in needs.gangs if (name := needs.tiers[need.required].hierarchy) in known]
    tree = known[one.hierarchy] if one.hierarchy else next(iter((*used, *trees)), None)
    return (tree, tree.levels[-1].name) if tree is not None and tree.domains else (None, "")


def _add_anywhere(cluster: Cluster, spots: Spots, number: int, one: NodeType, trees: Sequence[Hierarchy]) -> None:
    if isinstance(one.places, Mapping) or one.new_domains is not None:
        raise InputError(f"node type {one.name!r} names domains, and nothing says where the nodes of this cluster are")
    spots.found.append(Spot(number, anywhere(cluster, trees), spots.group(one.places)))


def _add_existing(
    cluster: Cluster,
    spots: Spots,
    number: int,
    one: NodeType,
    trees: Sequence[Hierarchy],
    tree: Hierarchy,
    level: str,
) -> None:
    groups: dict[Path, int] = {}
    limits = _limits(one, tree, level)
    if not any(limit is None or limit for limit in limits.values()):
        return
    for place in existing_places(cluster, trees, tree, level):
        limit = limits[place.domain]
        if limit is None or limit > 0:
            if place.domain not in groups:
                groups[place.domain] = spots.group(limit)
            spots.found.append(Spot(number, place, groups[place.domain]))


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


def _make(
    cluster: Cluster,
    spots: Spots,
    places: dict[int, NewPlace],
    one: NodeType,
    trees: Sequence[Hierarchy],
    tree: Hierarchy,
    level: str,
    needs: Needs,
    most: int,
) -> list[int]:
    """Return the groups of new domains of one kind; `places` gets the place of each."""
    new = one.new_domains
    assert new is not None, "only such types are asked about"
    depth = tree.level_index(level)
    nodes_above: dict[Path, str] = {}
    for domain in tree.at(level):
        if not new.inside or new.inside in ("/".join(domain.parent), *domain.parent[-1:]):
            mine = one.node if one.node in domain.nodes else ""
            nodes_above[domain.parent] = mine or nodes_above.get(domain.parent) or domain.nodes[0]
    if not nodes_above:
        raise InputError(f"node type {one.name!r}: there is no domain {new.inside!r} above the level {level!r}")
    if not _is_distinguished(needs, tree, depth):
        # Nothing that is wanted depends on which domain contains the new ones.
        own = next((parent for parent, node in nodes_above.items() if node == one.node), next(iter(nodes_above)))
        nodes_above = {own: nodes_above[own]}
    limit = new.most
    spots.fewer = spots.fewer or limit is None or limit > most
    every: list[int] = []
    for node in nodes_above.values():
        for _ in range(most if limit is None else min(limit, most)):
            every.append(spots.group(new.nodes))
            places[every[-1]] = new_place(cluster, trees, tree, level, node, len(every))
    if limit is not None and len(nodes_above) > 1:
        spots.some_of.append((tuple(every), limit))
    return every


def _is_distinguished(needs: Needs, tree: Hierarchy, depth: int) -> bool:
    """Say whether a gang may depend on what contains a domain: a level above it, or another hierarchy."""
    named = [tier for tier in needs.tiers if tier.hierarchy and tier.paths]
    return any(tier.hierarchy != tree.name or tier.depth - 1 < depth for tier in named)
