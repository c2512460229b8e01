"""What one allocation of a problem is worth, goal by goal, read from what it takes and from nothing else.

A solver that was ended early leaves its helper variables where they were: a place counts as used though nothing is
taken there. Only what is taken counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from dra_lab.model.sketch import How
from dra_lab.planner.places import PlaceValue
from dra_lab.planner.problem import (
    NUMA_KINDS,
    ROOT_KINDS,
    AllocationProblem,
    DeviceGroup,
    pairwise_share,
    partner_links,
)

Way = Mapping[tuple[int, int], int]
"""How many devices each ask takes of each group, (ask, group); what is not taken may be left out."""


def worth_of(problem: AllocationProblem, way: Way, links: Iterable[int] | None = None) -> dict[str, int]:
    """Return the goals of the devices that an allocation takes, all but `damage`; of some links where `links` says so.

    `preferences` counts preferred links alone: that must-links are kept is not looked at.
    """
    taken = {key: count for key, count in way.items() if count}
    asks = dict.fromkeys(ask for ask, _ in taken)
    preferred = [n for n in (range(len(problem.links)) if links is None else links) if not problem.links[n].must]
    return {
        "alternatives": sum(problem.asks[ask].rank for ask in asks),
        "preferences": sum(_lost(problem, taken, link) for link in preferred),
        "numa": _spanned(problem, taken, NUMA_KINDS, lambda group: group.numa),
        "unpaired": _unpaired(problem, taken) if problem.paired else 0,
        "roots": _spanned(problem, taken, ROOT_KINDS, lambda group: group.root),
    }


def _different(problem: AllocationProblem, taken: Way) -> dict[int, int]:
    """Return how many different devices are taken of each group."""
    found: Counter[int] = Counter()
    for (_, group), count in taken.items():
        found[group] += count
    return {group: min(1, count) if problem.overlaps(group) else count for group, count in found.items()}


def _spanned(
    problem: AllocationProblem,
    taken: Way,
    kinds: Sequence[str],
    place: Callable[[DeviceGroup], PlaceValue | None],
) -> int:
    mine = {n: count for n, count in _different(problem, taken).items() if problem.groups[n].kind in kinds}
    places = {n: place(problem.groups[n]) for n in mine}
    known = {value for value in places.values() if value is not None}
    return len(known) + sum(count for n, count in mine.items() if places[n] is None)


def _unpaired(problem: AllocationProblem, taken: Way) -> int:
    at: dict[str, Counter[PlaceValue | None]] = {"gpu": Counter(), "nic": Counter()}
    for number, count in _different(problem, taken).items():
        group = problem.groups[number]
        if group.kind in at:
            at[group.kind][group.root] += count
    nics = at["nic"]
    return sum(max(0, count - (nics[root] if root is not None else 0)) for root, count in at["gpu"].items())


def _lost(problem: AllocationProblem, taken: Way, link: int) -> int:
    """Return what is lost of a link: 1 for a broken one, for a pairwise one the groups without a common place."""
    how = problem.links[link].how
    if how is How.PAIRWISE:
        return _groups_lost(problem, taken, link)
    ends = set(problem.ends(link))
    tied = [(problem.groups[group].places[link], count) for (ask, group), count in taken.items() if ask in ends]
    if any(not values for values, _ in tied):
        return 1
    if how is How.TOGETHER:
        return int(bool(tied) and not set.intersection(*(set(values) for values, _ in tied)))
    often: Counter[PlaceValue] = Counter()
    for values, count in tied:
        often.update(dict.fromkeys(values, count))
    return int(max(often.values(), default=0) > 1)


def _groups_lost(problem: AllocationProblem, taken: Way, link: int) -> int:
    links = (link, *partner_links(problem, link))
    asks = [ask for part in problem.covered(link) for ask in part if any(ask == other for other, _ in taken)]
    parts = list(dict.fromkeys(asks))
    counts = [sum(count for (ask, _), count in taken.items() if ask == part) for part in parts]
    if len(parts) < 2:
        return 0
    share = pairwise_share(counts)
    if share is None:
        return min(counts)
    at: dict[tuple[PlaceValue, ...], Counter[int]] = {}
    for (ask, group), count in taken.items():
        values = tuple(value for one in links for value in problem.groups[group].places[one])
        if ask in parts and len(values) == len(links):
            at.setdefault(values, Counter())[ask] += count
    whole = sum(min(here[part] // each for part, each in zip(parts, share[1], strict=True)) for here in at.values())
    return share[0] - whole
