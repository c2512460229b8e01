"""The best way to put given numbers of pods on one site, with a proof; or the proof that there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import Copies, CopyPart, replicated
from dra_lab.planner.node.goal_table import goal_values, objectives
from dra_lab.planner.node.lexicographic import SEARCH_WEIGHT
from dra_lab.planner.node.milp import build_model, hopeless, minimise_exactly
from dra_lab.planner.node.variables import Expression, Model, OneOf, total
from dra_lab.planner.states.node_state import PodTakes

Values = tuple[int, ...]
"""Values of the goals of devices in their order of importance; they compare as goals do: the first decides."""

Takes = tuple[PodTakes, ...]
"""What each pod takes, part by part."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What is known of a number of pods on a site.

    `lower` is a value that no way to put them there undercuts (None: there is none), `upper` the value of the way that
    was found (None: none was), which `takes` describes.
    """

    lower: Values | None
    upper: Values | None = None
    takes: Takes = ()

    @property
    def exact(self) -> bool:
        """Say whether nothing is left to be known."""
        return self.lower is None or self.lower == self.upper


def device_goals(order: Sequence[str]) -> tuple[str, ...]:
    """Return the goals that depend on the devices taken, and not on the numbers of replicas alone."""
    return tuple(goal for goal in order if goal not in (UNPLACED, NODES))


class CopiesModel:
    """A model of copies of pods with the goals of devices, most important first: `goals` are sums over all copies."""

    def __init__(self, copies: Copies, order: Sequence[str], lp: Expression = None, mark: str = "") -> None:
        """Add every rule for every copy to a model, under names that begin with a mark."""
        self.copies, self.order = copies, tuple(order)
        self.model = build_model(Model(copies.problem, lp=lp, mark=mark))
        self._ones = [OneOf(self.model, copies, number) for number in range(len(copies.copies))]
        self.goals: list[Expression] = [0] * len(order)
        for one in self._ones:
            for at, goal in enumerate(objectives(one, order)):
                self.goals[at] = self.goals[at] + goal.expression

    @property
    def taken(self) -> Iterator[tuple[int, int, int, Expression]]:
        """Yield (copy, ask and group of the problem of one, variable) of all that copies may take."""
        asked = self.copies.asked
        for (ask, group), variable in sorted(self.model.take.items()):
            number, own = asked[ask]
            yield number, own, self.copies.origin[group], variable

    def takes(self) -> Takes:
        """Return what the copies take of a solved model."""
        found: list[Counter[tuple[int, int]]] = [Counter() for _ in self.copies.copies]
        for number, ask, group, variable in self.taken:
            if count := int(variable.varValue or 0):
                found[number][ask, group] += count
        return tuple(tuple((*key, count) for key, count in mine.items()) for mine in found)

    def values(self, order: Sequence[str], some: Iterable[int] | None = None) -> Values:
        """Return goals of all copies of a solved model, or of some, by what they take (`goal_values`)."""
        found = [0] * len(order)
        for number in range(len(self._ones)) if some is None else some:
            one, links = self._ones[number], range(*self.copies.copies[number].links)
            taken = {key: int(variable.varValue or 0) for key, variable in one.take.items()}
            values = goal_values(one.problem, taken, links)
            found = [value + values[goal] for value, goal in zip(found, order, strict=True)]
        return tuple(found)


def pack(
    problem: AllocationProblem,
    parts: Sequence[CopyPart],
    counts: Sequence[int],
    order: Sequence[str],
    budget: Budget,
    *,
    solver: str,
    lower: Values | None = None,
    quick: bool = False,
) -> Packed:
    """Put `counts[p]` replicas of each part on a site with the least values of the goals in `order`.

    `lower` are values known to be unbeatable. At a limit, what was found and the bound that was reached
    come back; with `quick`, the first way that is found. Raises SolverError when the solver fails.
    """
    nothing = lower if lower is not None else (0,) * len(order)
    copies = replicated(problem, parts, counts)
    if hopeless(copies.problem):
        return Packed(None)
    # Goals have variables and rows, without which a way is found in less than half the time.
    whole = CopiesModel(copies, () if quick else order)
    weighted = total(SEARCH_WEIGHT ** (len(order) - at) * goal for at, goal in enumerate(whole.goals))
    outcome = minimise_exactly(whole.model, weighted, solver, budget)
    if outcome.infeasible:
        return Packed(None)
    if outcome.value is None:
        return Packed(nothing)
    if quick:
        return Packed(nothing, whole.values(order), whole.takes())
    return _by_stages(whole, nothing, solver, budget)


def _by_stages(whole: CopiesModel, least: Values, solver: str, budget: Budget) -> Packed:
    proven: list[int] = []
    for at, goal in enumerate(whole.goals):
        value = whole.values(whole.order)[at]
        floor = least[at] if least[:at] == tuple(proven) else 0
        bound: int | None = floor
        if value > floor:
            outcome = minimise_exactly(whole.model, goal, solver, budget, value)
            bound = max(floor, outcome.bound) if outcome.bound is not None else floor
            value = min(value, whole.values(whole.order)[at])
        if bound is None or bound < value:
            lower = (*proven, floor if bound is None else bound, *([0] * (len(least) - at - 1)))
            return Packed(max(least, lower), whole.values(whole.order), whole.takes())
        proven.append(value)
        if at + 1 < len(whole.goals) and not isinstance(goal, int):
            whole.model.require(goal <= value)
    return Packed(tuple(proven), tuple(proven), whole.takes())


def named(site: Site, takes: Takes) -> Takes:
    """Return takes of groups of a site's problem as takes of the groups that plans name (`Site.kept`)."""
    if site.state is None:
        return takes
    return tuple(tuple((ask, site.kept[group], count) for ask, group, count in mine) for mine in takes)
