"""Health of devices as kubelet writes it into the status of pods (KEP-4680)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.pods import Pod, ResourceHealth, ResourceStatus

UNHEALTHY = "Unhealthy"
_PREFIX = "claim:"
_RANK = {"Healthy": 0, "Unknown": 1, UNHEALTHY: 2}


@once_per_snapshot
def device_health(cluster: Cluster) -> Mapping[DeviceID, str]:
    """Return "Healthy", "Unhealthy" or "Unknown" by device, where a pod says it; the worst of what several say.

    kubelet names a device by its first CDI name, else by `driver/pool/device` (`dra/manager.go`,
    `UpdateAllocatedResourcesStatus`). A CDI name that matches none or several of the claim's devices is ignored. So is
    a pod for which the claim is no longer reserved, because nothing updates the status of a pod after its end.
    """
    found: dict[DeviceID, str] = {}
    for device_id, health in _reported(cluster):
        if _RANK.get(health, 1) >= _RANK.get(found.get(device_id, ""), -1):
            found[device_id] = health
    return found


def _reported(cluster: Cluster) -> Iterator[tuple[DeviceID, str]]:
    pods = [pod for pod in cluster.pods if _statuses(pod)]
    if not pods:
        return
    claims = {(claim.metadata.namespace, claim.metadata.name): claim for claim in cluster.claims}
    for pod in pods:
        names = _claims_of(pod)
        for status in _statuses(pod):
            entry, _, request = status.name.removeprefix(_PREFIX).partition("/")
            claim = claims.get((pod.metadata.namespace, names.get(entry, entry)))
            if claim is not None and _is_of(claim, pod):
                for resource in status.resources:
                    device_id = _device_of(claim, request, resource)
                    if device_id is not None:
                        yield device_id, resource.health


def _is_of(claim: ResourceClaim, pod: Pod) -> bool:
    """Say whether a claim is reserved for a pod."""
    name, uid = pod.metadata.name, pod.metadata.uid
    return any(
        one.resource in ("pods", "") and one.name == name and (not uid or not one.uid or one.uid == uid)
        for one in claim.status.reserved_for
    )


def _statuses(pod: Pod) -> tuple[ResourceStatus, ...]:
    containers = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return tuple(s for c in containers for s in c.allocated_resources_status if s.name.startswith(_PREFIX))


def _claims_of(pod: Pod) -> dict[str, str]:
    made = {entry.name: entry.resource_claim_name or "" for entry in pod.status.resource_claim_statuses}
    return {**made, **{e.name: e.resource_claim_name for e in pod.spec.resource_claims if e.resource_claim_name}}


def _device_of(claim: ResourceClaim, request: str, resource: ResourceHealth) -> DeviceID | None:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    meant = [r.id for r in results if not request or r.request.partition("/")[0] == request]
    for device_id in dict.fromkeys(meant):
        if str(device_id) == resource.resource_id:
            return device_id
    ending = [d for d in dict.fromkeys(meant) if _ends_with(resource.resource_id, d.device)]
    if len(ending) == 1:
        return ending[0]
    return meant[0] if len(meant) == 1 else None


def _ends_with(text: str, name: str) -> bool:
    before = text.removesuffix(name)
    return before != text and not before[-1:].isalnum()
