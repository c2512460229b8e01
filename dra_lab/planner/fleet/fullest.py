"""How many pods of one kind each of many node states holds: bounds for all at once, then proofs where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.fullest_site import Known, counted, decide
from dra_lab.planner.fleet.listed import Hardware, Island, first_fit, hardware_of
from dra_lab.planner.fleet.pack import Takes
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.room import MOST
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.worth import most_worth
from dra_lab.planner.states.columns import Array

_TELL_EVERY = 25


def fullest(fleet: Fleet, sites: Sequence[Site], solver: str, budget: Budget, most: int = MOST) -> list[Known]:
    """Return for each site how many pods of the fleet's one workload a member holds, at most `most`.

    Nodes with the same hardware are counted together, and only states whose bounds differ are solved, those first that
    leave most open; what is found for one holds for all that have as much. When a limit is reached bounds differ.
    """
    hardware, others = hardware_of(fleet, sites, budget)
    work = [_OnHardware(found, most) for found in hardware]
    alone = [counted(fleet, site, most, budget) for site in others]
    count = _Count(work, alone, budget)
    count.tell()
    for step in in_turn([found.islands(solver, budget) for found in work]):
        count.tell(step)
    for step in in_turn([found.states(fleet, solver, budget) for found in work]):
        count.tell(step)
    for known in sorted(alone, key=lambda known: (-known.gap, known.site.members[0])):
        if known.gap and not budget.reached:
            decide(fleet, known, solver, budget)
            count.tell(True)
    return [*(known for found in work for known in found.told()), *alone]


@dataclass
class _Count:
    """Tells how far it is, in pods on all nodes."""

    work: Sequence[_OnHardware]
    alone: Sequence[Known]
    budget: Budget
    steps: int = 0

    def tell(self, step: object = None) -> None:
        self.steps += step is not None
        if self.budget.report is None or (step is not None and self.steps % _TELL_EVERY):
            return
        rows = [known for found in self.work for known in found.told()] + list(self.alone)
        least = sum(known.least * known.site.count for known in rows)
        most = sum(known.most * known.site.count for known in rows)
        self.budget.tell("nodes", f"at least {least:,} fit, not more than {most:,}", least, most)


def in_turn(works: Sequence[Iterator[None]]) -> Iterator[None]:
    """Yield from all in turn: under a limit no hardware waits for another."""
    left = list(works)
    while left:
        for work in list(left):
            try:
                next(work)
            except StopIteration:
                left.remove(work)
                continue
            yield None


@dataclass
class _OnHardware:
    """The states of one kind of hardware: `least` and `most` pods of each, in the order of the stock's rows."""

    hardware: Hardware
    cap: int
    least: Array = field(init=False)
    most: Array = field(init=False)
    parts: list[OnIsland] = field(init=False, default_factory=list)
    patterns: list[Array] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        found = self.hardware
        self.least = np.zeros(len(found.sites), np.int64)
        self.most = np.minimum(found.counted, self.cap)
        if found.listed and 0 in found.endless:
            fits = np.array([bool((found.stock.uses[0] <= row).all(axis=1).any()) for row in found.stock.free])
            self.least = self.most = np.where(fits, self.cap, 0)
        elif found.listed:
            weights = np.array([site.count for site in found.sites])
            self.parts = [
                OnIsland.of(island, weights, np.ones(len(island.uses), np.int64), found.most_pods(island))
                for island in found.islands
            ]
            self._sum()

    def _sum(self) -> None:
        states = len(self.hardware.sites)
        least, most = np.zeros(states, np.int64), np.zeros(states, np.int64)
        for part in self.parts:
            least += part.least[part.island.of_state]
            most += part.most[part.island.of_state]
        self.least = np.maximum(self.least, np.minimum(least, self.cap))
        self.most = np.minimum(self.most, most)

    def told(self) -> Iterator[Known]:
        """Return what is known of every site."""
        rows = zip(self.hardware.sites, self.least.tolist(), self.most.tolist(), strict=True)
        return (Known(site, least, most) for site, least, most in rows)

    def islands(self, solver: str, budget: Budget) -> Iterator[None]:
        """Close gaps where the ways are listed, island by island."""
        for part in self.parts:
            while not budget.reached and part.step(solver, budget):
                self._sum()
                yield None

    def states(self, fleet: Fleet, solver: str, budget: Budget) -> Iterator[None]:
        """Close the gaps that are left, state by state."""
        counts = np.array([site.count for site in self.hardware.sites])
        tried = np.zeros(len(counts), bool)
        while not budget.reached:
            gap = np.where(tried, 0, (self.most - self.least) * counts)
            at = int(gap.argmax())
            if not gap[at]:
                return
            tried[at] = True
            known = Known(self.hardware.sites[at], int(self.least[at]), int(self.most[at]))
            takes = decide(fleet, known, solver, budget)
            self._learn(at, known, takes)
            yield None

    def _learn(self, at: int, known: Known, takes: Takes) -> None:
        """Use what is known of one state for all that have as much, or no more."""
        free = self.hardware.stock.free
        self.most = np.where((free <= free[at]).all(axis=1), np.minimum(self.most, known.most), self.most)
        self.least[at] = max(int(self.least[at]), known.least)
        if not takes:
            return
        mine = [
            self._amounts(known.site, tuple(row for row in takes if row[0] == pod)) for pod in {r[0] for r in takes}
        ]
        whole = np.sum(mine, axis=0)
        fits = (free >= whole).all(axis=1)
        self.least = np.where(fits, np.maximum(self.least, np.minimum(len(mine), self.most)), self.least)
        known_ways = {row.tobytes() for row in self.patterns}
        self.patterns += [row for row in mine if row.tobytes() not in known_ways]
        todo = np.flatnonzero(self.least < self.most)
        if len(todo):
            uses = np.unique(np.array(self.patterns), axis=0)
            for order in (uses, uses[::-1]):
                reached = first_fit(free[todo], order, np.ones(len(order), np.int64), self.most[todo])
                self.least[todo] = np.maximum(self.least[todo], reached)

    def _amounts(self, site: Site, takes: Takes) -> Array:
        stock, now_in = self.hardware.stock, self.hardware.now_in
        found = np.zeros(len(stock.keys), np.int64)
        for _, ask, group, count in takes:
            number = site.kept[group] if site.kept else group
            for at, amount in stock.taken(ask, now_in[number] if now_in else number).items():
                found[at] += count * amount
        return found


