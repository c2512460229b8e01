"""Progress, cancellation and time: what a solve tells, and what stops it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a solve: `stage` is "nodes", a goal or "first fit"; `text` says it to a person.

    `best` is the best value found, `bound` the best that could still exist; None while unknown.
    """

    stage: str
    text: str
    best: int | None = None
    bound: int | None = None


@dataclass
class Limits:
    """When to stop: `deadline` is a moment of `time.monotonic()`, `cancel` an event that another thread may set."""

    deadline: float | None = None
    cancel: threading.Event | None = None
    report: Callable[[Progress], None] | None = field(default=None, repr=False)

    @property
    def cancelled(self) -> bool:
        """Say whether a person cancelled."""
        return self.cancel is not None and self.cancel.is_set()

    @property
    def reached(self) -> bool:
        """Say whether it is time to stop, for either reason."""
        return self.cancelled or (self.deadline is not None and time.monotonic() >= self.deadline)

    @property
    def left(self) -> float | None:
        """Return the seconds that are left, None without a limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def until(self, moment: float) -> Limits:
        """Return limits that end at a moment of `time.monotonic()`, or earlier where these do."""
        return replace(self, deadline=moment if self.deadline is None else min(moment, self.deadline))

    def part(self, share: float) -> Limits:
        """Return limits that end after a share of the time that is left."""
        left = self.left
        return self if left is None else replace(self, deadline=time.monotonic() + share * left)

    def tell(self, stage: str, text: str, best: int | None = None, bound: int | None = None) -> None:
        """Report a step, if anybody listens."""
        if self.report is not None:
            self.report(Progress(stage, text, best, bound))
