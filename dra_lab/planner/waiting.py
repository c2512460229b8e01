"""Waiting for an answer: a progress bar after half a second, and an interrupt that ends with the best answer so far."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import FrameType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from dra_lab.errors import InputError
from dra_lab.garbage import rare_collections

STOPPING = "stopping: the best answer so far follows (Ctrl-C again ends without one)"


@contextmanager
def stoppable(message: str = STOPPING) -> Iterator[threading.Event]:
    """Give an event that the first SIGINT sets, for `cancel=`; the next one raises KeyboardInterrupt as ever.

    `message` is then written to standard error. Elsewhere than in the main thread, which alone gets signals, nothing
    changes.
    """
    cancel = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if cancel.is_set():
            signal.default_int_handler(number, frame)
        cancel.set()
        sys.stderr.write(f"\n{message}\n")

    if threading.current_thread() is not threading.main_thread():
        yield cancel
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield cancel
    finally:
        signal.signal(signal.SIGINT, before)


DELAY = 0.5
"""Seconds of waiting after which the bar is shown: an answer that comes before needs none."""

INTERRUPTED = "stopping: the best answer so far follows (interrupt again to end without one)"

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def in_notebook() -> bool:
    """Say whether this runs in the kernel of a notebook, where a bar is drawn as a widget."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class WaitingBar:
    """Tells what a solve is at: a tqdm bar in a notebook or a terminal, nothing elsewhere.

    Used as a context; `show` is called often and from the thread that waits. `shown` None means: in a notebook only.
    """

    def __init__(self, *, shown: bool | None = None) -> None:
        """Begin to wait; nothing is shown yet."""
        self._wanted = in_notebook() if shown is None else shown
        self._began = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, progress: Any) -> None:
        """Show what the solve is at: its latest Progress, None before its first report."""
        if not self._wanted or time.monotonic() - self._began < DELAY:
            return
        if self._bar is None:
            # tqdm takes a while to import, and most answers come before anybody waits.
            from tqdm.auto import tqdm

            self._bar = tqdm(total=None, leave=False, bar_format="{desc} {elapsed}")
            self._bar.start_t -= DELAY
        self._bar.set_description_str(getattr(progress, "text", "") or "Planning ...")


@contextmanager
def command_waits() -> Iterator[tuple[Callable[[Any], None], threading.Event]]:
    """Give `progress` and `cancel` for the questions of a command: a line on a terminal, and Ctrl-C."""
    with stoppable() as cancel, WaitingBar(shown=sys.stderr.isatty()) as waiting:
        yield waiting.show, cancel


def limit_of(seconds: Any) -> float | None:
    """Return a time limit in seconds, None for none: an infinite limit is no limit. Raises InputError."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or math.isnan(seconds):
        raise InputError(f"time_limit is a number of seconds, not {seconds!r}; give None for no limit")
    return None if seconds == math.inf else seconds


def awaited(question: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Give a question that is asked in a cell of a notebook its bar, and the best answer so far at an interrupt.

    `question` takes `time_limit`, `progress` and `cancel` by name. An infinite limit is no limit. A `progress` or
    `cancel` that was given is kept; elsewhere than in the main thread of a kernel there is neither.
    """

    @wraps(question)
    def answered(*args: Parameters.args, **named: Parameters.kwargs) -> Answer:
        if "time_limit" in named:
            named["time_limit"] = limit_of(named["time_limit"])
        if not in_notebook() or threading.current_thread() is not threading.main_thread():
            with rare_collections():
                return question(*args, **named)
        with ExitStack() as around:
            around.enter_context(rare_collections())
            if named.get("progress") is None:
                named["progress"] = around.enter_context(WaitingBar()).show
            if named.get("cancel") is None:
                named["cancel"] = around.enter_context(stoppable(INTERRUPTED))
            return question(*args, **named)

    return answered
