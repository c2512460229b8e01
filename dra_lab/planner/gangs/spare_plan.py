"""The plan of gangs that are assigned to domains with spare nodes: each domain is planned by itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang import Gang, GangPlan, PlacedGang
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.what_if import without_nodes
from dra_lab.planner.gangs.needs import Path
from dra_lab.planner.gangs.plan_gangs import plan_gangs


def spare_plan(
    cluster: Cluster,
    gangs: tuple[Gang, ...],
    assigned: Mapping[Path, Mapping[int, int]],
    nodes: Mapping[Path, set[str]],
    trees: tuple[Hierarchy, ...],
    release: KubernetesRelease,
    seconds: float,
    solver: str,
    held: AllocatedDevices | None,
) -> GangPlan:
    """Return a plan that keeps gangs in the domains they are assigned to.

    Args:
        cluster: The cluster with the new nodes.
        gangs: All gangs.
        assigned: For each domain, how many of each gang it has, by the gang's position.
        nodes: The nodes of each domain.
        trees: The hierarchies of the cluster.
        release: The release to plan for.
        seconds: Seconds for all domains together.
        solver: Name of the PuLP solver.
        held: The devices in use, instead of those of the cluster's claims.

    Returns:
        The plan, without goals: the devices are the best ones domain by domain.
    """
    began, placed = time.monotonic(), list[PlacedGang]()
    numbers = [0] * len(gangs)
    for done, (path, mine) in enumerate(sorted(assigned.items())):
        part = without_nodes(cluster, set(cluster.node_names) - nodes[path])
        here = [replace(gangs[at], replicas=count) for at, count in sorted(mine.items())]
        left = max(0.0, seconds - (time.monotonic() - began)) / (len(assigned) - done)
        plan = plan_gangs(part, here, hierarchies=trees, release=release, time_limit=left, solver=solver, held=held)
        first = {gangs[at].name: numbers[at] for at in mine}
        placed += [changed(one, number=one.number + first[one.gang]) for one in plan.placed]
        for at, count in mine.items():
            numbers[at] += count
    status = PlanStatus.FEASIBLE if placed else PlanStatus.STOPPED
    order = {gang.name: at for at, gang in enumerate(gangs)}
    found = tuple(sorted(placed, key=lambda one: (order[one.gang], one.number)))
    return GangPlan(status, gangs, (), cluster.name, str(release), found, findings=cluster.findings)
