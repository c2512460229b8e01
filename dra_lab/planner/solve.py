"""Solve one problem in stages: each goal is minimised and fixed at its proven value before the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pulp

from dra_lab.errors import SolverError
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GOALS
from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.constraints import build_model
from dra_lab.planner.engine import minimise
from dra_lab.planner.highs import Outcome
from dra_lab.planner.objectives import Objective, objectives
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.progress import Limits
from dra_lab.planner.variables import Model, total

_SEARCH_WEIGHT = 5


@dataclass(frozen=True, slots=True)
class StageResult:
    """One goal: its value in the allocation found, the best value still possible (None: unknown), proven or not."""

    goal: str
    value: int
    bound: int | None
    proven: bool


@dataclass(frozen=True, slots=True)
class Solution:
    """What is known of one problem.

    `taken` lists (index of the ask, device) in the claim's order, None where no allocation was found; `infeasible` is a
    proof that there is none; `worse` says that it is proven worse than the values it was compared with (the later goals
    are then not decided); `copied` that it is known from equal hardware and `taken` does not name this node's devices.
    """

    taken: tuple[tuple[int, DeviceID], ...] | None = None
    stages: tuple[StageResult, ...] = ()
    infeasible: bool = False
    worse: bool = False
    copied: bool = False

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven best."""
        return self.taken is not None and all(stage.proven for stage in self.stages)

    @property
    def values(self) -> tuple[int, ...]:
        """Return the goals' values in order of importance."""
        return tuple(stage.value for stage in self.stages)


@dataclass
class _Run:
    """One staged solve while it goes on."""

    model: Model
    goals: tuple[Objective, ...]
    solver: str
    limits: Limits
    best: tuple[int, ...] | None
    least: tuple[int, ...] = ()
    done: list[StageResult] = field(default_factory=list)
    have: tuple[tuple[int, DeviceID], ...] | None = None


def solve_problem(
    problem: AllocationProblem,
    order: Sequence[str],
    limits: Limits,
    *,
    solver: str = "HiGHS",
    best: tuple[int, ...] | None = None,
    least: tuple[int, ...] = (),
) -> Solution:
    """Find the best allocation of one claim on one node, goal by goal, with a proof for each.

    `order` names the goals, most important first; `best` are values that another node reached: the solve ends as soon
    as this node is proven worse; `least` are values known to be unbeatable (a proof where they are reached). It ends at
    the first goal that is not proven; the later goals then carry the value that the allocation found has, unproven.
    Raises SolverError when the solver fails.
    """
    if hopeless(problem):
        return Solution(infeasible=True)
    model = build_model(Model(problem))
    run = _Run(model, objectives(model, order), solver, limits, best, least)
    outcome = _first(run)
    if outcome.infeasible:
        return Solution(infeasible=True)
    if outcome.value is None:
        return Solution()
    for position, objective in enumerate(run.goals):
        if not _stage(run, position, objective):
            break
        if best is not None and run.done[-1].value != best[position]:
            if run.done[-1].value > best[position]:
                return Solution(run.have, tuple(run.done), worse=True)
            run.best = best = None
    rest = run.goals[len(run.done) :]
    values = _values(run.goals)
    late = (StageResult(goal.goal, values[goal.goal], None, False) for goal in rest)
    return Solution(run.have, (*run.done, *late))


def is_feasible(problem: AllocationProblem, limits: Limits, *, solver: str = "HiGHS") -> bool | None:
    """Say whether there is any allocation; None when time or a person ended the search before it was known."""
    if hopeless(problem):
        return False
    run = _Run(build_model(Model(problem)), (), solver, limits, None)
    outcome = _minimise(run, 0, "feasibility")
    return False if outcome.infeasible else None if outcome.value is None else True


def hopeless(problem: AllocationProblem) -> bool:
    """Say whether some request cannot be served by counting alone, which needs no solver."""
    least: Counter[int] = Counter()
    for indices in problem.requests:
        needs = [problem.need(ask) for ask in indices if ask not in problem.impossible and _enough(problem, ask)]
        if not needs:
            return True
        least[problem.claim_of(indices[0])] += min(needs)
    return max(least.values(), default=0) > MAX_DEVICES


def _enough(problem: AllocationProblem, ask: int) -> bool:
    have = sum(group.size for group in problem.groups if ask in group.asks)
    return 0 < problem.need(ask) <= have


def _first(run: _Run) -> Outcome:
    """Find a good allocation, all goals in one weighted sum: only the stages after it prove anything."""
    weighted = total(
        _SEARCH_WEIGHT ** (len(run.goals) - position) * goal.expression for position, goal in enumerate(run.goals)
    )
    return _minimise(run, weighted, run.goals[0].goal)


