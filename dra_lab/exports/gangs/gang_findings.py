"""Findings about the files of a gang before they are applied: gates that are off, dropped fields, refusals.

Each scheduler has one function. The claims that Kueue refuses are in `scheduler.kueue.refused_claims`. Sources for
others: Kubernetes 1.36.2 `pkg/api/pod/util.go`, `pkg/features/kube_features.go`; KEP-3136 (beta APIs are off);
kai-scheduler/KAI-Scheduler v0.17.0 CHANGELOG; volcano-sh/volcano v1.15.1, its user guides of DRA and network topology.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dra_lab.exports.gangs.gang_parts import GangParts, GroupParts, wanted_levels
from dra_lab.exports.gangs.kueue_objects import MOST_LAYERS, device_classes, ends_with_host, leads
from dra_lab.exports.gangs.level_keys import repeated_values, same_level
from dra_lab.exports.gangs.pod_group_objects import MOST_SHARED, not_by_default, pod_group_version
from dra_lab.exports.gangs.volcano_objects import existing, tier_of
from dra_lab.findings import Finding, Severity
from dra_lab.scheduler.kueue.counted import unmapped_classes
from dra_lab.scheduler.kueue.refused_claims import refused_claims

MOST_KEY = 63
"""Longest label key that Kueue's Workload can name, although a Topology may have one of 316 characters."""

_PREEMPTED_BELOW = 100
_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


def gang_findings(scheduler: str, parts: GangParts) -> tuple[Finding, ...]:
    """Return what a person must know of the files of a gang for one scheduler."""
    return (*_BY_SCHEDULER[scheduler](parts), *_lost_level(scheduler, parts))


def _lost_level(scheduler: str, parts: GangParts) -> Iterator[Finding]:
    """Yield required levels that the files lack and no pin keeps: then pods may start in several domains."""
    lost = []
    for level in dict.fromkeys(filter(None, (parts.gang.level, *(group.own for group in parts.groups)))):
        absent = tier_of(parts, level) is None if scheduler == "volcano" else not parts.label(level)
        lost += [level] if absent else []
    several = len(parts.groups) > 1
    if scheduler == "kueue" and several and parts.gang.level and not leads(parts):
        lost.append(parts.gang.level)
    for group in parts.groups:
        left = scheduler == "kube-scheduler" or (scheduler == "volcano" and group.slices)
        lost += [group.own] if group.own and several and left else []
        lost += [level for _, level in _lost_slices(scheduler, parts, group)]
    for level in dict.fromkeys(lost):
        if parts.pinned and same_level(parts.hierarchy, level, parts.required):
            continue
        message = f"the files do not keep the required level {level}: pods that need one {level} may get several"
        yield Finding("gang-level-lost", _ERROR, parts.gang.name, message, "Pin a planned domain, or change the gang.")


def _lost_slices(scheduler: str, parts: GangParts, group: GroupParts) -> tuple[tuple[int, str], ...]:
    slices = group.slices
    if scheduler == "kube-scheduler":
        return slices
    if scheduler == "volcano":
        return tuple(one for at, one in enumerate(slices) if at or tier_of(parts, one[1]) is None)
    unnamed = tuple(one for one in slices if not parts.label(one[1]))
    return unnamed or (slices[:-MOST_LAYERS] if scheduler == "kueue" else ())


def _kueue(parts: GangParts) -> Iterator[Finding]:
    name = parts.gang.name
    if not parts.queue:
        message = (
            "without the label kueue.x-k8s.io/queue-name Kueue does not manage the Job, and its pods start at once"
        )
        yield Finding("kueue-queue-missing", _ERROR, name, message, "Name a LocalQueue.")
    yield from refused_claims(parts.cluster, parts.gang, parts.requests, parts.release)
    for level in wanted_levels(parts):
        if len(key := parts.label(level)) > MOST_KEY:
            message = f"the label {key} has {len(key)} characters; a Topology may name it, and a Workload may not"
            advice = f"Kueue refuses this gang. Use a label of at most {MOST_KEY} characters for the level {level}."
            yield Finding("kueue-key-too-long", _ERROR, name, message, advice)
    if classes := device_classes(parts):
        if unmapped := unmapped_classes(parts.cluster, classes):
            message = f"Kueue refuses the gang unless its Configuration maps every DeviceClass: {', '.join(unmapped)}"
            advice = (
                "Merge kueue-configuration.yaml into it, cover the resources in the ClusterQueue and restart Kueue."
            )
            yield Finding("kueue-class-mapping", _WARNING, name, message, advice)
        if wanted_levels(parts) and not parts.pinned:
            message = "Kueue chooses domains by node resources and does not count devices, so the gang may wait there"
            yield Finding("kueue-devices-not-counted", _WARNING, name, message, "Pin a planned domain.")
        elif wanted_levels(parts) and ends_with_host(parts):
            message = "Kueue chooses the nodes of the pinned domain without counting devices, so pods may wait on some"
            advice = "Request CPUs and memory in the containers, so that Kueue leaves out busy nodes."
            yield Finding("kueue-devices-not-counted", _NOTE, name, message, advice)


