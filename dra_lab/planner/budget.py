"""Budget: the deadline, the cancel event and the sizes up to which a question is answered exactly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dra_lab.planner.progress import Progress


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes up to which an exact way to answer is tried; above, a coarser one answers, with a bound.

    Attributes:
        layouts: Kinds of hardware whose ways are listed.
        ways: Ways of all pods on all kinds of hardware that are listed.
    """

    layouts: int = 32
    ways: int = 300_000


@dataclass
class Budget:
    """When to stop: `deadline` is a moment of `time.monotonic()`, `cancel` an event that another thread may set."""

    deadline: float | None = None
    cancel: threading.Event | None = None
    report: Callable[[Progress], None] | None = field(default=None, repr=False)
    sizes: Sizes = Sizes()

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

    def until(self, moment: float) -> Budget:
        """Return a budget that ends at a moment of `time.monotonic()`, or earlier if this one does."""
        return replace(self, deadline=moment if self.deadline is None else min(moment, self.deadline))

    def part(self, share: float) -> Budget:
        """Return a budget that ends after a share of the time that is left."""
        left = self.left
        return self if left is None else replace(self, deadline=time.monotonic() + share * left)

    def tell(self, stage: str, text: str, best: int | None = None, bound: int | None = None) -> None:
        """Report a step, if a report is wanted."""
        if self.report is not None:
            self.report(Progress(stage, text, best, bound))
