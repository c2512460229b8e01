"""Nodes that are equal for one claim: what is solved once for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from dra_lab.planner.problem import AllocationProblem, DeviceGroup

_ROUNDS = 2


def fingerprint(problem: AllocationProblem) -> Hashable:
    """Return a value that two problems share only if one is the other with its places renamed.

    Everything the model is built from is in it: who may take what, equality of values at every place, kinds, sizes,
    capacity. Names of devices and places are not. Places are numbered in the order of a sort that does not look at
    their names; where that sort ties, equal nodes may get different fingerprints, never unequal nodes the same one.
    """
    rows = [_row(group) for group in problem.groups]
    places = [_places(group) for group in problem.groups]
    colours: list[Hashable] = list(rows)
    for _ in range(_ROUNDS):
        colours = _refine(colours, places)
    order = sorted(range(len(rows)), key=lambda index: repr(colours[index]))
    names: dict[tuple[int, Hashable], int] = {}
    counts: Counter[int] = Counter()
    table = []
    for index in order:
        numbers = []
        for dimension, value in enumerate(places[index]):
            if value is not None and (dimension, value) not in names:
                names[dimension, value] = counts[dimension]
                counts[dimension] += 1
            numbers.append(None if value is None else names[dimension, value])
        table.append((rows[index], tuple(numbers)))
    needs = tuple(problem.need(ask) for ask in range(len(problem.asks)))
    return (tuple(table), needs, problem.impossible, problem.paired)


def _row(group: DeviceGroup) -> tuple[Hashable, ...]:
    return (group.asks, group.kind, group.size, group.shareable, group.remaining, group.uses)


def _places(group: DeviceGroup) -> tuple[Hashable, ...]:
    return (*group.places, group.numa, group.root)


def _refine(colours: list[Hashable], places: list[tuple[Hashable, ...]]) -> list[Hashable]:
    """Add to each row how many rows of which colour stand at each of its places."""
    at: dict[tuple[int, Hashable], list[str]] = {}
    for colour, values in zip(colours, places, strict=True):
        for dimension, value in enumerate(values):
            at.setdefault((dimension, value), []).append(repr(colour))
    seen = {place: hash(tuple(sorted(found))) for place, found in at.items()}
    return [
        (colour, tuple(None if value is None else seen[dimension, value] for dimension, value in enumerate(values)))
        for colour, values in zip(colours, places, strict=True)
    ]


def group_equal(fingerprints: Iterable[tuple[str, Hashable]]) -> tuple[tuple[str, ...], ...]:
    """Group node names by fingerprint: names sorted in each class, classes by their first name."""
    classes: dict[Hashable, list[str]] = {}
    for name, value in fingerprints:
        classes.setdefault(value, []).append(name)
    return tuple(sorted(tuple(sorted(names)) for names in classes.values()))
