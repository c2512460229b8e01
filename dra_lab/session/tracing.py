"""The search that the Trace mode shows, run in a worker thread: its progress, its end, and why there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dra_lab.errors import Cancelled, InputError, UnsupportedFeature
from dra_lab.model.plan import FirstFit, Plan
from dra_lab.model.trace import Trace
from dra_lab.session.worker import Worker

SECONDS = 10.0
"""How long a search runs; one that goes on is shown as far as it is recorded."""

REPORT_EVERY = 0.2
"""Seconds between two numbers of candidates; a search that ends sooner gives none."""


class Tracing:
    """The latest search that was asked for; `changed` is called when it goes on or has ended, in the worker thread.

    `trace` is the search, None while it runs; `error` says why there is none. `tried` is the number of candidates so
    far, 0 if none was reported.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        """Begin without a search; no thread is begun."""
        self._changed = changed
        self._worker = Worker("dra-lab-trace", owner=self)
        self._number = 0
        self.running = False
        self.tried = 0
        self.trace: Trace[FirstFit] | None = None
        self.plan: Plan | None = None
        self.error = ""

    def search(self, plan: Plan | None, node: str, *, links: bool) -> None:
        """Search on a node for the claim of a plan; a search that still runs is given up."""
        self._number += 1
        number, self.plan, self.trace, self.tried, self.error = self._number, plan, None, 0, ""
        if plan is None:
            self._worker.cancel()
            self.running, self.error = False, "There is no answer yet: the search is shown after the claim is planned."
            self._changed()
            return
        self.running = True
        self._worker.submit(lambda stop: self._run(number, plan, node, links=links, stop=stop))

    def cancel(self) -> None:
        """Stop the search; what is recorded of it is shown."""
        if self._worker.cancel():
            self._ended(self._number, None, _STOPPED)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is searched; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def close(self) -> None:
        """End the worker thread."""
        self._worker.close()

    def _run(self, number: int, plan: Plan, node: str, *, links: bool, stop: threading.Event) -> None:
        reported = time.monotonic()

        def progress(tried: int) -> None:
            nonlocal reported
            if number == self._number and time.monotonic() - reported > REPORT_EVERY:
                reported, self.tried = time.monotonic(), tried
                self._changed()

        trace, error = None, ""
        try:
            trace = plan.trace(node, links=links, time_limit=SECONDS, cancel=stop, progress=progress)
        except Cancelled:
            error = _STOPPED
        except (InputError, UnsupportedFeature) as refused:
            error = str(refused)
        self._ended(number, trace, error)

    def _ended(self, number: int, trace: Trace[FirstFit] | None, error: str) -> None:
        if number == self._number:
            self.trace, self.error, self.running = trace, error, False
            self._changed()


_STOPPED = "You stopped the search before its first steps were recorded."
