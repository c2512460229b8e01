"""How many pods of one workload fit on each of many node states: first fit and counting, a kind of hardware at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import room_of, rows_of
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.coarse import coarse, coarse_state
from dra_lab.planner.states.columns import Array, columns_of, joined
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable

_ORDER = ("numa", "roots")
"""Goals by which the ways of a pod are sorted: compact ones first leave more for others."""

_MOST_TRIED = 4_000
"""Ways that first fit tries one after the other at most."""


@dataclass
class Known:
    """What is known of one site: a member holds `least` pods, and not more than `most`."""

    site: Site
    least: int
    most: int

    @property
    def gap(self) -> int:
        """Return how many pods on all members are not decided."""
        return (self.most - self.least) * self.site.count

    def learn(self, least: int, most: int) -> None:
        """Keep what else was found out."""
        self.least, self.most = max(self.least, least), min(self.most, most)


def known_sites(fleet: Fleet, sites: Sequence[Site], most: int, budget: Budget) -> list[Known]:
    """Return how many pods of the fleet's one workload a member of each site holds, at most `most`.

    At a limit, the ways of a pod are no longer listed, and pods are only counted.
    """
    alike: dict[int, list[Site]] = {}
    for number, site in enumerate(sites):
        alike.setdefault(-1 - number if site.state is None else site.state.layout, []).append(site)
    found: list[Known] = []
    for layout, mine in alike.items():
        problem = mine[0].problem if layout < 0 else fleet.scan.layouts[layout].problem
        found.extend(_of_hardware(problem, mine, most, budget))
    return found


def _of_hardware(problem: AllocationProblem, sites: Sequence[Site], most: int, budget: Budget) -> Iterator[Known]:
    # Here only numbers of pods count.
    problem, now_in = coarse(problem)
    part = sites[0].parts[0]
    listed = not budget.reached and is_listable(problem, [part])
    columns = columns_of(problem, part, _ORDER) if listed else None
    if columns is None:
        yield from (Known(site, 0, room_of(site, (most,)).caps[0]) for site in sites)
        return
    idle = NodeState(-1, tuple(group.size for group in problem.groups))
    states = [idle if site.state is None else coarse_state(site.state, now_in) for site in sites]
    stock = Stock(problem, states, (columns,))
    bound = _counted(stock, sites[0], most)
    for site, low, high in zip(sites, _first_fit(stock, bound).tolist(), bound.tolist(), strict=True):
        yield Known(site, low, high)


def _first_fit(stock: Stock, most: Array) -> Array:
    """Return for each state how many pods fit that take the ways in some order, each as often as there is enough.

    Ways are tried in their order, and those first that take little of what is scarce.
    """
    uses, free = stock.uses[0], stock.free
    found = np.zeros(len(free), np.int64)
    scarce = (uses / np.maximum(1, free.sum(axis=0))).sum(axis=1)
    for order in (np.arange(len(uses)), np.argsort(scarce, kind="stable")):
        todo = np.flatnonzero(found < most)
        left, count = free[todo], np.zeros(len(todo), np.int64)
        for row in uses[order[:_MOST_TRIED]]:
            used = np.flatnonzero(row)
            times = (left[:, used] // row[used]).min(axis=1, initial=most.max(initial=0))
            count += times
            left[:, used] -= times[:, None] * row[used]
        found[todo] = np.maximum(found[todo], np.minimum(count, most[todo]))
    return found


def _counted(stock: Stock, site: Site, most: int) -> Array:
    """Return for each state a number of pods that counting says cannot be exceeded, by resources that no way joins."""
    uses = stock.uses[0]
    if not uses.any(axis=1).all():
        return np.full(len(stock.free), most)
    rows = rows_of(Site(site.members, site.parts, lambda: stock.problem))
    found = np.zeros(len(stock.free), np.int64)
    for resources in joined(uses != 0):
        keys, free = [stock.keys[at] for at in resources.tolist()], stock.free[:, resources]
        here = np.full(len(free), most)
        for row in rows:
            limits = row.limits(free, keys, stock.units) / float(row.weights[0])
            here = np.minimum(here, np.floor(limits + 1e-6).astype(np.int64))
        least = uses[np.ix_(uses[:, resources].any(axis=1), resources)].min(axis=0)
        for at in np.flatnonzero(least):
            here = np.minimum(here, free[:, at] // least[at])
        found += here
    return np.minimum(found, most)
