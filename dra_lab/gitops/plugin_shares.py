"""Parts of devices that device plugins give out: a workload that asks for one is left as it is, with the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dra_lab.drivers.device_plugins import plugin_resource
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.gitops.plugin_requests import PluginRequest, unreadable_amounts
from dra_lab.manifests.templates import has_variables
from dra_lab.model.cluster import Cluster
from dra_lab.model.quantity import unsigned_number

_SHARE_ANNOTATIONS = ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices")
"""Annotations of a pod with which KAI and Run:ai give out parts of a GPU (KAI-Scheduler, docs/gpu-sharing)."""

_GPU = "nvidia.com/gpu"
_SHARING_LABELS = ("nvidia.com/gpu.sharing-strategy", "cloud.google.com/gke-gpu-sharing-strategy")
_PARTITION_LABEL = "cloud.google.com/gke-gpu-partition-size"
_PRODUCT_LABEL, _REPLICAS_LABEL = "nvidia.com/gpu.product", "nvidia.com/gpu.replicas"
"""Node labels of GPU feature discovery and GKE that say whether nvidia.com/gpu counts whole GPUs."""

_ADVICE = "Request a whole device or a partition, or write a claim for a share of a DRA driver."


@dataclass(frozen=True, slots=True)
class ShareRefusal:
    """Why a workload is left as it is: the place, what it asks for, the reason, and what a person can do."""

    path: str
    what: str
    why: str
    advice: str = _ADVICE


def share_refusals(
    pod: PodTemplate, requests: Iterable[PluginRequest], device_classes: Mapping[str, str], cluster: Cluster | None
) -> tuple[ShareRefusal, ...]:
    """Return why a pod is left as it is: it asks for parts of devices, or in amounts that cannot be read.

    `device_classes` are the classes that a person named for resources.
    """
    labelled = () if _GPU in device_classes else _labelled(pod, requests, cluster)
    return (*_annotated(pod), *labelled, *_unreadable(pod), *_amounts(requests))


def _annotated(pod: PodTemplate) -> Iterator[ShareRefusal]:
    found = [name for name in _SHARE_ANNOTATIONS if name in pod.annotations]
    if found:
        what = ", ".join(f"{name}: {pod.annotations[name]}" for name in found)
        why = "the annotation asks KAI or Run:ai for a part of a GPU, and dra-lab writes no share of a DRA driver"
        yield ShareRefusal(pod.path.removesuffix(".spec"), what, why)


def _amounts(requests: Iterable[PluginRequest]) -> Iterator[ShareRefusal]:
    of_container: dict[tuple[str, str], list[str]] = defaultdict(list)
    for request in requests:
        known = plugin_resource(request.resource)
        if known is not None and known.share:
            of_container[request.path, known.note].append(request.resource)
    for (path, why), names in of_container.items():
        yield ShareRefusal(f"{path}.resources.limits", ", ".join(sorted(names)), why)


def _unreadable(pod: PodTemplate) -> Iterator[ShareRefusal]:
    of_container: dict[str, list[str]] = defaultdict(list)
    for request, amount in unreadable_amounts(pod):
        if plugin_resource(request.resource) is not None:
            of_container[request.path].append(f"{request.resource}: {amount}")
    for path, resources in of_container.items():
        why, advice = "the API server accepts only a whole number", "Write a whole number."
        if any(has_variables(text) for text in resources):
            why, advice = "this is a variable, not a number", "Give the file with its variables replaced."
        yield ShareRefusal(f"{path}.resources.limits", ", ".join(resources), why, advice)


def _labelled(pod: PodTemplate, requests: Iterable[PluginRequest], cluster: Cluster | None) -> Iterator[ShareRefusal]:
    """Yield a refusal where labels say that nvidia.com/gpu counts time slices or partitions, and no whole GPUs."""
    gpus = next((request for request in requests if request.resource == _GPU), None)
    if gpus is None:
        return
    selector = pod.spec.get("nodeSelector")
    own = _not_whole(selector if isinstance(selector, Mapping) else {})
    nodes = [
        (node.name, why) for node in (cluster.nodes if cluster else ()) if (why := _not_whole(node.metadata.labels))
    ]
    if not own and not nodes:
        return
    where = "the workload's nodeSelector says" if own else f"the labels of {len(nodes)} nodes ({nodes[0][0]}) say"
    why = f"it is not a whole GPU there: {where} {own or nodes[0][1]}"
    advice = f"If the pod needs a whole GPU, use --map {_GPU}=gpu.nvidia.com."
    yield ShareRefusal(f"{gpus.path}.resources.limits", _GPU, why, advice)


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
