"""Fragmentation: free capacity that no aligned claim can use, on each node and in all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import MOST_COUNTED, Stranded, StrandedKind, StrandedNodes
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import listed
from dra_lab.planner.budget import Budget, Progress, awaited
from dra_lab.planner.fleet.after import cluster_after
from dra_lab.planner.fleet.free_devices import KINDS, PARTITIONS, CounterCapacity, FreeDevices
from dra_lab.planner.fleet.question import FleetProblem, look_at
from dra_lab.planner.fleet.together import shared_nodes


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
    together = shared_nodes(fleet)
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
