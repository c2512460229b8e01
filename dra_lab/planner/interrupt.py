"""An interrupt while something is planned: the first ends it with the best answer so far, a second raises as ever."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SAID = "stopping: the best answer so far follows (Ctrl-C again ends without one)"


@contextmanager
def stoppable(said: str = SAID) -> Iterator[threading.Event]:
    """Give an event that the first SIGINT sets, for `cancel=`; the next one raises KeyboardInterrupt as ever.

    `said` is then written to standard error. Elsewhere than in the main thread, which alone gets signals, nothing
    changes.
    """
    cancel = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            signal.default_int_handler(number, frame)
        cancel.set()
        sys.stderr.write(f"\n{said}\n")

    if threading.current_thread() is not threading.main_thread():
        yield cancel
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)
