"""Replays recorded cases of the structured allocator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dra_lab.errors import ManifestError
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import Node
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import GATES, RECORDED_RELEASE, Gates, KubernetesRelease, can_set, gates_of, has_gate
from dra_lab.model.slices import ResourceSlice
from dra_lab.scheduler.candidates import view_node
from dra_lab.scheduler.first_fit import search_node
from dra_lab.scheduler.search_limits import SearchLimits

STEP_LIMIT = 5_000_000
TIME_LIMIT = 10.0


class RecordedCase(msgspec.Struct, frozen=True):
    """A recorded case: `claims` are those of one pod in its order, `allocated` are other claims that hold devices."""

    id: str
    slices: tuple[ResourceSlice, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    allocated: tuple[ResourceClaim, ...] = ()
    nodes: tuple[Node, ...] = ()
    features: dict[str, bool] = {}

    @property
    def cluster(self) -> Cluster:
        """Return the cluster of the case."""
        return Cluster(self.slices, self.classes, self.nodes, self.allocated)


def read_case(case: Mapping[str, Any]) -> RecordedCase:
    """Return a recorded case from its document. Raises ManifestError for one of another form."""
    try:
        return from_builtins(case, RecordedCase)
    except msgspec.ValidationError as error:
        raise ManifestError(f"this is not a recorded allocation case: {error}") from error


def replay_allocation(
    case: Mapping[str, Any],
    version: str = RECORDED_RELEASE,
    *,
    step_limit: int = STEP_LIMIT,
    time_limit: float = TIME_LIMIT,
) -> dict[str, Any]:
    """Answer a recorded case: `{"id", "results": {node: {"allocation", "error"}}}`, one AllocationResult a claim.

    `case` has `id`, `slices`, `classes`, `claims`, `allocated`, `nodes` (Kubernetes objects) and `features` (gates by
    name; what is missing has the default of 1.36, also for another `version`). Follows the allocator, so list-typed
    attributes count when their gate is given. A search that stops at a limit (steps, seconds a node) answers with an
    error. Raises ManifestError for a case of another form.
    """
    read = read_case(case)
    recorded = KubernetesRelease(RECORDED_RELEASE)
    there = {gate: recorded.enabled(gate) for gate in GATES if has_gate(version, gate)} | read.features
    # a gate that is locked by then is on
    locked = [gate for gate, on in there.items() if has_gate(version, gate) and not can_set(version, gate, on=on)]
    release = KubernetesRelease(version, {gate: on for gate, on in there.items() if gate not in locked})
    gates = gates_of(release, list_attributes=release.enabled("DRAListTypeAttributes"))
    cluster = read.cluster
    results = {}
    for node in read.nodes:
        limits = SearchLimits(step_limit, time_limit)
        results[node.name] = _answer(cluster, node.name, read.claims, gates, limits)
    return {"id": read.id, "results": results}


def _answer(
    cluster: Cluster, node_name: str, claims: tuple[ResourceClaim, ...], gates: Gates, limits: SearchLimits
) -> dict[str, Any]:
    view = view_node(cluster, node_name, gates, classes=cluster.class_by_name)
    verdict = search_node(view, claims, gates, limits, recorded=True)
    given_up = verdict.status in (FirstFitStatus.ERROR, FirstFitStatus.STOPPED) or verdict.invalid_pools
    allocation = None if verdict.allocations is None else list(map(msgspec.to_builtins, verdict.allocations))
    return {"allocation": allocation, "error": verdict.message if given_up else ""}
