"""A gang for kube-scheduler: a PodGroup of Kubernetes 1.36 or 1.37, and Jobs whose pods name it.

Sources: kubernetes/api v0.36.3 `scheduling/v1alpha2/types.go`, 1.37 `scheduling/v1beta1/types.go`; KEP-4671, KEP-5732,
KEP-5729.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.errors import InputError
from dra_lab.exports.gangs.gang_parts import GangParts, Object, job
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.claim_objects import pod_claim

POD_GROUPS: Mapping[str, tuple[str, ...]] = {
    "1.36": ("scheduling.k8s.io/v1alpha2",),
    "1.37": ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
}
"""The versions of PodGroup in each release, first the one to write; 1.37 no longer has that of 1.36."""

MOST_SHARED = 4
"""Most claims of a PodGroup (`MaxPodGroupResourceClaims`)."""


def pod_group_version(release: KubernetesRelease) -> str:
    """Return the apiVersion of PodGroup in a release. Raises InputError for a release without it."""
    if release.minor not in POD_GROUPS:
        known = " and ".join(POD_GROUPS)
        raise InputError(f"Kubernetes {release.version} has no PodGroup; choose release {known}, or another scheduler")
    return POD_GROUPS[release.minor][0]


def not_by_default(version: str, subject: str, origin: Origin | None = None) -> Finding:
    """Return that an API server serves a version of PodGroup only if it is started so."""
    message = f"the API server does not serve {version} by default"
    advice = f"Start it with --runtime-config={version}=true."
    return Finding("pod-group-version", Severity.WARNING, subject, message, advice, origin)


def pod_group_objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    copies = range(len(parts.copies))
    jobs = [_job(parts, copy, at) for copy in copies for at in range(len(parts.groups))]
    return {"podgroup.yaml": [_pod_group(parts, copy) for copy in copies], "job.yaml": jobs}


def _pod_group(parts: GangParts, copy: int) -> Object:
    spec: Object = {"schedulingPolicy": {"gang": {"minCount": parts.gang.least}}}
    if label := parts.label(parts.required):
        spec["schedulingConstraints"] = {"topology": [{"key": label}]}
    if shared := parts.every_shared(copy):
        spec["resourceClaims"] = [pod_claim(claim, entry) for claim, entry in shared]
    if parts.priority_class:
        spec["priorityClassName"] = parts.priority_class
    head = {"apiVersion": pod_group_version(parts.release), "kind": "PodGroup"}
    return {**head, "metadata": parts.metadata(parts.copies[copy]), "spec": spec}


def _job(parts: GangParts, copy: int, at: int) -> Object:
    group, name = parts.groups[at], parts.copies[copy]
    template = parts.pod_template(copy, group, spec={"schedulingGroup": {"podGroupName": name}})
    return job(parts, f"{name}-{group.name}", group.pods, template)
