"""Shares of devices that device plugins give out, and the shares of a DRA driver that take their place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.drivers.device_plugins import PluginResource, plugin_resource
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.gitops.plugin_requests import PluginRequest, unreadable_amounts
from dra_lab.manifests.templates import has_variables
from dra_lab.model.cluster import Cluster
from dra_lab.model.numbers import unsigned_number
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease

_MIB = 2**20
_WHOLE_PERCENT = 100
_SHARE_ANNOTATIONS = ("gpu-fraction", "gpu-memory", "gpu-fraction-num-devices")
"""Annotations of a pod with which KAI and Run:ai give out parts of a GPU (KAI-Scheduler, docs/gpu-sharing)."""

_MODE = "nvidia.com/vgpu-mode"
_GPU = "nvidia.com/gpu"
_SHARING_LABELS = ("nvidia.com/gpu.sharing-strategy", "cloud.google.com/gke-gpu-sharing-strategy")
_PARTITION_LABEL = "cloud.google.com/gke-gpu-partition-size"
_PRODUCT_LABEL, _REPLICAS_LABEL = "nvidia.com/gpu.product", "nvidia.com/gpu.replicas"
"""Node labels of GPU feature discovery and GKE that say whether nvidia.com/gpu counts whole GPUs."""


@dataclass(frozen=True, slots=True)
class ShareRefusal:
    """Why a workload is left as it is: the place, what it asks for, the reason, and what a person can do."""

    path: str
    what: str
    why: str
    advice: str


@dataclass(frozen=True, slots=True)
class Share:
    """The shares that one container asks for: `count` devices, of each the amounts in `capacity`.

    `resources` are the names that leave the container; `once` says that it is an ordinary init container.
    """

    path: str
    container: str
    count: int
    known: PluginResource
    capacity: Mapping[str, str] = field(default_factory=dict)
    resources: frozenset[str] = frozenset()
    once: bool = False


_ADVICE = "Request a whole device, a partition, or a share by the capacity of a DRA driver."


def shares_of(
    pod: PodTemplate,
    requests: Sequence[PluginRequest],
    device_classes: Mapping[str, str],
    cluster: Cluster | None,
    release: KubernetesRelease | None,
) -> tuple[tuple[Share, ...], tuple[ShareRefusal, ...]]:
    """Return the shares that a pod asks for, and why it is left as it is: what is no share of DRA stays a share.

    A resource is a share if it is an amount of a device, or counts devices of which the container asks an amount.
    `device_classes` are the classes that a person named for resources.
    """
    refused = [*_annotated(pod), *_labelled(pod, requests, device_classes, cluster), *_unreadable(pod)]
    shares: list[Share] = []
    of_container: dict[str, list[PluginRequest]] = defaultdict(list)
    for request in requests:
        of_container[request.path].append(request)
    for requests in of_container.values():
        parts = [(r, known) for r in requests if (known := plugin_resource(r.resource)) is not None and known.share]
        if parts:
            found = _share(pod, requests, parts, device_classes, cluster, release)
            shares += [found] if isinstance(found, Share) else []
            refused += [found] if isinstance(found, ShareRefusal) else []
    worked = [share.capacity for share in shares if not share.once]
    for share in shares:
        if share.once and share.capacity not in worked:
            why = "an init container requests a share that no later container has"
            refused.append(ShareRefusal(share.path, _names(share.resources), why, "Give both the same share."))
    return tuple(shares), tuple(refused)


def _share(
    pod: PodTemplate,
    requested: Sequence[PluginRequest],
    parts: Sequence[tuple[PluginRequest, PluginResource]],
    device_classes: Mapping[str, str],
    cluster: Cluster | None,
    release: KubernetesRelease | None,
) -> Share | ShareRefusal:
    first = requested[0]
    names = frozenset(request.resource for request, _ in parts)
    counted = {name for _, known in parts for name in known.part_of}
    counts = [request for request in requested if request.resource in counted]
    names |= {request.resource for request in counts}

    def refuse(why: str, advice: str = _ADVICE) -> ShareRefusal:
        return ShareRefusal(f"{first.path}.resources.limits", _names(names), why, advice)

    for _, known in parts:
        if not known.device_class:
            return refuse(known.note)
    known, count = parts[0][1], counts[0].count if counts else 1
    plain = plugin_resource(min(counted))
    named = next((device_classes[name] for name in sorted(counted) if name in device_classes), "")
    if not named and (cluster is None or not _has_driver(cluster, known)):
        if plain is not None and all(_is_whole(*part) for part in parts):
            return Share(first.path, first.container, count, plain, {}, names, first.once)
        return refuse(*_without_driver(cluster, known))
    if release is not None and not release.enabled("DRAConsumableCapacity"):
        why = (
            f"Kubernetes {release} does not let a claim request a share, because the gate DRAConsumableCapacity is off"
        )
        return refuse(why, "Turn the gate on, or wait for 1.36.")
    mode = pod.annotations.get(_MODE, "hami-core")
    if mode != "hami-core":
        why = f"the annotation {_MODE}: {mode} asks HAMi for another kind of share, which its DRA driver does not have"
        return refuse(why)
    capacity = _capacity(parts, cluster)
    if isinstance(capacity, str):
        return refuse(
            capacity, "Write an amount that the device has: nvidia.com/gpumem counts MiB, gpucores up to 100."
        )
    made = PluginResource(min(counted), known.driver, named or known.device_class, known.request, known.source)
    return Share(first.path, first.container, count, made, capacity, names, first.once)


def _without_driver(cluster: Cluster | None, known: PluginResource) -> tuple[str, str]:
    if cluster is None:
        why = f"it is a share of a device, which only a claim for the driver {known.driver} can request"
        return why, "Migrate it to claims in a cluster that has this driver."
    why = f"it is a share of a device, and no node of this cluster has the driver {known.driver}, which serves it"
    return why, "Install that driver, or request a whole GPU or a MIG partition instead."


def _capacity(parts: Sequence[tuple[PluginRequest, PluginResource]], cluster: Cluster | None) -> dict[str, str] | str:
    """Return what to ask of each device, or why that is not known."""
    capacity: dict[str, str] = {}
    for request, part in parts:
        amount = _amount(request, part, cluster)
        if amount is None:
            resource = f"{request.resource}: {request.count}"
            return (
                f"{resource} is a part of a device's memory, but the devices of this cluster do not publish how "
                "much they have"
            )
        if amount:
            capacity[part.capacity] = amount
    # without cores HAMi's plugin limits none and lets others share the GPU; the driver would take all of them
    if "memory" in capacity:
        capacity.setdefault("cores", "0")
    if parse_quantity(capacity.get("cores", "0")) > _WHOLE_PERCENT:
        return f"nvidia.com/gpucores: {capacity['cores']} is more than the 100 of a GPU"
    return capacity


def _amount(request: PluginRequest, part: PluginResource, cluster: Cluster | None) -> str | None:
    """Return what to ask of the driver's capacity, "" for its default of a whole device, None if that is not known."""
    if part.unit != "%":
        return f"{request.count}{part.unit}"
    if request.count == _WHOLE_PERCENT:
        return ""
    sizes = {
        parse_quantity(device.capacity[part.capacity].value)
        for published in (cluster.slices if cluster is not None else ())
        if published.spec.driver == part.driver
        for device in published.spec.devices or ()
        if part.capacity in device.capacity
    }
    if len(sizes) != 1 or request.count > _WHOLE_PERCENT:
        return None
    mebibytes = sizes.pop() * request.count // (_WHOLE_PERCENT * _MIB)
    return f"{mebibytes}Mi"


