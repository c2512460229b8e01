"""Why a link cannot hold on a node: which places have how many devices of which request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from dra_lab.authoring.links import LEVEL_WORDS
from dra_lab.model.plan import Shortfall
from dra_lab.model.sketch import How, Link
from dra_lab.planner.node_case import NodeCase, shortfall_of
from dra_lab.planner.places import LIST, PlaceValue
from dra_lab.planner.problem import AllocationProblem, pairwise_share

_MOST_WAYS = 64
"""Choices of alternatives that are looked at for one link."""


def explain_link(case: NodeCase, name: str) -> Shortfall:
    """Explain a link that cannot hold even alone: which places have how many devices of which request.

    Of alternatives that it may tie, it is told for those with which least is missing.
    """
    index = _index(case, name)
    tied = [parts for parts in islice(_ways(case, index), _MOST_WAYS) if parts]
    return min((_told(case, index, parts) for parts in tied), key=lambda s: s.needed - s.available)


def counted_out(case: NodeCase, name: str) -> Shortfall | None:
    """Return why a must-link cannot hold, where counting devices place by place already shows it.

    It has to show it for every choice of alternatives; None also where these are too many.
    """
    index = _index(case, name)
    ways = list(islice(_ways(case, index), _MOST_WAYS + 1))
    pairs = case.problem.links[index].how is How.PAIRWISE
    if len(ways) > _MOST_WAYS or any(len(parts) < 1 + pairs for parts in ways):
        return None  # there is a choice that the link says nothing about
    found = [_told(case, index, parts) for parts in ways]
    return None if any(s.available >= s.needed for s in found) else min(found, key=lambda s: s.needed - s.available)


def _index(case: NodeCase, name: str) -> int:
    return next(n for n, link in enumerate(case.problem.links) if link.name == name)


def _ways(case: NodeCase, index: int) -> Iterator[tuple[int, ...]]:
    """Yield the asks that a link ties, for each choice of one alternative of every request."""
    ends = set(case.problem.ends(index))
    options = []
    for indices in case.problem.requests:
        if ends & set(indices):
            possible = [ask for ask in indices if ask not in case.problem.impossible] or list(indices)
            free = [None] if any(ask not in ends for ask in possible) else []
            options.append([*(ask for ask in possible if ask in ends), *free])
    # as the link names them, so that a person finds them in the same order
    order = list(dict.fromkeys(ask for part in case.problem.covered(index) for ask in part))
    for chosen in product(*options):
        yield tuple(sorted((ask for ask in chosen if ask is not None), key=order.index))


def _told(case: NodeCase, index: int, parts: Sequence[int]) -> Shortfall:
    link = case.problem.links[index]
    if link.how is How.PAIRWISE:
        return _pairwise(case, index, link, parts)
    need = sum(case.problem.need(part) for part in parts)
    at = place_counts(case.problem, index, parts)
    place = LEVEL_WORDS.get(link.where, link.where)
    if link.how is How.APART:
        text = f"link {link.name} needs {need} different values of {place}, there are {len(at)}"
        text = f"{text}: {_table(case, parts, at)}"
        return shortfall_of("link", link.name, text, need, len(at), case.eligible.node)
    best = max((sum(min(c[p], case.problem.need(p)) for p in parts) for c in at.values()), default=0)
    wanted = _counted(case, parts, Counter({part: case.problem.need(part) for part in parts}))
    text = f"link {link.name} needs {wanted} at one {place}; {_table(case, parts, at)}"
    return shortfall_of("link", link.name, text, need, best, case.eligible.node)


def _pairwise(case: NodeCase, index: int, link: Link, parts: Sequence[int]) -> Shortfall:
    counts = [case.problem.need(part) for part in parts]
    share = pairwise_share(counts)
    place = LEVEL_WORDS.get(link.where, link.where)
    if share is None:
        text = f"link {link.name} cannot pair {' with '.join(map(str, counts))} devices: no whole multiples"
        # The drawing decides this, not the hardware: no node is named.
        found = shortfall_of("link", link.name, text, min(counts), 0, "")
        return replace(found, advice="Make each count a multiple of the smallest one, or prefer the link.")
    groups, shares = share
    at = place_counts(case.problem, index, parts)
    fit = {v: min(c[p] // s for p, s in zip(parts, shares, strict=True)) for v, c in at.items()}
    available = sum(fit.values())
    each = _counted(case, parts, Counter(dict(zip(parts, shares, strict=True))))
    word = "group" if groups == 1 else "groups"
    text = f"link {link.name} needs {groups} {word} of {each}, each at one {place}; there is room for {available}: "
    if any(fit.values()):
        text += _table(case, parts, at)
    else:
        text += f"they sit at different {place}s, {_apart(case, parts, at)}"
    return shortfall_of("link", link.name, text, groups, available, case.eligible.node)


def place_counts(problem: AllocationProblem, link: int, parts: Sequence[int]) -> dict[PlaceValue, Counter[int]]:
    """Return, for each value at a link's place, how many devices each of the asks may take there; sorted by value."""
    at: dict[PlaceValue, Counter[int]] = {}
    for group in problem.groups:
        for value in group.places[link]:
            for part in parts:
                if part in group.asks:
                    at.setdefault(value, Counter())[part] += group.size
    return dict(sorted(at.items(), key=lambda item: (item[0][0], item[0][1])))


def _table(case: NodeCase, parts: Sequence[int], at: dict[PlaceValue, Counter[int]]) -> str:
    told = (f"{_word(value)} has {_counted(case, parts, counts)}" for value, counts in at.items())
    return ", ".join(told) or "none has any"


def _counted(case: NodeCase, parts: Sequence[int], counts: Counter[int]) -> str:
    return " and ".join(f"{counts[part]} {case.problem.asks[part].reference}" for part in parts)


def _apart(case: NodeCase, parts: Sequence[int], at: dict[PlaceValue, Counter[int]]) -> str:
    told = []
    for part in parts:
        values = [_word(value) for value, counts in at.items() if counts[part]]
        told.append(f"{case.problem.asks[part].reference} at {', '.join(values) or 'none that is known'}")
    return "; ".join(told)


def _word(value: PlaceValue) -> str:
    """Return a value as it is told: a list that this release does not read has none, an empty text is quoted."""
    if value[0] == LIST:
        return "a list that is not read"
    return '""' if value[1] == "" else str(value[1])
