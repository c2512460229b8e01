"""How long a search may take, and how long kube-scheduler needs for it.

The filter of kube-scheduler stops after 10 s on one node, and from 1.36 this ends the pod's whole attempt
(docs/semantics.md 3.13). The time of a candidate depends on the claim, so a number of candidates is no limit.

The costs below are an upper envelope of measured times of the Go allocator of 1.36.2, in nanoseconds. The sources are:

- 22 recorded cases with the allocator's time per node (`tests/conformance/allocation-hard.ndjson.gz`, `allocatorMs`).
- 4 and 5 preferred pairs on a node that is one NIC short: 0.1 s and 2.3 s.
- 8 pairs as 16 requests and 8 constraints: 250,000 to 305,000 candidates per second, 10 s for 2.8 million.

No estimate is below a measured time, and most are below 1.6 times it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from dra_lab.errors import Cancelled, DraLabError

_CLOCK_EVERY = 2048
_COST_EVERY = 10_000_000


class AttemptAborted(DraLabError):
    """kube-scheduler gives up the whole attempt of the pod (docs/semantics.md 3.13); caught by this package."""


class NodeFails(DraLabError):
    """kube-scheduler rejects this node before any search, and tries the others; caught by this package."""


class SearchStopped(DraLabError):
    """The search reached its limit of steps or time; caught by this package."""


class SearchLimits:
    """Counts steps (candidates that pass the in-use test and the selectors) and stops a search that takes too long.

    `cost` is the time, in nanoseconds, that kube-scheduler needs for the same search. `time_limit` is in seconds of our
    own time, `search_limit` in seconds of kube-scheduler's. `step`, `scan` and `add` raise SearchStopped at a limit,
    and Cancelled once `cancel` is set. `progress` gets the number of steps now and then.
    """

    __slots__ = (
        "_cancel",
        "_check_at",
        "_cost_limit",
        "_deadline",
        "_look_at_cost",
        "_progress",
        "_step_limit",
        "_time_limit",
        "cost",
        "steps",
    )

    def __init__(
        self,
        step_limit: int,
        time_limit: float,
        cancel: threading.Event | None = None,
        search_limit: float = math.inf,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Start the clock."""
        self._progress = progress
        self.steps = 0
        self.cost = 0
        self._cost_limit = search_limit * 1e9
        self._look_at_cost = min(_COST_EVERY, self._cost_limit)
        self._cancel = cancel
        self._step_limit = step_limit
        self._time_limit = time_limit
        self._deadline = time.monotonic() + time_limit
        self._check_at = min(_CLOCK_EVERY, step_limit)

    def step(self, cost: int = 0) -> None:
        """Count one candidate and its cost."""
        self.steps += 1
        self.cost += cost
        if self.steps >= self._check_at:
            self._look()

    def scan(self, cost: int) -> None:
        """Count the cost of devices that the search comes to."""
        self.cost += cost
        if self.cost >= self._look_at_cost:
            self._look()

    def add(self, steps: int, cost: int = 0) -> None:
        """Count candidates that were tried before, in a part of the search that began alike."""
        self.steps += steps
        self.scan(cost)
        if self.steps >= self._check_at:
            self._look()

    def _look(self) -> None:
        if self._cancel is not None and self._cancel.is_set():
            raise Cancelled(f"cancelled after {self.steps} steps of the scheduler's search")
        if self.steps >= self._step_limit:
            raise SearchStopped(f"stopped after {self.steps} steps; raise step_limit to continue")
        if self.cost >= self._cost_limit:
            seconds = f"{self._cost_limit / 1e9:g} s"
            raise SearchStopped(f"stopped after {self.steps} steps; kube-scheduler needs more than {seconds} for it")
        if time.monotonic() > self._deadline:
            seconds = f"{self._time_limit:g} s"
            raise SearchStopped(f"stopped after {self.steps} steps and {seconds}; raise time_limit to continue")
        if self._progress is not None:
            self._progress(self.steps)
        self._check_at = min(self.steps + _CLOCK_EVERY, self._step_limit)
        self._look_at_cost = min(self.cost + _COST_EVERY, self._cost_limit)


SCANNED = 150
"""One device that the search comes to, in use or refused by a selector or not: measured 110 to 125."""

CANDIDATE = 1_050
"""One device that it tries as well: measured 600 to 1,000."""

CONSTRAINT = 280
"""Each constraint of the claim, for each device tried: the allocator asks all of them. Measured 265."""

COUNTED = 2_600
"""One device tried that has counters or is shared: measured up to 2,500."""

SELECTOR = 10_000
"""One selector on one device, which is evaluated once per search: measured 4,000 to 8,000."""

SLOW = 1.0
"""Seconds of one search from which a person must know: a busy scheduler may need several times as long."""

LONGEST = 5.0
"""Seconds of one search above which nothing is exported: half of kube-scheduler's limit, for slower machines."""

GIVES_UP = 10.0
"""Seconds after which kube-scheduler stops the search of a node (gate DRASchedulerFilterTimeout, its default)."""
