"""The data that a fleet is planned with, and the time of each part of the work."""

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
class FleetWork:
    """The data that a fleet is planned with.

    With `on_each`, the replicas of a workload are wanted on every node, and no node gets more, or no leaf of one if
    each pod takes one device. `worth` is what one replica of each workload without a place counts in the goal
    `unplaced`; default: 1.
    """

    fleet: FleetProblem
    order: tuple[str, ...]
    all_placed: bool
    budget: Budget
    solver: str
    clock: Clock
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
