"""Alternatives of `firstAvailable` as ranks of one ask, where nothing but the device depends on which is taken."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart


def with_ranks(
    problem: AllocationProblem, part: CopyPart, groups: Sequence[DeviceGroup]
) -> tuple[AllocationProblem, tuple[int, ...], CopyPart]:
    """Return a problem in which alternatives that are ranks are one ask, the first ask behind each, and the pod in it.

    They are if each is for one device, and no link is about some of them only. Its groups say which asks the same
    devices serve at the same rank.
    """
    rankable = {
        at
        for at in range(*part.requests)
        if len(problem.requests[at]) > 1 and _are_ranks(problem, problem.requests[at])
    }
    kept = [ask for at, asks in enumerate(problem.requests) for ask in (asks[:1] if at in rankable else asks)]
    now = {ask: at for at, ask in enumerate(kept)}
    first = {ask: now[asks[0]] for at, asks in enumerate(problem.requests) if at in rankable for ask in asks}
    made: dict[tuple[object, ...], DeviceGroup] = {}
    for group in groups:
        by_rank: dict[int, set[int]] = {}
        seen: set[int] = set()
        for ask in sorted(group.asks, key=lambda ask: problem.asks[ask].rank):
            at = first.get(ask, now.get(ask, -1))
            if at not in seen:
                seen.add(at)
                by_rank.setdefault(problem.asks[ask].rank if ask in first else 0, set()).add(at)
        for rank, mine in by_rank.items():
            several = tuple(len(values) > 1 for values in group.places)
            key = (tuple(sorted(seen)), rank, tuple(sorted(mine)), group.shareable, group.tie, several)
            made.setdefault(key, changed(group, devices=(), asks=tuple(sorted(mine)), uses=()))
    ranked = AllocationProblem(
        "",
        tuple(problem.asks[ask] for ask in kept),
        tuple(tuple(dict.fromkeys(first.get(ask, now.get(ask, 0)) for ask in asks)) for asks in problem.requests),
        problem.links,
        tuple(made.values()),
        frozenset(now[ask] for ask in problem.impossible if ask in now),
        problem.paired,
        claims=tuple(problem.claims[ask] for ask in kept) if problem.claims else (),
    )
    starts = [sum(ask < end for ask in kept) for end in part.asks]
    return ranked, tuple(kept), part._replace(asks=(starts[0], starts[1]))


def _are_ranks(problem: AllocationProblem, asks: Sequence[int]) -> bool:
    if any(problem.asks[ask].count != 1 or problem.asks[ask].all_devices for ask in asks):
        return False
    covered = (set(end) for link in range(len(problem.links)) for end in problem.covered(link))
    return all(not end & set(asks) or end >= set(asks) for end in covered)


def alternatives_of(
    problem: AllocationProblem, first: int, ranked: AllocationProblem, ask: int
) -> tuple[tuple[int, int], ...]:
    """Return the asks of a fleet behind one of the ranked problem, with their ranks; one by itself has rank 0."""
    asks = next(asks for asks in problem.requests if first in asks)
    single = sum(ask in mine and len(mine) == 1 for mine in ranked.requests) == 1
    if len(asks) == 1 or not single:
        return ((first, 0),)
    able = (one for one in asks if one not in problem.impossible)
    return tuple((one, problem.asks[one].rank) for one in able)
