"""One worker thread in which the latest job wins: an older one is cancelled and its result dropped."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections.abc import Callable

Job = Callable[[threading.Event], None]
_OPEN: weakref.WeakSet[Worker] = weakref.WeakSet()


class Worker:
    """Runs one job at a time in a daemon thread, which begins with the first job and ends after `close`.

    A job gets an Event that is set when a newer job was given or `cancel` was called; it returns soon after that.
    What a job raises goes to `threading.excepthook`, and the thread goes on.
    With an `owner` it closes when that is garbage collected: the thread keeps the worker, and the worker no owner.
    """

    def __init__(self, name: str = "dra-lab-solve", *, owner: object | None = None) -> None:
        """Make an idle worker; no thread is begun."""
        self._name = name
        if owner is not None:
            weakref.finalize(owner, self.close, 0.0).atexit = False  # `_close_all` does that, and waits
        self._condition = threading.Condition()
        self._next: Job | None = None
        self._running: threading.Event | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, job: Job) -> None:
        """Run a job as soon as the present one has stopped, which is asked to; a job still waiting is dropped."""
        with self._condition:
            if self._closed:
                return
            self._next = job
            if self._running is not None:
                self._running.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                self._thread.start()
                _OPEN.add(self)
            self._condition.notify_all()

    def cancel(self) -> bool:
        """Ask the running job to stop, and drop a waiting one; returns whether one was waiting."""
        with self._condition:
            dropped, self._next = self._next is not None, None
            if self._running is not None:
                self._running.set()
            self._condition.notify_all()
            return dropped

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs and nothing waits; returns False when the time (in seconds) is over before."""
        with self._condition:
            return self._condition.wait_for(lambda: self._running is None and self._next is None, timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Cancel what runs and end the thread."""
        with self._condition:
            self._closed = True
        self.cancel()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _loop(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._next is not None or self._closed)
                if self._next is None:
                    return
                job, self._next = self._next, None
                stop = self._running = threading.Event()
            try:
                job(stop)
            except Exception:  # noqa: BLE001  a defect of ours is reported as in any thread, and the next job is run
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                del job  # who gave it may be gone by now, and must not be kept by a thread that waits
                with self._condition:
                    self._running = None
                    self._condition.notify_all()


@atexit.register
def _close_all() -> None:
    # a solver that still runs in a thread while the interpreter ends takes the process down with it
    for worker in tuple(_OPEN):
        worker.close()