def _stage(run: _Run, position: int, objective: Objective) -> bool:
    """Decide one goal and fix it; say whether it is proven."""
    value = _values((objective,))[objective.goal]
    floor = objective.floor
    if run.least[:position] == tuple(stage.value for stage in run.done) and position < len(run.least):
        floor = max(floor, run.least[position])
    bound: int | None = floor
    if value > floor:
        outcome = _minimise(run, objective.expression, objective.goal, value)
        if outcome.infeasible:
            raise SolverError(f"the solver lost its own solution at goal {objective.goal!r}; try the solver CBC")
        bound = max(floor, outcome.bound) if outcome.bound is not None else floor
        value = min(value, outcome.value) if outcome.value is not None else value
    proven = bound is not None and bound >= value
    run.done.append(StageResult(objective.goal, value, bound, proven))
    run.limits.tell(objective.goal, f"{GOALS[objective.goal]}: {_say(value, bound, proven=proven)}", value, bound)
    if proven and position + 1 < len(run.goals):
        run.model.require(objective.expression <= value, "goal", objective.goal)
    return proven


def _say(value: int, bound: int | None, *, proven: bool) -> str:
    return f"best {value}, proven" if proven else f"best {value}, bound {'unknown' if bound is None else bound}"


def _minimise(run: _Run, expression: Any, goal: str, have: int | None = None) -> Outcome:
    """Minimise, keep the better allocation, and cut off what only rounding inside the solver allowed."""
    kept = {variable: variable.varValue for variable in run.model.lp.variables()}
    while True:
        outcome = minimise(run.model.lp, expression, run.solver, run.limits)
        if outcome.value is None or (have is not None and outcome.value > have):
            for variable in run.model.lp.variables():
                variable.varValue = kept.get(variable)
            return outcome
        excess = _overbooked(run.model)
        if not excess:
            run.have = _read(run.model)
            return outcome
        for variables in excess:
            run.model.require(total(variables) <= len(variables) - 1, "capacity", goal)


def _overbooked(model: Model) -> list[list[Any]]:
    """Return, for each shared device whose capacity is exceeded in exact arithmetic, the takes that exceed it."""
    excess = []
    for number, group in enumerate(model.problem.groups):
        takers = [ask for ask in group.asks if (ask, number) in model.take and model.take[ask, number].varValue]
        uses = dict(group.uses)
        for key, left in group.remaining:
            if len(takers) > 1 and sum((dict(uses[ask]).get(key, Fraction()) for ask in takers), Fraction()) > left:
                excess.append([model.take[ask, number] for ask in takers])
                break
    return [*excess, *_overdrawn(model)]


def _overdrawn(model: Model) -> list[list[Any]]:
    """Return, for each shared counter that is exceeded in exact arithmetic, the takes that exceed it.

    Amounts that the solver cannot hold exactly belong to groups of one device (counters.COARSE): taken or not.
    """
    excess = []
    for counter, left in model.problem.counters:
        drawn = {
            n: amount for n, group in enumerate(model.problem.groups) for key, amount in group.draws if key == counter
        }
        used = {n: round(pulp.value(model.paid[n]) or 0) for n in drawn}
        if sum(drawn[n] * count for n, count in used.items()) > left:
            excess.append([variable for n, count in used.items() if count for variable in _paying(model, n)])
    return excess


def _paying(model: Model, group: int) -> list[Any]:
    """Return the 0/1 of each time that a group of one device pays now."""
    if model.problem.groups[group].shareable or not model.problem.overlaps(group):
        return [model.paid[group]]
    return [variable for variable in model.takes(group) if variable.varValue]


def _read(model: Model) -> tuple[tuple[int, DeviceID], ...]:
    """Return the devices taken: from each group in kube-scheduler's order, asks in the claim's order."""
    left = {number: list(group.devices) for number, group in enumerate(model.problem.groups)}
    found: list[tuple[int, DeviceID]] = []
    for ask in sorted(model.chosen):
        for number, devices in left.items():
            variable = model.take.get((ask, number))
            count = int(variable.varValue or 0) if variable is not None else 0
            found.extend((ask, device) for device in devices[:count])
            if not model.problem.overlaps(number):
                del devices[:count]
    return tuple(found)


def _values(goals: Sequence[Objective]) -> dict[str, int]:
    values = {}
    for goal in goals:
        values[goal.goal] = goal.expression if isinstance(goal.expression, int) else round(pulp.value(goal.expression))
    return values