@dataclass
class OnIsland:
    """The vectors of one island: what ways are worth together, `least` and `most`, and the `nodes` that have each."""

    island: Island
    worth: Array
    least: Array
    most: Array
    nodes: Array
    tried: Array

    @classmethod
    def of(cls, island: Island, counts: Array, worth: Array, most: Array) -> OnIsland:
        """Begin with what first fit reaches, and what counting allows; `counts` are the nodes of each state."""
        nodes = np.bincount(island.of_state, weights=counts, minlength=len(island.vectors))
        return cls(island, worth, island.filled(worth, most), most, nodes, np.zeros(len(most), bool))

    def step(self, solver: str, budget: Budget) -> bool:
        """Solve the vector that leaves most open; say whether there was one."""
        gap = np.where(self.tried, 0, (self.most - self.least) * self.nodes)
        at = int(gap.argmax()) if len(gap) else 0
        if not len(gap) or not gap[at]:
            return False
        self.tried[at] = True
        free = self.island.vectors[at]
        least, most = most_worth(free, self.island.uses, self.worth, solver, budget)
        least, most = max(int(self.least[at]), least), min(int(self.most[at]), most)
        more = (self.island.vectors >= free).all(axis=1)
        less = (self.island.vectors <= free).all(axis=1)
        self.least = np.where(more, np.maximum(self.least, least), self.least)
        self.most = np.where(less, np.minimum(self.most, most), self.most)
        return True
