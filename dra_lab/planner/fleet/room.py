"""How many more replicas of a workload fit, now or after a plan; and the largest job that still fits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from dra_lab.model.cluster import AllocatedDevices, Cluster
from dra_lab.model.fleet import FleetPlan, Room, RoomOnNodes, Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.pods import look_at
from dra_lab.planner.fleet.sites import sites_of
from dra_lab.planner.progress import Limits, Progress

MOST = 10_000
"""More pods than this are not told apart on one node."""


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
    room = room_of_claim(cluster, workload, release, held_after(cluster, after, release), limits, solver)
    return replace(room, seconds=time.monotonic() - began)


def room_of_claim(
    cluster: Cluster,
    workload: Workload,
    release: KubernetesRelease,
    held: AllocatedDevices | None,
    limits: Limits,
    solver: str,
) -> Room:
    """Return how many more pods of a workload fit beside what is held."""
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.fleet.fullest import fullest
    from dra_lab.planner.fleet.fullest_together import fullest_together

    fleet = look_at(cluster, [replace(workload, replicas=MOST)], release, limits, held)
    sites = sites_of(fleet)
    shared = [site for site in sites if site.nodes]
    together = tuple(site.all_nodes for site in shared)
    found = fullest(fleet, [site for site in sites if not site.nodes], solver, limits)
    classes = [RoomOnNodes(known.site.members, known.least, known.most) for known in found]
    joint = [RoomOnNodes(site.all_nodes, *fullest_together(fleet, site, solver, limits)) for site in shared]
    seen = {node for nodes in together for node in nodes}
    if unseen := tuple(node for node in fleet.scan.unseen if node not in seen):
        classes.append(RoomOnNodes(unseen, 0, MOST))
    count = sum(c.each * len(c.nodes) for c in classes) + sum(c.each for c in joint)
    bound = sum(c.bound * len(c.nodes) for c in classes) + sum(c.bound for c in joint)
    ordered = tuple(sorted((*classes, *joint), key=lambda c: (-c.each, c.nodes)))
    return Room(workload.name, count, bound, ordered, together)
