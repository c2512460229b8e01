"""Why a link cannot hold on a node: which places have how many devices of which request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from dra_lab.model.plan import Shortfall
from dra_lab.planner.link_rows import LINK_ROWS
from dra_lab.planner.node_case import NodeCase, shortfall_of


def explain_link(case: NodeCase, name: str) -> Shortfall:
    """Explain a link that cannot hold even alone: which places have how many devices of which request.

    Of alternatives that it may tie, it is told for those with which least is missing.
    """
    index = _index(case, name)
    tied = [parts for parts in islice(_ways(case, index), case.sizes.tries) if parts]
    return min((_told(case, index, parts) for parts in tied), key=lambda s: s.needed - s.available)


def counted_out(case: NodeCase, name: str) -> Shortfall | None:
    """Return why a must-link cannot hold, where counting devices place by place already shows it.

    It has to show it for every choice of alternatives; None also where these are too many.
    """
    index = _index(case, name)
    ways = list(islice(_ways(case, index), case.sizes.tries + 1))
    least = case.problem.links[index].kind.least_ends
    if len(ways) > case.sizes.tries or any(len(parts) < least for parts in ways):
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
    found = LINK_ROWS[link.how].reason(case.problem, index, parts)
    node = "" if found.drawn else case.eligible.node
    told = shortfall_of("link", link.name, found.text, found.needed, found.available, node)
    return replace(told, advice=found.advice) if found.advice else told