def _is_whole(request: PluginRequest, part: PluginResource) -> bool:
    """Say whether an amount is all of a device: 100 cores, or 100 % of its memory."""
    return request.count == _WHOLE_PERCENT and (part.unit == "%" or part.capacity == "cores")


def _has_driver(cluster: Cluster, known: PluginResource) -> bool:
    return any(published.spec.driver == known.driver for published in cluster.slices) or any(
        item.name == known.device_class for item in cluster.classes
    )


def _annotated(pod: PodTemplate) -> Iterator[ShareRefusal]:
    found = [name for name in _SHARE_ANNOTATIONS if name in pod.annotations]
    if found:
        what = ", ".join(f"{name}: {pod.annotations[name]}" for name in found)
        why = "the annotation asks KAI or Run:ai for a part of a GPU, and dra-lab knows no DRA driver with such a share"
        yield ShareRefusal(pod.path.removesuffix(".spec"), what, why, _ADVICE)


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


def _labelled(
    pod: PodTemplate, requests: Iterable[PluginRequest], device_classes: Mapping[str, str], cluster: Cluster | None
) -> Iterator[ShareRefusal]:
    """Yield a refusal where labels say that nvidia.com/gpu counts time slices or partitions, and no whole GPUs."""
    gpus = next((request for request in requests if request.resource == _GPU), None)
    if gpus is None or _GPU in device_classes:
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


def _names(resources: Iterable[str]) -> str:
    return ", ".join(sorted(resources))
