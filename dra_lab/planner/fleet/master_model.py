"""The integer model over patterns of racks, and over what nodes that share devices take beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.homes import Chosen, CouplingRow, Homes, Rack, fewer_homes
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.shared_devices import SharedNodes, SharedTaken
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.node.variables import Expression

_OPTIONS = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on a model that is all columns: each goal then begins from the one before."""


class MasterModel:
    """Variables and rows: how often each rack takes each pattern, and how many nodes of each kind of homes are used.

    `goals` holds the expression of every goal, a number where nothing can change it.
    """

    def __init__(
        self,
        racks: Sequence[Rack],
        demand: Sequence[int],
        order: Sequence[str],
        homes: Sequence[Homes],
        together: Sequence[CouplingRow],
        crowds: Sequence[SharedNodes],
    ) -> None:
        """Make all variables and rows; this takes seconds for a large fleet."""
        self.racks, self.homes, self.together = racks, homes, together
        self.lp: Any = pulp.LpProblem("fleet", pulp.LpMinimize)
        self._options = {} if crowds else _OPTIONS
        self._nodes_counted = False
        self._takes: list[dict[Counts, Expression]] = []
        # Tables of factors: PuLP takes several times longer for a sum of products.
        placed: list[dict[Expression, int]] = [{} for _ in demand]
        sums: dict[str, dict[Expression, int]] = {goal: {} for goal in order}
        device = [sums[goal] for goal in device_goals(order)]
        self._take_patterns((*placed, *device), sums[NODES])
        self._used = [
            self.lp.add_variable(f"y_{number}", 0, home.count, pulp.LpInteger) for number, home in enumerate(homes)
        ]
        sums[NODES].update(dict.fromkeys(self._used, 1))
        self._keep_racks()
        self._shared = [crowd.model(self.lp, number, demand) for number, crowd in enumerate(crowds)]
        for model in self._shared:
            for part, variable in model.placed:
                placed[part.pod][variable] = 1
            for factors, mine in zip(device, model.values, strict=False):
                factors.update(mine)
            sums[NODES].update(dict.fromkeys(model.used.values(), 1))
        for number, (factors, wanted) in enumerate(zip(placed, demand, strict=True)):
            if factors:
                self.lp.addConstraint(_sum(factors) <= wanted, f"demand_{number}")
        self._keep_together()
        everybody: dict[Expression, int] = {}
        for factors in placed:
            for variable, factor in factors.items():
                everybody[variable] = everybody.get(variable, 0) - factor
        self.goals = {goal: _sum(factors) for goal, factors in sums.items()}
        self.goals[UNPLACED] = _sum(everybody, sum(demand))

    def _take_patterns(self, factors: Sequence[dict[Expression, int]], nodes: dict[Expression, int]) -> None:
        """Add a variable for each pattern of each rack; `factors` are those of workloads and of goals of devices."""
        for number, rack in enumerate(self.racks):
            mine = {}
            for position, (counts, values) in enumerate(rack.patterns.items()):
                if not any(counts):
                    continue
                variable = self.lp.add_variable(f"z_{number}_{position}", 0, rack.most(counts), pulp.LpInteger)
                mine[counts] = variable
                for found, factor in zip(factors, (*counts, *values), strict=True):
                    if factor:
                        found[variable] = factor
                if rack.each:
                    nodes[variable] = rack.each
            self._takes.append(mine)

    def _keep_racks(self) -> None:
        """Demand that no more is taken than the members hold, or those on the nodes that are used."""
        at_home: dict[int, dict[Expression, int]] = {}
        for home, used in zip(self.homes, self._used, strict=True):
            for number, members in home.racks.items():
                at_home.setdefault(number, {})[used] = members
        for number, (rack, mine) in enumerate(zip(self.racks, self._takes, strict=True)):
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
                for counts, variable in self._takes[at].items()
                if (weight := row.need(at, counts))
            }
            if factors:
                self.lp.addConstraint(_sum(factors) <= row.limit, f"together_{number}")

    def minimise(self, goal: str, solver: str, budget: Budget) -> Outcome:
        """Minimise a goal, and cut off what only rounding inside the solver allowed."""
        self._count_nodes(goal)
        while True:
            outcome = minimise(self.lp, self.goals[goal], solver, budget, options=self._options)
            if outcome.value is None or not sum(model.cut() for model in self._shared):
                return outcome

    def fix(self, goal: str, value: int) -> bool:
        """Demand that a goal is not above a value; say whether that can be at all."""
        self._count_nodes(goal)
        expression = self.goals[goal]
        if isinstance(expression, int):
            return expression <= value
        self.lp.addConstraint(expression <= value, f"fixed_{goal}_{len(self.lp.constraints())}")
        return True

    def _count_nodes(self, goal: str) -> None:
        # Before they are asked for they would only be in the solver's way.
        if goal == NODES and not self._nodes_counted:
            self._nodes_counted = True
            for model in self._shared:
                model.count_nodes()

    def read(self) -> Chosen:
        """Return the solution that the variables hold."""
        patterns = [{counts: int(v.varValue) for counts, v in mine.items() if v.varValue} for mine in self._takes]
        used = [int(variable.varValue or 0) for variable in self._used]
        homes = fewer_homes(self.racks, self.homes, patterns, used)
        return Chosen(patterns, homes, tuple(model.read() for model in self._shared))

    def start_from(self, chosen: Chosen) -> None:
        """Give the solver a solution to begin with."""
        for mine, taken in zip(self._takes, chosen.patterns, strict=True):
            for counts, variable in mine.items():
                variable.varValue = taken.get(counts, 0)
        for variable, used in zip(self._used, chosen.homes, strict=True):
            variable.varValue = used
        for model, shared in zip(self._shared, chosen.crowds or [SharedTaken()] * len(self._shared), strict=True):
            model.start_from(shared)


def _sum(factors: Mapping[Expression, int], constant: int = 0) -> Expression:
    return pulp.LpAffineExpression(factors, constant=constant) if factors else constant
