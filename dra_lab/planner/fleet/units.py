"""What a site holds of single devices: rows for numbers of replicas, each pod taken apart into what it asks for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import gcd

import numpy as np

from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.columns import Array, columns_of, joined
from dra_lab.planner.states.copies import Part
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable

WholeRow = tuple[tuple[int, ...], int]
"""Weights by kind of pod, and what the weighted sum stays within."""

Known = dict[Hashable, Array | None]
"""The numbers of units that islands hold, by what they are."""

_MOST_STATES = 20_000
"""Ways to fill an island that are told apart by what is left and by the numbers of units, at most."""

_WEIGHTS = {1: 1, 2: 4, 3: 4, 4: 2, 5: 2}
"""By the number of kinds of units: the largest weight of one that is tried in every combination, 1 for more of them."""

_MOST_KINDS = 8


def unit_rows(site: Site, known: Known) -> tuple[WholeRow, ...]:
    """Return rows that the numbers of replicas on a site keep, () where its devices are not told by what they take.

    A unit is one device for one request. Units of one pod may stand anywhere there, so that every GPU with its
    partitions is filled for itself: what weighted units it holds at most is found by trying all ways to fill it.
    `known` remembers that for equal ones. Requests with alternatives, for all devices or to look weigh nothing.
    """
    problem = site.problem
    if not is_listable(problem, site.parts):
        return ()
    asked = [list(_asked(problem, part)) for part in site.parts]
    kinds = list(dict.fromkeys(kind for mine in asked for kind, _, _ in mine))[:_MOST_KINDS]
    if not kinds:
        return ()
    first = {kind: ask for mine in reversed(asked) for kind, ask, _ in mine}
    stock = _stock(problem, [first[kind] for kind in kinds])
    if stock is None:
        return ()
    held = _held(stock, known)
    needs = [[sum(need for kind, _, need in mine if kind == one) for one in kinds] for mine in asked]
    rows = []
    for weights in dict.fromkeys((*_weights(len(kinds)), *_drawn(stock))):
        limits = [int((numbers @ np.array(weights)).max()) if numbers is not None else None for numbers in held]
        used = tuple(sum(w * n for w, n in zip(weights, need, strict=True)) for need in needs)
        whole = [limit for limit in limits if limit is not None]
        if any(used) and len(whole) == len(limits):
            rows.append((used, sum(whole)))
    return tuple(dict.fromkeys(rows))


def _asked(problem: AllocationProblem, part: Part) -> Iterator[tuple[Hashable, int, int]]:
    """Yield each request of a pod as its kind of unit, its ask, and the number of devices."""
    for indices in problem.requests[slice(*part.requests)]:
        ask = indices[0]
        counted = not (problem.asks[ask].admin_access or problem.asks[ask].all_devices)
        if len(indices) == 1 and ask not in problem.impossible and counted:
            able = tuple(
                (n, dict(group.uses).get(ask, ())) for n, group in enumerate(problem.groups) if ask in group.asks
            )
            yield able, ask, problem.need(ask)


def _stock(problem: AllocationProblem, asks: Sequence[int]) -> Stock | None:
    """Return what a site has of every resource, with the ways of single devices."""
    single = tuple(replace(ask, count=1) for ask in problem.asks)
    apart = replace(problem, asks=single, links=(), requests=tuple((at,) for at in range(len(single))))
    columns = [columns_of(apart, Part(0, "", (ask, ask + 1), (ask, ask + 1), (0, 0), paired=False), ()) for ask in asks]
    ways = [found for found in columns if found is not None]
    state = NodeState(-1, tuple(group.size for group in problem.groups))
    return Stock(apart, [state], ways) if len(ways) == len(columns) else None


def _held(stock: Stock, known: Known) -> list[Array | None]:
    """Return for each island every number of units that it holds, None where these are too many."""
    uses = np.concatenate(stock.uses)
    found: list[Array | None] = []
    for resources in joined(uses != 0) if len(uses) else []:
        mine = [np.unique(each[:, resources][each[:, resources].any(axis=1)], axis=0) for each in stock.uses]
        free = stock.free[0, resources]
        key = (free.tobytes(), *((len(each), each.tobytes()) for each in mine))
        if key not in known:
            known[key] = _numbers(free, mine)
        found.append(known[key])
    # A unit that takes nothing away is held as often as anybody likes.
    endless = any(len(each) and not each.any(axis=1).all() for each in stock.uses)
    return [None] if endless else found


def _numbers(free: Array, uses: Sequence[Array]) -> Array | None:
    """Return every number of units of each kind that fit side by side; `uses` are the ways of each kind."""
    kinds, size = len(uses), len(free)
    front = np.concatenate([free, np.zeros(kinds, np.int64)]).reshape(1, -1)
    seen, most = [front[:, size:]], 1
    while len(front):
        following = []
        for kind, ways in enumerate(uses):
            for way in ways:
                fits = front[(front[:, :size] >= way).all(axis=1)]
                if len(fits):
                    fits = fits.copy()
                    fits[:, :size] -= way
                    fits[:, size + kind] += 1
                    following.append(fits)
        front = np.unique(np.concatenate(following), axis=0) if following else front[:0]
        most += len(front)
        if most > _MOST_STATES:
            return None
        seen.append(np.unique(front[:, size:], axis=0))
    return np.unique(np.concatenate(seen), axis=0)


def _weights(kinds: int) -> Iterator[tuple[int, ...]]:
    for weights in product(range(_WEIGHTS.get(kinds, 1) + 1), repeat=kinds):
        if gcd(*weights) == 1:
            yield weights


def _drawn(stock: Stock) -> Iterator[tuple[int, ...]]:
    """Yield, for each resource by its name, the least of it that each kind of unit takes."""
    for name in dict.fromkeys(_name(stock, at) for at in range(len(stock.keys))):
        mine = [at for at in range(len(stock.keys)) if _name(stock, at) == name]
        least = tuple(int(each[:, mine].sum(axis=1).min()) if len(each) else 0 for each in stock.uses)
        if any(least):
            yield tuple(one // gcd(*least) for one in least)


def _name(stock: Stock, at: int) -> str:
    number, key = stock.keys[at]
    return f"counter {stock.counter_name(number)}" if number < 0 else key
