"""Job: one question at a time in a thread, with its progress and its answer; the latest question wins."""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from dra_lab.errors import DraLabError

T = TypeVar("T")

_LINGER = 1.0
"""Seconds that a thread waits for the next question, as edits come in bursts: a new thread would delay the first."""


class Job(Generic[T]):
    """Answers the latest question in a daemon thread, which ends a moment after nothing is left to do.

    A newer question asks the older one to stop, and what that finds is dropped. `answer` is the latest answer, which
    may be one to an earlier question while the job is `stale`, `refusal` why the latest question has none, and
    `progress` what was reported last. `changed` is called after each new answer or refusal, and `progressed` after each
    report, in the thread that found it.
    """

    def __init__(
        self, changed: Callable[[], None] = lambda: None, progressed: Callable[[], None] | None = None
    ) -> None:
        """Begin without a question; no thread is begun."""
        self._changed, self._progressed = changed, progressed or changed
        self.lock = threading.RLock()
        self._idle = threading.Condition(self.lock)
        self._threads = self._running = 0
        self._next: tuple[Run[T], Callable[[Run[T]], T | None]] | None = None
        self._stop = threading.Event()  # of the latest question
        self._closed = False
        self.number = 0  # of the latest question, and of the latest one that has an answer or a refusal
        self.answered = 0
        self.latest: T | None = None
        self.refusal: DraLabError | None = None
        self.progress: Any = None

    @property
    def answer(self) -> T | None:
        """Return the latest answer."""
        return self.latest

    @property
    def stale(self) -> bool:
        """Say whether the answer is for another question, or not complete yet."""
        return self.answered != self.number

    def start(self, work: Callable[[Run[T]], T | None], *, at_once: bool = False, more: bool = False) -> None:
        """Ask a question: `work` returns its answer, or gives it to its run with `settle` and goes on.

        `at_once` does not wait until the question before has stopped. With `more`, the answer or refusal that is known
        is that of this question too, and `work` finds out more.
        """
        with self.lock:
            if self._closed:
                return
            is_known = more and not self.stale
            self.outdate()
            if is_known:
                self.answered = self.number
            self._next = Run(self, self.number, self._stop, is_answered=is_known), work
            self._idle.notify_all()
            if not self._threads or (at_once and self._running == self._threads):
                self._threads += 1
                threading.Thread(target=self._work, name="dra-lab job", daemon=True).start()
                _OPEN.add(self)

    def refuse(self, refusal: DraLabError | None) -> None:
        """End the latest question, and what runs, with a refusal; an answer to an earlier one stays."""
        with self.lock:
            self.outdate()
            self.refusal, self.answered = refusal, self.number

    def drop(self) -> None:
        """Have no question and no answer."""
        with self.lock:
            self.refuse(None)
            self.latest = None

    def outdate(self) -> None:
        """Make the answer stale: what runs stops, and what it finds is dropped."""
        with self.lock:
            self._stop.set()
            self._stop, self._next, self.progress = threading.Event(), None, None
            self._idle.notify_all()
            self.number += 1

    def cancel(self) -> None:
        """Stop; the best answer so far stays."""
        with self.lock:
            self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing runs or waits; returns False when the time (in seconds) is over before."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._running and self._next is None, timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Stop, and take no more questions."""
        with self.lock:
            self._closed, self._next = True, None
            self._stop.set()
            self._idle.notify_all()
        self.wait(timeout)

    def _work(self) -> None:
        while True:
            with self._idle:
                self._idle.wait_for(lambda: self._next is not None or self._closed, _LINGER)
                if self._next is None:
                    self._threads -= 1
                    return
                (run, work), self._next = self._next, None
                self._running += 1
            try:
                run.settle(lambda: work(run))  # noqa: B023  it is called here
            except Exception:  # noqa: BLE001  a defect of ours is reported as in any thread, and the next question is answered
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                del run, work  # who asked may be gone by now
                with self._idle:
                    self._running -= 1
                    self._idle.notify_all()


