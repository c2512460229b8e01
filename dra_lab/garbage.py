"""Fewer garbage collections while thousands of objects are made that stay."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 50_000
"""New objects after which the garbage collector looks at them."""

_NEVER = 1_000_000_000
"""Collections of new objects after which it looks at older ones."""


class _Users:
    """How many contexts are open, and the thresholds before the first of them."""

    lock = threading.Lock()
    count = 0
    before: tuple[int, int, int] = (0, 0, 0)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let the garbage collector look at new objects only; as before once no thread is in here any more.

    A first plan on 5,000 nodes makes a million objects that stay. To look for garbage among all of them again and again
    takes a fifth of it, and 0.7 s at once, by which a time limit or a cancel would be missed.
    """
    with _Users.lock:
        if not _Users.count:
            _Users.before = gc.get_threshold()
            gc.set_threshold(max(_ALLOCATIONS, _Users.before[0]) if _Users.before[0] else 0, _NEVER, _NEVER)
        _Users.count += 1
    try:
        yield
    finally:
        with _Users.lock:
            _Users.count -= 1
            last = not _Users.count
            if last:
                gc.set_threshold(*_Users.before)
        # Else the next object starts a collection, at times of all objects, before the caller has the answer.
        if last and gc.get_threshold()[0]:
            gc.collect(0)
