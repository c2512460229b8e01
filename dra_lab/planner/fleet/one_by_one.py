"""A first plan for any fleet: pod by pod and node by node, each with the devices that kube-scheduler would take.

Benchmark row that needs it: one MIG partition and a NIC a pod, 200 nodes before 16 chassis, limit 2 s (`bench_crowded`)
place 4 pods, and none without it. Their one model takes 3 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.authoring.compile import compile_claim
from dra_lab.checks.fleet_pods import part_of_cluster
from dra_lab.errors import Cancelled, UnsupportedFeature
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Replica
from dra_lab.model.nodes import ObjectMeta
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.regret import placed_replica, with_held
from dra_lab.scheduler.first_fit import first_fit


def one_by_one(fleet: Fleet, order: Sequence[str], budget: Budget) -> tuple[Replica, ...]:
    """Return replicas that fit together, found without a solver; more may fit.

    On every node, pods of each workload are placed until one does not fit or a required link is not kept. Links that no
    manifest can express are required too, and kube-scheduler keeps them only by chance. Nothing is placed of a fleet
    with admin access: what such a pod looks into has to be left by all that come after it.
    """
    if any(ask.admin_access for ask in fleet.scan.rules.asks):
        return ()
    cluster, names = fleet.scan.cluster, [pod.workload.name for pod in fleet.pods]
    compiled = [[compile_claim(one, cluster, fleet.release) for one in pod.workload.claims] for pod in fleet.pods]
    counts, found = [0] * len(fleet.pods), list[Replica]()
    held: list[ResourceClaim] = []
    for node in sorted(set(fleet.scan.rules.nodes) - set(fleet.scan.unseen)):
        if budget.reached:
            break
        part = with_held(fleet, part_of_cluster(cluster, {node: None}))
        if not cluster.network_slices:
            held = []
        for number, pod in enumerate(fleet.pods):
            while counts[number] < pod.workload.replicas and not budget.reached:
                planned = Replica(pod.workload.name, counts[number], node, ())
                claims = [
                    ResourceClaim(metadata=ObjectMeta(name=f"{pod.workload.name}-{counts[number]}-{at}"), spec=one.spec)
                    for at, one in enumerate(compiled[number])
                ]
                taken = _searched(replace(part, claims=(*part.claims, *held)), node, claims, fleet, budget)
                if taken is None:
                    break
                replica, broken = placed_replica(fleet, order, pod, compiled[number], planned, taken)
                if broken:
                    break
                held.extend(taken)
                found.append(replica)
                counts[number] += 1
    return tuple(sorted(found, key=lambda replica: names.index(replica.workload)))


def _searched(
    part: Cluster, node: str, claims: Sequence[ResourceClaim], fleet: Fleet, budget: Budget
) -> list[ResourceClaim] | None:
    """Return the claims with what kube-scheduler allocates to them on a node, None if it allocates nothing."""
    try:
        verdict = first_fit(part, node, claims, fleet.release, time_limit=budget.shares.search, cancel=budget.cancel)
    except (Cancelled, UnsupportedFeature):
        return None
    if verdict.allocations is None:
        return None
    return [
        changed(claim, status=changed(claim.status, allocation=allocation))
        for claim, allocation in zip(claims, verdict.allocations, strict=True)
    ]
