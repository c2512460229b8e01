"""How many nodes of each class take which pattern of replicas: one integer model for the whole fleet, in stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulp

from dra_lab.model.fleet import FLEET_GOALS, NODES, UNPLACED
from dra_lab.planner.engine import minimise
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.progress import Limits
from dra_lab.planner.variables import Expression

_OPTIONS = {"presolve": "off", "mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on this model, which is all columns: each stage then begins from the one before."""


@dataclass(frozen=True, slots=True)
class Rack:
    """Sites that offer the same patterns: how many members there are, and each pattern's values.

    `patterns` maps numbers of replicas, by workload, to the values of the goals of devices.
    """

    count: int
    patterns: Mapping[Counts, Values]
    nodes: Mapping[Counts, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoalBound:
    """One goal: the value of the best solution found, and the least that could still exist (None: not known)."""

    goal: str
    value: int
    bound: int | None

    @property
    def proven(self) -> bool:
        """Say whether no better value exists."""
        return self.bound is not None and self.bound >= self.value


@dataclass
class Mastered:
    """What the master says: the goals in order as far as they were decided, and how often each pattern is taken.

    `goals` ends with the first goal that is not proven, unless the caller asked for all; `chosen` is None where no
    solution was found; `infeasible` says that there is none.
    """

    goals: list[GoalBound] = field(default_factory=list)
    chosen: list[dict[Counts, int]] | None = None
    infeasible: bool = False


class Master:
    """The integer model over racks, minimised goal by goal."""

    def __init__(self, racks: Sequence[Rack], demand: Sequence[int], order: Sequence[str], solver: str) -> None:
        """Build the model; `order` names all goals of the fleet."""
        self.racks, self.demand, self.order, self.solver = racks, demand, tuple(order), solver
        self.lp = pulp.LpProblem("fleet", pulp.LpMinimize)
        self.takes: list[dict[Counts, Expression]] = []
        self._build()

    def _build(self) -> None:
        # Tables of factors: PuLP takes several times longer for a sum of products.
        placed: list[dict[Expression, int]] = [{} for _ in self.demand]
        sums: dict[str, dict[Expression, int]] = {goal: {} for goal in self.order}
        device = [sums[goal] for goal in device_goals(self.order)]
        for number, rack in enumerate(self.racks):
            mine = {}
            for position, (counts, values) in enumerate(rack.patterns.items()):
                if not any(counts):
                    continue
                variable = self.lp.add_variable(f"z_{number}_{position}", 0, rack.count, pulp.LpInteger)
                mine[counts] = variable
                for factors, factor in zip((*placed, *device), (*counts, *values), strict=True):
                    if factor:
                        factors[variable] = factor
                if used := rack.nodes.get(counts, 1):
                    sums[NODES][variable] = used
            self.takes.append(mine)
            if mine:
                self.lp.addConstraint(_sum(dict.fromkeys(mine.values(), 1)) <= rack.count, f"rack_{number}")
        for number, (factors, wanted) in enumerate(zip(placed, self.demand, strict=True)):
            if factors:
                self.lp.addConstraint(_sum(factors) <= wanted, f"demand_{number}")
        self.goals: dict[str, Expression] = {goal: _sum(factors) for goal, factors in sums.items()}
        everybody: dict[Expression, int] = {}
        for factors in placed:
            for variable, factor in factors.items():
                everybody[variable] = everybody.get(variable, 0) - factor
        whole = sum(self.demand)
        self.goals[UNPLACED] = _sum(everybody, whole) if everybody else whole

    def fix(self, goal: str, value: int) -> bool:
        """Demand that a goal is not above a value; say whether that can be at all."""
        expression = self.goals[goal]
        if isinstance(expression, int):
            return expression <= value
        self.lp.addConstraint(expression <= value, f"fixed_{goal}_{len(self.lp.constraints())}")
        return True

    def run(
        self,
        limits: Limits,
        *,
        whole: bool = True,
        all_placed: bool = False,
        tell: bool = False,
        stop_at: Sequence[int] | None = None,
    ) -> Mastered:
        """Minimise goal after goal, each fixed at its value before the next.

        With `whole`, goals after one that is not proven are still minimised, without a proof; without, it ends there,
        and at the first goal whose value is not the one in `stop_at`.
        """
        result = Mastered()
        if all_placed and not self.fix(UNPLACED, 0):
            return Mastered(infeasible=True)
        start = self.greedy()
        if not all_placed or not self.value(UNPLACED, start):
            result.chosen = start
            self.start_from(start)
        sure = True
        for goal in self.order:
            found = self._stage(goal, limits, result, sure=sure)
            if found is None:
                return result
            result.goals.append(found)
            if tell:
                limits.tell(goal, f"{FLEET_GOALS[goal]}: best {found.value}, {_said(found)}", found.value, found.bound)
            sure = sure and found.proven
            if not (sure or whole) or (stop_at and found.value != stop_at[len(result.goals) - 1]):
                return result
            self.fix(goal, found.value)
        return result

    def _stage(self, goal: str, limits: Limits, result: Mastered, *, sure: bool) -> GoalBound | None:
        expression = self.goals[goal]
        if isinstance(expression, int):
            if result.chosen is None:
                result.chosen = [{} for _ in self.racks]
            return GoalBound(goal, expression, expression if sure else None)
        kept = {variable: variable.varValue for variable in self.lp.variables()}
        outcome = minimise(self.lp, expression, self.solver, limits, options=_OPTIONS)
        if outcome.infeasible:
            result.infeasible = result.chosen is None
            return None
        have = None if result.chosen is None else self.value(goal, result.chosen)
        if outcome.value is None or (have is not None and outcome.value > have):
            for variable, value in kept.items():
                variable.varValue = value
            if have is None:
                return None
            return GoalBound(goal, have, max(outcome.bound or 0, 0) if sure else None)
        result.chosen = [{counts: int(v.varValue) for counts, v in mine.items() if v.varValue} for mine in self.takes]
        bound = outcome.bound if outcome.bound is None else max(0, outcome.bound)
        return GoalBound(goal, outcome.value, (bound if bound is not None else 0) if sure else None)

    def value(self, goal: str, chosen: Sequence[Mapping[Counts, int]]) -> int:
        """Return the value of a goal in a solution."""
        if goal == UNPLACED:
            return sum(self.demand) - sum(sum(n) * times for mine in chosen for n, times in mine.items())
        if goal == NODES:
            rows = zip(self.racks, chosen, strict=True)
            return sum(rack.nodes.get(n, 1) * times for rack, mine in rows for n, times in mine.items())
        at = device_goals(self.order).index(goal)
        rows = zip(self.racks, chosen, strict=True)
        return sum(rack.patterns[n][at] * times for rack, mine in rows for n, times in mine.items())

    def greedy(self) -> list[dict[Counts, int]]:
        """Return a solution found by taking the patterns with most replicas first, rack by rack."""
        left, chosen = list(self.demand), []
        for rack in self.racks:
            mine: dict[Counts, int] = {}
            members = rack.count
            for counts, _ in sorted(rack.patterns.items(), key=lambda row: (-sum(row[0]), row[1])):
                wanted = [have // count for have, count in zip(left, counts, strict=True) if count]
                times = min([members, *wanted]) if wanted else 0
                if times:
                    mine[counts] = times
                    members -= times
                    left = [have - times * count for have, count in zip(left, counts, strict=True)]
            chosen.append(mine)
        return chosen

    def start_from(self, chosen: Sequence[Mapping[Counts, int]]) -> None:
        """Give the solver a solution to begin with."""
        for mine, taken in zip(self.takes, chosen, strict=True):
            for counts, variable in mine.items():
                variable.varValue = taken.get(counts, 0)


def _sum(factors: Mapping[Expression, int], constant: int = 0) -> Expression:
    return pulp.LpAffineExpression(factors, constant=constant) if factors else constant


def _said(found: GoalBound) -> str:
    return "proven" if found.proven else f"bound {'unknown' if found.bound is None else found.bound}"
