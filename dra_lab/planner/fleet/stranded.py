"""Fragmentation: free capacity that no aligned claim can use, on each node and in all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import MOST_COUNTED, Stranded, StrandedKind, StrandedNodes
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.free_devices import KINDS, PARTITIONS, CounterCapacity, FreeDevices
from dra_lab.planner.fleet.question import FleetProblem, look_at
from dra_lab.planner.fleet.together import shared_nodes


def stranded_devices(
    cluster: Cluster, claims: Sequence[ClaimSketch], release: KubernetesRelease, budget: Budget, solver: str = "HiGHS"
) -> Stranded:
    """Return the free devices that no pods of claims can use; see `stranded`."""
    began = time.monotonic()
    pods = [
        Workload(
            f"claim-{at}",
            (changed(claim, links=tuple(changed(link, must=True) for link in claim.links)),),
            replicas=MOST_COUNTED,
        )
        for at, claim in enumerate(claims)
    ]
    fleet = look_at(cluster, pods, release, budget.part(budget.shares.first))
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
