"""Why free devices of a node are stranded, and what would make some of them usable."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import StrandedKind
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import Relaxation, WhyNot
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.what_if import part_of_cluster, without_nodes
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet.after import admin_requests, with_pods
from dra_lab.planner.fleet.plan_fleet import plan_fleet
from dra_lab.planner.fleet.stranded import stranded_devices
from dra_lab.planner.why.conflicts import Trial, changes, tried
from dra_lab.planner.why.why_not import why_not


class Leaving(Struct, frozen=True):
    """What is stranded of one kind on the node, `before` and `after` a claim (`namespace/name`) has left it."""

    claim: str
    kind: str
    before: int
    after: int


class WhyStranded(Struct, frozen=True):
    """Why more pods do not use what is free on a node once it is full of them.

    `reasons` has for each claim that does not fit what is in its way; `leaving` is the claim whose leaving frees most,
    `relaxed` the first change of a claim with which another pod fits. Both are None if none was found in the time.
    """

    node: str
    kinds: tuple[StrandedKind, ...] = ()
    reasons: tuple[tuple[ClaimSketch, WhyNot], ...] = ()
    leaving: Leaving | None = None
    relaxed: Relaxation | None = None


def why_stranded(
    cluster: Cluster,
    workloads: Sequence[Workload],
    node: str,
    *,
    release: KubernetesRelease | str | None = None,
    after: Plan | None = None,
    seconds: float = 2.0,
) -> WhyStranded:
    """Return why devices of a node are stranded after a plan for these workloads; looks at this node only.

    The node is filled with more pods first, as only what no pod can use then is stranded. Raises NodeError for an
    unknown node, and what planning the workloads raises.
    """
    cluster.node_named(node)
    end = time.monotonic() + seconds
    release = cluster.target_release(release)
    claims = [claim for workload in workloads for claim in workload.claims if claim.requests]
    planned = after.on_node.get(node, ()) if after is not None else ()
    admin = {workload.name: admin_requests(workload.claims) for workload in workloads}
    part = with_pods(_alone(cluster, node), ((pod, admin[pod.workload]) for pod in planned), release)
    kinds = stranded_devices(part, claims, release, Budget(time.monotonic() + seconds / 4)).kinds
    if not any(kind.stranded for kind in kinds):
        return WhyStranded(node, kinds)
    most = Sizes().node_pods
    many = [Workload(workload.name, workload.claims, replicas=most) for workload in workloads]
    more = plan_fleet(part, many, release=release, time_limit=seconds / 4, first_fit=False)
    full = with_pods(part, ((pod, admin[pod.workload]) for pod in more.pods), release, "more-")
    trial = Trial(full, release, Budget(end), nodes=frozenset((node,)))
    every = (change for claim in claims for change in changes(claim, {}) if change.kind in ("link", "level"))
    reasons = ((claim, why_not(full, claim, node, release, seconds=seconds / 8)) for claim in claims)
    return WhyStranded(
        node,
        kinds,
        tuple((claim, found) for claim, found in reasons if found.fits is False),
        _leaving(part, [claim.metadata for claim in _alone(cluster, node).claims], claims, release, kinds, end),
        next((change for change in every if tried(trial, change).fitting), None),
    )


def _alone(cluster: Cluster, node: str) -> Cluster:
    """Return the part of a cluster that one node sees, without other nodes."""
    part = part_of_cluster(cluster, node)
    return without_nodes(part, [other for other in part.node_names if other != node])


def _leaving(
    part: Cluster,
    holders: Sequence[ObjectMeta],
    claims: Sequence[ClaimSketch],
    release: KubernetesRelease,
    kinds: Sequence[StrandedKind],
    end: float,
) -> Leaving | None:
    """Return the claim whose leaving leaves least of the first kind that is stranded."""
    before = next(kind for kind in kinds if kind.stranded)
    found: list[Leaving] = []
    for holder in holders:
        if (left := end - time.monotonic()) <= 0:
            break
        rest = part.with_objects(claims=tuple(claim for claim in part.claims if claim.metadata != holder))
        now = stranded_devices(rest, claims, release, Budget(time.monotonic() + left)).kinds
        after = next((kind for kind in now if kind.kind == before.kind), None)
        if after is not None and after.proven and after.stranded < before.stranded:
            found.append(Leaving(f"{holder.namespace}/{holder.name}", before.kind, before.stranded, after.stranded))
    return min(found, key=lambda one: (one.after, one.claim), default=None)
