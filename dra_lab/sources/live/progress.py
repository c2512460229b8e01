"""How far the reading of a cluster is, for a bar, a screen or a message."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Read:
    """Objects read so far of one kind; `total` is the server's estimate, never less than `done`."""

    kind: str
    done: int = 0
    total: int = 0


DELAY = 0.5
"""Seconds after which a bar is shown."""

Progress = tuple[Read, ...]
OnProgress = Callable[[Progress], None]


class Tally:
    """Counts what several threads read."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._read: dict[str, Read] = {}
        self._lock = threading.Lock()

    def count(self, kind: str, done: int, remaining: int = 0) -> None:
        """Note that `done` objects of a kind are here and about `remaining` are still to come."""
        with self._lock:
            self._read[kind] = Read(kind, done, done + max(0, remaining))

    @property
    def progress(self) -> Progress:
        """Return the counts by kind."""
        with self._lock:
            return tuple(self._read.values())

    def __str__(self) -> str:
        """Return `5,000 Nodes, 1,500 of 15,000 ResourceSlices`, or `nothing`."""
        return ", ".join(_words(read) for read in self.progress if read.done) or "nothing"


def _words(read: Read) -> str:
    of = f" of about {read.total:,}" if read.total > read.done else ""
    plural = "es" if read.kind.endswith("s") else "s"
    return f"{read.done:,}{of} {read.kind}{'' if read.done == 1 and not of else plural}"


@contextmanager
def bar(name: str) -> Iterator[OnProgress]:
    """Show a bar for readings of more than DELAY seconds: in a notebook as its widget, else on standard error.

    It is drawn again at each report of progress, even if no data arrives for a while.
    """
    from tqdm.auto import tqdm

    # None: only where standard error is a terminal. A notebook's bar is a widget and needs none.
    disable = False if "ipykernel" in sys.modules else None
    begin = time.monotonic()
    shown: list[Any] = []

    def update(progress: Progress) -> None:
        done, total = sum(read.done for read in progress), sum(read.total for read in progress)
        if not shown and time.monotonic() - begin > DELAY:
            text = f"reading {name}"
            shown.append(tqdm(desc=text, unit=" objects", leave=False, disable=disable, initial=done, total=total))
        for one in shown:
            one.n, one.total = done, total
            one.refresh()

    try:
        yield update
    finally:
        for one in shown:
            one.close()
