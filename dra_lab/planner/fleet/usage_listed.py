"""The most of one kind of device that pods use on every state of one kind of hardware, bounded for all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.fullest import OnIsland
from dra_lab.planner.fleet.listed import Hardware, Island
from dra_lab.planner.fleet.usage import amount_of, is_additive, kind_of
from dra_lab.planner.fleet.worth import NO_LIMIT
from dra_lab.planner.states.columns import Array
from dra_lab.planner.states.node_state import common_unit


@dataclass
class UsedOn:
    """One kind of device on all states of one kind of hardware: pods use `least` of it, and no more than `most`.

    Both in the order of the stock's rows.
    """

    hardware: Hardware
    kind: str
    least: Array = field(init=False)
    most: Array = field(init=False)
    unit: Fraction = field(init=False)
    islands: list[OnIsland] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Bound what is used by what first fit reaches and what counting allows."""
        found = self.hardware
        self.least = np.zeros(len(found.sites), np.int64)
        self.most = np.full(len(found.sites), NO_LIMIT)
        problem = found.stock.problem
        amounts = {
            (ask, number): amount_of(problem, ask, number, self.kind)
            for number, group in enumerate(problem.groups)
            for ask in group.asks
        }
        self.unit = common_unit(amounts.values()) or Fraction(1)
        if not found.listed or not is_additive(problem, self.kind):
            return
        counts = np.array([site.count for site in found.sites])
        whole = [
            columns.takes.astype(np.int64) @ np.array([int(amounts[pair] / self.unit) for pair in columns.pairs])
            if columns.pairs
            else np.zeros(len(columns.takes), np.int64)
            for columns in found.stock.columns
        ]
        for island in found.islands:
            worth = np.array([whole[pod][way] for pod, way in zip(island.pods, island.ways, strict=True)])
            if worth.any():
                most = self._most(island, worth)
                self.islands.append(OnIsland.of(island, counts, worth, most))
        self._sum()

    def _sum(self) -> None:
        least = np.zeros(len(self.hardware.sites), np.int64)
        most = least.copy()
        for part in self.islands:
            least += part.least[part.island.of_state]
            most += part.most[part.island.of_state]
        self.least = (least * self.unit.numerator) // self.unit.denominator
        self.most = (most * self.unit.numerator) // self.unit.denominator

    def _most(self, island: Island, worth: Array) -> Array:
        """Return for each vector of an island what its ways cannot exceed together."""
        keys = [self.hardware.stock.keys[at] for at in island.resources.tolist()]
        using = worth > 0
        most = np.full(len(island.vectors), NO_LIMIT)
        mine = np.array([at >= 0 and kind_of(self.hardware.stock.problem, at) == self.kind for at, _ in keys])
        for chosen in (mine, *self.hardware.chosen(keys)):
            taken = island.uses[np.ix_(np.flatnonzero(using), np.flatnonzero(chosen))].sum(axis=1)
            if taken.min() > 0:
                rate = max(Fraction(int(w), int(t)) for w, t in set(zip(worth[using], taken, strict=True)))
                held = island.vectors[:, chosen].sum(axis=1)
                most = np.minimum(most, held * rate.numerator // rate.denominator)
        most_of_pod = {pod: int(worth[island.pods == pod].max()) for pod in set(island.pods[using].tolist())}
        for row in self.hardware.rows:
            if all(row.weights[pod] > 0 for pod in most_of_pod):
                rate = max(amount / row.weights[pod] for pod, amount in most_of_pod.items())
                held = self.hardware.held(row, island.vectors, keys)
                most = np.minimum(most, np.floor(held * float(rate) + 1e-6).astype(np.int64))
        step = gcd(*worth.tolist())
        return most // step * step

    def close(self, solver: str, budget: Budget) -> Iterator[None]:
        """Solve where bounds differ, island by island, those first that leave most open."""
        for part in self.islands:
            while not budget.reached and part.step(solver, budget):
                self._sum()
                yield None
