"""The best way to put given numbers of pods on one site, with a proof; or the proof that there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dra_lab.model.fleet import NODES, UNPLACED
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


@dataclass
class _Stage:
    """A model of copies with its goals, most important first; `ones` is each copy with its links."""

    model: Model
    ones: tuple[tuple[OneOf, range], ...]
    order: tuple[str, ...]
    goals: tuple[Expression, ...]
    solver: str
    budget: Budget


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
    stage = _model(copies, order, budget, solver)
    sought = () if quick else stage.goals
    weighted = total(SEARCH_WEIGHT ** (len(order) - at) * goal for at, goal in enumerate(sought))
    outcome = minimise_exactly(stage.model, weighted, stage.solver, stage.budget)
    if outcome.infeasible:
        return Packed(None)
    if outcome.value is None:
        return Packed(nothing)
    if quick:
        return Packed(nothing, _values(stage), takes_of(stage.model, copies))
    return _by_stages(stage, copies, nothing)


def _model(copies: Copies, order: Sequence[str], budget: Budget, solver: str) -> _Stage:
    model = build_model(Model(copies.problem))
    goals: list[Expression] = [0] * len(order)
    ones = [(OneOf(model, copies, number), range(*copy.links)) for number, copy in enumerate(copies.copies)]
    for one, _ in ones:
        for at, goal in enumerate(objectives(one, order)):
            goals[at] = goals[at] + goal.expression
    return _Stage(model, tuple(ones), tuple(order), tuple(goals), solver, budget)


def _by_stages(stage: _Stage, copies: Copies, least: Values) -> Packed:
    proven: list[int] = []
    for at, goal in enumerate(stage.goals):
        value = _values(stage)[at]
        floor = least[at] if least[:at] == tuple(proven) else 0
        bound: int | None = floor
        if value > floor:
            outcome = minimise_exactly(stage.model, goal, stage.solver, stage.budget, value)
            bound = max(floor, outcome.bound) if outcome.bound is not None else floor
            value = min(value, _values(stage)[at])
        if bound is None or bound < value:
            lower = (*proven, floor if bound is None else bound, *([0] * (len(least) - at - 1)))
            return Packed(max(least, lower), _values(stage), takes_of(stage.model, copies))
        proven.append(value)
        if at + 1 < len(stage.goals) and not isinstance(goal, int):
            stage.model.require(goal <= value)
    return Packed(tuple(proven), tuple(proven), takes_of(stage.model, copies))


def _values(stage: _Stage) -> Values:
    """Return the goals of the way that was found, by what it takes (`goal_values`)."""
    found = [0] * len(stage.order)
    for one, links in stage.ones:
        values = goal_values(one.problem, {key: int(taken.varValue or 0) for key, taken in one.take.items()}, links)
        found = [value + values[goal] for value, goal in zip(found, stage.order, strict=True)]
    return tuple(found)


def takes_of(model: Model, copies: Copies) -> Takes:
    """Return what the copies of pods take of a solved model."""
    owner = {}
    for number, copy in enumerate(copies.copies):
        part = copies.parts[copy.part]
        for offset in range(part.asks[1] - part.asks[0]):
            owner[copy.first + offset] = (number, part.asks[0] + offset)
    found: list[Counter[tuple[int, int]]] = [Counter() for _ in copies.copies]
    for (ask, group), variable in sorted(model.take.items()):
        if count := int(variable.varValue or 0):
            number, own = owner[ask]
            found[number][own, copies.origin[group]] += count
    return tuple(tuple((*key, count) for key, count in mine.items()) for mine in found)


def named(site: Site, takes: Takes) -> Takes:
    """Return takes of groups of a site's problem as takes of the groups that plans name (`Site.kept`)."""
    if site.state is None:
        return takes
    return tuple(tuple((ask, site.kept[group], count) for ask, group, count in mine) for mine in takes)
