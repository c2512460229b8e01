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

    Reading 5,000 nodes and planning a first pod makes a million objects that stay. Collections then take 0.2 s of CPU
    instead of 0.5 s, of 2.5 s in all.
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
            if not _Users.count:
                gc.set_threshold(*_Users.before)
