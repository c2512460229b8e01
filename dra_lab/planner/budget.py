"""Budget: deadline, cancel event, progress, and the sizes and shares of time that choose how a question is answered."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from math import inf
from types import FrameType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.garbage import rare_collections


class Progress(Struct, frozen=True):
    """One step of a solve: `stage` is "nodes", a goal or "first fit"; `text` says it to a person.

    `best` is the best value found, `bound` the best that could still exist; None while unknown.
    """

    stage: str
    text: str
    best: int | None = None
    bound: int | None = None


class Sizes(Struct, frozen=True):
    """Sizes up to which an exact way to answer is tried; above, a coarser one answers, with a bound.

    Attributes:
        pod_ways: Ways that are listed of one pod, or of all pods in one model; with more, a model chooses devices.
        tries: Nodes, sets of requests and links, and pairs of domains that are tried one by one.
        numbers: Numbers of replicas that are listed for a node state; with more, only those that are found.
        node_pods: Pods on one node of which every number is kept, or that are modelled together; of more, only some.
        states: Node states of a plan that is improved to the end without a time limit; with more, for `Shares.improve`.
        decided: Numbers of replicas of a node state that are all decided; of more, only those that the bound rests on.
        variables: Variables of a model that finds the best way to put pods on nodes that share devices. Gangs with more
            numbers of pods on all nodes are not planned by the model, and it has no more nodes to add one by one.
    """

    pod_ways: int = 60_000
    tries: int = 200
    numbers: int = 2_000
    node_pods: int = 200
    states: int = 200
    decided: int = 100
    variables: int = 3_000


class Shares(Struct, frozen=True):
    """Shares of the time that is left, and seconds of the steps that have a limit of their own.

    Attributes:
        first: Share for a step without which there is no answer, such as examining the nodes.
        step: Share for one of several steps that improve the answer, and for the devices of a plan at most.
        last: Share for what shared devices can give, and at most for a step that ends an answer.
        improve: Seconds for improving a large plan, or one of gangs, without a time limit.
        placing: Seconds kept for writing down one device of a plan, or one node.
        seen: Seconds kept for each device that a node sees together with others.
        search: Seconds for what kube-scheduler would take for one pod.
        explain: Seconds for the reasons on the nearest node, and again for conflicts and changes that help.
        compare: Seconds for what kube-scheduler would take instead.
        compare_at_least: Seconds for that if the time limit leaves none.
        added: Seconds for the plan on a cluster with new nodes without a time limit.
        damage: Seconds for counting replicas on one node, and for comparing equally good nodes by `damage`.
    """

    first: float = 0.6
    step: float = 0.5
    last: float = 0.4
    improve: float = 60.0
    placing: float = 2e-5
    seen: float = 5e-7
    search: float = 0.5
    explain: float = 2.5
    compare: float = 3.0
    compare_at_least: float = 0.05
    added: float = 10.0
    damage: float = 1.0


_REPORT_EVERY = 0.5
"""Seconds between reports of many equal steps."""


class _Reported(Struct):
    """When a step was last reported, of a budget and all its parts."""

    at: float = -inf


class Budget(Struct):
    """When to stop: `deadline` is a moment of `time.monotonic()`, `cancel` an event that another thread may set."""

    deadline: float | None = None
    cancel: threading.Event | None = None
    report: Callable[[Progress], None] | None = None
    sizes: Sizes = Sizes()
    shares: Shares = Shares()
    _reported: _Reported = field(default_factory=_Reported)

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

    def until(self, moment: float) -> Self:
        """Return a budget that ends at a moment of `time.monotonic()`, or earlier if this one does."""
        return replace(self, deadline=moment if self.deadline is None else min(moment, self.deadline))

    def part(self, share: float) -> Self:
        """Return a budget that ends after a share of the time that is left."""
        left = self.left
        return self if left is None else replace(self, deadline=time.monotonic() + share * left)

    def before(self, seconds: float) -> Self:
        """Return a budget that keeps seconds for the step that ends an answer: a share of what is left at most."""
        left = self.left
        if left is None or self.deadline is None:
            return self
        return replace(self, deadline=self.deadline - min(seconds, self.shares.last * left))

    @property
    def due(self) -> bool:
        """Say whether to report one of many steps: a report is wanted, and the last one was half a second ago."""
        return self.report is not None and time.monotonic() - self._reported.at > _REPORT_EVERY

    def report_step(self, stage: str, text: str, best: int | None = None, bound: int | None = None) -> None:
        """Report a step, if a report is wanted."""
        if self.report is not None:
            self._reported.at = time.monotonic()
            self.report(Progress(stage, text, best, bound))


# --------------------------------------------------------------------- waiting

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
