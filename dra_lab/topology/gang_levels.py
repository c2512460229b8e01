"""The levels that a gang names, found in the hierarchies of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.topology.hierarchies import hierarchies


def gang_with_levels(gang: Workload, cluster: Cluster, source: str) -> tuple[Workload, Hierarchy | None]:
    """Return a gang with the names of its levels, and the hierarchy that has them; None if it names no level.

    A level may name its hierarchy: `fabric:rack`. If several hierarchies group the nodes alike there, the first is
    used. `source` names the gang in an error. Raises InputError if no hierarchy has the levels, or several have
    them with other domains.
    """
    trees = {tree.name: tree for tree in hierarchies(cluster)}
    for part in ("level", "prefer_level"):
        name, colon, level = getattr(gang, part).partition(":")
        if colon and name in trees:
            if gang.hierarchy not in ("", name):
                raise InputError(f"{gang.name}: the levels are of {gang.hierarchy} and {name}; name levels of one")
            gang = replace(gang, **{part: level, "hierarchy": name})
    named = [gang.level, gang.prefer_level]
    for group in gang.pods:
        named += [group.level, group.prefer_level, *(level for _, level in group.slices)]
    levels = [level for level in dict.fromkeys(named) if level not in ("", *HOSTS)]
    if gang.hierarchy and gang.hierarchy not in trees:
        raise InputError(
            f"{source}: there is no hierarchy {gang.hierarchy!r}; the cluster has: {', '.join(trees) or 'none'}"
        )
    among = [trees[gang.hierarchy]] if gang.hierarchy else list(trees.values())
    able = [tree for tree in among if all(_has(tree, level) for level in levels)] if levels or gang.hierarchy else []
    if levels and not able:
        raise InputError(_no_level(levels, among))
    groups = {
        tuple(frozenset(frozenset(domain.nodes) for domain in tree.at(level)) for level in levels) for tree in able
    }
    if len(groups) > 1:
        ways = " or ".join(f"{tree.name}:{levels[0]}" for tree in able)
        raise InputError(f"several hierarchies have the level {levels[0]!r}, with other domains; write {ways}")
    tree = able[0] if able else None
    if tree is not None:
        gang = replace(
            gang, hierarchy=tree.name, level=_name(tree, gang.level), prefer_level=_name(tree, gang.prefer_level)
        )
    return gang, tree


def _name(tree: Hierarchy, level: str) -> str:
    """Return the name of a level instead of its label, unless an outer level has the same name."""
    if level in ("", *HOSTS):
        return level
    index = tree.level_index(level)
    name = tree.levels[index].name
    return name if tree.level_index(name) == index else level


def _has(tree: Hierarchy, level: str) -> bool:
    return any(level == one.key or level.casefold() == one.name.casefold() for one in tree.levels)


def _no_level(levels: Sequence[str], trees: Sequence[Hierarchy]) -> str:
    from difflib import get_close_matches

    names = list(dict.fromkeys(level.name for tree in trees for level in tree.levels))
    missing = next((level for level in levels if not any(_has(tree, level) for tree in trees)), "")
    if not missing:
        return f"no hierarchy has both {' and '.join(map(repr, levels))}; dra-lab topology CLUSTER lists the levels"
    near = get_close_matches(missing.casefold(), names, 1, 0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    every = ", ".join(names) or "none, so that only host is known"
    return f"there is no level {missing!r} in the cluster{hint} Its levels are: {every}"
