"""Model: the PuLP model of one problem, with its variables by what they count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import count
from typing import Any

from msgspec.structs import replace

from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import Copies, JointProblem
from dra_lab.planner.node.modelling import pulp

Expression = Any
"""A PuLP variable, affine expression or plain number: PuLP has no types."""


class Model:
    """A PuLP model of one AllocationProblem.

    `take[ask, group]` counts the devices that an ask takes of a group. `chosen[ask]` is 1 for the ask that serves its
    request (the number 1 if there is no choice). `taken[group]` counts the different devices taken. `broken[link]` is
    what a preferred link lost. `present` says of each pod whether it is there, where pods may stay away. `recounted`
    are rows that the solver does not hold exactly: amounts of 0/1 variables, and what is left.
    """

    def __init__(self, problem: AllocationProblem, lp: Expression = None, mark: str = "") -> None:
        """Make the variables that every rule needs, in a model of their own in which every pod is there.

        In another model `lp`, under names that begin with `mark`, pods may stay away: then they take nothing.
        """
        self.problem = problem
        self.mark = mark
        self.may_stay_away = lp is not None
        self.lp = pulp.LpProblem("allocation", pulp.LpMinimize) if lp is None else lp
        self.numbers = count()
        self.present: dict[int, Expression] = {}
        self.take: dict[tuple[int, int], Expression] = {}
        self.taken: dict[int, Expression] = {}
        self.recounted: list[tuple[Sequence[tuple[Expression, Fraction | int]], Fraction | int]] = []
        self.chosen: dict[int, Expression] = {}
        self.broken: dict[int, Expression] = {}
        for indices in problem.requests:
            pod = problem.pod_of(indices[0])
            if self.may_stay_away and pod not in self.present:
                self.present[pod] = self.integer("present", 1)
            possible = [index for index in indices if index not in problem.impossible]
            for index in possible:
                alone = len(possible) == 1 and not self.may_stay_away
                self.chosen[index] = 1 if alone else self.integer("chosen", 1)
        for number, group in enumerate(problem.groups):
            for ask in group.asks:
                if self.possible(ask):
                    self.take[ask, number] = self.integer("take", min(group.size, MAX_DEVICES))
            self._count(number)

    def _count(self, number: int) -> None:
        mine = self.takes(number)
        several = self.problem.overlaps(number) and len(mine) > 1
        self.taken[number] = self._once(mine) if several else total(mine)

    def _once(self, mine: Sequence[Expression]) -> Expression:
        """Return a 0/1 for a device that several requests take."""
        seen = self.integer("seen", 1)
        for variable in mine:
            self.require(variable <= seen)
        self.require(seen <= total(mine))
        return seen

    def payments(self, number: int, asks: frozenset[int]) -> list[Expression]:
        """Return variables of which the sum is how often a group pays for what some asks take."""
        group, mine = self.problem.groups[number], self.takes(number, asks)
        if not group.shareable or len(mine) < 2:
            return mine
        return [self.taken[number] if asks >= set(group.asks) else self._once(mine)]

    def possible(self, ask: int) -> bool:
        """Say whether an ask can be served at all."""
        return ask in self.chosen

    def takes(self, group: int, asks: Iterable[int] | None = None) -> list[Expression]:
        """Return the variables that take from a group, for all asks or for some."""
        wanted = self.problem.groups[group].asks if asks is None else sorted(asks)
        return [self.take[ask, group] for ask in wanted if (ask, group) in self.take]

    def integer(self, kind: str, upper: int) -> Expression:
        """Return a new integer variable from 0 to `upper`; PuLP sorts variables by their names."""
        return self.lp.add_variable(f"{self.mark}{kind}_{next(self.numbers):05d}", 0, upper, pulp.LpInteger)

    def require(self, constraint: Expression) -> None:
        """Add a constraint; one without any variable is left out when it holds, and impossible when it does not."""
        if isinstance(constraint, bool):
            if constraint:
                return
            constraint = self.integer("never", 0) >= 1
        self.lp.addConstraint(constraint, f"{self.mark}row_{next(self.numbers):05d}")


class OneOf(Model):
    """The variables of one copy in a model of many, for its goals; what is added goes into that model."""

    def __init__(self, whole: Model, copies: Copies, number: int) -> None:
        """Look at copy `number` of a model that was made from `copies.problem`."""
        copy = copies.copies[number]
        part = copies.parts[copy.part]
        mine = range(copy.first, copy.first + part.asks[1] - part.asks[0])
        problem = copies.problem
        groups = problem.seen_from(part.node) if isinstance(problem, JointProblem) else problem.groups
        self.problem = replace(
            problem,
            groups=tuple(replace(g, asks=tuple(a for a in g.asks if a in mine)) for g in groups),
            requests=problem.requests[slice(*copy.requests)],
            paired=part.paired,
        )
        self.lp, self.numbers, self.mark = whole.lp, whole.numbers, whole.mark
        self.take = {key: variable for key, variable in whole.take.items() if key[0] in mine}
        self.chosen = {ask: chosen for ask, chosen in whole.chosen.items() if ask in mine}
        self.broken = {link: lost for link, lost in whole.broken.items() if link in range(*copy.links)}
        self.taken = {}
        for number in range(len(groups)):
            self._count(number)


def total(terms: Iterable[Expression]) -> Expression:
    """Return the sum of variables, expressions and numbers; 0 for nothing."""
    parts = list(terms)
    return pulp.lpSum(parts) if parts else 0
