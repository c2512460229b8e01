"""How many nodes of each class take which pattern of replicas: one integer model for the whole fleet, in stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dra_lab.model.fleet import FLEET_GOALS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.homes import Chosen, CouplingRow, Homes, Rack, fewer_homes
from dra_lab.planner.fleet.mastered import GoalBound, Mastered
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.relaxation import LinearRelaxation
from dra_lab.planner.fleet.starts import best_start, greedy
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.solver_outcome import Outcome, agreed
from dra_lab.planner.node.variables import Expression

_OPTIONS = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on this model, which is all columns: each stage then begins from the one before."""


class Master:
    """The integer model over racks, minimised goal by goal."""

    def __init__(
        self,
        racks: Sequence[Rack],
        demand: Sequence[int],
        order: Sequence[str],
        solver: str,
        homes: Sequence[Homes] = (),
        together: Sequence[CouplingRow] = (),
    ) -> None:
        """Keep what it is made of; `order` names all goals of the fleet, `homes` the nodes of members of racks.

        `together` is what members of several racks keep together.
        """
        self.racks, self.demand, self.order, self.solver = racks, demand, tuple(order), solver
        self.homes, self.together = tuple(homes), tuple(together)
        self.takes: list[dict[Counts, Expression]] = []
        self.used: list[Expression] = []
        self.goals: dict[str, Expression] = {}
        self.lp: Any = None
        self.options: Mapping[str, object] = _OPTIONS
        self._relaxed: LinearRelaxation | None = None
        self._bounds: dict[tuple[str, tuple[tuple[str, int], ...]], int] = {}

    def _build(self) -> None:
        """Make the integer model: only once it is clear that the relaxation does not answer everything."""
        self.lp = pulp.LpProblem("fleet", pulp.LpMinimize)
        # Tables of factors: PuLP takes several times longer for a sum of products.
        placed: list[dict[Expression, int]] = [{} for _ in self.demand]
        sums: dict[str, dict[Expression, int]] = {goal: {} for goal in self.order}
        device = [sums[goal] for goal in device_goals(self.order)]
        for number, rack in enumerate(self.racks):
            mine = {}
            for position, (counts, values) in enumerate(rack.patterns.items()):
                if not any(counts):
                    continue
                variable = self.lp.add_variable(f"z_{number}_{position}", 0, rack.most(counts), pulp.LpInteger)
                mine[counts] = variable
                for factors, factor in zip((*placed, *device), (*counts, *values), strict=True):
                    if factor:
                        factors[variable] = factor
                if rack.each:
                    sums[NODES][variable] = rack.each
            self.takes.append(mine)
        for number, home in enumerate(self.homes):
            self.used.append(self.lp.add_variable(f"y_{number}", 0, home.count, pulp.LpInteger))
            sums[NODES][self.used[-1]] = 1
        self._keep_racks()
        self.add_more(placed, sums)
        for number, (factors, wanted) in enumerate(zip(placed, self.demand, strict=True)):
            if factors:
                self.lp.addConstraint(_sum(factors) <= wanted, f"demand_{number}")
        self._keep_together()
        self.goals = {goal: _sum(factors) for goal, factors in sums.items()}
        everybody: dict[Expression, int] = {}
        for factors in placed:
            for variable, factor in factors.items():
                everybody[variable] = everybody.get(variable, 0) - factor
        whole = sum(self.demand)
        self.goals[UNPLACED] = _sum(everybody, whole) if everybody else whole

    def add_more(self, placed: Sequence[dict[Expression, int]], sums: Mapping[str, dict[Expression, int]]) -> None:
        """Add what is not on racks to the model: its replicas by workload, and its values goal by goal."""

    def _keep_racks(self) -> None:
        """Demand that no more is taken than the members hold, or those on the nodes that are used."""
        at_home: dict[int, dict[Expression, int]] = {}
        for home, used in zip(self.homes, self.used, strict=True):
            for number, members in home.racks.items():
                at_home.setdefault(number, {})[used] = members
        for number, (rack, mine) in enumerate(zip(self.racks, self.takes, strict=True)):
            rows = [rack.held({counts: 1}) for counts in mine]
            for row, (_, limit) in enumerate(rows[0] if mine else ()):
                factors = {z: needs[row][0] for z, needs in zip(mine.values(), rows, strict=True) if needs[row][0]}
                homes = {used: -limit * members for used, members in at_home.get(number, {}).items()}
                if factors:
                    whole = 0 if homes else limit * rack.count
                    self.lp.addConstraint(_sum({**factors, **homes}) <= whole, f"rack_{number}_{row}")

    def _keep_together(self) -> None:
        """Demand that members of several racks take no more than there is for all of them."""
        for number, row in enumerate(self.together):
            factors = {
                variable: weight
                for at in sorted(row.weights)
                for counts, variable in self.takes[at].items()
                if (weight := row.need(at, counts))
            }
            if factors:
                self.lp.addConstraint(_sum(factors) <= row.limit, f"together_{number}")

    def minimise(self, expression: Expression, budget: Budget) -> Outcome:
        """Minimise an expression over the integer model."""
        return minimise(self.lp, expression, self.solver, budget, options=self.options)

    def fix(self, goal: str, value: int) -> bool:
        """Demand that a goal is not above a value; say whether that can be at all."""
        expression = self.goals[goal]
        if isinstance(expression, int):
            return expression <= value
        self.lp.addConstraint(expression <= value, f"fixed_{goal}_{len(self.lp.constraints())}")
        return True

    def run(
        self,
        budget: Budget,
        *,
        whole: bool = True,
        all_placed: bool = False,
        tell: bool = False,
        stop_at: Sequence[int] | None = None,
        start: Chosen | None = None,
    ) -> Mastered:
        """Minimise goal after goal, each kept at its value before the next.

        With `whole`, goals after one that is not proven are still minimised; without, it ends there, and at the first
        goal whose value is not the one in `stop_at`. `start` is a solution that is known.
        """
        result = self._run(budget, start, whole=whole, all_placed=all_placed, tell=tell, stop_at=stop_at)
        if result.chosen is not None:
            # What is found later may be better in a goal that was not proven.
            values = [self.value(goal.goal, result.chosen) for goal in result.goals]
            result.goals = [replace(g, value=min(g.value, v)) for g, v in zip(result.goals, values, strict=True)]
        return result

    def _run(
        self,
        budget: Budget,
        start: Chosen | None,
        *,
        whole: bool,
        all_placed: bool,
        tell: bool,
        stop_at: Sequence[int] | None,
    ) -> Mastered:
        result = Mastered()
        fixed: list[tuple[str, int]] = [(UNPLACED, 0)] if all_placed else []
        start = self.first(start, budget, all_placed=all_placed)
        if not all_placed or not self.value(UNPLACED, start):
            result.chosen = start
        sure = True
        for goal in self.order:
            have = None if result.chosen is None else self.value(goal, result.chosen)
            bound = 0 if budget.reached and have is not None else self._bound(goal, fixed, budget)
            if have is not None and (have <= bound or self._is_late(budget)):
                found: GoalBound | None = GoalBound(goal, have, agreed(bound, have) if sure else None)
            else:
                if not self._open(fixed, result):
                    return Mastered(infeasible=True)
                found = self._stage(goal, budget, result, bound, sure=sure)
            if found is None:
                return result
            result.goals.append(found)
            if tell:
                budget.tell(goal, f"{FLEET_GOALS[goal]}: best {found.value}, {_said(found)}", found.value, found.bound)
            sure = sure and found.proven
            if not (sure or whole) or (stop_at and found.value != stop_at[len(result.goals) - 1]):
                return result
            fixed.append((goal, found.value))
            if self.lp is not None:
                self.fix(goal, found.value)
        return result

    def _is_late(self, budget: Budget) -> bool:
        """Say whether the time that is left is not even enough to make the integer model, which may take seconds."""
        if budget.left is None or self.lp is not None:
            return budget.reached
        patterns = sum(len(rack.patterns) for rack in self.racks)
        return budget.reached or budget.left < budget.shares.pattern * patterns

    def first(self, known: Chosen | None, budget: Budget, *, all_placed: bool) -> Chosen:
        """Return a solution to begin with, as good as can be had quickly; `known` is one."""
        return best_start(self, known or greedy(self), budget, all_placed=all_placed)

    def bounds(self, values: Sequence[int], budget: Budget) -> list[int]:
        """Return, goal by goal, what no solution undercuts that is as good as `values` in the goals before."""
        found: list[int] = []
        for goal in self.order[: len(values)]:
            found.append(self._bound(goal, list(zip(self.order, values, strict=False))[: len(found)], budget))
        return found

    def relaxed_bound(
        self, goal: str, kept: Sequence[tuple[str, int]], budget: Budget
    ) -> tuple[int, LinearRelaxation | None]:
        """Return the relaxation's bound of a goal while others are kept at values, and the relaxation solved for it."""
        return self._bound(goal, kept, budget), self._relaxed

    def _bound(self, goal: str, kept: Sequence[tuple[str, int]], budget: Budget) -> int:
        # A goal that is kept twice, first as all that may be without a place, is one.
        wanted = tuple(dict.fromkeys(kept))
        known = self._bounds.get((goal, wanted))
        if known is not None or budget.reached:
            return known or 0
        if self._relaxed is None or self._relaxed.kept != wanted[: len(self._relaxed.kept)]:
            self._relaxed = LinearRelaxation(self.racks, self.demand, self.order, self.homes, self.together)
        for name, value in wanted[len(self._relaxed.kept) :]:
            self._relaxed.keep(name, value)
        found = self._relaxed.bound(goal, budget)
        if not budget.reached:
            self._bounds[goal, wanted] = found
        return found

    def apart(self, racks: Sequence[Rack], demand: Sequence[int], together: Sequence[CouplingRow]) -> Master:
        """Return the same question for other racks, of which it does not matter on which nodes the members are."""
        return Master(racks, demand, self.order, self.solver, together=together)

    def filled(self, budget: Budget) -> Chosen:
        """Return what the integer model finds goal by goal, without any bound."""
        self._build()
        nobody = Chosen([{} for _ in self.racks], [])
        found = Mastered([], nobody)
        self.start_from(nobody)
        for goal in self.order:
            stage = self._stage(goal, budget, found, 0, sure=True)
            if stage is None:
                break
            self.fix(goal, stage.value)
        return found.chosen or nobody

    def _open(self, fixed: Sequence[tuple[str, int]], result: Mastered) -> bool:
        """Make the integer model if it is not there yet; say whether the goals can be kept at all."""
        if self.lp is not None:
            return True
        self._build()
        able = [self.fix(goal, value) for goal, value in fixed]
        if result.chosen is not None:
            self.start_from(result.chosen)
        return all(able)

    def _stage(self, goal: str, budget: Budget, result: Mastered, least: int, *, sure: bool) -> GoalBound | None:
        """Minimise one goal; no solution is below `least`. None where there is no solution, or none was found."""
        expression = self.goals[goal]
        if isinstance(expression, int):
            if result.chosen is None:
                result.chosen = Chosen([{} for _ in self.racks], [0] * len(self.homes))
            return GoalBound(goal, expression, expression if sure else None)
        kept = {variable: variable.varValue for variable in self.lp.variables()}
        outcome = self.minimise(expression, budget)
        if outcome.infeasible:
            result.infeasible = result.chosen is None
            return None
        have = None if result.chosen is None else self.value(goal, result.chosen)
        if outcome.value is None or (have is not None and outcome.value > have):
            for variable, value in kept.items():
                variable.varValue = value
            if have is None:
                return None
            return GoalBound(goal, have, agreed(max(outcome.bound or 0, least), have) if sure else None)
        result.chosen = self.read()
        value = self.value(goal, result.chosen)
        return GoalBound(goal, value, agreed(max(outcome.bound or 0, least), value) if sure else None)

    def read(self) -> Chosen:
        """Return the solution that the variables hold."""
        patterns = [{counts: int(v.varValue) for counts, v in mine.items() if v.varValue} for mine in self.takes]
        used = [int(variable.varValue or 0) for variable in self.used]
        return Chosen(patterns, fewer_homes(self.racks, self.homes, patterns, used))

    def values(self, chosen: Chosen) -> tuple[int, ...]:
        """Return the values of all goals in a solution, most important first."""
        return tuple(self.value(goal, chosen) for goal in self.order)

    def value(self, goal: str, chosen: Chosen) -> int:
        """Return the value of a goal in a solution."""
        each = zip(self.racks, chosen.patterns, strict=True)
        rows = [(rack, counts, times) for rack, mine in each for counts, times in mine.items()]
        if goal == UNPLACED:
            return sum(self.demand) - sum(sum(counts) * times for _, counts, times in rows)
        if goal == NODES:
            return sum(chosen.homes) + sum(rack.each * times for rack, _, times in rows)
        at = device_goals(self.order).index(goal)
        return sum(rack.patterns[counts][at] * times for rack, counts, times in rows)

    def start_from(self, chosen: Chosen) -> None:
        """Give the solver a solution to begin with."""
        for mine, taken in zip(self.takes, chosen.patterns, strict=True):
            for counts, variable in mine.items():
                variable.varValue = taken.get(counts, 0)
        for variable, used in zip(self.used, chosen.homes, strict=True):
            variable.varValue = used


def _sum(factors: Mapping[Expression, int], constant: int = 0) -> Expression:
    return pulp.LpAffineExpression(factors, constant=constant) if factors else constant


def _said(found: GoalBound) -> str:
    return "proven" if found.proven else f"bound {'unknown' if found.bound is None else found.bound}"
