"""make_room: the fewest running pods that have to move so that pods fit, with a bound, and in a safe order."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.running import Movable, Move
from dra_lab.model.running_pods import Unit, movable_units, running_pods
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import given, workloads_of
from dra_lab.planner.budget import Budget, Progress, awaited
from dra_lab.planner.demand import (
    admission_of,
    places_of,
    shape_of,
)
from dra_lab.planner.leaving import moved_pods, notes_of, settled
from dra_lab.planner.questions import asked, make_plan, plan_after
from dra_lab.planner.room_costs import pods_in, without_units
from dra_lab.planner.room_search import EXHAUSTED, Attempt, RoomSearch
from dra_lab.topology.hierarchy_findings import some
from dra_lab.topology.locality import numa_and_root

SECONDS = 60.0
"""How long fewer moves are looked for without a time limit."""


@awaited
def make_room(
    cluster: Cluster,
    what: ClaimSketch | Workload | Sequence[Workload | ClaimSketch],
    *,
    movable: Movable | None = None,
    after: Plan | None = None,
    release: KubernetesRelease | str | None = None,
    goals: Sequence[str] = (),
    drivers: Any = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Plan:
    """Return where pods go if the fewest running pods move elsewhere, and these moves in a safe order.

    A pod moves with all pods that share a claim with it or belong to its gang. Every pod that moves has a place in the
    plan, also one that gets other devices of its own node. Nothing is carried out.

    Args:
        cluster: The cluster with its running pods (`kubectl get pods,...`); only pods that hold devices are considered.
        what: The pods that need room: a drawing, a Workload, or a list of them.
        movable: Which pods may move; default: those with an owner other than a DaemonSet, outside of kube-system, of
            no higher priority, as far as their PodDisruptionBudgets allow.
        after: A plan whose pods are there already; default: none.
        release: The release to plan for; default: that of the cluster.
        goals: Goals of the new pods, as in `make_plan`.
        drivers: Your own profiles of drivers, a file or a mapping; default None: those of the cluster.
        time_limit: Seconds after which the best answer so far is returned; default None: a minute of improvement.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The plan of the new pods with `moves`. `least_moves` is the bound: no fewer pods can move. Without moves either
        the pods fit as it is, or they do not fit whatever moves.

    Raises:
        InputError: An argument is not what it has to be.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import load_cluster, make_room, read_sketch
        >>> cluster, lesson = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
        >>> make_room(cluster, lesson).moves
        ()
    """
    if movable is not None:
        given("movable", movable, Movable)
    end = time.monotonic() + (SECONDS if time_limit is None else time_limit)
    common: dict[str, Any] = {"cancel": cancel, "solver": solver}
    on, target = asked(cluster, after, drivers, release, time_limit=time_limit, **common)
    workloads = workloads_of(what)
    if any(one.same for one in workloads):
        raise InputError("what has a workload with same, for which no room is made; give the workloads of a plan of it")
    if not workloads:
        raise InputError("what has no pods; give a drawing, a Workload or a list of them")
    final: dict[str, Any] = {"release": target, "goals": goals, "progress": progress, **common}
    plan = plan_after(make_plan(on, what, time_limit=time_limit, **final), after)
    if plan.fits and all(plan.placed[one.name] == one.replicas for one in workloads):
        return replace(plan, least_moves=0)
    priority = max(workload.priority for workload in workloads)
    units = movable_units(running_pods(on), on.budgets, movable, priority)
    allowed = {
        budget.full_name: budget.allowed(sum(budget.covers(pod.pod) for pod in running_pods(on)))
        for budget in on.budgets
    }
    able = [unit for unit in units if not unit.stays and not shape_of(unit).why]
    admission = admission_of(without_units(on, able), able, target)
    sure = len(able) <= EXHAUSTED and admission.nodes == _admitted_alone(on, able, target)
    budget = Budget(end, cancel, progress)
    search = RoomSearch(on, admission, workloads, able, allowed, target, budget, solver, sure=sure)
    found = search.best()
    if found is None:
        if search.none_works:
            return replace(plan, movable=pods_in(able))
        message = f"no moves that make room were found among {pods_in(able):,} running pods that may move"
        advice = "Ask again with a longer time limit, or narrow the pods that may move."
        return replace(plan, findings=(*plan.findings, _not_found(message, advice)))
    rest = None if time_limit is None else max(1.0, end - time.monotonic())
    moved, moves = _carried_out(on, found, target, {**common, "time_limit": rest})
    there = plan_after(make_plan(moved, what, time_limit=rest, **final), after)
    if moved.waiting != on.waiting and sum(there.placed.values()) <= sum(plan.placed.values()):
        first = some([pod.name for pod in on.waiting if pod not in moved.waiting])
        message = f"the moves that were found free devices for {first} of a drained node, and for nothing else"
        return replace(plan, findings=(*plan.findings, _not_found(message, "Drain other nodes, or add nodes.")))
    count = len(moves) - len(on.moves)
    return replace(there, moves=moves, least_moves=min(search.bound, count), movable=pods_in(able))


def _not_found(message: str, advice: str) -> Finding:
    return Finding("room-not-found", Severity.WARNING, "", message, advice)


def _carried_out(
    on: Cluster, found: Attempt, release: KubernetesRelease, common: Mapping[str, Any]
) -> tuple[Cluster, tuple[Move, ...]]:
    """Return the cluster after the moves of an attempt, with all moves.

    Pods of drained nodes that found no place get what the moves free, before new pods.
    """
    moves = tuple(_ordered(on, found))
    going = {move.pod for move in moves}
    kept = [pod for pod in on.pods if pod.metadata.full_name not in going]
    pods = (*kept, *moved_pods(moves, running_pods(on)))
    moved = on.with_objects(claims=found.placed.cluster.claims, pods=pods)
    names = {pod.name for pod in on.waiting}
    before = [move for move in on.moves if move.node_to or move.pod not in names]
    moved = settled(moved.with_objects(leaving=on.waiting, waiting=(), moves=()), release, **common)
    lost = [move for move in moved.moves if not move.node_to]
    return moved, (*lost, *before, *moves, *(move for move in moved.moves if move.node_to))


def _admitted_alone(
    cluster: Cluster, units: Sequence[Unit], release: KubernetesRelease
) -> Mapping[Unit, frozenset[str]]:
    """Return the nodes that admit each unit if what the pods of all units request of their nodes were free."""
    moving = {id(pod.pod) for unit in units for pod in unit.pods}
    rest = cluster.with_objects(pods=tuple(pod for pod in cluster.pods if id(pod) not in moving))
    return admission_of(without_units(rest, units), units, release).nodes


def _worse(cluster: Cluster, move: Move) -> str:
    """Return how a move spreads the devices of a pod over more places than now, "" if it does not or is not known."""
    before = _spread(cluster, move.node_from, move.devices_from)
    after = _spread(cluster, move.node_to, [placed.device for placed in move.devices])
    for level, then, now in zip(("NUMA nodes", "PCIe roots"), before, after, strict=True):
        if then and now and now != then:
            return f"{now} {level} instead of {then}" if now > then else ""
    return ""


def _spread(cluster: Cluster, node: str, devices: Iterable[DeviceID]) -> tuple[int, int]:
    """Return over how many NUMA nodes and PCIe roots devices are spread, 0 where the place of one is not known."""
    known = numa_and_root(cluster, node)
    places = [known.get(device, (None, None)) for device in devices]
    numa, root = ({place[at] for place in places} for at in (0, 1))
    return 0 if None in numa else len(numa), 0 if None in root else len(root)


def _ordered(cluster: Cluster, found: Attempt) -> Iterator[Move]:
    """Yield the moves of an attempt in a safe order."""
    units = []
    now = {(claim.metadata.namespace, claim.metadata.name): claim for claim in found.placed.cluster.claims}
    shapes = [shape for demand in found.demands for shape in demand.shapes]
    for number, shape in enumerate(shapes):
        unit, moves = shape.unit, []
        for pod, there, claims in places_of(shape, found.placed):
            devices = tuple(device for _, own in claims for device in own)
            notes = notes_of(pod, unit, cluster)
            move = Move(pod.name, pod.node, there.node, pod.devices, devices, unit=number, notes=notes)
            moves.append(changed(move, worse=_worse(cluster, move)))
        after = tuple(now[claim.metadata.namespace, claim.metadata.name] for claim in unit.claims)
        units.append(UnitMove(unit.claims, after, tuple(moves)))
    yield from ordered_moves(cluster, units)


# --------------------------------------------------------------------- the order of moves

Amounts = Mapping[tuple[str, ...], Fraction]
"""What claims take, by device, by device and capacity, or by driver, pool, counter set and counter."""


@dataclass(frozen=True)
class UnitMove:
    """A unit that moves: its claims as they are and as they will be, and the moves of its pods."""

    before: tuple[ResourceClaim, ...]
    after: tuple[ResourceClaim, ...]
    moves: tuple[Move, ...]


def ordered_moves(cluster: Cluster, units: Sequence[UnitMove]) -> tuple[Move, ...]:
    """Return the moves in an order in which each can be carried out once those before it are done.

    Every unit ends on devices that no other unit or pod uses in the end. So a move that is possible at some time never
    stands in the way of another, and taking any possible one next finds an order if there is one. In a circle the unit
    that holds the fewest devices stops first: it starts again once its devices are free.
    """
    hardware = Hardware(cluster)
    moved = {id(claim) for unit in units for claim in unit.before}
    there = hardware.taken([claim for claim in cluster.claims if id(claim) not in moved])
    waiting, stopped = list(units), list[UnitMove]()
    found: list[Move] = []
    while waiting or stopped:
        for unit in (*stopped, *waiting):
            others = hardware.taken([claim for other in waiting if other is not unit for claim in other.before])
            if hardware.fits(there, others, hardware.taken(unit.after)):
                break
        else:
            if not waiting:
                # not by the devices that are known here: the others start once all have stopped
                return (*found, *(move for one in stopped for move in one.moves))
            unit = min(waiting, key=lambda one: (sum(map(_devices, one.before)), one.moves[0].pod))
            waiting.remove(unit)
            stopped.append(replace(unit, moves=tuple(_stops(move) for move in unit.moves)))
            continue
        there = _sum(there, hardware.taken(unit.after))
        (stopped if unit in stopped else waiting).remove(unit)
        found += unit.moves
    return tuple(found)


def _stops(move: Move) -> Move:
    return changed(move, stops_first=True)


def _devices(claim: ResourceClaim) -> int:
    return len(claim.status.allocation.devices.results) if claim.status.allocation else 0


def _sum(one: Amounts, other: Amounts) -> Amounts:
    found = dict(one)
    for key, amount in other.items():
        found[key] = found.get(key, Fraction()) + amount
    return found


class Hardware:
    """The devices of a cluster: one exclusive use of each, capacity for shares, and counters of partitions."""

    def __init__(self, cluster: Cluster) -> None:
        """Read the slices of the cluster once."""
        self._cluster = cluster

    @cached_property
    def devices(self) -> Mapping[DeviceID, Device]:
        """Return the devices by their key."""
        return {
            DeviceID(s.spec.driver, s.spec.pool.name, device.name): device
            for s in self._cluster.slices
            for device in s.spec.devices or ()
        }

    @cached_property
    def counters(self) -> Mapping[tuple[str, ...], Fraction]:
        """Return how much each shared counter has."""
        return {
            (s.spec.driver, s.spec.pool.name, one.name, name): parse_quantity(counter.value)
            for s in self._cluster.slices
            for one in s.spec.shared_counters or ()
            for name, counter in one.counters.items()
        }

    def taken(self, claims: Iterable[ResourceClaim]) -> Amounts:
        """Return what claims take; a shared device takes its counters once."""
        found: Counter[tuple[str, ...]] = Counter()
        amounts: dict[tuple[str, ...], Fraction] = {}
        for claim in claims:
            for result in claim.status.allocation.devices.results if claim.status.allocation else ():
                if result.admin_access:
                    continue
                if result.share_id is None:
                    found[tuple(result.id)] += 1
                else:
                    found[(*result.id, "shares", "")] += 1
                    for name, amount in result.consumed_capacity.items():
                        key = (*result.id, name)
                        amounts[key] = amounts.get(key, Fraction()) + parse_quantity(amount)
        return {**amounts, **{key: Fraction(number) for key, number in found.items()}}

    def fits(self, there: Amounts, others: Amounts, wanted: Amounts) -> bool:
        """Say whether what is wanted can be taken beside what is there and what others still hold."""
        whole = _sum(_sum(there, others), wanted)
        for key in wanted:
            device = self.devices.get(DeviceID(*key[:3]))
            if len(key) == 3 and (whole[key] > 1 or (*key, "shares", "") in whole):
                return False
            if len(key) == 5 and tuple(key[:3]) in whole:
                return False
            capacity = device.capacity.get(key[3]) if device is not None and len(key) == 4 else None
            if capacity is not None and whole[key] > parse_quantity(capacity.value):
                return False
        return self._counters_hold(whole, {DeviceID(*key[:3]) for key in wanted})

    def _counters_hold(self, whole: Amounts, changed: Collection[DeviceID]) -> bool:
        """Say whether the counters that some devices draw on suffice for all devices that are in use."""
        pools = {(d.driver, d.pool) for d in changed if d in self.devices and self.devices[d].consumes_counters}
        if not pools:
            return True
        drawn: dict[tuple[str, ...], Fraction] = {}
        for device in {DeviceID(*key[:3]) for key in whole if (key[0], key[1]) in pools}:
            for draw in self.devices[device].consumes_counters if device in self.devices else ():
                for name, counter in draw.counters.items():
                    key = (device.driver, device.pool, draw.counter_set, name)
                    drawn[key] = drawn.get(key, Fraction()) + parse_quantity(counter.value)
        return all(amount <= self.counters.get(key, amount) for key, amount in drawn.items())
