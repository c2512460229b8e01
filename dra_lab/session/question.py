"""The question of a session as one value; the modes of the planner are views of its answers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import astuple

from dra_lab.model.cluster import Cluster
from dra_lab.model.layers import Addable
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running import Movable
from dra_lab.model.sketch import ClaimSketch, PodDrawing
from dra_lab.model.workload import Workload, workload_of


class SessionQuestion(Struct, frozen=True, eq=False):
    """What is asked of a cluster with its what-if changes: a place for one pod, or for all pods of some workloads.

    `sketch` has the claims of the one pod, and is None for the workloads of `pods`. That pod may run on `node` only, ""
    for all nodes, and `movable` are the running pods that may move to make room for it. `goals` come before the others.
    `measured` are bandwidths that a person measured, by path, as in `Drawing`. With `addable`, the question is which of
    these nodes to add. Questions are equal if they have the same cluster, which is compared by identity, and the rest.
    """

    cluster: Cluster
    release: KubernetesRelease
    pods: tuple[PodDrawing, ...] = ()
    sketch: ClaimSketch | None = None
    node: str = ""
    movable: Movable | None = None
    goals: tuple[str, ...] = ()
    measured: Mapping[str, tuple[float, float]] = {}
    addable: Addable = Addable()

    def __eq__(self, other: object) -> bool:
        """Compare clusters by identity, because they are large."""
        if not isinstance(other, SessionQuestion) or other.cluster is not self.cluster:
            return False
        return astuple(self)[1:] == astuple(other)[1:]

    def __ne__(self, other: object) -> bool:
        """Say whether questions differ: a Struct has a comparison of its own."""
        return not self == other

    def __hash__(self) -> int:
        """Return the hash of what is most often different."""
        return hash((id(self.cluster), self.release.version, self.node, tuple(pod.pod for pod in self.pods)))

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads as the planner takes them; one without a request takes no part."""
        if self.sketch is not None:
            return (Workload(self.sketch.name or "claim", self.sketch),)
        return tuple(workload_of(pod) for pod in self.pods if any(claim.requests for claim in pod.claims))

    @property
    def has_gangs(self) -> bool:
        """Say whether a workload is drawn as a gang, if only of one pod."""
        return any(pod.gang is not None for pod in self.pods)

    @property
    def bound(self) -> frozenset[str]:
        """Return the workloads whose pods use the same values of an attribute."""
        return frozenset(pod.pod for pod in self.pods if pod.gang is not None and pod.gang.same)

    @property
    def pins(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many pods of a workload must run on a node."""
        return {pod.pod: pod.pins for pod in self.pods if pod.pins}
