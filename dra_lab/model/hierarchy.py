"""Hierarchies above the nodes: racks and blocks, NVLink domains, zones; each is a tree over the same nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from dra_lab.errors import InputError, did_you_mean


class Level(Struct, frozen=True):
    """One level of a hierarchy: the word for people and for `--level`, the key of its domains, and who defines it.

    `key` is the node label or device attribute that names the domains, "" if no single key does. `source` is for
    example `Kueue Topology default`, `GKE` or `HyperNode tier 1`.
    """

    name: str
    key: str = ""
    source: str = ""


class Domain(Struct, frozen=True):
    """One place of a level with the nodes below it. Its path is its identity: a rack r1 in two blocks is two domains.

    `path` has the values from the outermost level to its own. A value is "" if no domain of that level contains it,
    which only HyperNodes allow.
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
    """A tree over the nodes of a cluster; levels without the node itself, domains of every level, parents first.

    `name` is `fabric`, `NVLink`, `zone`, `HyperNodes` or the name of the Topology object.
    """

    name: str
    levels: tuple[Level, ...]
    domains: tuple[Domain, ...]
    left_out: tuple[LeftOut, ...] = ()

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        return f"<Hierarchy {self.name!r}: {', '.join(level.name for level in self.levels) or 'no levels'}>"

    def at(self, level: str) -> tuple[Domain, ...]:
        """Return the domains of a level, by its name or key, in natural order. Raises InputError for another level."""
        return self._by_level[self.level_index(level)]

    def innermost(self) -> tuple[Domain, ...]:
        """Return the domains of the innermost level, in natural order of their paths; () without levels."""
        return self._by_level[-1] if self.levels else ()

    def level_index(self, name: str) -> int:
        """Return the index of a level in `levels`, by its name in any case, or its key. Raises InputError."""
        for index, level in enumerate(self.levels):
            if name and (name == level.key or name.casefold() == level.name.casefold()):
                return index
        names = [level.name for level in self.levels]
        similar = did_you_mean(name, names)
        raise InputError(
            f"hierarchy {self.name!r} has no level {name!r}{similar}; its levels are: {', '.join(names) or 'none'}"
        )

    def path_of(self, node: str) -> tuple[str, ...]:
        """Return the path of the innermost domain that contains a node; () for a node that is left out."""
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
