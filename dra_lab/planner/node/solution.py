"""What solving one problem found: the devices taken, and each goal with its bound."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GOALS, GoalValue
from dra_lab.planner.budget import Budget

Taken = tuple[tuple[int, DeviceID], ...]
"""(index of the ask, device) in the claim's order."""


class Solution(Struct, frozen=True, dict=True):
    """What is known of one problem.

    `taken` lists (index of the ask, device) in the claim's order, None if no allocation was found. `infeasible` is a
    proof that there is none. `worse` says that it is proven worse than the values it was compared with (the later goals
    are then not decided). `copied` says that it is known from equal hardware, and `taken` does not name this node's
    devices.
    """

    taken: Taken | None = None
    stages: tuple[GoalValue, ...] = ()
    infeasible: bool = False
    worse: bool = False
    copied: bool = False

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven best."""
        return self.taken is not None and all(stage.proven for stage in self.stages)

    @cached_property
    def values(self) -> tuple[int, ...]:
        """Return the goals' values in order of importance."""
        return tuple([stage.value for stage in self.stages])

    def value(self, goal: str) -> int:
        """Return the value of a goal, 0 if it is not there."""
        return next((stage.value for stage in self.stages if stage.goal == goal), 0)


def report_goal(budget: Budget, goal: GoalValue) -> None:
    """Report a goal that is decided."""
    bound = "proven" if goal.proven else f"bound {'unknown' if goal.bound is None else goal.bound}"
    budget.report_step(goal.goal, f"{GOALS[goal.goal]}: best {goal.value}, {bound}", goal.value, goal.bound)
