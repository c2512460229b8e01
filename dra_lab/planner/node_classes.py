"""Nodes that are equal for one claim: what is solved once for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from functools import cached_property
from zlib import crc32

from msgspec import Struct

from dra_lab.index.pools import Tie
from dra_lab.model.names import DeviceID
from dra_lab.planner.node.allocation_problem import LIST, AllocationProblem

# Numbers, as the hash of a text or of None is another one in each process.
_MIXED, _UNKNOWN = 0x6D69786564, 0x756E6B6E6F776E
_ROUNDS = 2


class Layout(Struct, frozen=True, dict=True):
    """The problem of one node with no device held alone, for all nodes with the same hardware and shares.

    `group_of` is the index of the group of each device of the node, in kube-scheduler's order, -1 for one that no ask
    may take. What a claim holds alone only makes groups smaller. `kinds` are numbers of its groups, if they are known:
    the groups of all nodes of a scan with one number differ in nothing but their devices.
    """

    problem: AllocationProblem
    group_of: tuple[int, ...]
    kinds: tuple[int, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the size of every group."""
        return tuple(group.size for group in self.problem.groups)

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Return the positions of the devices of every group."""
        found: list[list[int]] = [[] for _ in self.problem.groups]
        for at, group in enumerate(self.group_of):
            if group >= 0:
                found[group].append(at)
        return tuple(map(tuple, found))


def layout_of(problem: AllocationProblem, devices: Sequence[DeviceID]) -> Layout:
    """Return the layout of a problem, for a node that sees these devices."""
    at = {device: number for number, group in enumerate(problem.groups) for device in group.devices}
    return Layout(problem, tuple(at.get(device, -1) for device in devices))


def thinned(layout: Layout, held: Collection[int]) -> tuple[int, ...]:
    """Return how many devices of each group are left when those at the positions `held` are gone."""
    if not held:
        return layout.sizes
    left = list(layout.sizes)
    for position in held:
        group = layout.group_of[position]
        if group >= 0:
            left[group] -= 1
    return tuple(left)


class Print:
    """A value that hashes once, and is compared by its place in memory first: both are needed often."""

    __slots__ = ("known", "value")

    def __init__(self, value: Hashable, known: int | None = None) -> None:
        """Take a value, and its hash where it is not to be the one of Python."""
        self.value, self.known = value, hash(value) if known is None else known

    def __hash__(self) -> int:
        """Return the hash of the value."""
        return self.known

    def __eq__(self, other: object) -> bool:
        """Compare the values."""
        return self is other or (isinstance(other, Print) and self.known == other.known and self.value == other.value)


def canonical(problem: AllocationProblem, replicas: int = 1) -> tuple[Hashable, tuple[int, ...]]:
    """Return a problem's fingerprint and its groups in the fingerprint's order.

    Two problems share a fingerprint only if one is the other with its places renamed, group by group in this order.

    Everything the model is built from is in it: who may take what, equality of values at every place, kinds, sizes (up
    to the number that the claim can take), capacity, counters. Names of devices and places are not. Places are numbered
    in the order of a sort that does not look at their names; where that sort ties, equal nodes may get different
    fingerprints, never unequal nodes the same one. At the place of a link where lists are, and in counters, names stay
    as they are. Where the order of the devices counts (Tie.TERMS), it is kept.
    """
    ordered = any(group.tie is Tie.TERMS for group in problem.groups)
    listed = _listed(problem)
    # more devices of a kind than the claim takes make no difference
    most = sum(max((problem.asks[index].count for index in indices), default=0) for indices in problem.requests)
    most = min(most, problem.most_devices) * replicas
    most = 10**9 if any(ask.all_devices for ask in problem.asks) else most
    numbers: dict[tuple[int, Hashable], int] = {}
    known: dict[Hashable, Print] = {}
    rows, places = [], []
    for at, group in enumerate(problem.groups):
        raw = tuple(group.places[link] for link in listed)
        shared = (group.shareable, group.remaining, group.uses, group.draws, group.tie, at if ordered else 0)
        kind = (group.asks, group.kind, *shared, raw)
        # Hashes of texts differ from process to process, and the order of equal groups, hence of devices, must not.
        rows.append((known.setdefault(kind, Print(kind, crc32(repr(kind).encode()))), min(group.size, most)))
        single = (v[0] if v and link not in listed else None for link, v in enumerate(group.places))
        places.append(
            tuple(
                None if value is None else numbers.setdefault((dimension, value), len(numbers))
                for dimension, value in enumerate((*single, group.numa, group.root))
            )
        )
    colours = [hash(row) for row in rows]
    for _ in range(_ROUNDS):
        colours = _refine(colours, places, len(numbers))
    names: dict[int, int] = {}
    counts: Counter[int] = Counter()
    table = []
    order = sorted(range(len(rows)), key=colours.__getitem__)
    for index in order:
        own: list[int | None] = []
        for dimension, value in enumerate(places[index]):
            if value is not None and value not in names:
                names[value] = counts[dimension]
                counts[dimension] += 1
            own.append(None if value is None else names[value])
        table.append((rows[index], tuple(own)))
    needs = tuple(problem.need(index) for index, ask in enumerate(problem.asks) if ask.all_devices)
    return (tuple(table), problem.impossible, problem.paired, needs, problem.counters), tuple(order)


def _listed(problem: AllocationProblem) -> tuple[int, ...]:
    """Return the links at whose place some device has several values, or a list that is not read."""
    return tuple(
        link
        for link in range(len(problem.links))
        if any(
            len(group.places[link]) > 1 or any(kind == LIST for kind, _ in group.places[link])
            for group in problem.groups
        )
    )


def _refine(colours: list[int], places: list[tuple[int | None, ...]], count: int) -> list[int]:
    """Mix into each row's colour the colours of the rows that share its places."""
    at = [0] * count
    for colour, values in zip(colours, places, strict=True):
        mixed = hash((colour, _MIXED))
        for value in values:
            if value is not None:
                # A sum does not depend on the order of the rows. A clash of hashes costs a merge, never a wrong one.
                at[value] += mixed
    return [
        hash((colour, *[_UNKNOWN if value is None else at[value] for value in values]))
        for colour, values in zip(colours, places, strict=True)
    ]
