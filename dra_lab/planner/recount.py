"""Read the variables of a solved model: which devices are taken, and what only rounding let pass."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.constraints import takers_at_once
from dra_lab.planner.modelling import pulp
from dra_lab.planner.outcome import Outcome
from dra_lab.planner.solution import Taken
from dra_lab.planner.solver import minimise
from dra_lab.planner.variables import Expression, Model, total


def minimise_exactly(
    model: Model, expression: Expression, solver: str, budget: Budget, have: int | None = None
) -> Outcome:
    """Minimise, and cut off what only rounding inside the solver allowed.

    Afterwards the variables hold what was found; where that is nothing, or worse than `have`, what they held before.
    """
    kept = {variable: variable.varValue for variable in model.lp.variables()}
    while True:
        outcome = minimise(model.lp, expression, solver, budget)
        if outcome.value is None or (have is not None and outcome.value > have):
            for variable in model.lp.variables():
                variable.varValue = kept.get(variable)
            return outcome
        excess = overbooked(model)
        if not excess:
            return outcome
        for taken in excess:
            model.require(total(taken) <= len(taken) - 1, "capacity", "rounding")


def overbooked(model: Model) -> list[list[Any]]:
    """Return, for each shared device whose capacity is exceeded in exact arithmetic, the takes that exceed it."""
    excess = []
    for number, group in enumerate(model.problem.groups):
        uses = dict(group.uses)
        for asks in takers_at_once(model.problem, number) if group.remaining else ():
            takers = [ask for ask in asks if (ask, number) in model.take and model.take[ask, number].varValue]
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
        for paid in model.payers:
            used = {n: round(pulp.value(paid[n]) or 0) for n in drawn}
            if sum(drawn[n] * count for n, count in used.items()) > left:
                excess.append([v for n, count in used.items() if count for v in _paying(model, n, paid)])
    return excess


def _paying(model: Model, group: int, paid: Mapping[int, Any]) -> list[Any]:
    """Return the 0/1 of each time that a group of one device pays now."""
    if model.problem.groups[group].shareable or not model.problem.overlaps(group):
        return [paid[group]]
    return [variable for variable in model.takes(group) if variable.varValue and _is_in(variable, paid[group])]


def _is_in(variable: Any, paid: Any) -> bool:
    return variable is paid or variable in getattr(paid, "keys", tuple)()


def read_taken(model: Model) -> Taken:
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
