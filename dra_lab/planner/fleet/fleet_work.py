"""The data that a fleet is planned with, and the time of each part of the work."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

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

    `written` are the pods of an answer so far (`placing.WrittenPods`), None where no plan is written.
    """

    fleet: FleetProblem
    order: tuple[str, ...]
    all_placed: bool
    budget: Budget
    solver: str
    clock: Clock
    written: Any = None
