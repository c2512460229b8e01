"""Fragmentation: free capacity that no aligned claim can use, on each node and in all."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec.structs import replace as changed

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Stranded, StrandedKind, StrandedNodes, Workload
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.eligible import is_shareable
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.copies import Part
from dra_lab.planner.fleet.pods import Fleet, look_at
from dra_lab.planner.fleet.sites import Site, sites_of
from dra_lab.planner.progress import Limits, Progress
from dra_lab.topology.locality import localities

if TYPE_CHECKING:
    from dra_lab.planner.fleet.counting import Counts
    from dra_lab.planner.fleet.tables import Table

_MOST = 10_000
"""More pods of one claim than this are not told apart on one node."""

_NAMED = ("gpu", "nic", "cpu")


def stranded(
    cluster: Cluster,
    claims: Sequence[ClaimSketch],
    *,
    release: KubernetesRelease,
    after: FleetPlan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Stranded:
    """Return the aligned capacity that no claim can use: what is free, less the most that aligned pods can use of it.

    Aligned means that every link of a claim holds, preferred ones too. Any number of pods of each claim may stand side
    by side; the most is found for each kind by itself, so that the packing that uses most GPUs and the one that uses
    most NICs may differ. Free are devices that no claim holds alone, tainted ones too; CPUs of a shareable device are
    what is left of the capacity that the claims ask for. `after` is a plan whose pods are counted as there. Numbers
    that a limit left open carry their bound. Raises as `plan_fleet` does.
    """
    began = time.monotonic()
    limits = Limits(None if time_limit is None else began + time_limit, cancel, progress)
    pods = [
        Workload(f"claim-{at}", (changed(claim, links=tuple(changed(link, must=True) for link in claim.links)),), _MOST)
        for at, claim in enumerate(claims)
    ]
    fleet = look_at(cluster, pods, release, limits, held_after(cluster, after, release))
    rows = []
    from dra_lab.planner.fleet.tables import tables_of

    sites = tuple(sites_of(fleet))
    shared = next((site for site in sites if site.nodes), None)
    if shared is not None:
        raise UnsupportedFeature(
            "network-attached devices",
            f"nodes {', '.join(shared.all_nodes[:3])} share devices, so that what is free on one is free on the others "
            "too and cannot be told node by node; give claims that leave such devices out",
        )
    for table in tables_of(sites, fleet.demand, (), solver):
        rows.extend(_on_site(fleet, table, limits))
        limits.tell("patterns", f"looked at {len(rows)} kinds of node states")
    if fleet.scan.unseen:
        rows.extend(_unseen(fleet, node) for node in fleet.scan.unseen)
    names = tuple(claim.name for claim in claims)
    return Stranded(names, _in_all(rows), tuple(rows), time.monotonic() - began)


def _in_all(rows: Sequence[StrandedNodes]) -> tuple[StrandedKind, ...]:
    sums: dict[str, list[int]] = {}
    for row in rows:
        for kind in row.kinds:
            mine = sums.setdefault(kind.kind, [0, 0, 0])
            for at, value in enumerate((kind.free, kind.usable, kind.bound)):
                mine[at] += value * len(row.nodes)
    return tuple(StrandedKind(kind, *sums[kind]) for kind in (*_NAMED, "other") if kind in sums)


def _on_site(fleet: Fleet, table: Table, limits: Limits) -> list[StrandedNodes]:
    """Return what is stranded on the nodes of a site; nodes that differ in other free devices stand apart."""
    apart: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for node in table.site.members:
        apart.setdefault(tuple(sorted(_free(fleet, node).items())), []).append(node)
    used = {kind: _most_used(table, kind, limits) for kind in {kind for key in apart for kind, _ in key}}
    rows = []
    for key, nodes in apart.items():
        kinds = [
            StrandedKind(kind, free, min(free, used[kind][0]), min(free, used[kind][1]))
            for kind, free in sorted(key, key=lambda row: (*_NAMED, "other").index(row[0]))
        ]
        rows.append(StrandedNodes(tuple(nodes), tuple(kinds)))
    return rows


def _unseen(fleet: Fleet, node: str) -> StrandedNodes:
    free = _free(fleet, node)
    return StrandedNodes((node,), tuple(StrandedKind(kind, count, 0, count) for kind, count in free.items()))


def _free(fleet: Fleet, node: str) -> Counter[str]:
    """Return what is free on a node by kind."""
    rules, places = fleet.scan.rules, localities(fleet.scan.cluster, node)
    held = rules.allocated
    keys = {key for ask in rules.asks for key in ask.capacity}
    found: Counter[str] = Counter()
    for item in fleet.scan.views.view(node).devices:
        kind = places[item.id].kind
        kind = kind if kind in _NAMED else "other"
        found[kind] += 0
        if item.id in held.exclusive:
            continue
        mine = [key for key in item.device.capacity if key in keys]
        if kind == "cpu" and mine and is_shareable(item.device, rules):
            taken = held.consumed.get(item.id, {}).get(mine[0], Fraction())
            found[kind] += max(0, int(parse_quantity(item.device.capacity[mine[0]].value) - taken))
        elif not (item.id in held.shares and not is_shareable(item.device, rules)):
            found[kind] += 1
    return found


def _most_used(table: Table, kind: str, limits: Limits) -> tuple[int, int]:
    """Return the most of a kind that pods side by side use on a site: at least, at most."""
    ranges = [_use_of(table.site, part, kind) for part in table.site.parts]
    vectors = table.vectors
    if vectors is None:
        return 0, 10**9
    sums = {
        counts: tuple(sum(n * use[at] for n, use in zip(counts, ranges, strict=True)) for at in (0, 1))
        for counts in vectors
    }
    least = most = 0
    for counts in sorted(vectors, key=lambda counts: (-sums[counts][1], counts)):
        if sums[counts][1] <= least:
            break
        found = table.decide(counts, limits, decide_only=True)
        if found.lower is None:
            continue
        most = max(most, sums[counts][1])
        if found.upper is not None:
            least = max(least, _used(table, counts, kind))
    return least, most


def _use_of(site: Site, part: Part, kind: str) -> tuple[int, int]:
    """Return what a replica uses of a kind, at least and at most."""
    problem = site.problem
    least = most = Fraction()
    for indices in problem.requests[slice(*part.requests)]:
        amounts = [
            problem.need(ask) * _amount(site, ask, number, kind)
            for ask in indices
            if ask not in problem.impossible and not problem.asks[ask].admin_access
            for number, group in enumerate(problem.groups)
            if ask in group.asks
        ]
        least += min(amounts, default=Fraction())
        most += max(amounts, default=Fraction())
    return int(least), int(most)


def _amount(site: Site, ask: int, number: int, kind: str) -> Fraction:
    """Return what one device of a group counts of a kind when an ask takes it."""
    group = site.problem.groups[number]
    if (group.kind if group.kind in _NAMED else "other") != kind:
        return Fraction()
    uses: Mapping[str, Fraction] = dict(dict(group.uses).get(ask, ()))
    asked = [uses[key] for key in site.problem.asks[ask].capacity if key in uses]
    if kind == "cpu" and group.shareable and asked:
        return asked[0]
    return Fraction(1)


def _used(table: Table, counts: Counts, kind: str) -> int:
    """Return what a packing that was found uses of a kind."""
    if not any(counts):
        return 0
    site = table.site
    used = Fraction()
    seen: set[int] = set()
    for _, ask, number, count in table.takes(counts):
        group = site.problem.groups[number]
        amount = _amount(site, ask, number, kind)
        if site.problem.asks[ask].admin_access or (group.shareable and number in seen and kind != "cpu"):
            continue
        seen.add(number)
        used += amount * count
    return int(used)
