"""The problem of several pods on one node: a table with each pod's asks once per replica of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.sketch import Ask, Link
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup, PlaceValue


class CopyPart(NamedTuple):
    """A kind of pod in the problem of a site: which asks, requests and links are its; half-open ranges.

    `pod` is the position of its workload, `node` the node on which its replicas stand.
    """

    pod: int
    node: str
    asks: tuple[int, int]
    requests: tuple[int, int]
    links: tuple[int, int]
    paired: bool


def whole_part(problem: AllocationProblem) -> CopyPart:
    """Return a problem of one kind of pods as that kind."""
    asks, requests, links = len(problem.asks), len(problem.requests), len(problem.links)
    return CopyPart(0, "", (0, asks), (0, requests), (0, links), problem.paired)


class Copy(Struct, frozen=True):
    """One replica in a problem of copies: `part` is its position, `first` the index of its first ask."""

    part: int
    first: int
    links: tuple[int, int]
    requests: tuple[int, int]


class Copies(Struct, frozen=True):
    """A problem with as many pods of each part as were requested.

    `origin` is the group of the problem of one behind each of its groups.
    """

    problem: AllocationProblem
    parts: tuple[CopyPart, ...]
    copies: tuple[Copy, ...]
    origin: tuple[int, ...]

    @property
    def asked(self) -> dict[int, tuple[int, int]]:
        """Return the copy behind each ask, and the ask of the problem of one."""
        return {
            copy.first + offset: (number, ask)
            for number, copy in enumerate(self.copies)
            for offset, ask in enumerate(range(*self.parts[copy.part].asks))
        }


def replicated(problem: AllocationProblem, parts: Sequence[CopyPart], counts: Sequence[int]) -> Copies:
    """Return the problem of `counts[p]` replicas of each part.

    Devices that some ask may look into (`adminAccess`) are told apart there.
    """
    asks: list[Ask] = []
    requests: list[tuple[int, ...]] = []
    links: list[Link] = []
    claims: list[int] = []
    pods: list[int] = []
    copies: list[Copy] = []
    moved: dict[int, list[int]] = {}
    for number, part in chain.from_iterable(repeat(row, n) for row, n in zip(enumerate(parts), counts, strict=True)):
        mark, shift = f"{len(copies)}~", len(asks) - part.asks[0]
        mine, drawn = problem.requests[slice(*part.requests)], problem.links[slice(*part.links)]
        ends = (len(links), len(links) + len(drawn)), (len(requests), len(requests) + len(mine))
        claimed = max(claims, default=-1) + 1 - problem.claim_of(part.asks[0])
        for old in range(*part.asks):
            moved.setdefault(old, []).append(old + shift)
            claims.append(claimed + problem.claim_of(old))
            pods.append(len(copies))
        copies.append(Copy(number, len(asks), *ends))
        asks += [replace(ask, reference=mark + ask.reference) for ask in problem.asks[slice(*part.asks)]]
        requests += [tuple(index + shift for index in indices) for indices in mine]
        links += [
            replace(link, name=mark + link.name, requests=tuple(mark + reference for reference in link.requests))
            for link in drawn
        ]
    admin = {number for number, ask in enumerate(problem.asks) if ask.admin_access}
    apart = [
        (at, one)
        for at, group in enumerate(problem.groups)
        for one in (
            [group] if admin.isdisjoint(group.asks) else [replace(group, devices=(device,)) for device in group.devices]
        )
    ]
    places_from = [parts[copy.part].links for copy in copies]
    whole = replace(
        problem,
        asks=tuple(asks),
        requests=tuple(requests),
        links=tuple(links),
        groups=tuple(_group(group, moved, places_from) for _, group in apart),
        impossible=frozenset(new for old in problem.impossible for new in moved.get(old, ())),
        claims=tuple(claims) if max(claims, default=0) else (),
        pods=tuple(pods),
    )
    return Copies(whole, tuple(parts), tuple(copies), tuple(at for at, _ in apart))


def _group(group: DeviceGroup, moved: dict[int, list[int]], places_from: Sequence[tuple[int, int]]) -> DeviceGroup:
    return replace(
        group,
        asks=tuple(sorted(new for ask in group.asks for new in moved.get(ask, ()))),
        places=tuple(value for links in places_from for value in group.places[slice(*links)]),
        uses=tuple(sorted((new, uses) for ask, uses in group.uses for new in moved.get(ask, ()))),
    )


Where = tuple[tuple[int, str, PlaceValue | None, PlaceValue | None], ...]
"""How nodes see a group: (position of the node, kind, NUMA node, PCIe root)."""


class JointProblem(AllocationProblem, frozen=True):
    """One problem for several `nodes`; `wheres` says of each group how they see it, as its own fields hold for one."""

    nodes: tuple[str, ...] = ()
    wheres: tuple[Where, ...] = ()

    def seen_from(self, node: str) -> tuple[DeviceGroup, ...]:
        """Return the groups as a node sees them."""
        position = self.nodes.index(node)
        found = []
        for group, where in zip(self.groups, self.wheres, strict=True):
            mine = next((row for row in where if row[0] == position), None)
            found.append(group if mine is None else replace(group, kind=mine[1], numa=mine[2], root=mine[3]))
        return tuple(found)
