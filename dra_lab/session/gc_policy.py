"""The garbage collector, kept from going through a large cluster again and again while that is followed."""

from __future__ import annotations

import gc
import time
import weakref

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import Cache

LARGE = 300
"""ResourceSlices above which it matters: of fewer, a collection takes some hundredths of a second."""

PAUSE = 60.0
"""Seconds between two freezes, as a collection comes before each: slices may change with every snapshot."""


class GcPolicy:
    """Sets what is there aside (`gc.freeze`), so that collections look at what came since: nothing stands still.

    A full collection of 5,000 nodes takes half a second, in which the kernel answers to nothing; without this there is
    one every few seconds. One is made before the freeze, so that no garbage is set aside. What is in use then and
    becomes garbage in a cycle is freed once the following ends, or when the slices change: all is taken back then, at
    most once in PAUSE seconds.
    """

    def __init__(self) -> None:
        """Set nothing aside yet."""
        # not the cache itself: what was derived of these slices goes with them, and is some tens of megabytes
        self._devices: weakref.ref[Cache] | None = None
        self._next = 0.0

    def settle(self, cluster: Cluster) -> None:
        """Set aside what is there, unless that was done for these slices; called when views know a new snapshot."""
        if len(cluster.slices) <= LARGE:
            return
        due = time.monotonic() >= self._next
        known = None if self._devices is None else self._devices()
        if known is not cluster.memo.devices and (due or self._devices is None):
            if self._devices is not None:
                gc.unfreeze()
            self._devices = weakref.ref(cluster.memo.devices)
        if not gc.get_freeze_count() and due:
            self._next = time.monotonic() + PAUSE
            gc.collect()
            gc.freeze()

    def release(self) -> None:
        """Take everything back, also for others in this process, who set it aside again with their next snapshot."""
        if self._devices is not None:
            self._devices = None
            gc.unfreeze()
