"""Hierarchies above the nodes: racks and blocks, NVLink domains, zones; each is a tree over the same nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from dra_lab.errors import InputError, did_you_mean


class Level(Struct, frozen=True):
    """One level of a hierarchy.

    Args:
        name: The word for people and for `--level`, for example `rack`, `block`, `zone` or `NVLink domain`.
        key: The node label or device attribute that names the domains; "" if no single key does.
        source: Who defines the level, for example `Kueue Topology default`, `GKE` or `HyperNode tier 1`.
    """

    name: str
    key: str = ""
    source: str = ""


class Domain(Struct, frozen=True):
    """One place of a level. Its path is its identity: a rack r1 in two blocks is two domains.

    Args:
        path: The values from the outermost level to its own. A value is "" if no domain of that level contains it,
            which only HyperNodes allow.
        nodes: The names of all nodes below it, in natural order.
    """

    path: tuple[str, ...]
    nodes: tuple[str, ...]

    @property
    def level(self) -> int:
        """Return the index of its level in `Hierarchy.levels`."""
        return len(self.path) - 1

    @property
    def value(self) -> str:
        """Return its own value, which is what the node label contains."""
        return self.path[-1]

    @property
    def parent(self) -> tuple[str, ...]:
        """Return the path of the domain that contains it; () at the outermost level."""
        return self.path[:-1]


class LeftOut(Struct, frozen=True):
    """A node that is in no domain, and why: `has no label example.com/rack`."""

    node: str
    reason: str


class Hierarchy(Struct, frozen=True, dict=True):
    """A tree over the nodes of a cluster.

    Args:
        name: `fabric`, `NVLink`, `zone`, `HyperNodes` or the name of the Topology object.
        levels: The levels from the outermost to the innermost, without the node itself.
        domains: The domains of every level, parents before children, each level in natural order.
        left_out: The nodes that are in no domain.

    Example:
        >>> from dra_lab import hierarchies, load_cluster
        >>> switches = hierarchies(load_cluster("sample:h100-pod"))[0]
        >>> switches.path_of("h100-09")
        ('spine-2', 'leaf-3')
        >>> [len(domain.nodes) for domain in switches.at("spine")]
        [8, 8]
    """

    name: str
    levels: tuple[Level, ...]
    domains: tuple[Domain, ...]
    left_out: tuple[LeftOut, ...] = ()

    def at(self, level: str) -> tuple[Domain, ...]:
        """Return the domains of a level.

        Args:
            level: The name or the key of the level.

        Returns:
            The domains in natural order of their paths.

        Raises:
            InputError: There is no such level; the message names the levels.
        """
        return self._by_level[self.level_index(level)]

    def innermost(self) -> tuple[Domain, ...]:
        """Return the domains of the innermost level.

        Returns:
            The domains in natural order of their paths; () without levels.
        """
        return self._by_level[-1] if self.levels else ()

    def level_index(self, name: str) -> int:
        """Return the index of a level in `levels`.

        Args:
            name: The name of the level in any case, or its key.

        Returns:
            The index; 0 is the outermost level.

        Raises:
            InputError: There is no such level; the message names the levels.
        """
        for index, level in enumerate(self.levels):
            if name and (name == level.key or name.casefold() == level.name.casefold()):
                return index
        names = [level.name for level in self.levels]
        similar = did_you_mean(name, names)
        raise InputError(
            f"hierarchy {self.name!r} has no level {name!r}{similar}; its levels are: {', '.join(names) or 'none'}"
        )

    def path_of(self, node: str) -> tuple[str, ...]:
        """Return the path of the innermost domain that contains a node.

        Args:
            node: The name of the node.

        Returns:
            The path; () for a node that is left out.
        """
        return self._paths.get(node, ())

    @cached_property
    def _by_level(self) -> tuple[tuple[Domain, ...], ...]:
        found: list[list[Domain]] = [[] for _ in self.levels]
        for domain in self.domains:
            found[domain.level].append(domain)
        return tuple(map(tuple, found))

    @cached_property
    def _paths(self) -> Mapping[str, tuple[str, ...]]:
        # inner domains come later and replace their parents
        return {node: domain.path for level in self._by_level for domain in level for node in domain.nodes}
