"""NVIDIA's ComputeDomain of a gang that needs one NVLink domain, and the claim of its channel in the pods.

Sources: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1, CRD `computedomains.resource.nvidia.com`; its issues 804 and 892.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.exports.gangs.level_keys import is_host
from dra_lab.findings import Finding, Severity
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.sketch import asks
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.topology.presets import CLIQUE, NVLINK

COMPUTE_DOMAIN = "resource.nvidia.com/v1beta1"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The DeviceClass of the template that the driver makes for a ComputeDomain."""

CHANNEL = "compute-domain-channel"


def needs_channel(gang: Workload, group: PodGroup, hierarchy: Hierarchy | None) -> bool:
    """Say whether the pods of a group get a channel: they need one NVLink domain or partition, and draw no channel."""
    return needs_nvlink(gang, group, hierarchy) and not draws_channel(gang, group)


def needs_nvlink(gang: Workload, group: PodGroup, hierarchy: Hierarchy | None) -> bool:
    """Say whether the pods of a group need one NVLink domain or partition, by the name of its tree or by its label."""
    if hierarchy is None:
        return False
    levels = (gang.level, group.level, *(level for _, level in group.slices))
    named = [level for level in levels if level and not is_host(level)]
    keys = (hierarchy.levels[hierarchy.level_index(level)].key for level in named)
    return bool(named) and (hierarchy.name.startswith(NVLINK) or CLIQUE in keys)


def draws_channel(gang: Workload, group: PodGroup) -> bool:
    """Say whether the pods of a group request a channel themselves; a node has one, so a second would not fit."""
    claims = (*group.claims, *group.shared_claims, *gang.shared_claims)
    requests = (request for claim in claims for request in claim.requests)
    return any(ask.device_class_name == CHANNEL_CLASS for request in requests for ask in asks(request))


def channel_entry(name: str) -> dict[str, str]:
    """Return the entry of `spec.resourceClaims` for the template that the driver makes for a ComputeDomain."""
    return {"name": CHANNEL, "resourceClaimTemplateName": f"{name}-channel"}


def clique_affinity(hierarchy: Hierarchy | None) -> Affinity:
    """Return the requirement that a node is in a clique at all, if the hierarchy has the label."""
    keys = [level.key for level in hierarchy.levels] if hierarchy else []
    return ({"key": CLIQUE, "operator": "Exists"},) if CLIQUE in keys else ()


def compute_domain(name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ComputeDomain of one copy of a gang; numNodes is deprecated, and 0 is recommended."""
    channel = {"resourceClaimTemplate": {"name": f"{name}-channel"}, "allocationMode": "Single"}
    head = {"apiVersion": COMPUTE_DOMAIN, "kind": "ComputeDomain", "metadata": dict(metadata)}
    return {**head, "spec": {"numNodes": 0, "channel": channel}}


def drawn_channel_finding(name: str) -> Finding:
    """Return that there is no ComputeDomain, because the pods request a channel themselves."""
    message = f"the pods request a channel of {CHANNEL_CLASS} themselves, so no ComputeDomain is written for them"
    advice = "Draw the GPUs alone. The export then has a ComputeDomain, and the pods name the template of its channel."
    return Finding("compute-domain-drawn", Severity.WARNING, name, message, advice)


def channel_findings(name: str) -> tuple[Finding, ...]:
    """Return what the ComputeDomain of a name does not do."""
    subject = f"ComputeDomain/{name}"
    clique = (
        "a ComputeDomain does not hold its pods to one NVLink clique: its channels are devices of single nodes",
        f"Keep the required level that is exported with it, or pin the domain. The label is {CLIQUE}.",
    )
    alone = (
        "each node has one channel, so a node runs one pod with a ComputeDomain at a time",
        "Let each pod use all GPUs of its node.",
    )
    return (
        Finding("compute-domain-clique", Severity.WARNING, subject, *clique),
        Finding("compute-domain-node", Severity.WARNING, subject, *alone),
    )
