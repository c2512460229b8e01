"""Kinds of hardware as trees of places for some pods, where nodes and pods are of this form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod

from dra_lab.index.pools import Tie
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.levels import NUMA, ROOT, Levels, inferred_levels, is_tree, levels_of, parts_of
from dra_lab.planner.places.shapes import PodAsk, Shape, Vector, ask_of_pod, counted_kind
from dra_lab.planner.places.trees import Trees

_SHAPES, _VECTORS = 48, 20_000
"""Shapes of a pod, and vectors of devices of one shape; a fleet with more is planned as other hardware."""


def is_nested(problem: AllocationProblem) -> bool:
    """Say whether a kind of hardware is a tree of places, and its devices are taken one by one or by amounts."""
    if any((group.shareable and group.draws) or group.tie is Tie.TERMS for group in problem.groups):
        return False
    return is_tree(problem.groups) and _are_in_one_place(problem.groups, Levels((NUMA, ROOT), {}))


def _are_in_one_place(groups: Sequence[DeviceGroup], levels: Levels) -> bool:
    """Say whether devices that draw on the same counters are in the same place at each level."""
    found: dict[Hashable, Hashable] = {}
    return all(
        found.setdefault(part, levels.path(groups[at], ())) == levels.path(groups[at], ())
        for at, part in parts_of(groups).items()
    )


def _is_counted_twice(shape: Shape, group: DeviceGroup) -> bool:
    """Say whether a pod may take one device at an unknown place for several slots, which goals count once."""
    counted = counted_kind(group)
    known = group.numa is not None and (group.root is not None or counted == "cpu")
    return bool(counted) and not known and sum(slot.rank(group) >= 0 for slot in shape.slots) > 1


def trees_over(layouts: Mapping[int, Layout], parts: Sequence[CopyPart], pods: int) -> Trees | None:
    """Return nested kinds of hardware as trees of places for some of the pods; None if a pod is not of this form."""
    problems = {number: layout.problem for number, layout in layouts.items()}
    first = next(iter(problems.values()), None)
    if first is None:
        return None
    groups: dict[object, DeviceGroup] = {}
    for problem in problems.values():
        for group in problem.groups:
            groups.setdefault(_identity(group), group)
    known: dict[object, int] = {}
    kinds = [number for number in problems if known.setdefault(layouts[number].kinds or number, number) == number]
    split = any(group.shareable or group.draws for group in groups.values())
    levels = levels_of(first, list(groups.values()), [problems[number].groups for number in kinds], parts=split)
    if levels is None or not all(_are_in_one_place(problem.groups, levels) for problem in problems.values()):
        return None
    shared = [group for group in groups.values() if group.shareable]
    every = {
        ask: sorted({problem.need(ask) for problem in problems.values() if ask not in problem.impossible})
        for ask, one in enumerate(first.asks)
        if one.all_devices
    }
    preferred = any(link.kind.paired and not link.must for link in first.links)
    inferred = (
        {level for number in kinds for level in inferred_levels(levels, problems[number].groups)} if preferred else ()
    )
    asks = [PodAsk((), False, first, (), None, {})] * pods
    for part in parts:
        ask = ask_of_pod(first, part, list(groups.values()), levels.of_link, every, inferred, _SHAPES)
        if ask is None or any(_size(shape.need) > _VECTORS for shape in ask.shapes):
            return None
        if any(_is_counted_twice(shape, group) for shape in ask.shapes for group in shared):
            return None
        asks[part.pod] = ask
    return Trees(levels, tuple(asks), problems)


def _size(need: Vector) -> int:
    return prod(count + 1 for count in need)


def _identity(group: DeviceGroup) -> tuple[object, ...]:
    """Return what tells two groups apart, whatever their devices: equal objects may count as different."""
    values = group.asks, group.places, group.numa, group.root, group.remaining, group.uses, group.draws
    return group.kind, group.shareable, *map(id, values)
