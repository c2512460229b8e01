"""How many more replicas of a workload fit, now or after a plan: the plan of more of them than can fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace as changed

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import MOST_COUNTED, NODE, NODES_TOGETHER, Bounded, Fit, Headroom, counted_to
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import Budget, Progress
from dra_lab.planner.fleet.question import FleetProblem, FleetQuestion, Work, look_at
from dra_lab.planner.fleet.together import shared_nodes
from dra_lab.planner.node.eligible import is_shareable

if TYPE_CHECKING:
    from dra_lab.planner.fleet.sites import PodsOnNode

_FEW = 32
"""Pods on each node that are counted if more of them leave a bound open, as on devices that pods share without end."""

_Nodes = tuple[str, ...]
"""A node, or nodes that share devices."""

_Bounds = tuple[int, int]
"""At least, at most."""


def headroom_of_claim(
    cluster: Cluster,
    workload: Workload,
    release: KubernetesRelease,
    budget: Budget,
    solver: str,
) -> Headroom:
    """Return how many more pods of a workload fit."""
    workloads, looking = [replace(workload, replicas=MOST_COUNTED)], budget.part(budget.shares.first)
    fleet = look_at(cluster, workloads, release, looking)
    together = shared_nodes(fleet)
    coupled = {node for nodes in together for node in nodes}
    places = [*((node,) for node in fleet.scan.rules.nodes if node not in coupled), *together]
    found = _found(fleet, places, budget, solver)
    if any(least < bound for least, bound in found.values()):
        published = _Published(fleet)
        most = {place: max(least, sum(map(published.on, place))) for place, (least, _) in found.items()}
        found = {place: (least, min(bound, most[place])) for place, (least, bound) in found.items()}
    count, bound = (sum(bounds[at] for bounds in found.values()) for at in (0, 1))
    where = sorted(_where(workload, found, together), key=lambda fit: (-fit.replicas.value, fit.members))
    known = all(fit.replicas.bound is not None for fit in where)
    return Headroom(workload.name, Bounded(count, bound if known else None), tuple(where))


def _found(fleet: FleetProblem, places: Sequence[_Nodes], budget: Budget, solver: str) -> dict[_Nodes, _Bounds]:
    """Return how many pods of a fleet's one workload fit on each place.

    A place holds no more than its pods in a plan and those that may be missing in all, if not all that are wanted can
    have a place. A bound below few pods on a node is true of more, too.
    """
    found = {place: (0, MOST_COUNTED * len(place)) for place in places}
    for each in (MOST_COUNTED, _FEW):
        counted, missing = _counted(fleet, each, budget, solver)
        for place, (least, bound) in found.items():
            count = min(sum(counted[node] for node in place), MOST_COUNTED * len(place))
            most = bound if missing is None else count + missing
            found[place] = max(least, count), min(bound, most) if most < each or each > _FEW else bound
        if budget.reached or all(least == bound for least, bound in found.values()):
            break
    return found


def _counted(fleet: FleetProblem, each: int, budget: Budget, solver: str) -> tuple[Counter[str], int | None]:
    """Return the pods of a fleet's one workload on each node if `each` are wanted there, and how many more may fit.

    None is returned if all that are wanted may have a place: a node whose pods take one device each may get more of
    them than others, and these could then hold more.
    """
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.fleet.search import search

    (pod,) = fleet.pods
    pods = (replace(pod, workload=replace(pod.workload, replicas=each)),)
    work = Work(FleetQuestion(replace(fleet, pods=pods), (UNPLACED,), on_each=True), budget, solver)
    (wanted,) = work.question.demand
    report = None if budget.report is None else partial(_reported, budget.report, wanted)
    found = search(replace(work, budget=changed(budget, report=report)))
    placed = pods_on(found.by_node)
    unplaced = next((goal.bound or 0 for goal in found.answer.goals), 0)
    return placed, wanted - unplaced - placed.total() if unplaced else None


def pods_on(by_node: Iterable[PodsOnNode]) -> Counter[str]:
    """Return how many pods stand on each node."""
    found = Counter[str]()
    for node, count in (row for on_node in by_node for row in on_node.pods()):
        found[node] += count
    return found


def _reported(report: Callable[[Progress], None], wanted: int, progress: Progress) -> None:
    """Report how many pods fit, in place of those without a place."""
    if progress.stage == UNPLACED and progress.best is not None:
        fit, most = wanted - progress.best, wanted - (progress.bound or 0)
        progress = Progress("nodes", f"at least {fit:,} fit, not more than {most:,}", fit, most)
    report(progress)


def _where(workload: Workload, found: Mapping[_Nodes, _Bounds], together: Sequence[_Nodes]) -> Iterator[Fit]:
    """Yield nodes with equal numbers together, and each set of nodes that share devices."""
    equal: dict[_Bounds, list[str]] = {}
    for place, bounds in found.items():
        if place in together:
            yield Fit(workload.name, NODES_TOGETHER, place, counted_to(*bounds))
        else:
            equal.setdefault(bounds, []).extend(place)
    for bounds, nodes in equal.items():
        yield Fit(workload.name, NODE, tuple(sorted(nodes)), counted_to(*bounds))


class _Published:
    """How many pods of a fleet's one workload the published devices of a node allow at most.

    Every request takes its count of them. Taints, links, counters and selectors on attributes only allow fewer pods.
    Row that needs it: pairs on 2,000 nodes x 8 are at most 10,561 after 0.2 s, 20,000,000 without.
    """

    def __init__(self, fleet: FleetProblem) -> None:
        """Note how many devices of which drivers a pod takes; with admin access or for all devices it may be none."""
        self._rules = rules = fleet.scan.rules
        drivers = {published.spec.driver for published in rules.cluster.slices}
        ways: dict[str, list[Ask]] = {}
        for ask in rules.asks:
            ways.setdefault(ask.request, []).append(ask)
        self._needs = Counter[frozenset[str]]()
        for mine in ways.values():
            if not any(ask.admin_access or ask.all_devices for ask in mine):
                able = {d for d in drivers for ask in mine if rules.matching.stage_of_all(ask, d) in ("", "match")}
                self._needs[frozenset(able)] += min(ask.count for ask in mine)
        self._held: dict[tuple[str, str], set[str]] = {}
        for device in rules.allocated.exclusive:
            self._held.setdefault((device.driver, device.pool), set()).add(device.device)
        self._free_everywhere, self._shared_everywhere = Counter[str](), set[str]()
        for published in rules.cluster.network_slices:
            self._count(published, self._free_everywhere, self._shared_everywhere)

    def on(self, node: str) -> int:
        """Return how many pods fit on a node at most."""
        cluster = self._rules.cluster
        free, shared = Counter(self._free_everywhere), set(self._shared_everywhere)
        for published in cluster.slices_by_node.get(node, ()):
            self._count(published, free, shared)
        rows = [(drivers, need) for drivers, need in self._needs.items() if not drivers & shared]
        return min([MOST_COUNTED, *(sum(free[d] for d in drivers) // need for drivers, need in rows)])

    def _count(self, published: ResourceSlice, free: Counter[str], shared: set[str]) -> None:
        """Count the devices of a slice that no claim holds alone, and note drivers of devices that pods share."""
        spec = published.spec
        devices, held = spec.devices or (), self._held.get((spec.driver, spec.pool.name), ())
        free[spec.driver] += sum(device.name not in held for device in devices) if held else len(devices)
        if any(device.allow_multiple_allocations and is_shareable(device, self._rules) for device in devices):
            shared.add(spec.driver)
