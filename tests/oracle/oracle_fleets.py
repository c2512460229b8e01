"""The optimum of a fleet as an integer model over all ways of a pod, solved by CBC; no code of the planner is shared.

One variable counts the pods of a workload that take their devices on a node in one way. Each row is a stock of
identical devices, the slices of a partitioned GPU, the replicas that are asked for, or a goal that is already proven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pulp
from oracle_cbc import Optimum, UnknownError
from oracle_clusters import Free
from oracle_drawings import Drawn
from oracle_ways import Way, limits_of, stocks_of, ways_of

MOST_WAYS = 4_000
"""Models with more variables take CBC too long."""

ValueOf = Callable[[int, Way], int]
"""Returns what a pod counts, by the number of its workload and its way."""


class Fleet(Optimum):
    """Some nodes by what is free on them, claims, and the replicas of each (None: any number)."""

    def __init__(self, frees: Sequence[Free], claims: Sequence[Drawn], replicas: Sequence[int | None]) -> None:
        super().__init__("fleet")
        self.pods: list[tuple[int, int, Way, pulp.LpVariable]] = []
        self.limits: list[tuple[int, pulp.LpAffineExpression, int]] = []
        for node, free in enumerate(frees):
            self._add_node(node, free, claims)
        for number, wanted in enumerate(replicas):
            if wanted is not None:
                self.model += self.placed(number) <= wanted

    def _add_node(self, node: int, free: Free, claims: Sequence[Drawn]) -> None:
        stocks = stocks_of(free)
        limits = limits_of(free, stocks)
        mine: list[tuple[Way, pulp.LpVariable]] = []
        for number, claim in enumerate(claims):
            for way in ways_of(stocks, limits, claim):
                variable = self.integer()
                mine.append((way, variable))
                self.pods.append((node, number, way, variable))
        if len(self.pods) > MOST_WAYS:
            raise UnknownError
        for factors, amount in limits:
            weights = dict(factors)
            terms = ((v, sum(weights.get(at, 0) * count for at, count in way.takes)) for way, v in mine)
            taken = pulp.LpAffineExpression([(variable, weight) for variable, weight in terms if weight])
            if taken:
                self.model += taken <= amount
                self.limits.append((node, taken, amount))

    # ---------------------------------------------------------------- expressions

    def total(self, value_of: ValueOf) -> pulp.LpAffineExpression:
        """Return the sum of what all pods are worth."""
        return pulp.LpAffineExpression(
            [(variable, value_of(number, way)) for _, number, way, variable in self.pods if value_of(number, way)]
        )

    def placed(self, number: int | None = None) -> pulp.LpAffineExpression:
        """Return the pods of one workload, or of all."""
        return self.total(lambda at, _: int(number is None or at == number))

    def goal(self, name: str) -> pulp.LpAffineExpression:
        """Return the sum of a goal over all pods."""
        return self.total(lambda _, way: getattr(way, name))

    def nodes(self) -> pulp.LpAffineExpression:
        """Return the nodes with a pod."""
        used = {node: self.integer(1) for node in {node for node, *_ in self.pods}}
        for node, taken, amount in self.limits:
            self.model += taken <= amount * used[node]
        return pulp.lpSum(used.values())


def is_small(frees: Sequence[Free], claims: Sequence[Drawn]) -> bool:
    """Say whether the model of some nodes has few variables."""
    try:
        return bool(Fleet(frees, claims, [None] * len(claims)))
    except UnknownError:
        return False


def placeable(frees: Sequence[Free], claims: Sequence[Drawn], replicas: Sequence[int | None]) -> int:
    """Return how many replicas fit at once."""
    fleet = Fleet(frees, claims, replicas)
    return fleet.most(fleet.placed())


def usable(free: Free, claims: Sequence[Drawn], kind: str) -> int:
    """Return the most of a kind that any numbers of pods with every link kept can take on a node."""
    fleet = Fleet([free], [claim.strict() for claim in claims], [None] * len(claims))
    return fleet.most(fleet.total(lambda number, _: claims[number].uses[kind]))


def damage(free: Free, claim: Drawn, goals: Sequence[tuple[str, int]]) -> int:
    """Return how many fewer replicas fit on a node beside one that has given values of the goals, at least."""
    strict = claim.strict()
    both = Fleet([free], [claim, strict], [1, None])
    both.model += both.placed(0) == 1
    for name, value in goals:
        both.model += both.total(lambda at, way, name=name: getattr(way, name) if at == 0 else 0) == value
    return placeable([free], [strict], [None]) - both.most(both.placed(1))
