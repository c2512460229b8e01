"""Why migration leaves a workload as it is, and how it changes for the scheduler, quotas and people."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dra_lab.drivers.profiles import PluginResource, plugin_resource
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.gitops.extended_resources import PluginRequest, unreadable_amounts
from dra_lab.gitops.folder import Document
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.manifests.device_asks import IMPLICIT, asks_outside
from dra_lab.manifests.file_text import has_variables
from dra_lab.manifests.pod_templates import RUNTIMES
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.quantity import unsigned_number
from dra_lab.model.release import KubernetesRelease

_SHARE_ANNOTATIONS = ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices")
"""Annotations of a pod with which KAI and Run:ai give out parts of a GPU (KAI-Scheduler, docs/gpu-sharing)."""

_GPU = "nvidia.com/gpu"
_SHARING_LABELS = ("nvidia.com/gpu.sharing-strategy", "cloud.google.com/gke-gpu-sharing-strategy")
_PARTITION_LABEL = "cloud.google.com/gke-gpu-partition-size"
_PRODUCT_LABEL, _REPLICAS_LABEL = "nvidia.com/gpu.product", "nvidia.com/gpu.replicas"
"""Node labels of GPU feature discovery and GKE that say whether nvidia.com/gpu counts whole GPUs."""

_ADVICE = "Request a whole device or a partition, or write a claim for a share of a DRA driver."


NOT_MIGRATED: Rule = "resource-not-migrated"


def share_findings(
    pod: PodTemplate, requests: Sequence[PluginRequest], device_classes: Mapping[str, str], cluster: Cluster | None
) -> Iterator[Finding]:
    """Yield why a pod is left as it is: it asks for parts of devices, or in amounts that cannot be read.

    `device_classes` are the classes that a person named for resources.
    """
    for path, what, why, *advice in (
        *_annotated(pod),
        *(() if _GPU in device_classes else _labelled(pod, requests, cluster)),
        *_unreadable(pod),
        *_shared(requests),
    ):
        message = f"dra-lab does not change this workload, because of {what}: {why}"
        next_step = advice[0] if advice else _ADVICE
        yield Finding(NOT_MIGRATED, Severity.WARNING, pod.subject, message, next_step, pod.document.at(path))


def _annotated(pod: PodTemplate) -> Iterator[tuple[str, ...]]:
    found = [name for name in _SHARE_ANNOTATIONS if name in pod.annotations]
    if found:
        what = ", ".join(f"{name}: {pod.annotations[name]}" for name in found)
        why = "the annotation asks KAI or Run:ai for a part of a GPU, and dra-lab writes no share of a DRA driver"
        yield pod.path.removesuffix(".spec"), what, why


def _shared(requests: Iterable[PluginRequest]) -> Iterator[tuple[str, ...]]:
    of_container: dict[tuple[str, str], list[str]] = defaultdict(list)
    for request in requests:
        known = plugin_resource(request.resource)
        if known is not None and known.share:
            of_container[request.path, known.note].append(request.resource)
    for (path, why), names in of_container.items():
        yield f"{path}.resources.limits", ", ".join(sorted(names)), why


def _unreadable(pod: PodTemplate) -> Iterator[tuple[str, ...]]:
    of_container: dict[str, list[str]] = defaultdict(list)
    for request, amount in unreadable_amounts(pod):
        if plugin_resource(request.resource) is not None:
            of_container[request.path].append(f"{request.resource}: {amount}")
    for path, resources in of_container.items():
        why, advice = "the API server accepts only a whole number", "Write a whole number."
        if any(has_variables(text) for text in resources):
            why, advice = "this is a variable, not a number", "Give the file with its variables replaced."
        yield f"{path}.resources.limits", ", ".join(resources), why, advice


def _labelled(
    pod: PodTemplate, requests: Sequence[PluginRequest], cluster: Cluster | None
) -> Iterator[tuple[str, ...]]:
    """Yield where labels say that nvidia.com/gpu counts time slices or partitions, and no whole GPUs."""
    gpus = next((request for request in requests if request.resource == _GPU), None)
    selector = pod.spec.get("nodeSelector")
    own = _not_whole(selector if isinstance(selector, Mapping) else {})
    nodes = [
        (node.name, why) for node in (cluster.nodes if cluster else ()) if (why := _not_whole(node.metadata.labels))
    ]
    if gpus is not None and (own or nodes):
        where = "the workload's nodeSelector says" if own else f"the labels of {len(nodes)} nodes ({nodes[0][0]}) say"
        why = f"it is not a whole GPU there: {where} {own or nodes[0][1]}"
        advice = f"If the pod needs a whole GPU, use --map {_GPU}=gpu.nvidia.com."
        yield f"{gpus.path}.resources.limits", _GPU, why, advice


def _not_whole(labels: Mapping[str, object]) -> str:
    """Return the label that says that nvidia.com/gpu is a time slice or a partition, "" if none does."""
    for name in _SHARING_LABELS:
        if str(labels.get(name, "none")) not in ("none", ""):
            return f"{name}={labels[name]}"
    replicas, product = str(labels.get(_REPLICAS_LABEL, "")), str(labels.get(_PRODUCT_LABEL, ""))
    if (unsigned_number(replicas) or 0) > 1:
        return f"{_REPLICAS_LABEL}={replicas}"
    if product.endswith("-SHARED") or "-MIG-" in product:
        return f"{_PRODUCT_LABEL}={product}"
    return f"{_PARTITION_LABEL}={labels[_PARTITION_LABEL]}" if labels.get(_PARTITION_LABEL) else ""


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


_AMOUNT = re.compile(r"""^[ ]*["']?([a-z0-9.-]+/[A-Za-z0-9._-]+)["']?:[ ]*["']?\d+["']?[ ]*(?:#.*)?$""", re.MULTILINE)
"""A line of a manifest that asks for an amount of an extended resource."""

