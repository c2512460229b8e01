"""Two workloads on one node: how many of the second fit beside each number of the first, counted without a solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oracle_claims import Claim, Cores, Partition, Together, pairs_of, partitions, places
from oracle_clusters import Free
from oracle_drawings import NODE, NUMAS, ROOTS


def frontier(free: Free, claims: Sequence[Claim]) -> list[int]:
    """Return for each number of the first claim's replicas on a node the most of the second's beside them."""
    if len(claims) == 1:
        return [0] * (claims[0].most(free) + 1)
    found = [0]
    for part in _units(free, *claims):
        found = joined(found, part)
    return found


def joined(one: Sequence[int], other: Sequence[int], cap: int | None = None) -> list[int]:
    """Return the frontier of two places together, up to `cap` of the first."""
    last = len(one) + len(other) - 2
    found = [0] * (min(last, cap) + 1 if cap is not None else last + 1)
    for a, b in enumerate(one):
        for c, d in enumerate(other[: max(0, len(found) - a)]):
            found[a + c] = max(found[a + c], b + d)
    return found


def _units(free: Free, first: Claim, second: Claim) -> Iterator[list[int]]:
    """Yield the frontiers of places that do not share devices."""
    if isinstance(first, Partition) and isinstance(second, Partition):
        yield from (
            list(partitions(tuple(sorted(used)), first.profile, second.profile)) for _, used in free.split.values()
        )
    elif isinstance(first, Cores) and isinstance(second, Cores):
        yield from (
            [(left - n * first.cores) // second.cores for n in range(left // first.cores + 1)] for _, left in free.cores
        )
    elif isinstance(first, Together) and isinstance(second, Together):
        near, far = (first, second) if _width(first) <= _width(second) else (second, first)
        for rows in places(free, far.level):
            found = list(_most_of_second(rows, near, far))
            yield found if near is first else _turned(found)
    else:
        raise NotImplementedError


def _width(claim: Together) -> int:
    return (ROOTS, NUMAS, NODE).index(claim.level)


def _most_of_second(rows: Sequence[tuple[int, int]], near: Together, far: Together) -> Iterator[int]:
    """Yield the most of the wider claim in a place for each number of the narrower one."""
    inner = [near.in_place([row]) for row in rows] if near.level == ROOTS != far.level else [near.in_place(rows)]
    gpus, nics = sum(g for g, _ in rows), sum(n for _, n in rows)
    for count in range(sum(inner) + 1):
        yield pairs_of(gpus - count * near.k, nics - count * near.m, far.k, far.m)


def _turned(found: Sequence[int]) -> list[int]:
    """Exchange the two claims of a frontier."""
    return [max(a for a, most in enumerate(found) if most >= b) for b in range(max(found) + 1)]
