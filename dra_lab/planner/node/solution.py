"""What solving one problem found: the devices taken, and each goal with its bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from dra_lab.model.goals import GOALS, GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem

Taken = tuple[tuple[int, DeviceID], ...]
"""(index of the ask, device) in the claim's order."""


class NodeSolution(Struct, frozen=True, dict=True):
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


def counted(problem: AllocationProblem, taken: Taken) -> Counter[tuple[int, int]]:
    """Return how many devices each ask takes of each group, (ask, group)."""
    group_of = {device: number for number, group in enumerate(problem.groups) for device in group.devices}
    return Counter((ask, group_of[device]) for ask, device in taken)


def devices_of(
    problem: AllocationProblem,
    takes: Mapping[tuple[int, int], int],
    free: Mapping[int, Sequence[DeviceID]] | None = None,
) -> Taken:
    """Return the devices behind (ask, group): count, asks in the claim's order, devices in kube-scheduler's.

    `free` are the devices of each group that can be taken, if these are not all of them.
    """
    every = {number: group.devices for number, group in enumerate(problem.groups)}
    left = {number: list(devices) for number, devices in (every if free is None else free).items()}
    found: list[tuple[int, DeviceID]] = []
    for (ask, number), count in sorted(takes.items()):
        if count:
            found.extend((ask, device) for device in left[number][:count])
            if not problem.overlaps(number):
                del left[number][:count]
    return tuple(found)


def report_goal(budget: Budget, goal: GoalValue) -> None:
    """Report a goal that is decided."""
    bound = "proven" if goal.proven else f"bound {'unknown' if goal.bound is None else goal.bound}"
    budget.report_step(goal.goal, f"{GOALS[goal.goal]}: best {goal.value}, {bound}", goal.value, goal.bound)
