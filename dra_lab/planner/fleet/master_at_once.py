"""The master with nodes that are planned at once: beside the patterns of racks a variable for each way of a pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.homes import Chosen, CouplingRow, Homes, Rack
from dra_lab.planner.fleet.master import Master
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.shared_devices import SharedModel, SharedNodes, SharedTaken
from dra_lab.planner.fleet.starts import greedy
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.node.variables import Expression


class MasterAtOnce(Master):
    """The integer model over racks and crowds; its bounds are the solver's, stage by stage."""

    def __init__(
        self,
        racks: Sequence[Rack],
        demand: Sequence[int],
        order: Sequence[str],
        solver: str,
        homes: Sequence[Homes] = (),
        together: Sequence[CouplingRow] = (),
        crowds: Sequence[SharedNodes] = (),
    ) -> None:
        """Keep what it is made of, as `Master` does; `crowds` are the nodes that are planned at once."""
        super().__init__(racks, demand, order, solver, homes, together)
        self.crowds = tuple(crowds)
        self.options = {}
        self._models: list[SharedModel] = []
        self._nodes_counted = False

    def add_more(self, placed: Sequence[dict[Expression, int]], sums: Mapping[str, dict[Expression, int]]) -> None:
        """Add the ways of all crowds, what there is for them, and the nodes that they use."""
        self._models = [crowd.model(self.lp, number, self.demand) for number, crowd in enumerate(self.crowds)]
        for model in self._models:
            for part, variable in model.placed:
                placed[part.pod][variable] = 1
            for goal, factors in zip(device_goals(self.order), model.values, strict=False):
                sums[goal].update(factors)
            sums[NODES].update(dict.fromkeys(model.used.values(), 1))

    def first(self, known: Chosen | None, budget: Budget, *, all_placed: bool) -> Chosen:  # noqa: ARG002 - as in Master
        """Return the solution that is known, else one without pods on nodes that share devices."""
        found = known or greedy(self)
        found.crowds = found.crowds or (SharedTaken(),) * len(self.crowds)
        return found

    def _is_late(self, budget: Budget) -> bool:
        variables = sum(crowd.variables for crowd in self.crowds) if self.lp is None else 0
        left = budget.left
        return super()._is_late(budget) or (left is not None and left < budget.shares.at_once * variables)

    def minimise(self, expression: Expression, budget: Budget) -> Outcome:
        """Minimise an expression, and cut off what only rounding inside the solver allowed."""
        while True:
            outcome = super().minimise(expression, budget)
            if outcome.value is None or not sum(model.cut() for model in self._models):
                return outcome

    def fix(self, goal: str, value: int) -> bool:
        """Demand that a goal is not above a value; say whether that can be at all."""
        if goal == NODES:
            self._count_nodes()
        return super().fix(goal, value)

    def _count_nodes(self) -> None:
        # Before they are asked for they would only be in the solver's way.
        if not self._nodes_counted:
            self._nodes_counted = True
            for model in self._models:
                model.count_nodes()

    def _stage(self, goal: str, budget: Budget, *given: object, **named: object) -> object:  # type: ignore[override]
        if goal == NODES:
            self._count_nodes()
        part = budget if goal == self.order[-1] else budget.part(budget.shares.step)
        return super()._stage(goal, part, *given, **named)  # type: ignore[arg-type]

    def _bound(self, goal: str, kept: Sequence[tuple[str, int]], budget: Budget) -> int:  # noqa: ARG002 - as in Master
        # No goal is below 0; more is known once the solver has looked at it.
        return 0

    def read(self) -> Chosen:
        """Return the solution that the variables hold."""
        found = super().read()
        found.crowds = tuple(model.read() for model in self._models)
        return found

    def start_from(self, chosen: Chosen) -> None:
        """Give the solver a solution to begin with."""
        super().start_from(chosen)
        for model, taken in zip(self._models, chosen.crowds or [SharedTaken()] * len(self._models), strict=True):
            model.start_from(taken)

    def value(self, goal: str, chosen: Chosen) -> int:
        """Return the value of a goal in a solution."""
        found = super().value(goal, chosen)
        for taken in chosen.crowds:
            if goal == UNPLACED:
                found -= taken.replicas
            elif goal == NODES:
                found += taken.nodes
            elif taken.values:
                found += taken.values[device_goals(self.order).index(goal)]
        return found
