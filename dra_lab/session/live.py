"""A session's running cluster: its changes while it is followed, and why its pods are pending for devices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.sketch import pod_drawing
from dra_lab.session.job import Job, Run
from dra_lab.sketch.object_names import object_name

if TYPE_CHECKING:
    from dra_lab.model.sketch import ClaimSketch
    from dra_lab.session.answering import Answering
    from dra_lab.sources.live.following import ClusterFollower, Following


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
        from dra_lab.sources.live.following import Following

        follower = self._follower
        return follower.following if follower is not None else Following()

    def begin(self, cluster: Cluster) -> None:
        """Follow a cluster from now on, in place of another. Raises InputError for one that is no running cluster."""
        from dra_lab.sources.live.following import ClusterFollower

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
        from dra_lab.sources.live.following import FollowState

        self._until_idle(follower)  # again: something may have been drawn since
        with self._lock:
            if self._follower is follower and follower.following.state is not FollowState.STOPPED:
                self._take(cluster)


SECONDS = 5.0
"""Seconds for the reason of each pod."""

_REST = 0.5
"""Seconds without another change of a followed cluster after which the reasons are found."""


class Pending(Job[Explanation]):
    """Why pods of a session's cluster are pending, worked out after each load without the what-if changes."""

    def __init__(self, session: Answering) -> None:
        """Begin without a question; no thread is begun."""
        super().__init__(lambda: session.events.emit("pending"))
        self._session = session
        self._asked: Cluster | None = None

    def ask(self, snapshot: Cluster) -> None:
        """Explain the pods of a snapshot, once."""
        from dra_lab.gitops.pending import waits_for_devices

        if snapshot is self._asked:
            return
        is_followed, self._asked = self._asked is not None and self._asked.name == snapshot.name, snapshot
        if not any(map(waits_for_devices, snapshot.pods)):
            self.drop()
            self._session.events.emit("pending")
        else:
            self.start(lambda run: self._explained(run, snapshot, _REST if is_followed else 0.0))

    def _explained(self, run: Run[Explanation], snapshot: Cluster, rest: float) -> Explanation | None:
        from dra_lab.gitops.explain import explain

        if run.stop.wait(rest):
            return None
        return explain(snapshot, release=self._session.release, time_limit=SECONDS, cancel=run.stop)

    def drawing(self, pod: str) -> ClaimSketch:
        """Return the claims of a pod. Raises InputError for an unknown pod, SourceError for its claims."""
        from dra_lab.gitops.claims_of_file import read_cluster_pod

        if self._asked is None:
            raise InputError("no cluster is loaded: load one first")
        read = read_cluster_pod(self._asked, pod, self._session.release)
        return pod_drawing(object_name(pod.rpartition("/")[2]), read.claims.values())
