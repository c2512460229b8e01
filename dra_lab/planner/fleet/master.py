"""How many nodes of each class take which pattern of replicas: one integer model for the whole fleet, in stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_lab.model.fleet import FLEET_GOALS, NODES, UNPLACED
from dra_lab.planner.engine import minimise
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.homes import Chosen, Homes, Rack, few_homes, fewer_homes
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.relaxation import Relaxation
from dra_lab.planner.modelling import pulp
from dra_lab.planner.progress import Limits
from dra_lab.planner.variables import Expression

_OPTIONS = {"presolve": "off", "mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on this model, which is all columns: each stage then begins from the one before."""

_MOST_BROKEN = 40
"""Racks of which the relaxation's solution is not whole, that are decided exactly at most."""


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
    chosen: Chosen | None = None
    infeasible: bool = False


class Master:
    """The integer model over racks, minimised goal by goal."""

    def __init__(
        self,
        racks: Sequence[Rack],
        demand: Sequence[int],
        order: Sequence[str],
        solver: str,
        homes: Sequence[Homes] = (),
    ) -> None:
        """Keep what it is made of; `order` names all goals of the fleet, `homes` the nodes of members of racks."""
        self.racks, self.demand, self.order, self.solver = racks, demand, tuple(order), solver
        self.homes = tuple(homes)
        self.takes: list[dict[Counts, Expression]] = []
        self.used: list[Expression] = []
        self.goals: dict[str, Expression] = {}
        self.lp: Any = None
        self._relaxed: Relaxation | None = None
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
                if used := rack.used(counts):
                    sums[NODES][variable] = used
            self.takes.append(mine)
        for number, home in enumerate(self.homes):
            self.used.append(self.lp.add_variable(f"y_{number}", 0, home.count, pulp.LpInteger))
            sums[NODES][self.used[-1]] = 1
        self._keep_racks()
        for number, (factors, wanted) in enumerate(zip(placed, self.demand, strict=True)):
            if factors:
                self.lp.addConstraint(_sum(factors) <= wanted, f"demand_{number}")
        self.goals = {goal: _sum(factors) for goal, factors in sums.items()}
        everybody: dict[Expression, int] = {}
        for factors in placed:
            for variable, factor in factors.items():
                everybody[variable] = everybody.get(variable, 0) - factor
        whole = sum(self.demand)
        self.goals[UNPLACED] = _sum(everybody, whole) if everybody else whole

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
        """Minimise goal after goal, each kept at its value before the next.

        With `whole`, goals after one that is not proven are still minimised; without, it ends there, and at the first
        goal whose value is not the one in `stop_at`.
        """
        result = Mastered()
        fixed: list[tuple[str, int]] = [(UNPLACED, 0)] if all_placed else []
        start = self._start(limits, all_placed=all_placed)
        if not all_placed or not self.value(UNPLACED, start):
            result.chosen = start
        sure = True
        for goal in self.order:
            bound = self._bound(goal, fixed, limits)
            have = None if result.chosen is None else self.value(goal, result.chosen)
            if have is not None and have <= bound:
                found: GoalBound | None = GoalBound(goal, have, have if sure else None)
            else:
                if not self._open(fixed, result):
                    return Mastered(infeasible=True)
                found = self._stage(goal, limits, result, bound, sure=sure)
            if found is None:
                return result
            result.goals.append(found)
            if tell:
                limits.tell(goal, f"{FLEET_GOALS[goal]}: best {found.value}, {_said(found)}", found.value, found.bound)
            sure = sure and found.proven
            if not (sure or whole) or (stop_at and found.value != stop_at[len(result.goals) - 1]):
                return result
            fixed.append((goal, found.value))
            if self.lp is not None:
                self.fix(goal, found.value)
        return result

    def bounds(self, values: Sequence[int], limits: Limits) -> list[int]:
        """Return, goal by goal, what no solution undercuts that is as good as `values` in the goals before."""
        found: list[int] = []
        for goal in self.order[: len(values)]:
            found.append(self._bound(goal, list(zip(self.order, values, strict=False))[: len(found)], limits))
        return found

    def _bound(self, goal: str, kept: Sequence[tuple[str, int]], limits: Limits) -> int:
        """Return the relaxation's bound of a goal while others are kept at values."""
        # A goal that is kept twice, first as all that may be without a place, is one.
        wanted = tuple(dict.fromkeys(kept))
        known = self._bounds.get((goal, wanted))
        if known is not None:
            return known
        if self._relaxed is None or self._relaxed.kept != wanted[: len(self._relaxed.kept)]:
            self._relaxed = Relaxation(self.racks, self.demand, self.order, self.homes)
        for name, value in wanted[len(self._relaxed.kept) :]:
            self._relaxed.keep(name, value)
        found = self._relaxed.bound(goal, limits)
        if not limits.reached:
            self._bounds[goal, wanted] = found
        return found

    def _start(self, limits: Limits, *, all_placed: bool) -> Chosen:
        """Return the better of what fills racks greedily and what lies next to the relaxation."""
        greedy = self.greedy()
        kept = [(UNPLACED, 0)] if all_placed else []
        for goal in self.order:
            kept.append((goal, self._bound(goal, kept, limits)))
            if limits.reached:
                return greedy
        rounded = greedy if self._relaxed is None else self._rounded(self._relaxed, limits)
        return min(greedy, rounded, key=lambda chosen: [self.value(goal, chosen) for goal in self.order])

    def _rounded(self, relaxed: Relaxation, limits: Limits) -> Chosen:
        """Keep the whole part of a relaxed solution and decide the rest exactly: few racks are not whole.

        On which nodes the rest is does not count there.
        """
        chosen, broken = relaxed.whole()
        mine = broken[:_MOST_BROKEN]
        left = list(self.demand)
        for taken in chosen:
            for counts, times in taken.items():
                left = [have - times * count for have, count in zip(left, counts, strict=True)]
        racks = [self.racks[at].without(chosen[at]) for at in mine]
        rest = Master(racks, left, self.order, self.solver)
        rest._build()
        nobody = Chosen([{} for _ in racks], [])
        found = Mastered([], nobody)
        rest.start_from(nobody)
        for goal in self.order:
            stage = rest._stage(goal, limits, found, 0, sure=True)
            if stage is None:
                break
            rest.fix(goal, stage.value)
        for at, taken in zip(mine, (found.chosen or nobody).patterns, strict=True):
            for counts, times in taken.items():
                chosen[at][counts] = chosen[at].get(counts, 0) + times
        return self._with_homes(chosen)

    def _with_homes(self, patterns: list[dict[Counts, int]]) -> Chosen:
        return Chosen(patterns, few_homes(self.racks, self.homes, patterns))

    def _open(self, fixed: Sequence[tuple[str, int]], result: Mastered) -> bool:
        """Make the integer model if it is not there yet; say whether the goals can be kept at all."""
        if self.lp is not None:
            return True
        self._build()
        able = [self.fix(goal, value) for goal, value in fixed]
        if result.chosen is not None:
            self.start_from(result.chosen)
        return all(able)

    def _stage(self, goal: str, limits: Limits, result: Mastered, least: int, *, sure: bool) -> GoalBound | None:
        """Minimise one goal; no solution is below `least`. None where there is no solution, or none was found."""
        expression = self.goals[goal]
        if isinstance(expression, int):
            if result.chosen is None:
                result.chosen = self._with_homes([{} for _ in self.racks])
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
            return GoalBound(goal, have, min(have, max(outcome.bound or 0, least)) if sure else None)
        patterns = [{counts: int(v.varValue) for counts, v in mine.items() if v.varValue} for mine in self.takes]
        used = [int(variable.varValue or 0) for variable in self.used]
        result.chosen = Chosen(patterns, fewer_homes(self.racks, self.homes, patterns, used))
        return GoalBound(goal, outcome.value, min(outcome.value, max(outcome.bound or 0, least)) if sure else None)

    def value(self, goal: str, chosen: Chosen) -> int:
        """Return the value of a goal in a solution."""
        each = zip(self.racks, chosen.patterns, strict=True)
        rows = [(rack, counts, times) for rack, mine in each for counts, times in mine.items()]
        if goal == UNPLACED:
            return sum(self.demand) - sum(sum(counts) * times for _, counts, times in rows)
        if goal == NODES:
            return sum(chosen.homes) + sum(rack.used(counts) * times for rack, counts, times in rows)
        at = device_goals(self.order).index(goal)
        return sum(rack.patterns[counts][at] * times for rack, counts, times in rows)

    def greedy(self) -> Chosen:
        """Return a solution found by taking the patterns with most replicas first, rack by rack."""
        left, chosen = list(self.demand), []
        for rack in self.racks:
            mine: dict[Counts, int] = {}
            rest = rack
            for counts, _ in sorted(rack.patterns.items(), key=lambda row: (-sum(row[0]), row[1])):
                wanted = [have // count for have, count in zip(left, counts, strict=True) if count]
                times = min([rest.most(counts), *wanted]) if wanted else 0
                if times:
                    mine[counts] = times
                    rest = rest.without({counts: times})
                    left = [have - times * count for have, count in zip(left, counts, strict=True)]
            chosen.append(mine)
        return self._with_homes(chosen)

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
