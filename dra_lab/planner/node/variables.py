"""The model of one problem with its variables, and the numbers that goals and links count in it or in an allocation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from itertools import count as counting
from typing import Any

from msgspec.structs import replace

from dra_lab.errors import SolverError
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup, PlaceValue
from dra_lab.planner.node.copies import Copies, JointProblem

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
        self.numbers = counting()
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


SOLVERS = ("HiGHS", "CBC")
"""HiGHS is the default, because it reports its bound and can be cancelled. CBC is another engine to compare with."""


def check_solver(name: str) -> None:
    """Raise SolverError for a solver that is not known."""
    if name not in SOLVERS:
        raise SolverError(f"solver {name!r} is not known; use one of {', '.join(SOLVERS)}")


@cache
def _imported() -> Any:
    """Import PuLP, and drop the tracebacks of solvers that are not installed.

    PuLP 3.3 keeps why each of them could not be loaded, in the member `err` of its class. The traceback of such an
    error holds every frame that was running at the import, and with it the cluster that was planned on first.
    """
    found = import_module("pulp")
    for solver in vars(found).values():
        error = getattr(solver, "err", None)
        if isinstance(error, BaseException):
            error.__traceback__ = None
    return found


class _PuLP:
    """The module `pulp`."""

    def __getattr__(self, name: str) -> Any:
        """Return a name of the module, which is then found without this."""
        found = getattr(_imported(), name)
        setattr(self, name, found)
        return found


pulp: Any = _PuLP()


Number = Any
"""An expression of a model, or a whole number."""

PlaceOf = Callable[[DeviceGroup], PlaceValue | None]
"""Says at which place the devices of a group are, None where it is not known."""


class _Counts:
    """The devices that an allocation takes. Goals and links are counted from it, whatever sort its numbers are.

    `asks` are the asks that may be served in it, `preferred` the preferred links that count, and `touched` the groups
    of which something may be taken, in their order.
    """

    def __init__(
        self, problem: AllocationProblem, asks: Iterable[int], preferred: Iterable[int], touched: Iterable[int]
    ) -> None:
        self.problem, self.asks, self.preferred, self.touched = problem, tuple(asks), tuple(preferred), tuple(touched)

    def groups(self, kinds: Sequence[str]) -> list[int]:
        """Return the groups of some kinds of devices of which something may be taken."""
        return [number for number in self.touched if self.problem.groups[number].kind in kinds]


class ModelCounts(_Counts):
    """The expressions of a model; what they need beside its variables is added to it."""

    def __init__(self, model: Model) -> None:
        """Read a model that has its links."""
        super().__init__(model.problem, model.chosen, model.broken, range(len(model.problem.groups)))
        self.model = model

    def total(self, numbers: Iterable[Number]) -> Number:
        """Return the sum of numbers, 0 for none."""
        return total(numbers)

    def served(self, ask: int) -> Number:
        """Return 1 where an ask serves its request, else 0."""
        return self.model.chosen[ask]

    def devices(self, groups: Sequence[int]) -> Number:
        """Return how many different devices are taken of some groups."""
        return total(self.model.taken[number] for number in groups)

    def spanned(self, groups: Sequence[int], place: PlaceOf) -> Number:
        """Return at how many places devices of some groups are taken; one of unknown place is a place of its own."""
        model = self.model
        used: dict[PlaceValue, Number] = {}
        unknown: list[Number] = []
        for number in groups:
            group = self.problem.groups[number]
            if not model.takes(number):
                continue
            value = place(group)
            if value is None:
                unknown.append(model.taken[number])
                continue
            if value not in used:
                used[value] = model.integer("place", 1)
            rows = [model.taken[number]] if group.size > 1 else model.takes(number)
            for row in rows:
                model.require(row <= min(group.size, self.problem.most_devices) * used[value])
        return total([*used.values(), *unknown])

    def beyond(self, more: Sequence[int], less: Sequence[int]) -> Number:
        """Return how many devices are taken of some groups beyond those of others, 0 where there are not more."""
        if not less:
            return self.devices(more)
        without = self.model.integer("without", self.problem.most_devices)
        self.model.require(without >= self.devices(more) - self.devices(less))
        return without


class NumberCounts(_Counts):
    """An allocation that is known: `taken` devices by (ask, group), and the preferred ones of some links."""

    def __init__(
        self, problem: AllocationProblem, taken: Mapping[tuple[int, int], int], links: Iterable[int] | None = None
    ) -> None:
        """Count an allocation; default of the links: all of them."""
        self.taken = {pair: count for pair, count in taken.items() if count}
        self._of_group: dict[int, int] = {}
        for (_, group), count in self.taken.items():
            self._of_group[group] = self._of_group.get(group, 0) + count
        looked_at = range(len(problem.links)) if links is None else links
        preferred = (link for link in looked_at if not problem.links[link].must)
        super().__init__(problem, dict.fromkeys(ask for ask, _ in self.taken), preferred, sorted(self._of_group))

    def total(self, numbers: Iterable[Number]) -> Number:
        """Return the sum of numbers, 0 for none."""
        return sum(numbers)

    def served(self, ask: int) -> Number:  # noqa: ARG002 - every ask of a known allocation serves its request
        """Return 1 where an ask serves its request, else 0."""
        return 1

    def devices(self, groups: Sequence[int]) -> Number:
        """Return how many different devices are taken of some groups."""
        found = 0
        for number in groups:
            group, count = self.problem.groups[number], self._of_group[number]
            # Several requests may take the same device if it is in a group of its own.
            once = group.shareable or (group.size == 1 and self.problem.overlaps(number))
            found += min(count, 1) if once else count
        return found

    def spanned(self, groups: Sequence[int], place: PlaceOf) -> Number:
        """Return at how many places devices of some groups are taken; one of unknown place is a place of its own."""
        at: dict[PlaceValue | None, list[int]] = {}
        for number in groups:
            at.setdefault(place(self.problem.groups[number]), []).append(number)
        return self.devices(at.pop(None, [])) + len(at)

    def beyond(self, more: Sequence[int], less: Sequence[int]) -> Number:
        """Return how many devices are taken of some groups beyond those of others, 0 where there are not more."""
        return max(0, self.devices(more) - self.devices(less))


DeviceCounts = ModelCounts | NumberCounts
"""What an allocation takes, in numbers of any sort."""
