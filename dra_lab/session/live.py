"""A session's running cluster, followed: snapshots become the session's cluster once its answer is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from dra_lab.model.cluster import Cluster

if TYPE_CHECKING:
    from dra_lab.sources.live import ClusterFollower, Following

LOOK = 0.02
"""Seconds between two looks at whether the answer is there."""


class LiveCluster:
    """Follows one cluster at a time for a session.

    `take` gets each snapshot, in a thread of the follower, when `busy` says that nothing is being planned or checked.
    So an answer is never thrown away for a newer cluster, the next snapshot begins from what was found of the last one,
    and the changes in the meantime are one. `changed` is called after each change of `following`.
    """

    def __init__(self, take: Callable[[Cluster], None], busy: Callable[[], bool], changed: Callable[[], None]) -> None:
        """Begin with following nothing."""
        self._take, self._busy, self._changed = take, busy, changed
        self._follower: ClusterFollower | None = None
        self._lock = threading.RLock()

    @property
    def following(self) -> Following:
        """Return the state, with its reason in words."""
        from dra_lab.sources.live import Following

        follower = self._follower
        return follower.following if follower is not None else Following()

    def begin(self, cluster: Cluster) -> None:
        """Follow a cluster from now on, in place of another. Raises InputError for one that is no running cluster."""
        from dra_lab.sources.live import ClusterFollower

        follower = ClusterFollower(
            cluster,
            lambda found: self._arrived(follower, found),
            self._changed,
            ready=lambda: self._until_idle(follower),
        )
        self.end()
        with self._lock:
            self._follower = follower
        follower.start()
        self._changed()

    def end(self) -> None:
        """Follow nothing any more."""
        with self._lock:
            follower, self._follower = self._follower, None
        if follower is not None:
            follower.stop()
            self._changed()

    def _until_idle(self, follower: ClusterFollower) -> None:
        while self._busy() and not follower.wait_stopped(LOOK):
            pass

    def _arrived(self, follower: ClusterFollower, cluster: Cluster) -> None:
        from dra_lab.sources.live import FollowState

        self._until_idle(follower)  # again: something may have been drawn since
        with self._lock:
            if self._follower is follower and follower.following.state is not FollowState.STOPPED:
                self._take(cluster)
