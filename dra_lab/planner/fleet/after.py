"""The cluster in which the pods of a plan are there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.errors import InputError, a_kind
from dra_lab.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import PlacedPod, Placement, SharedClaim
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.planner.pod_claims import exact_sketch

_NAMESPACE = "dra-lab-plan"


def cluster_after(cluster: Cluster, plan: Plan | None, release: KubernetesRelease | str | None = None) -> Cluster:
    """Return the cluster with an allocated claim for each pod of a plan, the same object without a plan.

    Raises InputError for what is no plan.
    """
    if plan is None:
        return cluster
    return with_pods(cluster, _pods(plan), cluster.target_release(release))


def with_pods(
    cluster: Cluster,
    pods: Iterable[tuple[PlacedPod | SharedClaim, set[tuple[str, str]]]],
    release: KubernetesRelease,
    mark: str = "",
) -> Cluster:
    """Return the cluster with an allocated claim for each pod; with the pods come their requests with admin access."""
    shareable, claims = _shareable_devices(cluster, release), []
    for pod, admin in pods:
        name = mark + pod.name.replace("/", "-")
        status = ResourceClaimStatus(allocation=_allocation(name, pod.devices, shareable, admin))
        claims.append(ResourceClaim(metadata=ObjectMeta(name=name, namespace=_NAMESPACE), status=status))
    return cluster.with_objects(claims=(*cluster.claims, *claims))


def reallocated(
    cluster: Cluster, claim: ResourceClaim, devices: Sequence[Placement], release: KubernetesRelease
) -> ResourceClaim:
    """Return a claim that holds other devices, on whatever node these can be used."""
    shareable = _shareable_devices(cluster, release)
    admin = {("", name) for _, name in admin_requests([exact_sketch(claim.spec, claim.metadata.name)])}
    mine = [changed(placed, claim="") for placed in devices]
    return changed(
        claim, status=changed(claim.status, allocation=_allocation(claim.metadata.name, mine, shareable, admin))
    )


def _allocation(
    name: str, devices: Sequence[Placement], shareable: frozenset[DeviceID], admin: Collection[tuple[str, str]]
) -> AllocationResult:
    results = tuple(
        DeviceRequestAllocationResult(
            request=placed.request,
            **placed.device._asdict(),
            share_id=f"{name}-{number}" if placed.device in shareable else None,
            consumed_capacity=dict(placed.consumed),
            admin_access=(placed.claim, placed.request) in admin or None,
        )
        for number, placed in enumerate(devices)
    )
    return AllocationResult(devices=DeviceAllocationResult(results=results))


def _pods(plan: Any) -> Iterator[tuple[PlacedPod | SharedClaim, set[tuple[str, str]]]]:
    """Yield each pod and shared claim of a plan, and its requests with admin access, which take nothing."""
    if not isinstance(plan, Plan):
        raise InputError(f"after is a plan, not {a_kind(plan)}")
    admin = {name: admin_requests(claims) for name, claims in plan.claims_of.items()}
    for pod in plan.pods:
        yield pod, admin[pod.workload, pod.group]
    for shared in plan.shared:
        yield shared, admin[shared.workload, f"{shared.group}/shared"]


@once_per_hardware
def _shareable_devices(cluster: Cluster, release: KubernetesRelease) -> frozenset[DeviceID]:
    """Return the devices that several pods may share in a release."""
    if not release.enabled("DRAConsumableCapacity"):
        return frozenset()
    return frozenset(
        DeviceID(slice_.spec.driver, slice_.spec.pool.name, device.name)
        for slice_ in cluster.slices
        for device in slice_.spec.devices or ()
        if device.allow_multiple_allocations
    )


def admin_requests(claims: Sequence[ClaimSketch]) -> set[tuple[str, str]]:
    """Return claim and request of each request of a pod with admin access, which takes nothing."""
    several = len(claims) > 1
    return {
        (claim.name if several else "", ask.reference)
        for claim in claims
        for request in claim.requests
        for ask in asks(request)
        if ask.admin_access
    }
