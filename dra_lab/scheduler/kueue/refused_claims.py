"""Claims with which Kueue refuses a gang, whatever the quota.

Source: kubernetes-sigs/kueue v0.19.2, `pkg/dra/claims.go` and `pkg/controller/core/workload_controller.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dra_lab.cel.matching import ERROR, Matching
from dra_lab.findings import Finding, Severity
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.claims import DeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.model.workload import Workload

_ADVICE = "Change the claim, or choose another scheduler."


def refused_claims(
    cluster: Cluster, gang: Workload, requests: Iterable[tuple[str, DeviceRequest]], release: KubernetesRelease
) -> Iterator[Finding]:
    """Yield what Kueue refuses in the claims of a gang.

    Args:
        cluster: The devices on which selectors are tried.
        gang: The gang with its shared claims.
        requests: The requests of its pods, each with the name of the claim.
        release: The release of Kubernetes.

    Yields:
        A finding for each request or claim that is refused.
    """
    every = tuple(requests)
    for claim in gang.every_shared_claim:
        message = "Kueue refuses pods that name a ResourceClaim, as pods with a shared claim do"
        yield Finding("kueue-shared-claim", Severity.ERROR, claim.name, message, _ADVICE)
    for claim_name, request in every:
        subject = f"{claim_name}, request {request.name}"
        if request.first_available:
            message = "Kueue refuses a list of alternatives (firstAvailable)"
            yield Finding("kueue-alternatives", Severity.ERROR, subject, message, _ADVICE)
        for ask in asks(request):
            if ask.all_devices:
                message = "Kueue refuses allocationMode All"
                yield Finding("kueue-all-devices", Severity.ERROR, subject, message, _ADVICE)
            if ask.admin_access:
                yield Finding("kueue-admin-access", Severity.ERROR, subject, "Kueue 0.19 refuses adminAccess", _ADVICE)
    yield from _failing_selectors(cluster, every, release)


def _failing_selectors(
    cluster: Cluster, requests: Iterable[tuple[str, DeviceRequest]], release: KubernetesRelease
) -> Iterator[Finding]:
    on = with_documented_classes(cluster)
    matching = Matching(on, release)
    for claim_name, request in requests:
        for ask in asks(request):
            for slice_ in on.slices:
                driver = slice_.spec.driver
                matches = (matching.match(ask, driver, device) for device in slice_.spec.devices or ())
                failed = next((found for found in matches if found.stage == ERROR), None)
                if failed is not None:
                    message = f"its selector fails on a device of {driver}, and Kueue then refuses the gang"
                    advice = f"Let the selector test first whether the attribute exists. The error: {failed.error}."
                    subject = f"{claim_name}, request {request.name}"
                    yield Finding("kueue-selector-fails", Severity.ERROR, subject, message, advice)
                    break
