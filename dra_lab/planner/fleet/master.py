"""The master: how many nodes of each class take which pattern of replicas, goal by goal, with bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import mul

from dra_lab.model.goals import FLEET_GOALS, NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_state import ByState
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.master_model import Chosen, HomeNodes, MasterModel, SiteClass
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.relaxation import LinearRelaxation
from dra_lab.planner.node.solver_outcome import Outcome, agreed


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
    """The answer of the master: the goals in order as far as they were decided, and how often each pattern is taken.

    `goals` ends with the first goal that is not proven, unless the caller wants all; `chosen` is None where no
    solution was found; `infeasible` says that there is none.
    """

    goals: list[GoalBound] = field(default_factory=list)
    chosen: Chosen | None = None
    infeasible: bool = False


class Master:
    """Site classes, the replicas wanted of each workload, and all goals of the fleet in order.

    `home_nodes` are nodes whose leaves are members. `shared` are nodes that share devices and are planned at once: with
    these, only the solver knows bounds. `worth` is
    what one replica of each workload without a place counts.
    """

    def __init__(
        self,
        classes: Sequence[SiteClass],
        demand: Sequence[int],
        order: Sequence[str],
        solver: str,
        home_nodes: Sequence[HomeNodes],
        shared: Sequence[ByState],
        worth: Sequence[int],
    ) -> None:
        """Keep what it is made of; the relaxation and the integer model are made when they are needed."""
        self.classes, self.demand, self.order, self.solver = classes, demand, tuple(order), solver
        self.home_nodes, self.shared, self.worth = tuple(home_nodes), tuple(shared), tuple(worth)
        self._model: MasterModel | None = None
        self._relaxed: LinearRelaxation | None = None

    def filled(self, known: Chosen | None, budget: Budget) -> Chosen:
        """Return a solution with more pods: patterns with most replicas first, site class by site class."""
        every = [len(home.nodes) for home in self.home_nodes]
        chosen = Chosen([{} for _ in self.classes], every) if known is None else known
        left = list(self.demand)
        for mine in chosen.patterns:
            left = _less(left, mine)
        for site_class, mine in zip(self.classes, chosen.patterns, strict=True):
            rest = site_class.count - sum(mine.values()) if any(left) else 0
            able = sorted(site_class.patterns, key=lambda counts: -sum(counts)) if rest else ()
            for counts in able:
                wanted = [have // count for have, count in zip(left, counts, strict=True) if count]
                times = min([rest, *wanted]) if wanted else 0
                if times > 0:
                    chosen.home_nodes = every
                    mine[counts] = mine.get(counts, 0) + times
                    rest -= times
                    left = _less(left, {counts: times})
        if not chosen.shared:
            for nodes in self.shared:
                taken = nodes.start(left, self.worth, budget)
                left = [have - taken.pods.get(pod, 0) for pod, have in enumerate(left)]
                chosen.shared = (*chosen.shared, taken)
        return chosen

    def _made(self) -> MasterModel:
        """Return the integer model; it is made only once it is clear that the relaxation does not answer everything."""
        if self._model is None:
            given = self.classes, self.demand, self.order, self.home_nodes, self.shared, self.worth
            self._model = MasterModel(*given)
        return self._model

    def run(self, start: Chosen, budget: Budget, *, all_placed: bool, stop_at: Sequence[int] | None = None) -> Mastered:
        """Minimise goal after goal, each kept at its value before the next.

        `start` is a solution to begin with. With `stop_at`, it ends at the first goal that is not proven or has another
        value; without, all goals are minimised, and reported.
        """
        result = Mastered()
        fixed: list[tuple[str, int]] = [(UNPLACED, 0)] if all_placed else []
        if not all_placed or not self.value(UNPLACED, start):
            result.chosen = start
        sure = True
        for goal in self.order:
            have = None if result.chosen is None else self.value(goal, result.chosen)
            bound = 0 if budget.reached and have is not None else self._bound(goal, fixed, budget)
            if have is not None and (have <= bound or self._is_late(budget)):
                found: GoalBound | None = GoalBound(goal, have, agreed(bound, have) if sure else None)
            elif self._open(fixed, result):
                found = self._stage(goal, budget, result, bound, sure=sure)
            else:
                return Mastered(infeasible=True)
            if found is None:
                break
            result.goals.append(found)
            sure = sure and found.proven
            if stop_at is None:
                proof = "proven" if found.proven else f"bound {'unknown' if found.bound is None else found.bound}"
                text = f"{FLEET_GOALS[goal]}: best {found.value}, {proof}"
                budget.report_step(goal, text, found.value, found.bound)
            elif not sure or (stop_at and found.value != stop_at[len(result.goals) - 1]):
                break
            if (goal, found.value) not in fixed:
                fixed.append((goal, found.value))
                if self._model is not None:
                    self._model.fix(goal, found.value)
        if result.chosen is not None:
            # What is found later may be better in a goal that was not proven.
            values = [self.value(goal.goal, result.chosen) for goal in result.goals]
            result.goals = [replace(g, value=min(g.value, v)) for g, v in zip(result.goals, values, strict=True)]
        return result

    def _is_late(self, budget: Budget) -> bool:
        """Say whether the time that is left is not even enough to make the integer model, which may take seconds."""
        left = budget.left
        if left is None or self._model is not None:
            return budget.reached
        patterns = sum(len(site_class.patterns) for site_class in self.classes)
        variables = sum(one.variables for one in self.shared)
        return left < max(budget.shares.pattern * patterns, budget.shares.at_once * variables) or budget.reached

    def _bound(self, goal: str, kept: Sequence[tuple[str, int]], budget: Budget) -> int:
        """Return what no solution undercuts; with nodes that share devices, the integer model knows more than 0."""
        if self.shared or budget.reached:
            return 0
        if self._relaxed is None:
            self._relaxed = LinearRelaxation(self.classes, self.demand, self.order, self.worth)
        for name, value in kept[len(self._relaxed.kept) :]:
            self._relaxed.keep(name, value)
        return self._relaxed.bound(goal, budget)

    def _open(self, fixed: Sequence[tuple[str, int]], result: Mastered) -> bool:
        """Make the integer model if it is not there yet; say whether the goals can be kept at all."""
        if self._model is not None:
            return True
        model = self._made()
        able = [model.fix(goal, value) for goal, value in fixed]
        if result.chosen is not None:
            model.start_from(result.chosen)
        return all(able)

    def _stage(self, goal: str, budget: Budget, result: Mastered, least: int, *, sure: bool) -> GoalBound | None:
        """Minimise one goal; no solution is below `least`. None where there is no solution, or none was found."""
        model = self._made()
        expression = model.goals[goal]
        if isinstance(expression, int):
            if result.chosen is None:
                result.chosen = Chosen([{} for _ in self.classes], [0] * len(self.home_nodes))
            return GoalBound(goal, expression, expression if sure else None)
        kept = {variable: variable.varValue for variable in model.lp.variables()}
        if self.shared and goal != self.order[-1]:
            budget = budget.part(budget.shares.step)
        outcome = model.minimise(goal, self.solver, budget)
        if not all(one.exact for one in self.shared):
            outcome = Outcome(outcome.value, None)
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
        result.chosen = model.read()
        value = self.value(goal, result.chosen)
        return GoalBound(goal, value, agreed(max(outcome.bound or 0, least), value) if sure else None)

    def values(self, chosen: Chosen) -> tuple[int, ...]:
        """Return the values of all goals in a solution, most important first."""
        return tuple(self.value(goal, chosen) for goal in self.order)

    def value(self, goal: str, chosen: Chosen) -> int:
        """Return the value of a goal in a solution."""
        each, shared = zip(self.classes, chosen.patterns, strict=True), chosen.shared
        rows = [(site_class, counts, times) for site_class, mine in each for counts, times in mine.items()]
        if goal == UNPLACED:
            placed: int = sum(sum(map(mul, counts, self.worth)) * times for _, counts, times in rows)
            placed += sum(count * self.worth[pod] for taken in shared for pod, count in taken.pods.items())
            wanted: int = sum(map(mul, self.demand, self.worth))
            return wanted - placed
        if goal == NODES:
            used = (int(one.nodes_of(counts)) * times for one, counts, times in rows if any(counts) and one.each == 1)
            return sum(used) + sum(chosen.home_nodes) + sum(taken.nodes for taken in shared)
        at = device_goals(self.order).index(goal)
        found = sum(site_class.patterns[counts][at] * times for site_class, counts, times in rows)
        return found + sum(taken.values[at] for taken in shared if taken.values)


def _less(left: Sequence[int], taken: Mapping[Counts, int]) -> list[int]:
    for counts, times in taken.items():
        left = [have - times * count for have, count in zip(left, counts, strict=True)]
    return list(left)
