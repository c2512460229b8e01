"""A hierarchy from the paths of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dra_lab.model.hierarchy import Domain, Hierarchy, LeftOut, Level
from dra_lab.topology.node_tree import natural_order


def domain_tree(
    name: str, levels: Iterable[Level], paths: Mapping[str, tuple[str, ...]], left_out: Iterable[LeftOut]
) -> Hierarchy:
    """Return the hierarchy in which each node has its path; the nodes are in natural order.

    A value "" is no domain: the node is below the level and in none of its domains.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    for node, path in paths.items():
        for depth, value in enumerate(path, 1):
            if value:
                found.setdefault(path[:depth], []).append(node)
    ordered = sorted(found, key=lambda path: (len(path), *map(natural_order, path)))
    domains = tuple(Domain(path, tuple(found[path])) for path in ordered)
    return Hierarchy(name, tuple(levels), domains, tuple(left_out))
