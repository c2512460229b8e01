"""Rules of alpha gates that this package does not know: refused by their API name, never answered wrongly."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.candidates import NodeView


def check_supported(view: NodeView, claims: Sequence[ResourceClaim], release: KubernetesRelease) -> None:
    """Raise UnsupportedFeature where a gate that is on brings a rule that the search does not have.

    These are `derivedAttributes` (KEP-6080), `compatibilityGroups` (KEP-5963) and `nodeAllocatableResources`
    (KEP-5517); all three gates are off by default up to 1.37.
    """
    if release.enabled("DRADerivedAttributes"):
        for claim in claims:
            for request in claim.spec.devices.requests:
                parts = (*request.first_available, *((request.exactly,) if request.exactly else ()))
                if any(part.derived_attributes for part in parts):
                    raise _refusal("derivedAttributes", f"claim {claim.metadata.name}, request {request.name}", release)
    groups = release.enabled("DRADeviceCompatibilityGroups")
    allocatable = release.enabled("DRANodeAllocatableResources")
    for candidate in view.candidates if groups or allocatable else ():
        device = candidate.device
        if groups and any(use.compatibility_groups for use in device.consumes_counters):
            raise _refusal("compatibilityGroups", f"device {candidate.id}", release)
        if allocatable and (device.node_allocatable_resources or device.node_allocatable_resource_mappings):
            raise _refusal("nodeAllocatableResources", f"device {candidate.id}", release)


def _refusal(feature: str, where: str, release: KubernetesRelease) -> UnsupportedFeature:
    return UnsupportedFeature(
        feature,
        f"{where} uses {feature}, which dra-lab cannot simulate yet; remove the field, or plan for a release in "
        f"which the gate is off (now {release})",
    )
