"""Fragmentation: free capacity that no aligned claim can use, on each node and in all."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Stranded, StrandedKind, StrandedNodes, Workload
from dra_lab.model.names import DeviceID
from dra_lab.model.pools import PoolDevice
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease, release_of
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.device_rules import is_tolerated
from dra_lab.planner.eligible import is_shareable
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.pods import Fleet, look_at
from dra_lab.planner.fleet.sites import sites_of
from dra_lab.planner.progress import Limits, Progress
from dra_lab.planner.waiting import awaited
from dra_lab.topology.locality import localities

_MOST = 10_000
"""More pods of one claim than this are not told apart on one node."""

_NAMED = ("gpu", "nic", "cpu")
_KINDS = (*_NAMED, "other")
_PARTITIONS = "partitions of "


@awaited
def stranded(
    cluster: Cluster,
    claims: Sequence[ClaimSketch],
    *,
    release: KubernetesRelease | str | None = None,
    after: FleetPlan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Stranded:
    """Return the aligned capacity that no claim can use: what is free, less the most that aligned pods can use of it.

    Aligned means that every link of a claim holds, preferred ones too. Any number of pods of each claim may stand side
    by side; the most is found for each kind by itself, so that the packing that uses most GPUs and the one that uses
    most NICs may differ. Free are devices that no claim holds alone and that are available: one with a taint of effect
    NoSchedule or NoExecute is not, unless a request of the claims tolerates it (the charts, which know no claims, call
    every such device not available). CPUs of a shareable device are what is left of the capacity that the claims ask
    for (the first by name, where they ask for several). Partitions count as one device each, and beside as
    `partitions`: shared counters need not last for all of them at once. Nodes that share devices are told together.
    `after` is a plan whose pods are counted as there. Numbers that a limit left open, or that are too many to be tried,
    carry their bound. Raises InputError without claims, and as `plan_fleet` does.
    """
    began = time.monotonic()
    release = release_of(release, cluster.default_release)
    if not claims:
        raise InputError("what is stranded depends on the claims that are to use it; give one at least")
    limits = Limits(None if time_limit is None else began + time_limit, cancel, progress)
    pods = [
        Workload(f"claim-{at}", (changed(claim, links=tuple(changed(link, must=True) for link in claim.links)),), _MOST)
        for at, claim in enumerate(claims)
    ]
    fleet = look_at(cluster, pods, release, limits, held_after(cluster, after, release))
    rows = list(_rows(fleet, limits, solver))
    names = tuple(claim.name for claim in claims)
    return Stranded(names, _in_all(rows), tuple(rows), time.monotonic() - began)


def _in_all(rows: Sequence[StrandedNodes]) -> tuple[StrandedKind, ...]:
    sums: dict[str, list[int]] = {}
    for row in rows:
        times = 1 if row.together else len(row.nodes)
        for kind in row.kinds:
            mine = sums.setdefault(kind.kind, [0, 0, 0, 0])
            for at, value in enumerate((kind.free, kind.usable, kind.bound, kind.partitions)):
                mine[at] += value * times
    return tuple(StrandedKind(kind, *sums[kind]) for kind in _KINDS if kind in sums)


def _rows(fleet: Fleet, limits: Limits, solver: str) -> Iterator[StrandedNodes]:
    """Yield what is stranded on every node, each once; nodes of a site that differ in what is free stand apart."""
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.fleet.usage_sites import most_used, most_used_together

    free, sites = _Free(fleet), sites_of(fleet)
    alone = [site for site in sites if not site.nodes]
    apart = [free.apart(site.members) for site in alone]
    most = [{kind: max(row.get(kind, 0) for row, _ in found) for kind in _KINDS} for found in apart]
    for found, used in zip(apart, most_used(fleet, alone, most, solver, limits), strict=True):
        yield from (StrandedNodes(tuple(nodes), _kinds(row, used)) for row, nodes in found)
    seen: set[str] = set()
    for site in (site for site in sites if site.nodes):
        row = free.on(site.all_nodes)
        seen.update(site.all_nodes)
        kinds = {kind: amount for kind, amount in row.items() if kind in _KINDS}
        used = most_used_together(fleet, site, kinds, solver, limits)
        yield StrandedNodes(site.all_nodes, _kinds(row, used), together=True)
    unseen = [node for node in fleet.scan.unseen if node not in seen]
    yield from (StrandedNodes(tuple(nodes), _kinds(row, {})) for row, nodes in free.apart(unseen))


def _kinds(row: Mapping[str, int], used: Mapping[str, tuple[int, int]]) -> tuple[StrandedKind, ...]:
    """Return what is free, and usable of it; where nothing is known, all may be."""
    return tuple(
        StrandedKind(kind, row[kind], *_usable(row[kind], used.get(kind)), row.get(_PARTITIONS + kind, 0))
        for kind in _KINDS
        if kind in row
    )


def _usable(free: int, used: tuple[int, int] | None) -> tuple[int, int]:
    return (0, free) if used is None else (min(free, used[0]), min(free, used[1]))


class _Free:
    """What is free by kind: devices that are available and that no claim holds alone, CPUs by what is left of them."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet, self._rules = fleet, fleet.scan.rules
        self._keys = {key for ask in self._rules.asks for key in ask.capacity}
        self._held, enabled = self._rules.allocated, self._rules.release.enabled
        self._tainting, self._ruled = enabled("DRADeviceTaints"), enabled("DRADeviceTaintRules")

    def apart(self, nodes: Sequence[str]) -> list[tuple[Mapping[str, int], list[str]]]:
        """Return nodes with the same free amounts together."""
        found: dict[tuple[tuple[str, int], ...], list[str]] = {}
        for node in nodes:
            found.setdefault(tuple(sorted(self.on((node,)).items())), []).append(node)
        return [(dict(key), mine) for key, mine in found.items()]

    def on(self, nodes: Sequence[str]) -> Mapping[str, int]:
        """Return what is free on nodes together, and how much of it partitions are; what several see counts once."""
        found: Counter[str] = Counter()
        seen: set[DeviceID] = set()
        for node in nodes:
            places = localities(self._fleet.scan.cluster, node)
            for item in self._fleet.scan.views.view(node).devices:
                if item.id not in seen:
                    kind = places[item.id].kind
                    kind = kind if kind in _NAMED else "other"
                    amount = self._amount(item, kind)
                    found[kind] += amount
                    if item.device.consumes_counters and amount:
                        found[_PARTITIONS + kind] += amount
                    seen.add(item.id)
        return found

    def _amount(self, item: PoolDevice, kind: str) -> int:
        held = self._held
        if item.id in held.exclusive or not self._is_available(item):
            return 0
        shared = bool(item.device.allow_multiple_allocations) and is_shareable(item.device, self._rules)
        mine = [key for key in item.device.capacity if key in self._keys] if shared and kind == "cpu" else []
        if mine:
            taken = held.consumed.get(item.id, {}).get(min(mine), Fraction())
            return max(0, int(parse_quantity(item.device.capacity[min(mine)].value) - taken))
        return int(shared or item.id not in held.shares)

    def _is_available(self, item: PoolDevice) -> bool:
        """Say whether no taint keeps the device from all the claims."""
        rules = self._rules
        if not self._tainting or not (item.device.taints or rules.cluster.taint_rules):
            return True
        taints = rules.cluster.taints_of(item.id, item.device, rules=self._ruled)
        if not any(taint.effect in ("NoSchedule", "NoExecute") for taint in taints):
            return True
        return any(is_tolerated(rules.cluster, rules.release, ask, item) for ask in rules.asks)
