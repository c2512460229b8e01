"""The most that pods take of each of many node states: first fit and counting, for a kind of hardware at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import CountRow, pod_limits, rows_of
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.published import PublishedBounds
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.states.columns import Array, joined
from dra_lab.planner.states.node_state import NodeState, coarse, coarse_state, common_unit
from dra_lab.planner.states.stock import Stock, stock_of

Amounts = Callable[[AllocationProblem], Mapping[tuple[int, int], Fraction] | None]
"""What a device of a group counts for an ask, by (ask, group); None if several pods count a device once."""

_ORDER = ("numa", "roots")
"""Goals by which the ways of a pod are sorted: compact ones first leave more for others."""


@dataclass
class Known:
    """What is known of one site: pods on a member take `least`, and not more than `most`."""

    site: Site
    least: int
    most: int

    @property
    def gap(self) -> int:
        """Return how much on all members is not decided."""
        return (self.most - self.least) * self.site.count

    def learn(self, least: int, most: int) -> None:
        """Keep what else was found out."""
        self.least, self.most = max(self.least, least), min(self.most, most)


def by_hardware(sites: Iterable[Site]) -> list[list[Site]]:
    """Return the sites on the same kind of hardware together; one that is known by its problem alone is by itself."""
    found: dict[int, list[Site]] = {}
    for number, site in enumerate(sites):
        found.setdefault(-1 - number if site.state is None else site.state.layout, []).append(site)
    return list(found.values())


def known_sites(
    fleet: FleetProblem,
    sites: Sequence[Site],
    most: int,
    budget: Budget,
    amounts: Amounts | None = None,
    published: PublishedBounds | None = None,
) -> list[Known]:
    """Return what pods take of a member of each site, at most `most`: devices as `amounts` count them, or pods.

    Pods are those of one workload. At a limit, their ways are no longer listed, and they are bounded by what is
    `published`.
    """
    found: dict[int, Known] = {}

    def bounded(site: Site) -> Known:
        node = site.members[0]
        return Known(site, 0, most if published is None else published.on(site.home_nodes.get(node, node)))

    for mine in by_hardware(sites):
        if budget.reached:
            found.update((id(site), bounded(site)) for site in mine)
            continue
        state = mine[0].state
        problem = mine[0].problem if state is None else fleet.scan.layouts[state.layout].problem
        each = _of_hardware(problem, mine, most, budget, amounts, bounded)
        found.update((id(known.site), known) for known in each)
    return [found[id(site)] for site in sites]


def _of_hardware(
    problem: AllocationProblem,
    sites: Sequence[Site],
    most: int,
    budget: Budget,
    amounts: Amounts | None,
    bounded: Callable[[Site], Known],
) -> Iterator[Known]:
    problem, now_in = coarse(problem)
    counted = {} if amounts is None else amounts(problem)
    idle = NodeState(-1, tuple(group.size for group in problem.groups))
    states = [idle if site.state is None else coarse_state(site.state, now_in) for site in sites]
    stock = stock_of(problem, sites[0].parts, states, _ORDER, budget.sizes.pod_ways, budget)
    if stock is None or counted is None:
        for site in sites:
            exact = amounts is None and not budget.reached
            yield Known(site, 0, pod_limits(site, (most,)).caps[0]) if exact else bounded(site)
        return
    if amounts is None and most == 1:
        # Every way is listed: a state holds a pod if one of them fits.
        for site, way in zip(sites, stock.first(stock.left, 0).tolist(), strict=True):
            yield Known(site, int(way >= 0), int(way >= 0))
        return
    unit = common_unit(counted.values()) or Fraction(1)
    in_units = {pair: int(amount / unit) for pair, amount in counted.items()}
    value = [
        np.ones(len(ways.takes), np.int64)
        if amounts is None
        else ways.takes.astype(np.int64) @ np.array([in_units.get(pair, 0) for pair in ways.pairs], np.int64)
        for ways in stock.columns
    ]
    ways = _Ways.of(stock, value, rows_of(Site(sites[0].members, sites[0].parts, lambda: problem)))
    bound = ways.counted(int(most / unit))
    for site, low, high in zip(sites, ways.first_fit(bound, budget.sizes.filled).tolist(), bound.tolist(), strict=True):
        yield Known(site, int(low * unit), int(high * unit))


@dataclass(frozen=True)
class _Ways:
    """The ways of pods that have a value: what each uses of the resources, and whose it is."""

    stock: Stock
    uses: Array
    value: Array
    pods: Array
    rows: Sequence[CountRow]

    @classmethod
    def of(cls, stock: Stock, value: Sequence[Array], rows: Sequence[CountRow]) -> _Ways:
        """Put the ways of all pods together."""
        every = np.concatenate(value)
        pods = np.concatenate([np.full(len(mine), pod) for pod, mine in enumerate(value)])
        some = every > 0
        return cls(stock, np.concatenate(stock.uses)[some], every[some], pods[some], rows)

    def first_fit(self, most: Array, tried: int) -> Array:
        """Return for each state the value of ways that are taken in some order, each while there is enough.

        Those of the largest value come first, or those that take little of what is scarce for their value. Only the
        first `tried` of them are taken.
        """
        free = self.stock.free
        found = np.zeros(len(free), np.int64)
        scarce = (self.uses / np.maximum(1, free.sum(axis=0))).sum(axis=1) / self.value
        for order in (np.argsort(-self.value, kind="stable"), np.argsort(scarce, kind="stable")):
            todo = np.flatnonzero(found < most)
            left, reached = free[todo], np.zeros(len(todo), np.int64)
            for way in order[:tried].tolist():
                used = np.flatnonzero(self.uses[way])
                times = (left[:, used] // self.uses[way][used]).min(axis=1, initial=most.max(initial=0))
                reached += times * self.value[way]
                left[:, used] -= times[:, None] * self.uses[way][used]
            found[todo] = np.maximum(found[todo], np.minimum(reached, most[todo]))
        return found

    def counted(self, most: int) -> Array:
        """Return for each state what counting says cannot be exceeded, by resources that no way joins."""
        if not self.uses.any(axis=1).all():
            return np.full(len(self.stock.free), most)
        found = np.zeros(len(self.stock.free), np.int64)
        for resources in joined(self.uses != 0):
            found += self._inside(resources, most)
        return np.minimum(found, most)

    def _inside(self, resources: Array, most: int) -> Array:
        """Return the largest value of ways that use some resources: each takes a least part of some."""
        mine = np.flatnonzero(self.uses[:, resources].any(axis=1))
        uses, value, pods = self.uses[np.ix_(mine, resources)], self.value[mine], self.pods[mine]
        keys, free = [self.stock.keys[at] for at in resources.tolist()], self.stock.free[:, resources]
        best = {pod: int(value[pods == pod].max()) for pod in set(pods.tolist())}
        found = np.full(len(free), most)
        for row in self.rows:
            if all(row.weights[pod] > 0 for pod in best):
                rate = max(float(amount / row.weights[pod]) for pod, amount in best.items())
                limits = row.limits(free, keys, self.stock.units) * rate
                found = np.minimum(found, np.floor(limits + 1e-6).astype(np.int64))
        sets = [np.array([group in row.groups and key == row.key for group, key in keys]) for row in self.rows]
        for chosen in (*np.eye(len(keys), dtype=bool), *sets):
            taken = uses[:, chosen].sum(axis=1)
            if len(taken) and taken.min() > 0:
                best_rate = max(Fraction(w, t) for w, t in {*zip(value.tolist(), taken.tolist(), strict=True)})
                whole = free[:, chosen].sum(axis=1) * best_rate.numerator // best_rate.denominator
                found = np.minimum(found, whole)
        step = gcd(*value.tolist())
        return found // step * step