def _kai(parts: GangParts) -> Iterator[Finding]:
    name = parts.gang.name
    if not parts.queue:
        message = "KAI does not schedule a PodGroup without a queue"
        yield Finding("kai-queue-missing", _ERROR, name, message, "Name a Queue of KAI.")
    for claim in parts.gang.every_shared_claim:
        message = "KAI does not support claims that several pods share"
        yield Finding("kai-shared-claim", _ERROR, claim.name, message, "Choose another scheduler.")
    for claim_name, request in parts.requests:
        if request.first_available:
            message = "KAI does not support a list of alternatives (firstAvailable)"
            subject = f"{claim_name}, request {request.name}"
            yield Finding("kai-alternatives", _ERROR, subject, message, "Request one kind of device.")
    if parts.gang.priority >= _PREEMPTED_BELOW:
        message = f"KAI never preempts a PodGroup of priority {_PREEMPTED_BELOW} or more"
        yield Finding("kai-not-preempted", _NOTE, name, message, "Use a lower priority if it may be preempted.")
    if parts.requests and wanted_levels(parts) and not parts.pinned:
        message = "KAI looks for a domain with enough GPUs and tries other devices node by node, without going back"
        yield Finding("kai-devices-not-counted", _NOTE, name, message, "Pin a planned domain.")


def _volcano(parts: GangParts) -> Iterator[Finding]:
    name = parts.gang.name
    queue = parts.queue or "default"
    yield Finding("volcano-queue", _NOTE, name, f"the Queue {queue} must exist and be open", "Create it first.")
    if parts.gang.least < parts.gang.size:
        message = f"Volcano starts {parts.gang.least} pods; the other {parts.gang.size - parts.gang.least} may wait"
        advice = "They need room in the same domain. Require all pods if the job cannot run with fewer."
        yield Finding("volcano-minimum", _WARNING, name, message, advice)
    if parts.requests:
        message = "Volcano ignores claims unless DRA is enabled in its scheduler"
        advice = (
            "Start it with --feature-gates=DynamicResourceAllocation=true and set "
            "predicate.DynamicResourceAllocationEnable of the predicates plugin."
        )
        yield Finding("volcano-dra", _WARNING, name, message, advice)
    if any(request.first_available for _, request in parts.requests):
        message = "Volcano reads a list of alternatives (firstAvailable) only with its gate DRAPrioritizedList"
        yield Finding("volcano-alternatives", _WARNING, name, message, "Add the gate to its --feature-gates.")
    for claim in parts.gang.every_shared_claim:
        message = "that Volcano places a gang with a shared claim is not proven"
        yield Finding("volcano-shared-claim", _WARNING, claim.name, message, "Try it on a test cluster.")
    if wanted_levels(parts):
        message = "Volcano ignores networkTopology unless its scheduler has the plugin network-topology-aware"
        yield Finding("volcano-plugin", _WARNING, name, message, "Enable the plugin.")
        if not existing(parts):
            message = "the tiers are those of hypernodes.yaml; other HyperNodes in the cluster have other tiers"
            yield Finding(
                "volcano-tiers", _NOTE, name, message, "Remove them first, or export for a hierarchy of them."
            )


def _kube_scheduler(parts: GangParts) -> Iterator[Finding]:
    name, old = parts.gang.name, not parts.release.is_at_least("1.37")
    message = (
        f"the feature gate GenericWorkload is off by default in {parts.release.version}. The API server then drops "
        "spec.schedulingGroup silently, and pods start one by one"
    )
    yield Finding("pod-group-gate", _WARNING, name, message, "Enable it in kube-apiserver and kube-scheduler.")
    yield not_by_default(pod_group_version(parts.release), name)
    if old:
        message = "kube-scheduler 1.36 starts a gang in part without the gate GangScheduling, which is alpha and off"
        yield Finding("pod-group-gang-gate", _WARNING, name, message, "Enable it in kube-scheduler.")
        message = "Kubernetes 1.37 no longer has PodGroups of v1alpha2"
        yield Finding("pod-group-upgrade", _WARNING, name, message, "Delete them before you upgrade, and export again.")
    if parts.label(parts.required):
        message = "schedulingConstraints needs the gate TopologyAwareWorkloadScheduling, which is alpha and off"
        advice = "Enable it in kube-apiserver and kube-scheduler; without it no level is required."
        yield Finding("pod-group-topology-gate", _WARNING, name, message, advice)
        if twice := repeated_values(parts.hierarchy, parts.required):
            message = f"{len(twice)} values of the label have several parents ({twice[0]}); kube-scheduler merges them"
            advice = "Pin a planned domain, or give every domain its own value."
            yield Finding("pod-group-same-value", _WARNING, name, message, advice)
    if shared := parts.gang.every_shared_claim:
        if not parts.release.enabled("DRAWorkloadResourceClaims"):
            message = "claims of a PodGroup need the gate DRAWorkloadResourceClaims, which is off; it drops them"
            advice = "Enable it. Without it, each pod gets a claim of its own."
            yield Finding("pod-group-claims-gate", _WARNING, name, message, advice)
        if len(shared) > MOST_SHARED:
            message = f"a PodGroup has at most {MOST_SHARED} claims, and this has {len(shared)}"
            yield Finding("pod-group-claims", _ERROR, name, message, "Put several requests into one claim.")
    if parts.priority_class and old:
        message = "priorityClassName of a PodGroup needs the gate WorkloadAwarePreemption, which is alpha and off"
        yield Finding("pod-group-priority", _WARNING, name, message, "Enable it, or use priority 0.")
    if parts.gang.least < parts.gang.size:
        message = (
            f"kube-scheduler starts {parts.gang.least} pods; the other {parts.gang.size - parts.gang.least} may wait"
        )
        yield Finding("pod-group-minimum", _NOTE, name, message, "Require all pods if the job needs them.")


_BY_SCHEDULER: Mapping[str, Callable[[GangParts], Iterator[Finding]]] = {
    "kueue": _kueue,
    "kai": _kai,
    "volcano": _volcano,
    "kube-scheduler": _kube_scheduler,
}
