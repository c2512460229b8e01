"""What is different for the scheduler, quotas and people once devices are claimed and not counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from dra_lab.drivers.device_plugins import PluginResource
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.gitops.plugin_requests import PluginRequest
from dra_lab.manifests.pod_templates import RUNTIMES, value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease

_NODE_LABELS = ("nvidia.com/gpu.", "nvidia.com/mig.", "amd.com/gpu.", "gpu.intel.com/")


_CHOOSING = (
    "nvidia.com/use-gpuuuid",
    "nvidia.com/nouse-gpuuuid",
    "nvidia.com/use-gputype",
    "nvidia.com/nouse-gputype",
    "nvidia.com/numa-bind",
)
"""Annotations with which HAMi's scheduler chooses devices (Project-HAMi/HAMi, examples/nvidia)."""

_NETWORKS = "k8s.v1.cni.cncf.io/networks"
_RAY = ("RayCluster", "RayJob", "RayService")
_SUBJECTS = 5
"""Workloads that a note names."""


KnownRequests = Sequence[tuple[PluginRequest, PluginResource]]


def what_changes(pod: PodTemplate, known_requests: KnownRequests) -> tuple[Finding, ...]:
    """Return, as notes, what changes for a workload whose devices are claimed from now on (docs/semantics.md 1.15)."""
    return tuple(_changes(pod, known_requests))


def what_changes_by_name(
    pod: PodTemplate, requests: Sequence[PluginRequest], release: KubernetesRelease
) -> tuple[Finding, ...]:
    """Return what changes for a workload that keeps its resource names (KEP-5004, docs/semantics.md 1.16)."""
    return tuple(_changes_by_name(pod, requests, release))


def what_is_not_read(pod: PodTemplate, known_requests: KnownRequests, cluster: Cluster | None) -> tuple[Finding, ...]:
    """Return what read amounts or chose devices before and does not see claims, and the classes that are missing."""
    return tuple(chain(_annotations(pod), _controllers(pod), _classes(pod, known_requests, cluster)))


def _annotations(pod: PodTemplate) -> Iterator[Finding]:
    for name in (name for name in (*_CHOOSING, _NETWORKS) if name in pod.annotations):
        message = f"a claim does not read the annotation {name}: {pod.annotations[name]}"
        advice = "Add a selector on the device's uuid, productName or NUMA node to the claim's request."
        if name == _NETWORKS:
            message = (
                f"Multus finds the devices of the annotation {name} through the device plugin, not through a claim"
            )
            advice = "Configure the network in the claim, as the DRA driver of the NICs documents it."
        place = pod.document.at(pod.path.removesuffix(".spec"))
        yield Finding("annotation-not-read", Severity.WARNING, pod.subject, message, advice, place)


def _controllers(pod: PodTemplate) -> Iterator[Finding]:
    """Yield what a controller reads from the limits of containers, from which the amounts are gone now."""
    if pod.document.kind in _RAY:
        group = value_at(pod.document.value, pod.path.removesuffix(".template.spec"))
        given = group.get("rayStartParams") if isinstance(group, Mapping) else None
        if isinstance(given, Mapping) and ("num-gpus" in given or "resources" in given):
            return
        message = "KubeRay counts GPUs and TPUs from the container's limits, and these now have none"
        advice = "Set rayStartParams: num-gpus (for TPUs: resources) of this group."
    elif pod.document.kind in RUNTIMES:
        message = "Kubeflow Trainer counts the GPUs of a node from the container's limits, and these now have none"
        advice = "Set numProcPerNode in the TrainJob or in the runtime's mlPolicy."
    else:
        return
    place = pod.document.at(pod.path)
    yield Finding("amount-not-read", Severity.WARNING, pod.subject, message, advice, place)


def _classes(pod: PodTemplate, known_requests: KnownRequests, cluster: Cluster | None) -> Iterator[Finding]:
    names = sorted({known.device_class for _, known in known_requests})
    have = frozenset(item.name for item in cluster.classes) if cluster is not None else frozenset(names)
    for name in (name for name in names if name not in have):
        message = f"this cluster has no DeviceClass {name} yet"
        yield _note(pod, "class-not-there", message, "Install its DRA driver before you apply the workload.")


