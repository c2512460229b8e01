"""Claims that hold unused devices: reserved for no pod, for pods that are gone, or deleted and not let go."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.findings import Finding, Severity
from dra_lab.index.in_use import claim_name
from dra_lab.model.claims import ResourceClaimConsumerReference
from dra_lab.model.cluster import Cluster

_SHOWN = 5
_DELETE = "No other claim can get their devices. If the claims stay unused, delete them."
_LET_GO = (
    "No other claim can get their devices until their finalizers are gone. Are kubelet on the node and "
    "kube-controller-manager running? See: kubectl get resourceclaim NAME -o yaml"
)
_IDLE = {
    "claim-unreserved": (
        "holds devices and is reserved for no pod",
        "hold devices and are reserved for no pod",
        _DELETE,
    ),
    "claim-of-gone-pods": (
        "holds devices for pods that no longer exist",
        "hold devices for pods that no longer exist",
        _DELETE,
    ),
    "claim-not-let-go": (
        "is deleted, has no pod, and still holds devices",
        "are deleted, have no pod, and still hold devices",
        _LET_GO,
    ),
}
"""By rule: what one claim does, what several do, what to do about it."""


def check_unused(cluster: Cluster) -> Iterator[Finding]:
    """Yield claims that hold unused devices: reserved for no pod, or only for pods that no longer exist.

    An allocated claim holds its devices whether or not a pod uses it (docs/semantics.md 3.14.5, 3.14.6). Pods that are
    gone are only reported if pods of the claim's namespace were read; one of the same name and another UID is not the
    pod that it was reserved for. Admin access holds nothing. Pods and claims are read at two moments, so a pod that
    ended in between is reported until the next reading.
    """
    pods = {(pod.metadata.namespace, pod.metadata.name): pod.metadata.uid for pod in cluster.pods}
    read = {namespace for namespace, _ in pods}
    everywhere = "Pod" in cluster.resource_versions

    def is_gone(namespace: str, consumer: ResourceClaimConsumerReference) -> bool:
        uid = pods.get((namespace, consumer.name))
        there = uid is not None and (not uid or not consumer.uid or uid == consumer.uid)
        return consumer.resource == "pods" and not there

    idle: dict[str, list[str]] = {rule: [] for rule in _IDLE}
    for claim in cluster.claims:
        allocation = claim.status.allocation
        if allocation is None or all(result.admin_access for result in allocation.devices.results):
            continue
        namespace, reserved = claim.metadata.namespace, claim.status.reserved_for
        known = everywhere or namespace in read or f"Pod/{namespace}" in cluster.resource_versions
        gone = known and all(is_gone(namespace, consumer) for consumer in reserved)
        if reserved and not gone:
            continue
        deleted = "claim-not-let-go" if claim.metadata.deletion_timestamp else ""
        idle[deleted or ("claim-of-gone-pods" if reserved else "claim-unreserved")].append(claim_name(claim))
    for rule, names in idle.items():
        if names:
            yield _idle_finding(rule, sorted(names))


def _idle_finding(rule: str, names: list[str]) -> Finding:
    one, many, advice = _IDLE[rule]
    message = f"1 claim {one}: " if len(names) == 1 else f"{len(names):,} claims {many}: "
    message += ", ".join(names[:_SHOWN])
    message += f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return Finding(rule, Severity.WARNING, names[0] if len(names) == 1 else "claims", message, advice)
