"""Replicas of a workload in groups, a template for each: where one cannot serve all replicas as planned."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from msgspec import structs

from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Replica, Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.plan_replay import expected_of
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation
from dra_lab.sketch.object_names import object_name

_MOST, _LEAST = 63, 16
"""Characters of an object's name, and how many of a workload's are kept."""


def groups_of(
    cluster: Cluster, plan: FleetPlan, release: KubernetesRelease, *, alternatives: bool = False
) -> FleetPlan:
    """Return a plan with a workload for each kind of node that a workload's replicas are on, in the nodes' order.

    With `alternatives` the replicas of a workload also have the same alternatives of each request. Workloads of one
    group only stay as they are; replicas without a place go with the first group.
    """
    pods, _ = expected_of(cluster, plan, release)
    kinds = SchedulerSimulation(cluster, pods, release).kind_of
    workloads: list[Workload] = []
    replicas: list[Replica] = []
    taken = {object_name(workload.name) for workload in plan.workloads}
    for workload in plan.workloads:
        by_kind: dict[object, list[Replica]] = defaultdict(list)
        for replica in sorted((r for r in plan.replicas if r.workload == workload.name), key=lambda r: r.node):
            chosen = frozenset(p.request for p in replica.placements) if alternatives else frozenset()
            by_kind[kinds.get(replica.node, replica.node), chosen].append(replica)
        if len(by_kind) < 2:
            workloads.append(workload)
            replicas += [replica for own in by_kind.values() for replica in own]
            continue
        left = workload.replicas - sum(map(len, by_kind.values()))
        for number, own in enumerate(by_kind.values(), 1):
            name = _free(workload, number, taken)
            workloads.append(Workload(name, workload.claims, len(own) + (left if number == 1 else 0)))
            replicas += [structs.replace(replica, workload=name, number=n) for n, replica in enumerate(own)]
    return replace(plan, workloads=tuple(workloads), replicas=tuple(replicas), first_fit=None)


def _free(workload: Workload, number: int, taken: set[str]) -> str:
    """Return the name of a group. Names of objects end after 63 characters: a long one is cut before its number.

    So that what is written of two groups never has one name, there is also room for the name of a claim behind it.
    """
    behind = max(len(sketch.name) + 1 for sketch in workload.claims) if len(workload.claims) > 1 else 0
    end = f"-{number}"
    while True:
        letters = max(_MOST - len(end) - behind, _LEAST)
        name = f"{workload.name[:letters].rstrip('-')}{end}"
        if object_name(name) not in taken:
            taken.add(object_name(name))
            return name
        end = f"{end}-x"