class Run(Generic[T]):
    """One question that is being answered: what it finds counts while it is the latest; `stop` asks it to end."""

    def __init__(self, job: Job[T], number: int, stop: threading.Event, *, is_answered: bool) -> None:
        """Begin without an answer, or with the known one."""
        self._job, self.number, self.stop = job, number, stop
        self.is_answered = is_answered

    @property
    def is_latest(self) -> bool:
        """Say whether no newer question was asked."""
        return self.number == self._job.number

    def report(self, progress: Any) -> None:
        """Say how far the question is."""
        if self.is_latest:
            self._job.progress = progress
            self._job._progressed()  # noqa: SLF001  the two classes are one concept

    def show(self, answer: T) -> None:
        """Show what is known so far; the question goes on."""
        with self._job.lock:
            if not self.is_latest:
                return
            self._job.latest, self._job.refusal = answer, None
        self._job._changed()  # noqa: SLF001

    def settle(self, find: Callable[[], T | None]) -> T | None:
        """End the question with what is found, or with why nothing is; returns what was found.

        Once it is settled, errors are raised.
        """
        answer, refusal = None, None
        try:
            answer = find()
        except Exception as error:
            if self.is_answered:
                raise
            refusal = refusal_of(error)
        with self._job.lock:
            if self.is_answered or not self.is_latest:
                return answer
            self.is_answered = True
            self._job.refusal, self._job.progress = refusal, None
            self._job.latest = self._job.latest if answer is None else answer
            self._job.answered = self.number  # last: a waiting thread looks at this one, and then at the others
        self._job._changed()  # noqa: SLF001
        return answer


def refusal_of(error: Exception) -> DraLabError:
    """Return why there is no answer; a defect of ours must be seen and not end the thread."""
    if isinstance(error, DraLabError):
        return error
    return DraLabError(f"this is a defect of dra_lab: {type(error).__name__}: {error}")


_OPEN: weakref.WeakSet[Job[Any]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # a solver that still runs in a thread while the interpreter ends takes the process down with it
    for job in tuple(_OPEN):
        job.close()


EVENTS = {
    "cluster": "the cluster, its what-if changes or its release changed",
    "sketch": "the drawing changed",
    "layout": "boxes were moved",
    "history": "there is another step to undo or redo",
    "status": "the devices that match each request were counted",
    "solving": "planning began",
    "progress": "planning, or the search of the manifest, went on",
    "plan": "there is an answer",
    "findings": "something else was noticed about cluster or manifest",
    "problem": "something went wrong",
    "ask": "the person is asked, or has answered",
    "highlight": "something else is highlighted",
    "following": "a running cluster is followed, lost, or no longer followed",
    "mode": "another mode is shown",
    "fleet": "the workloads or their answer changed",
    "fleet-why": "the reasons for stranded devices are known",
    "fleet-added": "nodes to add are sought or found",
    "export": "an export was opened, simulated, written or closed",
    "compare": "kept plans changed",
    "look": "a node or device is looked at",
    "show": "the picture shows another allocation",
    "copies": "copies were counted",
    "pending": "the reasons of pending pods are known",
}
"""The events of a session, and what has happened then."""


class Events:
    """Callbacks by event. `post` decides in which thread they run: it is given a function to call there."""

    def __init__(self) -> None:
        """Begin without callbacks; they run where they are emitted."""
        self._callbacks: dict[str, list[Callable[[], None]]] = defaultdict(list)
        self.post: Callable[[Callable[[], None]], None] = lambda call: call()

    def on(self, event: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each event of that name; returns a function that ends it. Raises KeyError."""
        if event not in EVENTS:
            raise KeyError(f"{event!r} is not an event of a session; events: {', '.join(EVENTS)}")
        self._callbacks[event].append(callback)

        def off() -> None:
            if callback in self._callbacks[event]:
                self._callbacks[event].remove(callback)

        return off

    def emit(self, *events: str) -> None:
        """Run the callbacks of the events, in order, each through `post`: an event loop gets air between them."""
        for event in events:
            for callback in tuple(self._callbacks[event]):
                self.post(partial(self._run, event, callback))

    def _run(self, event: str, callback: Callable[[], None]) -> None:
        if callback in self._callbacks[event]:
            callback()
