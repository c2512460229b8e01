"""Fragmentation: free capacity that no aligned claim can use, on each node and in all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import MOST_COUNTED, Stranded, StrandedKind, StrandedNodes
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import Relaxation
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.what_if import part_of_cluster, without_nodes
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import listed
from dra_lab.planner.budget import Budget, Progress, Sizes, awaited
from dra_lab.planner.fleet.after import admin_requests, cluster_after, with_pods
from dra_lab.planner.fleet.free_devices import KINDS, PARTITIONS, CounterCapacity, FreeDevices
from dra_lab.planner.fleet.plan_fleet import plan_fleet
from dra_lab.planner.fleet.question import FleetProblem, look_at
from dra_lab.planner.fleet.together import shared_nodes
from dra_lab.planner.why.conflicts import Trial, changes, tried
from dra_lab.planner.why.why_not import WhyNot, why_not


@awaited
def stranded(
    cluster: Cluster,
    claims: Sequence[ClaimSketch],
    *,
    release: KubernetesRelease | str | None = None,
    after: Plan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Stranded:
    """Return the aligned capacity that no claim can use: free devices, less the most that aligned pods can use of them.

    Aligned means that every link of a claim holds, preferred ones too. Any number of pods of each claim may run side by
    side. Only the kinds of devices that the claims request are counted, without requests with admin access. Each kind
    is counted by itself, so the packing that uses most GPUs may differ from the one that uses most NICs.

    A free device is available, and no claim holds it alone. A taint of effect NoSchedule or NoExecute makes a device
    unavailable unless a request that matches the device tolerates the taint. The charts do not know the claims, and
    show every such device as not available. CPUs of a shareable device are what is left of the capacity that the
    claims request (the first by name, if there are several).

    A partition counts as free only if shared counters can still provide it beside the others. Partitions of different
    sizes that share counters also count as `partitions`: only the most that may be stranded of them is known.

    Args:
        cluster: The cluster to count on.
        claims: The drawings of the claims that are to use the capacity, one at least.
        release: The release to plan for; default: that of the cluster.
        after: A plan whose pods count as there; default: none.
        time_limit: Seconds after which the count so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        Numbers of devices, or of whole CPUs, by kind: in all, and on each class of identical nodes. Nodes that share
        devices are reported together. Numbers that are not proven have their bound. Nodes that were not examined before
        a limit or a cancel are not in them; `not_examined` counts these.

    Raises:
        InputError: There are no claims, or the release is unknown.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import load_cluster, read_sketch, stranded
        >>> # On a sample cluster.
        >>> found = stranded(load_cluster("sample:two-sockets"), [read_sketch("sample:two-sockets/lesson")])
        >>> [(kind.kind, kind.free, kind.usable, kind.stranded) for kind in found.kinds], found.proven
        ([('gpu', 7, 6, 1)], True)
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    claims = listed("claims", claims, ClaimSketch)
    if not claims:
        raise InputError("what is stranded depends on the claims that are to use it; give one at least")
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    pods = [
        Workload(
            f"claim-{at}",
            (changed(claim, links=tuple(changed(link, must=True) for link in claim.links)),),
            replicas=MOST_COUNTED,
        )
        for at, claim in enumerate(claims)
    ]
    looking = budget.part(budget.shares.first)
    fleet = look_at(cluster_after(cluster, after, release), pods, release, looking)
    rows = tuple(_rows(fleet, budget, solver))
    names = tuple(claim.name for claim in claims)
    left = len(set(fleet.scan.rules.nodes).difference(*(row.nodes for row in rows)))
    return Stranded(names, _in_all(rows), rows, time.monotonic() - began, left)


def _in_all(rows: Sequence[StrandedNodes]) -> tuple[StrandedKind, ...]:
    sums: dict[str, list[int]] = {}
    for row in rows:
        times = 1 if row.together else len(row.nodes)
        for kind in row.kinds:
            mine = sums.setdefault(kind.kind, [0, 0, 0, 0])
            for at, value in enumerate((kind.free, kind.usable, kind.bound, kind.partitions)):
                mine[at] += value * times
    return tuple(StrandedKind(kind, *sums[kind]) for kind in KINDS if kind in sums)


def _rows(fleet: FleetProblem, budget: Budget, solver: str) -> Iterator[StrandedNodes]:
    """Yield what is stranded on every node, each once; nodes with equal numbers stand together.

    Nodes on which the free devices were not counted in time are left out.
    """
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.fleet.usage import Bounds, Usage

    free = FreeDevices(fleet, CounterCapacity(solver, budget.part(budget.shares.step)))
    together = () if fleet.survey.plain else shared_nodes(fleet)
    coupled = {node for nodes in together for node in nodes}
    rows: dict[tuple[str, ...], Mapping[str, int]] = {}
    for node in fleet.examined:
        if budget.reached:
            break
        if node not in coupled:
            rows[node,] = free.on((node,))
    rows |= {nodes: free.on(nodes) for nodes in together}
    kinds = [kind for kind in KINDS if any(row.get(kind) for row in rows.values())]
    on_places = {kind: {nodes: row.get(kind, 0) for nodes, row in rows.items()} for kind in kinds}
    usage, used = Usage(fleet, on_places, solver, budget), dict[str, dict[tuple[str, ...], Bounds]]()
    for kind in kinds:
        budget.report_step("patterns", f"looking at what pods use of {kind} on {len(rows):,} nodes")
        used[kind] = usage.of_kind(kind)
    identical: dict[tuple[tuple[StrandedKind, ...], tuple[str, ...]], list[str]] = {}
    for nodes, row in rows.items():
        kinds_of = tuple(_kinds(row, {kind: mine[nodes] for kind, mine in used.items()}))
        identical.setdefault((kinds_of, nodes if nodes in together else ()), []).extend(nodes)
    found = (StrandedNodes(tuple(sorted(nodes)), mine, bool(one)) for (mine, one), nodes in identical.items())
    yield from sorted(found, key=lambda row: (row.together, -len(row.nodes), row.nodes))


def _kinds(row: Mapping[str, int], used: Mapping[str, tuple[Fraction, Fraction]]) -> Iterator[StrandedKind]:
    for kind in (kind for kind in KINDS if kind in row):
        least, most = used.get(kind, (0, 0))
        yield StrandedKind(kind, row[kind], int(least), int(most), row.get(PARTITIONS + kind, 0))


# --------------------------------------------------------------------- why they are stranded


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
    kinds = stranded(part, claims, release=release, time_limit=seconds / 4).kinds
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
        now = stranded(rest, claims, release=release, time_limit=left).kinds
        after = next((kind for kind in now if kind.kind == before.kind), None)
        if after is not None and after.proven and after.stranded < before.stranded:
            found.append(Leaving(f"{holder.namespace}/{holder.name}", before.kind, before.stranded, after.stranded))
    return min(found, key=lambda one: (one.after, one.claim), default=None)
