"""What is asked of a fleet, and what there is to answer it: time, a solver, and a clock for each part of the work."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pods import FleetProblem


@dataclass
class Clock:
    """The seconds of each part of the work."""

    parts: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.monotonic)

    def lap(self, part: str) -> None:
        """Count the time since the last lap to a part."""
        now = time.monotonic()
        self.parts[part] = self.parts.get(part, 0.0) + now - self._last
        self._last = now


@dataclass(frozen=True)
class Question:
    """What is asked of a fleet: its pods on the nodes of a cluster, and goals in their order.

    With `all_placed`, only plans that place all pods count. With `on_each`, the replicas of a workload are wanted on
    every node, and no node gets more, or no leaf of one if each pod takes one device. `worth` is what one replica of
    each workload without a place counts in the goal `unplaced`; default: 1.
    """

    fleet: FleetProblem
    order: tuple[str, ...]
    all_placed: bool = False
    on_each: bool = False
    worth: tuple[int, ...] = ()

    @property
    def demand(self) -> tuple[int, ...]:
        """Return the replicas wanted of each workload on all nodes together."""
        nodes = len(self.fleet.scan.rules.nodes) if self.on_each else 1
        return tuple(replicas * nodes for replicas in self.fleet.demand)

    @property
    def worths(self) -> tuple[int, ...]:
        """Return what one replica of each workload counts."""
        return self.worth or (1,) * len(self.fleet.pods)


@dataclass(frozen=True)
class Work:
    """A question, and what there is to answer it."""

    question: Question
    budget: Budget
    solver: str
    clock: Clock = field(default_factory=Clock)
