"""The pods of a loaded cluster that are pending for devices, each with its reason, and their claims as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_lab.errors import InputError
from dra_lab.gitops.pending import explain, waits_for_devices
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.sketch import pod_drawing
from dra_lab.session.job import Job, Run
from dra_lab.sketch.object_names import object_name

if TYPE_CHECKING:
    from dra_lab.model.cluster import Cluster
    from dra_lab.model.sketch import ClaimSketch
    from dra_lab.session.answering import Answering

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
        if snapshot is self._asked:
            return
        is_followed, self._asked = self._asked is not None and self._asked.name == snapshot.name, snapshot
        if not any(map(waits_for_devices, snapshot.pods)):
            self.drop()
            self._session.events.emit("pending")
        else:
            self.start(lambda run: self._explained(run, snapshot, _REST if is_followed else 0.0))

    def _explained(self, run: Run[Explanation], snapshot: Cluster, rest: float) -> Explanation | None:
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
