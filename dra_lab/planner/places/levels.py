"""The levels of places on nodes: PCIe roots, NUMA nodes, the places of links, and devices that pods share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup, typed
from dra_lab.planner.places.shapes import Vector

ROOT, NUMA, DEVICE = "root", "numa", "device"
"""Levels that are there without a link: `device` tells devices apart that pods share or take parts of."""

PLACES_OF_GOAL = {"numa": (NUMA, ("gpu", "nic", "cpu")), "roots": (ROOT, ("gpu", "nic"))}
"""The level and the kinds of devices that a goal counts places of."""

Where = str | int
"""A level: a name, or the first link that holds there."""


@dataclass(frozen=True)
class Levels:
    """The levels of a fleet, coarsest first; `of_link` is the position of the level at which each nested link holds."""

    where: tuple[Where, ...]
    of_link: Mapping[int, int]

    @property
    def published(self) -> int:
        """Return how many levels are places that devices may publish."""
        return len(self.where) - (self.where[-1] == DEVICE)

    def path(self, group: DeviceGroup, at: Hashable) -> tuple[Hashable, ...]:
        """Return the place of a group at each level, None where it is not known; `at` is its place at `device`."""
        return tuple(at if where == DEVICE else value_at(group, where) for where in self.where)


def value_at(group: DeviceGroup, where: Where) -> Hashable:
    """Return the place of a group at a level, None if it is not known."""
    if where == ROOT:
        return group.root
    if where == NUMA:
        return group.numa
    assert isinstance(where, int), "the level of a link"
    return group.places[where][0] if group.places[where] else None


def levels_of(
    first: AllocationProblem,
    groups: Sequence[DeviceGroup],
    nodes: Iterable[Sequence[DeviceGroup]],
    *,
    parts: bool,
    loose: bool = False,
) -> Levels | None:
    """Return the levels of a fleet; None if NUMA nodes and PCIe roots are not nested, and have to be.

    Args:
        first: A problem with the links.
        groups: One of each kind of group on all nodes.
        nodes: The groups of each kind of hardware.
        parts: Whether pods share devices or take parts of them.
        loose: Whether NUMA nodes are left out if they are not nested.
    """
    same = {link: _same_as(first, groups, link) for link in range(len(first.links))}
    candidates: list[Where] = [NUMA, ROOT]
    for link, level in same.items():
        if level == link and all(len(group.places[link]) < 2 for group in groups):
            candidates.append(link)
    order = _order(candidates, list(nodes), loose=loose)
    if order is None:
        return None
    where = (*order, *((DEVICE,) if parts else ()))
    return Levels(where, {link: where.index(level) for link, level in same.items() if level in where})


def _same_as(first: AllocationProblem, groups: Sequence[DeviceGroup], link: int) -> Where:
    """Return the level that has the places of a link wherever they are known, else the first link on its attribute."""
    ends = set(first.ends(link))
    mine = [group for group in groups if ends & set(group.asks)]
    for level in (ROOT, NUMA):
        if all(_is_at(group, link, level) for group in mine):
            return level
    where = first.links[link].where
    return next(other for other in range(link + 1) if first.links[other].where == where)


def _is_at(group: DeviceGroup, link: int, level: str) -> bool:
    place, values = value_at(group, level), group.places[link]
    if not values or place is None:
        return not values and place is None
    return len(values) == 1 and isinstance(place, tuple) and typed(values[0][1]) == typed(place[1])


def _order(
    candidates: Sequence[Where], nodes: Sequence[Sequence[DeviceGroup]], *, loose: bool
) -> tuple[Where, ...] | None:
    """Return as many levels as are nested in one another, coarsest first; None if NUMA nodes and roots have to be."""
    found: list[Where] = [ROOT]
    for level in candidates:
        if level == ROOT:
            continue
        for position in range(len(found) + 1):
            coarser, finer = found[:position], found[position:]
            if all(_is_nested(nodes, level, other) for other in coarser) and all(
                _is_nested(nodes, other, level) for other in finer
            ):
                found.insert(position, level)
                break
        else:
            if level == NUMA and not loose:
                return None
    return tuple(found)


def is_tree(groups: Sequence[DeviceGroup]) -> bool:
    """Say whether every PCIe root of a node is on one NUMA node."""
    return _is_nested([groups], ROOT, NUMA)


def _is_nested(nodes: Sequence[Sequence[DeviceGroup]], finer: Where, coarser: Where) -> bool:
    """Say whether every known place of the finer level is in one place of the coarser level."""
    for groups in nodes:
        inside: dict[Hashable, Hashable] = {}
        for group in groups:
            place, around = value_at(group, finer), value_at(group, coarser)
            if place is None or (around is None and coarser in (ROOT, NUMA)):
                if place is not None and inside.setdefault(place, None) is not None:
                    return False
                continue
            if around is not None and inside.setdefault(place, around) != around:
                return False
    return True


def with_siblings(paths: list[tuple[Hashable, ...]], published: int) -> list[tuple[Hashable, ...]]:
    """Return paths in which a place that is not published is where others of a finer place are, if any says so."""
    while any(None in path[: published - 1] for path in paths):
        around: dict[tuple[int, Hashable, int], Hashable] = {}
        for path in paths:
            known = [level for level in range(published) if path[level] is not None]
            around.update({(fine, path[fine], level): path[level] for fine in known for level in known if level < fine})
        before = paths
        paths = []
        for path in before:
            full = list(path)
            for level in (level for level in range(published - 1) if path[level] is None):
                beside = (around.get((fine, path[fine], level)) for fine in range(level + 1, published))
                full[level] = next((place for place in beside if place is not None), None)
            paths.append(tuple(full))
        if paths == before:
            break
    return paths


def inferred_levels(levels: Levels, groups: Sequence[DeviceGroup]) -> Iterator[int]:
    """Yield the levels at which some group that does not publish its place is where others are."""
    raw = [levels.path(group, ()) for group in groups]
    for before, after in zip(raw, with_siblings(raw, levels.published), strict=True):
        yield from (level for level, place in enumerate(before) if place is None and after[level] is not None)


def parts_of(groups: Sequence[DeviceGroup]) -> dict[int, tuple[Hashable, ...]]:
    """Return for each group that is a shared device, or draws on counters, what tells its leaf from others."""
    found: dict[int, tuple[Hashable, ...]] = {}
    owner: dict[Hashable, Hashable] = {}

    def root_of(one: Hashable) -> Hashable:
        while owner.setdefault(one, one) != one:
            one = owner[one]
        return one

    for number, group in enumerate(groups):
        for counter, _ in group.draws:
            owner[root_of(("counter", counter))] = root_of(("group", number))
    for number, group in enumerate(groups):
        if group.shareable:
            found[number] = ("share", number)
        elif group.draws:
            found[number] = ("parts", root_of(("group", number)))
    return found


@lru_cache(maxsize=1_024)
def in_one_order(
    groups: tuple[tuple[Vector, int, tuple[tuple[int, int], ...]], ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return positions of groups, and of counters, in an order that depends on what draws how much on what.

    A group is its ranks, its size, and (counter, amount). Each is told apart by its neighbours, round after round; of
    those that are still equal one is set apart, and so on.
    """
    drawn: dict[int, list[tuple[int, int]]] = {}
    for group, (_, _, draws) in enumerate(groups):
        for counter, amount in draws:
            drawn.setdefault(counter, []).append((amount, group))
    of_group = [hash((ranks, size)) for ranks, size, _ in groups]
    of_counter = [0] * len(drawn)
    while True:
        for _ in groups:
            before = len({*of_group}) + len({*of_counter})
            of_counter = [
                hash((of_counter[at], *sorted((amount, of_group[group]) for amount, group in drawn[at])))
                for at in range(len(drawn))
            ]
            of_group = [
                hash((color, *sorted((of_counter[counter], amount) for counter, amount in draws)))
                for color, (_, _, draws) in zip(of_group, groups, strict=True)
            ]
            if len({*of_group}) + len({*of_counter}) == before:
                break
        alike = [color for color, times in Counter(of_group).items() if times > 1]
        if not alike:
            break
        of_group[of_group.index(min(alike))] += 1
    at_group, at_counter = range(len(groups)), range(len(drawn))
    return tuple(sorted(at_group, key=of_group.__getitem__)), tuple(sorted(at_counter, key=of_counter.__getitem__))
