"""Requests of a pod that mean the same: units that can change places, and how often each is there.

A template writes four GPU–NIC pairs as eight numbered requests, a drawing as two requests for four devices each. Both
are one unit, four times.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct


class Units(Struct, frozen=True):
    """Copies of one unit: no rule can tell them apart.

    `copies` has the requests of each copy, by index; those at one position mean the same. `links` has the links of each
    copy, which tie requests of that copy only, in the same order for all. `shared` are the links that tie every copy in
    the same way.
    """

    copies: tuple[tuple[int, ...], ...]
    links: tuple[tuple[int, ...], ...]
    shared: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Return how many copies there are."""
        return len(self.copies)


Tied = tuple[Hashable, frozenset[tuple[int, str]]]
"""What a link means but for its ends, and these: (request, "" or the alternative that it ties)."""


def interchangeable(meanings: Sequence[Hashable], links: Sequence[Tied]) -> tuple[Units, ...]:
    """Return the units of a pod, in the order of their first requests; each request is in one of them.

    Two copies of a unit can change places: whatever keeps the links before keeps them after. A request that
    cannot be shown to be interchangeable is in a unit of one copy.

    Args:
        meanings: What each request asks for; equal for requests that ask for the same.
        links: What each link means, and which requests it ties.

    Example:
        >>> pair = [("root", frozenset({(0, ""), (1, "")})), ("root", frozenset({(2, ""), (3, "")}))]
        >>> interchangeable(["gpu", "nic", "gpu", "nic"], pair)[0].copies
        ((0, 1), (2, 3))
    """
    colour = _refined(meanings, links)
    identical: dict[int, set[int]] = {}
    for request, own in enumerate(colour):
        identical.setdefault(own, set()).add(request)
    # A link that ties all requests of a colour ties every copy in the same way; the others make requests one unit.
    shared = {
        number
        for number, (_, ends) in enumerate(links)
        if all((other, sub) in ends for request, sub in ends for other in identical[colour[request]])
    }
    found: dict[Hashable, list[tuple[tuple[int, ...], tuple[int, ...]]]] = {}
    for requests in _components(len(meanings), [ends for at, (_, ends) in enumerate(links) if at not in shared]):
        order = tuple(sorted(requests, key=lambda request: (colour[request], request)))
        position = {request: at for at, request in enumerate(order)}
        mine = [
            ((repr(what), sorted((position[request], sub) for request, sub in ends)), number)
            for number, (what, ends) in enumerate(links)
            if number not in shared and any(request in position for request, _ in ends)
        ]
        mine.sort()
        key = (tuple(colour[request] for request in order), repr([structure for structure, _ in mine]))
        found.setdefault(key, []).append((order, tuple(number for _, number in mine)))
    units = (_units(copies, links, shared) for copies in found.values())
    return tuple(sorted(units, key=lambda one: min(one.copies[0])))


def _units(
    copies: Sequence[tuple[tuple[int, ...], tuple[int, ...]]], links: Sequence[Tied], shared: Iterable[int]
) -> Units:
    first = set(copies[0][0])
    over = tuple(number for number in sorted(shared) if any(request in first for request, _ in links[number][1]))
    return Units(tuple(requests for requests, _ in copies), tuple(own for _, own in copies), over)


def _refined(meanings: Sequence[Hashable], links: Sequence[Tied]) -> list[int]:
    """Return a number for each request, different where meanings, or those of what links tie it to, are different."""
    colour = _numbered(meanings)
    while True:
        linked = [
            (repr(what), tuple(sorted((colour[request], sub) for request, sub in ends)), ends) for what, ends in links
        ]
        seen = [
            (own, tuple(sorted((what, around, sub) for what, around, ends in linked for r, sub in ends if r == one)))
            for one, own in enumerate(colour)
        ]
        finer = _numbered(seen)
        if len(set(finer)) == len(set(colour)):
            return colour
        colour = finer


def _numbered(values: Sequence[Hashable]) -> list[int]:
    known: dict[Hashable, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


def _components(count: int, ties: Iterable[frozenset[tuple[int, str]]]) -> list[list[int]]:
    """Return the sets of requests that links join, each in its order."""
    root = list(range(count))

    def find(request: int) -> int:
        while root[request] != request:
            request = root[request]
        return request

    for ends in ties:
        first, *others = sorted(request for request, _ in ends)
        for other in others:
            root[find(other)] = find(first)
    found: dict[int, list[int]] = {}
    for request in range(count):
        found.setdefault(find(request), []).append(request)
    return list(found.values())
