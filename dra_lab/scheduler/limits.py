"""How long a search may take, and the two ways in which it ends without a verdict on the node."""

from __future__ import annotations

import threading
import time

from dra_lab.errors import Cancelled, DraLabError

_CLOCK_EVERY = 2048


class AttemptAborted(DraLabError):
    """kube-scheduler gives up the whole attempt of the pod (dra-semantics 3.13); caught at this room's door."""


class SearchStopped(DraLabError):
    """The search reached its limit of steps or time; caught at this room's door."""


class Limits:
    """Counts steps (candidates that pass the in-use test and the selectors) and stops a search that takes too long.

    `time_limit` is in seconds. `step` raises SearchStopped at a limit, and Cancelled once `cancel` is set.
    """

    __slots__ = ("_cancel", "_check_at", "_deadline", "_step_limit", "_time_limit", "steps")

    def __init__(self, step_limit: int, time_limit: float, cancel: threading.Event | None = None) -> None:
        """Start the clock."""
        self.steps = 0
        self._cancel = cancel
        self._step_limit = step_limit
        self._time_limit = time_limit
        self._deadline = time.monotonic() + time_limit
        self._check_at = min(_CLOCK_EVERY, step_limit)

    def step(self) -> None:
        """Count one candidate."""
        self.steps += 1
        if self.steps >= self._check_at:
            self._look()

    def add(self, steps: int) -> None:
        """Count candidates that were tried before, in a part of the search that began alike."""
        self.steps += steps
        if self.steps >= self._check_at:
            self._look()

    def _look(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled(f"cancelled after {self.steps} steps of the scheduler's search")
        if self.steps >= self._step_limit:
            raise SearchStopped(f"stopped after {self.steps} steps; raise step_limit to search on")
        if time.monotonic() > self._deadline:
            seconds = f"{self._time_limit:g} s"
            raise SearchStopped(f"stopped after {self.steps} steps and {seconds}; raise time_limit to search on")
        self._check_at = min(self.steps + _CLOCK_EVERY, self._step_limit)
