"""How many more replicas of a workload fit, now or after a plan; and the largest job that still fits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.claims import ALL, CapacityRequirements, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.cluster import AllocatedDevices, Cluster
from dra_lab.model.fleet import FleetPlan, LargestJob, Room, RoomOnNodes, Workload
from dra_lab.model.quantity import QuantityText, format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, ClaimSketch, asks
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.sites import each_alone, sites_of
from dra_lab.planner.progress import Limits, Progress

MOST = 10_000
"""More replicas than this are not told apart on one node."""


def how_many_more(
    cluster: Cluster,
    workload: Workload,
    *,
    release: KubernetesRelease,
    after: FleetPlan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Room:
    """Return how many more pods of a workload can start together, on each class of equal nodes and in all.

    Its `replicas` do not matter; preferences may be broken, must-links not. `after` is a plan whose pods are counted as
    there. A pod with admin access alone takes nothing away: the number ends at MOST on a node. Where a limit ended the
    search, `bound` is above `count`. Raises as `plan_fleet` does.
    """
    began = time.monotonic()
    limits = Limits(None if time_limit is None else began + time_limit, cancel, progress)
    room = _room(cluster, workload, release, held_after(cluster, after, release), limits, solver)
    return replace(room, seconds=time.monotonic() - began)


def _room(
    cluster: Cluster,
    workload: Workload,
    release: KubernetesRelease,
    held: AllocatedDevices | None,
    limits: Limits,
    solver: str,
) -> Room:
    from dra_lab.planner.fleet.coupled_tables import most_together
    from dra_lab.planner.fleet.tables import tables_of

    fleet = look_at(cluster, [replace(workload, replicas=MOST)], release, limits, held)
    sites = sites_of(fleet)
    classes, together = [], []
    for site in (site for site in sites if site.nodes):
        classes.append(RoomOnNodes(site.all_nodes, *most_together(fleet, site, solver, limits)))
        together.append(site.all_nodes)
    tables = tables_of([site for site in sites if not site.nodes], fleet.demand, (), solver)
    for number, table in enumerate(tables):
        classes.append(RoomOnNodes(table.site.members, *table.most_alone(limits)))
        if number % 20 == 0:
            limits.tell("nodes", f"counted on {number + 1} of {len(tables)} kinds of node states")
    if fleet.scan.unseen:
        classes.append(RoomOnNodes(fleet.scan.unseen, 0, MOST))
    times = [1 if found.nodes in together else len(found.nodes) for found in classes]
    count = sum(found.each * size for found, size in zip(classes, times, strict=True))
    bound = sum(found.bound * size for found, size in zip(classes, times, strict=True))
    ordered = tuple(sorted(classes, key=lambda c: (-c.each, c.nodes)))
    return Room(workload.name, count, bound, ordered, tuple(together))


def largest_job(
    cluster: Cluster,
    claim: ClaimSketch,
    *,
    release: KubernetesRelease,
    after: FleetPlan | None = None,
    scale: Sequence[str] = (),
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> LargestJob:
    """Return the largest whole multiple of a claim that one pod can have on some node, and how many pods fit as drawn.

    A multiple of a claim has counts and capacities times that number: of the requests named in `scale`, or of all; a
    request for all devices stays as it is, and links hold between all devices. Multiples are tried from the most that
    a node could hold by counting downwards, because a larger one may fit where a smaller does not (pairs and split
    CPUs need numbers that divide). Raises InputError where `scale` names no request, and as `plan_fleet` does.
    """
    began = time.monotonic()
    limits = Limits(None if time_limit is None else began + time_limit, cancel, progress)
    names = [request.name for request in claim.requests]
    for name in scale:
        if name not in names:
            raise InputError(f"there is no request {name!r} to scale; requests: {', '.join(names)}")
    held = held_after(cluster, after, release)
    room = _room(cluster, Workload(claim.name, (claim,)), release, held, limits, solver)
    found = LargestJob(claim.name, 0, 0, room.count, room.bound)
    top = _most_multiple(claim, tuple(scale) or tuple(names))
    open_at = 0
    for times in range(top, 0, -1):
        if limits.reached:
            open_at = open_at or times
            break
        limits.tell("scale", f"trying {times} times the claim", None, times)
        scaled = multiple(claim, times, scale)
        node, decided = _node_for(cluster, scaled, release, held, limits, solver)
        if node:
            found = replace(found, scale=times, node=node, sketch=scaled)
            break
        if not decided:
            open_at = open_at or times
    bound = max(found.scale, open_at)
    return replace(found, scale_bound=bound, seconds=time.monotonic() - began)


def multiple(claim: ClaimSketch, times: int, scale: Sequence[str] = ()) -> ClaimSketch:
    """Return a claim with the counts and capacities of some requests, or of all, multiplied."""
    chosen = set(scale) or {request.name for request in claim.requests}
    requests = tuple(_times(request, times) if request.name in chosen else request for request in claim.requests)
    return changed(claim, requests=requests)


def _times(request: DeviceRequest, times: int) -> DeviceRequest:
    exactly = _part_times(request.exactly, times) if request.exactly is not None else None
    subs = tuple(_part_times(sub, times) for sub in request.first_available)
    return changed(request, exactly=exactly, first_available=subs)


_Part = TypeVar("_Part", ExactDeviceRequest, DeviceSubRequest)


def _part_times(part: _Part, times: int) -> _Part:
    """Multiply one way to ask: the capacity of a request for one shared device, else the count."""
    if part.allocation_mode == ALL:
        return part
    amounts = part.capacity.requests if part.capacity is not None else {}
    if amounts and (part.count or 1) == 1:
        more: dict[str, QuantityText] = {k: format_quantity(parse_quantity(v) * times) for k, v in amounts.items()}
        return changed(part, capacity=CapacityRequirements(requests=more))
    return changed(part, count=(part.count or 1) * times)


def _most_multiple(claim: ClaimSketch, names: Sequence[str]) -> int:
    """Return a multiple that cannot be exceeded: 32 devices a claim, or for capacity alone MOST."""
    counts = [
        min(ask.count for ask in ways)
        for request in claim.requests
        if request.name in names
        for ways in [[ask for ask in asks(request) if not ask.all_devices]]
        if ways and not all(ask.capacity and ask.count == 1 for ask in ways)
    ]
    others = sum(1 for request in claim.requests if request.name not in names)
    return max(1, (MAX_DEVICES - others) // sum(counts)) if counts else MAX_DEVICES


def _node_for(
    cluster: Cluster,
    claim: ClaimSketch,
    release: KubernetesRelease,
    held: AllocatedDevices | None,
    limits: Limits,
    solver: str,
) -> tuple[str, bool]:
    """Return a node that holds one pod with a claim, "" where there is none; and whether all nodes were decided."""
    from dra_lab.planner.fleet.tables import tables_of

    fleet = look_at(cluster, [Workload(claim.name, (claim,), 1)], release, limits, held)
    decided = fleet.scan.complete
    # One pod stands on one node: what others may take does not matter.
    tables = tables_of(tuple(each_alone(fleet, sites_of(fleet))), fleet.demand, (), solver)
    for table in sorted(tables, key=lambda table: table.site.members[0]):
        if not table.room.caps[0]:
            continue
        found = table.decide((1,), limits, decide_only=True)
        if found.upper is not None:
            return table.site.members[0], True
        decided = decided and found.lower is None
    return "", decided
