"""Seconds of a call, by the clock or by the processor."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds of one call."""
    began = clock()
    call()
    return clock() - began


def median_seconds(call: Callable[[], object], times: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median of several calls."""
    return statistics.median(seconds(call, clock) for _ in range(times))