KnownRequests = Sequence[tuple[PluginRequest, PluginResource]]


def not_read(pod: PodTemplate, known_requests: KnownRequests, cluster: Cluster | None) -> Iterator[Finding]:
    """Yield what read amounts or chose devices before and does not see claims, and the classes that are missing."""
    yield from _annotations(pod)
    yield from _controllers(pod)
    names = sorted({known.device_class for _, known in known_requests})
    have = frozenset(item.name for item in cluster.classes) if cluster is not None else frozenset(names)
    for name in (name for name in names if name not in have):
        message = f"this cluster has no DeviceClass {name} yet"
        yield _note(pod, "class-not-there", message, "Install its DRA driver before you apply the workload.")


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


def what_changes_by_name(
    pod: PodTemplate, requests: Sequence[PluginRequest], release: KubernetesRelease
) -> Iterator[Finding]:
    """Yield what changes for a workload that keeps its resource names (KEP-5004, docs/semantics.md 1.16)."""
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


def what_changes(pod: PodTemplate, known_requests: KnownRequests) -> Iterator[Finding]:
    """Yield, as notes, what changes for a workload whose devices are claimed from now on (docs/semantics.md 1.15)."""
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
    selector = pod.spec.get("nodeSelector")
    labels = map(str, selector) if isinstance(selector, Mapping) else ()
    for key in sorted(label for label in labels if label.startswith(_NODE_LABELS)):
        yield _note(
            pod,
            "migrate-node-label",
            f"the node label {key} still chooses nodes, but is no longer needed to choose devices",
            "A selector on the device's attributes does the same per device, even on nodes with mixed devices.",
        )


def _note(pod: PodTemplate, rule: Rule, message: str, advice: str) -> Finding:
    return Finding(rule, Severity.NOTE, pod.subject, message, advice, pod.document.at(pod.path))


def outside_findings(document: Document) -> Iterator[Finding]:
    """Yield what an object asks of device plugins outside its pod templates."""
    if document.kind == "ConfigMap":
        yield from _in_text(document)
    for path, resource in asks_outside(document.value):
        if not resource or resource.startswith(IMPLICIT):
            continue  # DRA already
        message = (
            f"{resource} is not migrated, because {path} is not a pod template and only the controller knows its pods"
        )
        advice = "Look for the pod template that it belongs to, for example the runtime of a TrainJob."
        subject = f"{document.kind}/{document.name}"
        yield Finding(NOT_MIGRATED, Severity.WARNING, subject, message, advice, document.at(path))


def _in_text(document: Document) -> Iterator[Finding]:
    """Yield the manifests that a ConfigMap holds as text, if their containers ask for devices."""
    data = document.value.get("data")
    for key, text in data.items() if isinstance(data, Mapping) else ():
        lines = _AMOUNT.findall(text) if isinstance(text, str) and "containers:" in text else []
        for resource in dict.fromkeys(name for name in lines if plugin_resource(name) is not None):
            message = (
                f"{resource} is not migrated, because data[{key!r}] contains a manifest as text, which "
                "dra-lab does not change"
            )
            place = document.at("data")
            advice = "Migrate this manifest as a separate file, and put the text back."
            yield Finding(NOT_MIGRATED, Severity.WARNING, f"ConfigMap/{document.name}", message, advice, place)
