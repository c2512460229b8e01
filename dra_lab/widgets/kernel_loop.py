"""Callbacks of a session's worker thread run on the kernel's own event loop, where traits may be set."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from dra_lab.session import Session

MOMENT = 0.1
"""Seconds in which a person takes no notice of a step."""


class LoopPoster:
    """Runs a call at once on the thread that made it, and through the event loop from any other thread.

    Without a running loop (a plain script, a test) calls run where they are made.
    """

    def __init__(self) -> None:
        """Remember the present thread and its running event loop, if there is one."""
        self._thread = threading.get_ident()
        self._waiting: set[Callable[[], None]] = set()
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def __call__(self, call: Callable[[], None]) -> None:
        """Run the call, now or as the loop's next step; a loop that has ended takes no more calls."""
        if self._loop is None or threading.get_ident() == self._thread:
            call()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def soon(self, call: Callable[[], None], seconds: float = MOMENT) -> None:
        """Run a call, asked for on the loop's thread, some time later: once for all times until then."""
        if self._loop is None or self._loop.is_closed():
            call()
        elif call not in self._waiting:
            self._waiting.add(call)
            self._loop.call_later(seconds, self._now, call)

    def _now(self, call: Callable[[], None]) -> None:
        self._waiting.discard(call)
        call()


def on_kernel_loop(session: Session) -> None:
    """Let a session's callbacks run on the loop of the present thread; a second call changes nothing."""
    if not isinstance(session.events.post, LoopPoster):
        session.events.post = LoopPoster()