def without_repeats(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with each note once: what is the same for several workloads names them all, the first's place."""
    same: dict[Hashable, list[Finding]] = defaultdict(list)
    for finding in findings:
        note = finding.severity is Severity.NOTE
        same[finding.rule, finding.message, finding.advice, None if note else id(finding)].append(finding)
    found = []
    for first, *more in same.values():
        subjects = list(dict.fromkeys(finding.subject for finding in (first, *more)))
        some = ", ".join(subjects[:_SUBJECTS])
        left = f" and {len(subjects) - _SUBJECTS} more" if len(subjects) > _SUBJECTS else ""
        found.append(replace(first, subject=f"{some}{left}"))
    return tuple(found)


def _changes_by_name(
    pod: PodTemplate, requests: Sequence[PluginRequest], release: KubernetesRelease
) -> Iterator[Finding]:
    resources = ", ".join(sorted({request.resource for request in requests}))
    if not release.enabled("DRAExtendedResource"):
        message = f"Kubernetes {release} ignores extendedResourceName, because the gate DRAExtendedResource is off"
        advice = "Turn the gate on, wait for 1.36, or use claims in the workload."
        place = pod.document.at(pod.path)
        yield Finding("migrate-release", Severity.ERROR, pod.subject, message, advice, place)
    yield _note(
        pod,
        "migrate-both-on",
        f"if a node still has {resources} allocatable from a device plugin, the plugin serves the pod there; the "
        "class serves it on the other nodes",
        "Move one node at a time: turn the plugin off, then the driver on.",
    )
    yield _note(
        pod,
        "migrate-no-alignment",
        "a resource name has no selectors, links or configuration except those of the class",
        "If devices must be close together, use claims in the workload (without --keep-resource-name).",
    )
    yield _note(
        pod,
        "migrate-quota-both",
        f"ResourceQuota on requests.{requests[0].resource} still counts, and the class's own quota counts as well",
        "Check both: CLASS.deviceclass.resource.k8s.io/devices.",
    )


def _changes(pod: PodTemplate, known_requests: KnownRequests) -> Iterator[Finding]:
    names = sorted({request.resource for request, _ in known_requests})
    classes = sorted({known.device_class for _, known in known_requests})
    resources = ", ".join(names)
    yield _note(
        pod,
        "migrate-both-on",
        f"if the device plugin of {resources} and the DRA driver offer the same devices on a node, the node "
        "allocates them twice",
        "Turn the plugin off on the nodes of the driver, or use different nodes for the two.",
    )
    quota = ", ".join(f"{name}.deviceclass.resource.k8s.io/devices" for name in classes if name)
    yield _note(
        pod,
        "migrate-quota",
        f"a ResourceQuota on requests.{names[0]} no longer counts these devices",
        f"Limit {quota or 'CLASS.deviceclass.resource.k8s.io/devices'} instead.",
    )
    yield _note(
        pod,
        "migrate-choice",
        "kube-scheduler now allocates the first matching devices; the kubelet's device manager and its topology "
        "hints no longer choose",
        "If devices must be close together, add links (constraints) and plan them: dra-lab plan.",
    )
    yield _note(
        pod,
        "migrate-template",
        "the spec of an existing ResourceClaimTemplate cannot be changed",
        "Give a changed template a new name and roll the workload out with it.",
    )
    for key in _labels(pod.spec):
        yield _note(
            pod,
            "migrate-node-label",
            f"the node label {key} still chooses nodes, but is no longer needed to choose devices",
            "A selector on the device's attributes does the same per device, even on nodes with mixed devices.",
        )


def _labels(spec: Mapping[str, object]) -> list[str]:
    selector = spec.get("nodeSelector")
    keys = selector if isinstance(selector, Mapping) else {}
    return sorted(str(key) for key in keys if str(key).startswith(_NODE_LABELS))


def _note(pod: PodTemplate, rule: str, message: str, advice: str) -> Finding:
    return Finding(rule, Severity.NOTE, pod.subject, message, advice, pod.document.at(pod.path))
