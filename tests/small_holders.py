"""Claims that hold devices, and the pods that use them, for the tests of what is in use."""

from __future__ import annotations

from small_nodes import a_slice, cluster, device
from small_plans import GPU

from dra_lab.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import NodeSelector, ObjectMeta
from dra_lab.model.pods import (
    ContainerStatus,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
)


def result(name: str = "gpu-0", driver: str = GPU, pool: str = "n1", request: str = "r", **fields):
    """Make an allocated device."""
    return DeviceRequestAllocationResult(request=request, driver=driver, pool=pool, device=name, **fields)


def a_claim(
    *results: DeviceRequestAllocationResult,
    name: str = "c",
    pods: tuple[str, ...] = (),
    constraints: tuple[DeviceConstraint, ...] = (),
    node_selector: NodeSelector | None = None,
    **asked,
) -> ResourceClaim:
    """Make a claim `team/c` of one request `r` that holds devices; `asked` are fields of the request."""
    exactly = ExactDeviceRequest(**{"device_class_name": "gpu", "count": max(1, len(results)), **asked})
    spec = DeviceClaim(requests=(DeviceRequest(name="r", exactly=exactly),), constraints=constraints)
    devices = DeviceAllocationResult(results=results)
    status = ResourceClaimStatus(
        allocation=AllocationResult(devices=devices, node_selector=node_selector),
        reserved_for=tuple(ResourceClaimConsumerReference(resource="pods", name=pod, uid=pod) for pod in pods),
    )
    metadata = ObjectMeta(name=name, namespace="team")
    return ResourceClaim(metadata=metadata, spec=ResourceClaimSpec(devices=spec), status=status)


def a_pod(name: str, *, health: tuple[str, str, str] | None = None) -> Pod:
    """Make a pod of the claim; `health` is what kubelet says: name of the resource, its identifier, its health."""
    containers: tuple[ContainerStatus, ...] = ()
    if health is not None:
        resource = ResourceHealth(resource_id=health[1], health=health[2])
        status = ResourceStatus(name=health[0], resources=(resource,))
        containers = (ContainerStatus(name="main", allocated_resources_status=(status,)),)
    return Pod(
        metadata=ObjectMeta(name=name, namespace="team"),
        spec=PodSpec(resource_claims=(PodResourceClaim(name="devices", resource_claim_name="c"),)),
        status=PodStatus(container_statuses=containers),
    )


def held_by(*claims: ResourceClaim, **fields) -> Cluster:
    """Make a node with two GPUs and the claims."""
    return cluster(a_slice(GPU, device("gpu-0"), device("gpu-1")), claims=claims, **fields)
