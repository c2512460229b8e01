"""A follower, and everything that it told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

from dra_lab.model.cluster import Cluster
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.following import ClusterFollower, Following, FollowState

QUICK = ReadLimits(connect=2, read=2, overall=20, attempts=3, backoff_first=0.01, backoff_most=0.05)


class Watched:
    """A follower and what it told: wait until something is true of the latest snapshot or state."""

    def __init__(self, cluster: Cluster, limits: ReadLimits = QUICK) -> None:
        """Begin to follow."""
        self.latest, self.count = cluster, 0
        self.states: list[Following] = []
        self.changed = threading.Condition()
        self.follower = ClusterFollower(cluster, self._on_cluster, self._on_state, limits=limits, gather=0.01)
        self.follower.start()

    def _on_cluster(self, cluster: Cluster) -> None:
        with self.changed:
            self.latest, self.count = cluster, self.count + 1
            self.changed.notify_all()

    def _on_state(self) -> None:
        with self.changed:
            self.states.append(self.follower.following)
            self.changed.notify_all()

    def until(self, true: Callable[[Self], object], seconds: float = 60) -> None:
        """Wait until `true(self)`; fails after this many seconds."""
        with self.changed:
            assert self.changed.wait_for(lambda: true(self), seconds), (self.states, self.count)

    def until_elsewhere(self, true: Callable[[], object], seconds: float = 60) -> None:
        """Wait for something that is not told, looking again and again."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end
            with self.changed:
                self.changed.wait(0.02)

    def until_state(self, state: FollowState) -> None:
        """Wait for a state."""
        self.until(lambda w: w.follower.following.state is state)

    def until_live(self) -> None:
        """Wait until all kinds are followed."""
        self.until_state(FollowState.LIVE)
