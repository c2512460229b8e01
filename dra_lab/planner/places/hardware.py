"""Kinds of hardware as trees of places for some pods, where nodes and pods are of this form."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from math import prod

from msgspec.structs import replace as changed

from dra_lab.index.pools import Tie
from dra_lab.planner.node.allocation_problem import ROOT_KINDS, AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.merged_requests import merge_requests
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.levels import NUMA, ROOT, Levels, inferred_levels, is_tree, levels_of, parts_of
from dra_lab.planner.places.shapes import PodAsk, PodShape, ShapesOfPod, counted_kind
from dra_lab.planner.places.trees import Trees


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


def ask_of_pod(
    problem: AllocationProblem,
    part: CopyPart,
    groups: Sequence[DeviceGroup],
    levels: Mapping[int, int],
    every: Mapping[int, Sequence[int]],
    inferred: Collection[int],
    most: int,
) -> PodAsk | None:
    """Return what a pod asks for; None if it is not of this form, or has more than `most` shapes.

    Args:
        problem: A problem with the asks, requests and links of all pods.
        part: Which of them are the pod's.
        groups: One of each kind of group on all nodes.
        levels: The level of each link whose places are nested in those of the others.
        every: How many devices match an ask for all of them, on each kind of hardware that can serve it.
        inferred: Levels at which places that are not published are those of others in the same finer place.
        most: The number of shapes.
    """
    if any(problem.asks[ask].admin_access for ask in range(*part.asks)):
        return None
    ranked, ask_of, own = with_ranks(problem, part, groups)
    merged = merge_requests(ranked, range(*own.requests))
    whole, mine = (ranked, own) if merged is None else (merged.problem, merged.part(own))
    asks = tuple(range(len(ranked.asks))) if merged is None else merged.asks
    links = tuple(range(len(problem.links))) if merged is None else merged.links
    alternatives = {ask_of[ask]: alternatives_of(problem, ask_of[ask], ranked, ask) for ask in range(*own.asks)}
    behind = {ask: ask_of[asks[ask]] for ask in range(*mine.asks)}
    numbers = {ask: every[first] for ask, first in behind.items() if first in every}
    own_alternatives = {ask: alternatives[behind[ask]] for ask in behind}
    maker = ShapesOfPod(whole, mine, groups, levels, links, own_alternatives, numbers, frozenset(inferred))
    shapes = maker.shapes(most)
    return None if shapes is None else PodAsk(shapes, part.paired, ranked, ask_of, merged, alternatives)


_SHAPES, _VECTORS = 48, 20_000
"""Shapes of a pod, and vectors of devices of one shape; a fleet with more is planned as other hardware."""


def is_nested(problem: AllocationProblem, parts: Iterable[CopyPart] = (), *, loose: bool = False) -> bool:
    """Say whether a kind of hardware is a tree of places, and its devices are taken one by one or by amounts.

    What goals count of `parts` adds up too. With `loose`, goals and NUMA nodes do not matter.
    """
    if any((group.shareable and group.draws) or group.tie is Tie.TERMS for group in problem.groups):
        return False
    if loose:
        return _are_in_one_place(problem.groups, Levels((ROOT,), {}))
    nested = is_tree(problem.groups) and _are_in_one_place(problem.groups, Levels((NUMA, ROOT), {}))
    return nested and not any(part.paired and _pairs_twice(problem, part) for part in parts)


def _pairs_twice(problem: AllocationProblem, part: CopyPart) -> bool:
    """Say whether requests of a pod may share a GPU or a NIC, which the goal `unpaired` counts once."""
    mine = set(range(*part.asks))
    shared = (mine.intersection(group.asks) for group in problem.groups if group.shareable and group.kind in ROOT_KINDS)
    return any(len({problem.asks[ask].request for ask in asks}) > 1 for asks in shared)


def _are_in_one_place(groups: Sequence[DeviceGroup], levels: Levels) -> bool:
    """Say whether devices that draw on the same counters are in the same place at each level."""
    found: dict[Hashable, Hashable] = {}
    return all(
        found.setdefault(part, levels.path(groups[at], ())) == levels.path(groups[at], ())
        for at, part in parts_of(groups).items()
    )


def _is_counted_twice(shape: PodShape, group: DeviceGroup) -> bool:
    """Say whether a pod may take one device at an unknown place for several slots, which goals count once."""
    counted = counted_kind(group)
    known = group.numa is not None and (group.root is not None or counted == "cpu")
    return bool(counted) and not known and sum(slot.rank(group) >= 0 for slot in shape.slots) > 1


def trees_over(
    layouts: Mapping[int, Layout], parts: Sequence[CopyPart], pods: int, *, loose: bool = False
) -> Trees | None:
    """Return nested kinds of hardware as trees of places for some of the pods; None if a pod is not of this form.

    With `loose`, the tables of pods have values of goals that no plan undercuts, and devices that pods may take. Pods
    that are not of this form have none.
    """
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
    nodes = [problems[number].groups for number in kinds]
    levels = levels_of(first, list(groups.values()), nodes, parts=split, loose=loose)
    if levels is None or not all(_are_in_one_place(problem.groups, levels) for problem in problems.values()):
        return None
    shared = [group for group in groups.values() if group.shareable]
    every = {
        ask: sorted({problem.need(ask) for problem in problems.values() if ask not in problem.impossible})
        for ask, one in enumerate(first.asks)
        if one.all_devices
    }
    preferred = any(link.kind.paired and not link.must for link in first.links)
    inferred = {level for mine in nodes for level in inferred_levels(levels, mine)} if preferred else ()
    asks = [PodAsk((), False, first, (), None, {})] * pods
    for part in parts:
        ask = ask_of_pod(first, part, list(groups.values()), levels.of_link, every, inferred, _SHAPES)
        if ask is None or any(prod(count + 1 for count in shape.need) > _VECTORS for shape in ask.shapes):
            if loose:
                continue
            return None
        if not loose and any(_is_counted_twice(shape, group) for shape in ask.shapes for group in shared):
            return None
        asks[part.pod] = ask
    return Trees(levels, tuple(asks), problems)


def _identity(group: DeviceGroup) -> tuple[object, ...]:
    """Return what tells two groups apart, whatever their devices: equal objects may count as different."""
    values = group.asks, group.places, group.numa, group.root, group.remaining, group.uses, group.draws
    return group.kind, group.shareable, *map(id, values)
