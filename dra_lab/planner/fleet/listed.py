"""All states of one kind of hardware at once: what its pods can use of each, bounded by counting and by first fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dra_lab.model.sketch import How
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Row, rows_of
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.site_stock import stock_of
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.worth import NO_LIMIT
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.coarse import coarse, coarse_state
from dra_lab.planner.states.columns import Array, columns_of, joined
from dra_lab.planner.states.copies import Part
from dra_lab.planner.states.stock import Stock

MOST_TRIED = 4_000
"""Ways that first fit tries one after the other at most."""

_ORDER = ("numa", "roots")
"""Goals by which the ways of a pod are sorted: compact ones first leave more for others."""

_PAUSE = 8
_SHUFFLES, _SEED = 12, 7
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Island:
    """Resources of one kind of hardware that no way of a pod joins with others, and the ways that use them.

    `resources` are positions in the stock, `uses` the amounts of them that each way takes, a row a way, `pods` whose
    way it is. `vectors` are the different amounts that states have there, `of_state` the one that each state has.
    """

    resources: Array
    uses: Array
    pods: Array
    vectors: Array
    of_state: Array
    ways: Array

    def filled(self, worth: Array, most: Array) -> Array:
        """Return what first fit reaches of `worth` (a number a way) with each vector; it ends at `most`."""
        best = np.zeros(len(self.vectors), np.int64)
        for order in self._orders(worth):
            todo = np.flatnonzero(best < most)
            if not len(todo):
                break
            reached = first_fit(self.vectors[todo], self.uses[order], worth[order], most[todo])
            best[todo] = np.maximum(best[todo], reached)
        return np.minimum(best, most)

    def _orders(self, worth: Array) -> Iterator[Array]:
        """Yield orders to try the ways in: what is worth most first, then compact, the reverse, not scarce, mixed."""
        number = np.arange(len(self.uses))
        scarce = (self.uses / np.maximum(1, self.vectors.sum(axis=0))).sum(axis=1)
        yield np.lexsort((number, -worth))[:MOST_TRIED]
        yield np.lexsort((-number, -worth))[:MOST_TRIED]
        yield np.lexsort((scarce, -worth))[:MOST_TRIED]
        # Few vectors are left by then; the same numbers each time, so that answers do not change.
        chance = np.random.default_rng(_SEED)
        for _ in range(_SHUFFLES):
            yield np.lexsort((chance.random(len(self.uses)), -worth))[:MOST_TRIED]


def first_fit(free: Array, uses: Array, worth: Array, most: Array) -> Array:
    """Return for each row of amounts what ways are worth that are taken in turn, each as often as it fits.

    A row is left alone once it has reached `most`.
    """
    left, reached = free.copy(), np.zeros(len(free), np.int64)
    rows = np.arange(len(free))
    for number, (row, value) in enumerate(zip(uses, worth.tolist(), strict=True)):
        if not number % _PAUSE:
            rows = rows[reached[rows] < most[rows]]
        if not len(rows):
            break
        used = np.flatnonzero(row)
        times = (left[np.ix_(rows, used)] // row[used]).min(axis=1)
        if value and times.any():
            left[np.ix_(rows, used)] -= times[:, None] * row[used]
            reached[rows] += times * value
    return np.minimum(reached, most)


@dataclass(frozen=True)
class Hardware:
    """One kind of hardware with its states: `sites` in the order of the stock's rows, and the kinds of pods.

    Where `listed` the stock has every way of every pod, else none. `now_in` is the group of the stock in which each
    group of the hardware is, None where they are the same.
    """

    sites: tuple[Site, ...]
    stock: Stock
    parts: tuple[Part, ...]
    listed: bool
    now_in: tuple[int, ...] | None = None

    @cached_property
    def endless(self) -> frozenset[int]:
        """Return the pods that have a way which takes nothing away, where any state holds one."""
        return frozenset(pod for pod, uses in enumerate(self.stock.uses) if len(uses) and not uses.any(axis=1).all())

    @cached_property
    def islands(self) -> tuple[Island, ...]:
        """Return the resources apart, where no way joins them."""
        uses = np.concatenate(self.stock.uses)
        pods = np.concatenate([np.full(len(found), pod) for pod, found in enumerate(self.stock.uses)])
        ways = np.concatenate([np.arange(len(found)) for found in self.stock.uses])
        if not len(uses):
            return ()
        found = []
        for resources in joined(uses != 0):
            mine = np.flatnonzero(uses[:, resources].any(axis=1))
            rows = np.column_stack([pods[mine], uses[np.ix_(mine, resources)]])
            first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
            vectors, of_state = np.unique(self.stock.free[:, resources], axis=0, return_inverse=True)
            kept = mine[first]
            own = uses[np.ix_(kept, resources)]
            found.append(Island(resources, own, pods[kept], vectors, of_state.reshape(-1), ways[kept]))
        return tuple(found)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Return the counts that pods on the hardware share."""
        whole = Site(("",), self.parts, lambda: self.stock.problem)
        return tuple(dict.fromkeys((*rows_of(whole), *_together_rows(self.stock.problem, self.parts))))

    @cached_property
    def counted(self) -> Array:
        """Return for each state a number of pods of the first kind that counting says cannot be exceeded."""
        return self._by_rows(self.stock.free, self.stock.keys)

    def _by_rows(self, free: Array, keys: Sequence[tuple[int, str]]) -> Array:
        most = np.full(len(free), NO_LIMIT)
        for row in self.rows:
            if row.weights[0] > 0:
                held = self.held(row, free, keys) / float(row.weights[0])
                most = np.minimum(most, np.floor(held + _ROUNDING).astype(np.int64))
        return most

    def held(self, row: Row, free: Array, keys: Sequence[tuple[int, str]]) -> Array:
        """Return what amounts hold of a count; their columns are by `keys`."""
        return row.limits(free, keys, self.stock.units)

    def most_pods(self, island: Island) -> Array:
        """Return for each vector of an island a number of pods of the first kind that cannot be exceeded there."""
        keys = [self.stock.keys[at] for at in island.resources.tolist()]
        most = self._by_rows(island.vectors, keys)
        for chosen in self.chosen(keys):
            least = int(island.uses[:, chosen].sum(axis=1).min())
            if least > 0:
                most = np.minimum(most, island.vectors[:, chosen].sum(axis=1) // least)
        return most

    def chosen(self, keys: Sequence[tuple[int, str]]) -> Iterator[Array]:
        """Yield sets of resources of which each way may take a least amount."""
        yield from np.eye(len(keys), dtype=bool)
        for groups, key in {(row.groups, row.key) for row in self.rows}:
            chosen = np.array([group in groups and own == key for group, own in keys])
            if chosen.any():
                yield chosen


def _together_rows(problem: AllocationProblem, parts: Sequence[Part]) -> Iterator[Row]:
    """Must-links that keep devices together: at each place the scarcest request says how many pods it holds."""
    for at, part in enumerate(parts):
        weights = tuple(Fraction(number == at) for number in range(len(parts)))
        single = all(len(indices) == 1 for indices in problem.requests[slice(*part.requests)])
        for link in range(*part.links):
            if not single or not problem.links[link].must or problem.links[link].how is not How.TOGETHER:
                continue
            tied = {ask: _groups(problem, ask) for ask in problem.ends(link)}
            # Shares are counted by what is left of them, not here.
            tied = {ask: own for ask, own in tied.items() if not any(problem.groups[n].shareable for n in own)}
            # Nor what takes nothing: a request for all devices where none matches, which has no solution.
            tied = {ask: own for ask, own in tied.items() if problem.need(ask)}
            every = frozenset(number for own in tied.values() for number in own)
            if not tied or any(len(problem.groups[n].places[link]) > 1 for n in every):
                continue
            places = []
            for value in dict.fromkeys(value for n in sorted(every) for value in problem.groups[n].places[link]):
                here = frozenset(number for number in every if value in problem.groups[number].places[link])
                ends = tuple((own & here, problem.need(ask)) for ask, own in tied.items())
                places.append((*ends, (here, sum(problem.need(ask) for ask in tied))))
            yield Row(weights, every, places=tuple(places))


def _groups(problem: AllocationProblem, ask: int) -> frozenset[int]:
    return frozenset(number for number, group in enumerate(problem.groups) if ask in group.asks)


def hardware_of(fleet: Fleet, sites: Iterable[Site], budget: Budget) -> tuple[list[Hardware], list[Site]]:
    """Return the sites hardware by hardware, and those whose ways cannot be listed and whose states are not known.

    A site of which only the problem is known is hardware of its own. Where time is up, hardware is told without its
    ways.
    """
    alike: dict[int, list[Site]] = {}
    found: list[Hardware] = []
    others: list[Site] = []
    for site in sites:
        if site.state is not None:
            alike.setdefault(site.state.layout, []).append(site)
            continue
        stock = None if budget.reached or site.nodes else stock_of(site, _ORDER)
        if stock is None:
            others.append(site)
        else:
            found.append(Hardware((site,), stock, site.parts, listed=True))
    for layout, mine in alike.items():
        # Here only numbers of pods count, and what they use of a kind.
        problem, now_in = coarse(fleet.scan.layouts[layout].problem)
        parts = mine[0].parts
        columns = [None if budget.reached else columns_of(problem, part, _ORDER) for part in parts]
        ways = [found for found in columns if found is not None]
        is_listed = len(ways) == len(parts)
        states = [coarse_state(site.state, now_in) for site in mine if site.state is not None]
        stock = Stock(problem, states, ways if is_listed else ())
        found.append(Hardware(tuple(mine), stock, parts, is_listed, now_in))
    return found, others
