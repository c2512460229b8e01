"""What is in use once a plan for a fleet has come true."""

from __future__ import annotations

from fractions import Fraction

from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Workload
from dra_lab.model.gang import GangPlan
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.planner.arguments import plan_given


def held_after(
    cluster: Cluster, plan: FleetPlan | GangPlan | None, release: KubernetesRelease
) -> AllocatedDevices | None:
    """Return what claims and the pods of a plan hold together; None, meaning what the cluster says, without a plan.

    Raises InputError for what is no plan of replicas or gangs.
    """
    plan = plan_given("after", plan)
    if plan is None:
        return None
    held = cluster.allocated
    exclusive, shares = dict(held.exclusive), dict(held.shares)
    consumed = {device: dict(amounts) for device, amounts in held.consumed.items()}
    shareable = shareable_devices(cluster, release)
    admin = {workload.name: admin_requests(workload) for workload in plan.workloads}
    for replica in plan.replicas:
        holder = f"{replica.workload}-{replica.number}"
        for placement in replica.placements:
            if (placement.claim, placement.request) in admin[replica.workload]:
                continue
            if placement.device not in shareable:
                exclusive[placement.device] = holder
                continue
            shares[placement.device] = (*shares.get(placement.device, ()), holder)
            mine = consumed.setdefault(placement.device, {})
            for key, amount in placement.consumed.items():
                mine[key] = mine.get(key, Fraction()) + parse_quantity(amount)
    return AllocatedDevices(exclusive, shares, consumed)


def shareable_devices(cluster: Cluster, release: KubernetesRelease) -> frozenset[DeviceID]:
    """Return the devices that several pods may share in a release."""
    if not release.enabled("DRAConsumableCapacity"):
        return frozenset()
    return frozenset(
        DeviceID(slice_.spec.driver, slice_.spec.pool.name, device.name)
        for slice_ in cluster.slices
        for device in slice_.spec.devices or ()
        if device.allow_multiple_allocations
    )


def admin_requests(workload: Workload) -> set[tuple[str, str]]:
    """Return claim and request of each request with admin access, which takes nothing."""
    several = len(workload.claims) > 1
    return {
        (claim.name if several else "", ask.reference)
        for claim in workload.claims
        for request in claim.requests
        for ask in asks(request)
        if ask.admin_access
    }
