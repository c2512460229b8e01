"""A gang for kube-scheduler: a PodGroup of Kubernetes 1.36 or later, and Jobs whose pods name it.

Sources: kubernetes/api v0.36.3 `scheduling/v1alpha2/types.go`, 1.37 `scheduling/v1beta1/types.go`; KEP-4671, KEP-5732,
KEP-5729.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dra_lab.errors import InputError
from dra_lab.exports.gangs.gang_parts import Cannot, GangParts, Object, Places, job
from dra_lab.exports.gangs.level_keys import is_host
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.claim_objects import pod_claim

POD_GROUPS: Mapping[str, tuple[str, ...]] = {
    "1.36": ("scheduling.k8s.io/v1alpha2",),
    "1.37": ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
    "1.38": ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
}
"""The versions of PodGroup in each release, first the one to write; 1.37 no longer has that of 1.36."""

MOST_SHARED = 4
"""Most claims of a PodGroup (`MaxPodGroupResourceClaims`)."""


def pod_group_version(release: KubernetesRelease) -> str:
    """Return the apiVersion of PodGroup in a release. Raises InputError for a release without it."""
    if release.minor not in POD_GROUPS:
        known = ", ".join(POD_GROUPS)
        raise InputError(f"Kubernetes {release.version} has no PodGroup; choose release {known}, or another scheduler")
    return POD_GROUPS[release.minor][0]


def not_by_default(version: str, subject: str, origin: Origin | None = None) -> Finding:
    """Return that an API server serves a version of PodGroup only if it is started so."""
    message = f"the API server does not serve {version} by default"
    advice = f"Start it with --runtime-config={version}=true."
    return Finding("pod-group-version", Severity.WARNING, subject, message, advice, origin)


def objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    copies = range(len(parts.copies))
    jobs = []
    for copy, name in enumerate(parts.copies):
        for group in parts.groups:
            template = parts.pod_template(copy, group, spec={"schedulingGroup": {"podGroupName": name}})
            jobs.append(job(parts, f"{name}-{group.name}", group.count, template))
    return {"podgroup.yaml": [_pod_group(parts, copy) for copy in copies], "job.yaml": jobs}


def _pod_group(parts: GangParts, copy: int) -> Object:
    spec: Object = {"schedulingPolicy": {"gang": {"minCount": parts.gang.least}}}
    if label := parts.label(parts.required):
        spec["schedulingConstraints"] = {"topology": [{"key": label}]}
    if shared := parts.every_shared(copy):
        spec["resourceClaims"] = [pod_claim(claim, entry) for claim, entry in shared]
    if parts.priority_class:
        spec["priorityClassName"] = parts.priority_class
    head = {"apiVersion": pod_group_version(parts.target.release), "kind": "PodGroup"}
    return {**head, "metadata": parts.metadata(parts.copies[copy]), "spec": spec}


def edit(value: Any, parts: GangParts, places: Places) -> None:
    """Write the fields of kube-scheduler into a person's own workload."""
    for field, _ in places:
        value_at(value, field.path)["schedulingGroup"] = {"podGroupName": parts.copies[0]}


def cannot(parts: GangParts) -> Iterator[Cannot]:
    """Yield what kube-scheduler cannot express of a gang, most important first."""
    yield from parts.without_label("kube-scheduler")
    for level in dict.fromkeys(filter(None, (parts.preferred_of(group) for group in parts.groups))):
        yield Cannot(f"A PodGroup has no preferred level, so {level} is left out.")
    for group in parts.groups:
        if group.level and len(parts.groups) > 1:
            text = f"A PodGroup has one required level, so {group.level} of {group.name} is left out."
            yield Cannot(text, (group.level,))
        if group.slices:
            cut = ", ".join(f"{size} pods in one {level}" for size, level in group.slices)
            lost = tuple(level for _, level in group.slices)
            yield Cannot(f"A PodGroup has no slices, so {cut} of {group.name} is left out.", lost)
    if len(parts.groups) > 1:
        each = ", ".join(f"{group.least} of {group.name}" for group in parts.groups)
        yield Cannot(f"A PodGroup counts {parts.gang.least} pods of any group and not {each}.")


def findings(parts: GangParts) -> Iterator[Finding]:
    """Yield what kube-scheduler refuses of the files, and what it needs before they are applied."""
    name, old = parts.gang.name, not parts.target.release.is_at_least("1.37")
    message = (
        f"the feature gate GenericWorkload is off by default in {parts.target.release.version}. The API server then "
        "drops spec.schedulingGroup silently, and pods start one by one"
    )
    yield Finding("pod-group-gate", Severity.WARNING, name, message, "Enable it in kube-apiserver and kube-scheduler.")
    yield not_by_default(pod_group_version(parts.target.release), name)
    if old:
        message = "kube-scheduler 1.36 starts a gang in part without the gate GangScheduling, which is alpha and off"
        yield Finding("pod-group-gang-gate", Severity.WARNING, name, message, "Enable it in kube-scheduler.")
        message = "Kubernetes 1.37 no longer has PodGroups of v1alpha2"
        yield Finding(
            "pod-group-upgrade", Severity.WARNING, name, message, "Delete them before you upgrade, and export again."
        )
    if parts.label(parts.required):
        message = "schedulingConstraints needs the gate TopologyAwareWorkloadScheduling, which is alpha and off"
        advice = "Enable it in kube-apiserver and kube-scheduler; without it no level is required."
        yield Finding("pod-group-topology-gate", Severity.WARNING, name, message, advice)
        tree = None if is_host(parts.required) else parts.hierarchy
        counts = Counter(domain.value for domain in tree.at(parts.required)) if tree is not None else {}
        if twice := [value for value, count in counts.items() if count > 1]:
            message = f"{len(twice)} values of the label have several parents ({twice[0]}); kube-scheduler merges them"
            advice = "Pin a planned domain, or give every domain its own value."
            yield Finding("pod-group-same-value", Severity.WARNING, name, message, advice)
    if shared := parts.gang.every_shared_claim:
        if not parts.target.release.enabled("DRAWorkloadResourceClaims"):
            message = "claims of a PodGroup need the gate DRAWorkloadResourceClaims, which is off; it drops them"
            advice = "Enable it. Without it, each pod gets a claim of its own."
            yield Finding("pod-group-claims-gate", Severity.WARNING, name, message, advice)
        if len(shared) > MOST_SHARED:
            message = f"a PodGroup has at most {MOST_SHARED} claims, and this has {len(shared)}"
            yield Finding("pod-group-claims", Severity.ERROR, name, message, "Put several requests into one claim.")
    if parts.priority_class and old:
        message = "priorityClassName of a PodGroup needs the gate WorkloadAwarePreemption, which is alpha and off"
        yield Finding("pod-group-priority", Severity.WARNING, name, message, "Enable it, or use priority 0.")
    if parts.gang.least < parts.gang.size:
        message = (
            f"kube-scheduler starts {parts.gang.least} pods; the other {parts.gang.size - parts.gang.least} may wait"
        )
        yield Finding("pod-group-minimum", Severity.NOTE, name, message, "Require all pods if the job needs them.")
