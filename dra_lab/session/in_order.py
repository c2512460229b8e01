"""InOrder: a worker thread that does every job that it gets, in their order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from dra_lab.session.worker import Worker


class InOrder:
    """Does one job after the other in a worker thread. It skips a waiting job if the next one has the same name.

    A job gets its number; `latest` is the number of the job that was submitted last.
    """

    def __init__(self, name: str) -> None:
        """Begin without a job; no thread is begun."""
        self._worker = Worker(name, owner=self)
        self._lock = threading.Lock()
        self._jobs: deque[tuple[str, int, Callable[[int], None]]] = deque()
        self.latest = 0

    def submit(self, job: Callable[[int], None], name: str = "") -> None:
        """Do a job after those that were submitted before. If the last one that waits has its name, drop it."""
        with self._lock:
            if name and self._jobs and self._jobs[-1][0] == name:
                self._jobs.pop()
            self.latest += 1
            self._jobs.append((name, self.latest, job))
        self._worker.submit(lambda _stop: self._do_all())

    def clear(self) -> None:
        """Drop the jobs that wait."""
        with self._lock:
            self._jobs.clear()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no job runs or waits; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def close(self) -> None:
        """Drop the jobs that wait, and end the thread."""
        self.clear()
        self._worker.close()

    def _do_all(self) -> None:
        while job := self._take():
            job[2](job[1])

    def _take(self) -> tuple[str, int, Callable[[int], None]] | None:
        with self._lock:
            return self._jobs.popleft() if self._jobs else None
