"""Devices that share counters: which of them are one leaf, and in which order they stand in its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache

from dra_lab.planner.node.allocation_problem import DeviceGroup
from dra_lab.planner.places.shapes import Vector


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
