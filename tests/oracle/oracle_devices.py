"""The optimum of a fleet as an integer model of single devices, solved by CBC; no code of the planner is shared.

One variable says that a pod's request takes a device. Rows say what DRA, the links and the goals mean, one by one:
this is the plainest of the models, for few pods, and the other ones are compared with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pulp
from oracle_cbc import Optimum, UnknownError
from oracle_clusters import Free
from oracle_drawings import NUMAS, ROOTS, Ask, Drawn
from oracle_ways import Stock, limits_of, serves, stocks_of

from dra_lab.model.sketch import How, Link

MOST_VARIABLES = 4_000

Sum = pulp.LpAffineExpression


@dataclass(frozen=True)
class Single:
    """One free device: its node, and the stock that it is of by number."""

    node: int
    stock: int
    like: Stock

    def place(self, level: str) -> tuple[int, int]:
        """Return the NUMA node or the PCIe root, which no two nodes share."""
        return self.node, self.like.place(level)


def singles_of(node: int, stocks: Sequence[Stock]) -> list[Single]:
    """Return the devices of stocks one by one; a CPU device is one however many cores are free."""
    return [
        Single(node, number, stock if stock.kind == "cpu" else replace(stock, amount=1))
        for number, stock in enumerate(stocks)
        for _ in range(1 if stock.kind == "cpu" else stock.amount)
    ]


class DeviceFleet(Optimum):
    """Some nodes by what is free on them, and pods, each with the number of its workload."""

    def __init__(self, frees: Sequence[Free], claims: Sequence[Drawn], replicas: Sequence[int]) -> None:
        super().__init__("devices")
        self.pods = [(at, claim) for at, claim in enumerate(claims) for _ in range(replicas[at])]
        self.frees = frees
        self.devices = [single for node, free in enumerate(frees) for single in singles_of(node, stocks_of(free))]
        if len(self.devices) * sum(len(claim.asks) for _, claim in self.pods) > MOST_VARIABLES:
            raise UnknownError
        self.on = {(pod, node): self.binary() for pod in range(len(self.pods)) for node in range(len(frees))}
        self.takes: dict[tuple[int, str], list[tuple[Single, pulp.LpVariable]]] = {}
        self.lost: list[Sum] = []
        for pod, (_, claim) in enumerate(self.pods):
            self._add_pod(pod, claim)
        self._add_capacity()

    def binary(self) -> pulp.LpVariable:
        """Return a new variable that is 0 or 1."""
        return self.integer(1)

    # ---------------------------------------------------------------- what DRA says

    def _add_pod(self, pod: int, claim: Drawn) -> None:
        """A pod is on one node at most, and takes all its devices there or none."""
        self.model += pulp.lpSum(self.on[pod, node] for node in range(len(self.frees))) <= 1
        for ask in claim.asks:
            mine = [(single, self.binary()) for single in self.devices if serves(single.like, ask)]
            self.takes[pod, ask.name] = mine
            for node in range(len(self.frees)):
                here = pulp.lpSum(taken for single, taken in mine if single.node == node)
                self.model += here == ask.count * self.on[pod, node]
        for link in claim.links:
            tied = [ask for ask in claim.asks if ask.name in link.requests]
            add = {How.TOGETHER: self._together, How.APART: self._apart, How.PAIRWISE: self._pairwise}[link.how]
            lost = add(pod, link, tied)
            if link.must:
                self.model += lost == 0
            else:
                self.lost.append(lost)

    def _add_capacity(self) -> None:
        """A device is in one request at most; CPU devices and partitioned GPUs have what is left of them."""
        takers: dict[int, list[tuple[Single, int, pulp.LpVariable]]] = defaultdict(list)
        numbers = {id(single): number for number, single in enumerate(self.devices)}
        for (pod, name), mine in self.takes.items():
            (cores,) = (ask.cores for ask in self.pods[pod][1].asks if ask.name == name)
            for single, taken in mine:
                takers[numbers[id(single)]].append((single, cores or 1, taken))
        for rows in takers.values():
            self.model += pulp.lpSum(cores * taken for _, cores, taken in rows) <= rows[0][0].like.amount
        for node, free in enumerate(self.frees):
            for factors, most in limits_of(free, stocks_of(free)):
                weights = dict(factors)
                mine = [
                    weights[single.stock] * cores * taken
                    for rows in takers.values()
                    for single, cores, taken in rows
                    if single.node == node and single.stock in weights
                ]
                if mine:
                    self.model += pulp.lpSum(mine) <= most

    # ---------------------------------------------------------------- what links say

    def _at(self, pod: int, asks: Iterable[Ask], level: str) -> dict[tuple[int, int], list[pulp.LpVariable]]:
        """Return what requests of a pod take on each place."""
        found: dict[tuple[int, int], list[pulp.LpVariable]] = defaultdict(list)
        for ask in asks:
            for single, taken in self.takes[pod, ask.name]:
                found[single.place(level)].append(taken)
        return found

    def _together(self, pod: int, link: Link, tied: Sequence[Ask]) -> Sum:
        """Lose 1 if more than one place is used."""
        used, lost = self._used(self._at(pod, tied, link.where)), self.binary()
        self.model += pulp.lpSum(used) <= 1 + len(used) * lost
        return Sum(lost)

    def _apart(self, pod: int, link: Link, tied: Sequence[Ask]) -> Sum:
        """Lose 1 if a place is used twice."""
        lost = self.binary()
        for taken in self._at(pod, tied, link.where).values():
            self.model += pulp.lpSum(taken) <= 1 + len(taken) * lost
        return Sum(lost)

    def _pairwise(self, pod: int, link: Link, tied: Sequence[Ask]) -> Sum:
        """Lose every group that has no place of its own: an equal share of each request on one place."""
        groups = min(ask.count for ask in tied)
        placed = pulp.lpSum(self.on[pod, node] for node in range(len(self.frees)))
        if any(ask.count % groups for ask in tied):
            return groups * placed
        at_place = [self._at(pod, [ask], link.where) for ask in tied]
        formed = {place: self.integer(groups) for place in at_place[0]}
        for (place, found), (ask, taken) in product(formed.items(), zip(tied, at_place, strict=True)):
            self.model += ask.count // groups * found <= pulp.lpSum(taken.get(place, ()))
        return groups * placed - pulp.lpSum(formed.values())

    # ---------------------------------------------------------------- what goals say

    def _used(self, at_place: dict[tuple[int, int], list[pulp.LpVariable]]) -> list[pulp.LpVariable]:
        """Return a variable for each place that must be 1 if something is taken there."""
        found = []
        for taken in at_place.values():
            found.append(self.binary())
            for one in taken:
                self.model += one <= found[-1]
        return found

    def placed(self, number: int | None = None) -> Sum:
        """Return the pods of one workload, or of all, that are on a node."""
        mine = [pod for pod, (at, _) in enumerate(self.pods) if number is None or at == number]
        return pulp.lpSum(self.on[pod, node] for pod in mine for node in range(len(self.frees)))

    def goal(self, name: str) -> Sum:
        """Return the sum of a goal over all pods."""
        if name == "preferences":
            return pulp.lpSum(self.lost)
        return pulp.lpSum(getattr(self, f"_{name}")(pod, claim.asks) for pod, (_, claim) in enumerate(self.pods))

    def _numa(self, pod: int, asks: Sequence[Ask]) -> Sum:
        return pulp.lpSum(self._used(self._at(pod, asks, NUMAS)))

    def _roots(self, pod: int, asks: Sequence[Ask]) -> Sum:
        return pulp.lpSum(self._used(self._at(pod, [ask for ask in asks if ask.kind != "cpu"], ROOTS)))

    def _unpaired(self, pod: int, asks: Sequence[Ask]) -> Sum:
        gpus, nics = ([ask for ask in asks if ask.kind == kind] for kind in ("gpu", "nic"))
        if not (gpus and nics):
            return Sum()
        with_nic = self._at(pod, nics, ROOTS)
        alone = []
        for place, taken in self._at(pod, gpus, ROOTS).items():
            alone.append(self.integer(len(taken)))
            self.model += alone[-1] >= pulp.lpSum(taken) - pulp.lpSum(with_nic.get(place, ()))
        return pulp.lpSum(alone)

    def nodes(self) -> Sum:
        """Return the nodes with a pod."""
        used = [self.binary() for _ in self.frees]
        for (_, node), on in self.on.items():
            self.model += on <= used[node]
        return pulp.lpSum(used)
