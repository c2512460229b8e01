"""From device plugins to DRA: a workload that asks for `nvidia.com/gpu: 8` becomes one with a claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from dra_lab.drivers.device_plugins import PluginResource, plugin_resource
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.gitops.edit_yaml import YamlFile, changed_name, remove_keys
from dra_lab.gitops.folder import Document, Manifests
from dra_lab.gitops.object_pods import PodTemplate, pod_templates
from dra_lab.gitops.plugin_requests import PluginRequest, plugin_requests
from dra_lab.gitops.plugin_shares import Share, shares_of
from dra_lab.gitops.what_changes import what_changes, what_is_not_read, without_repeats
from dra_lab.manifests.device_asks import IMPLICIT, asks_outside
from dra_lab.manifests.documents import encode
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.object_names import ObjectNames, object_name

POD_CLAIM = "devices"
MAX_DEVICES = 32
NOT_MIGRATED = "resource-not-migrated"
_COMPARED = 2
_AMOUNT = re.compile(r"""^[ ]*["']?([a-z0-9.-]+/[A-Za-z0-9._-]+)["']?:[ ]*["']?\d+["']?[ ]*(?:#.*)?$""", re.MULTILINE)
"""A line of a manifest that asks for an amount of an extended resource."""


@dataclass(frozen=True)
class Migration:
    """The result of a migration: `texts` by file name, and the workloads that they migrate.

    The findings tell what changes and what was left as it was.
    """

    texts: Mapping[str, str]
    findings: tuple[Finding, ...] = ()
    workloads: tuple[str, ...] = ()

    @property
    def left(self) -> tuple[str, ...]:
        """Return the workloads that are left as they are, wholly or in part."""
        return tuple(dict.fromkeys(f.subject for f in self.findings if f.rule == NOT_MIGRATED))


@dataclass(frozen=True, slots=True)
class MigrationTarget:
    """Where workloads shall run: the cluster and release, and the classes that a person named for resources."""

    device_classes: Mapping[str, str] = field(default_factory=dict)
    cluster: Cluster | None = None
    release: KubernetesRelease | None = None


@dataclass
class _Work:
    texts: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def migrate(
    manifests: Manifests,
    *,
    device_classes: Mapping[str, str] | None = None,
    cluster: Cluster | None = None,
    release: KubernetesRelease | None = None,
) -> Migration:
    """Return the workloads with claims in place of extended resources, and a ResourceClaimTemplate for each.

    Every container keeps its own devices. An ordinary init container uses those of the containers after it. A share of
    a GPU becomes a share of the driver in `cluster` that has such shares; without one the workload stays as it is.

    Args:
        manifests: The workloads, from `read_manifests`.
        device_classes: The DeviceClass of each resource that dra-lab does not know; default: none.
        cluster: The cluster that they run on; default None: not known.
        release: The release that they run on; default None: not known.

    Returns:
        The changed files, with their comments, the templates, and findings about what changes or stays as it is.

    Raises:
        ManifestError: A file cannot be edited.

    Example:
        >>> from dra_lab import migrate, read_manifests
        >>> # With a small file.
        >>> spec = "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 2}}}]}"
        >>> _ = open("pod.yaml", "w").write("{apiVersion: v1, kind: Pod, metadata: {name: train}, spec: " + spec + "}")
        >>> sorted(migrate(read_manifests(["pod.yaml"])).texts)
        ['pod.yaml', 'train-devices.yaml']
    """
    workloads: list[str] = []
    work, target = _Work(), MigrationTarget(device_classes or {}, cluster, release)
    files: dict[str, YamlFile] = {}
    names = ObjectNames()
    for document in manifests.documents:
        work.findings += _outside(document)
        for pod in pod_templates(document):
            known_requested = known_requests(pod, target, work.findings)
            if not known_requested:
                continue
            workloads.append(pod.subject)
            source = document.origin.source
            if source not in files:
                files[source] = YamlFile(manifests.texts[source], source)
            for template in _rewrite(work, files[source], pod, known_requested, names):
                work.texts[f"{template.metadata.name}.yaml"] = files[source].dump(encode(template))
            work.findings += (*what_changes(pod, known_requested), *what_is_not_read(pod, known_requested, cluster))
    for source, file in files.items():
        work.texts[changed_name(source, work.texts)] = file.text()
    findings = sort_findings((*manifests.findings, *without_repeats(work.findings)))
    return Migration(work.texts, findings, tuple(dict.fromkeys(workloads)))


KnownRequests = list[tuple[PluginRequest, PluginResource]]


def known_requests(pod: PodTemplate, target: MigrationTarget, findings: list[Finding]) -> KnownRequests:
    """Return what can be migrated of a pod, and add a Finding for each resource that cannot.

    Where a share cannot be migrated the whole pod stays as it is: its other devices may be on the same GPU.
    """
    requests = plugin_requests(pod)
    shares, refused = shares_of(pod, requests, target.device_classes, target.cluster, target.release)
    if refused:
        for one in refused:
            message = f"dra-lab does not change this workload, because of {one.what}: {one.why}"
            place = pod.document.at(one.path)
            findings.append(Finding(NOT_MIGRATED, Severity.WARNING, pod.subject, message, one.advice, place))
        return []
    found: KnownRequests = []
    shared = {(share.path, name) for share in shares for name in share.resources}
    for share in shares:
        found += _shared_requests(share)
        findings.append(_share_finding(pod, share))
    for request in requests:
        if (request.path, request.resource) in shared:
            continue
        known = _known(request.resource, target, shares)
        if known is not None and known.device_class:
            found.append((request, known))
            continue
        place = pod.document.at(f"{request.path}.resources.limits")
        why = known.note if known is not None else "dra-lab knows no DRA driver for this resource"
        advice = f"Name the class that replaces it: --map {request.resource}=DEVICECLASS."
        message = f"{request.resource} is left as it is: {why}"
        findings.append(Finding(NOT_MIGRATED, Severity.WARNING, pod.subject, message, advice, place))
    return found


def _known(resource: str, target: MigrationTarget, shares: tuple[Share, ...]) -> PluginResource | None:
    """Return what takes the place of a resource: what a person named, what is known, or the class of this cluster."""
    base = object_name(resource.rpartition("/")[2])
    if resource in target.device_classes:
        return PluginResource(resource, "", target.device_classes[resource], base, "named on the command line")
    for share in shares:
        if share.known.resource == resource:
            return share.known
    known = plugin_resource(resource)
    cluster = target.cluster
    if cluster is None or (known is not None and (known.selectors or _is_served(cluster, known))):
        return known
    serving = [item.name for item in cluster.classes if item.spec.extended_resource_name == resource]
    if len(serving) != 1:
        return known
    request = known.request if known is not None else base
    return PluginResource(resource, "", serving[0], request, "the cluster's class says so (extendedResourceName)")


def _is_served(cluster: Cluster, known: PluginResource) -> bool:
    return known.device_class in cluster.class_by_name or any(
        published.spec.driver == known.driver for published in cluster.slices
    )


def _shared_requests(share: Share) -> KnownRequests:
    """Return the requests of a share; more than two devices one by one, so that each is another one.

    Up to 1.36.2 kube-scheduler compares a distinctAttribute with the last device of a request only
    (docs/semantics.md 3.9).
    """
    alone = share.count > _COMPARED
    known = replace(share.known, capacity_requests=share.capacity, resources=share.resources)
    count = 1 if alone else share.count
    request = PluginRequest(share.path, share.container, share.known.resource, count, share.once)
    return [(request, known)] * (share.count if alone else 1)


def _share_finding(pod: PodTemplate, share: Share) -> Finding:
    amounts = ", ".join(f"{key} {amount}" for key, amount in sorted(share.capacity.items()))
    count = f"{share.count} device{'' if share.count == 1 else 's'} of class {share.known.device_class}"
    names = ", ".join(sorted(share.resources))
    if not amounts:
        message = f"container {share.container}: {names} request a whole device and become {count}"
        return Finding("share-migrated", Severity.NOTE, pod.subject, message, "", pod.document.at(share.path))
    message = f"container {share.container}: {names} become a share of {count}, each with {amounts}"
    if share.capacity.get("cores") == "0":
        message += "; cores 0 means no limit, as in HAMi's device plugin without gpucores"
    elif "memory" not in share.capacity:
        message += "; without an amount the share uses all memory of the device"
    return Finding("share-migrated", Severity.NOTE, pod.subject, message, "", pod.document.at(share.path))


def _outside(document: Document) -> Iterator[Finding]:
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


def _rewrite(
    work: _Work, file: YamlFile, pod: PodTemplate, known_requested: KnownRequests, names: ObjectNames
) -> list[ResourceClaimTemplate]:
    """Change the pod's text and return the templates of its claims: one, unless one cannot hold all devices."""
    document = pod.document
    prefix = f"{document.inside}." if document.inside else ""
    requests, uses = _share_out(known_requested)
    parts, own = _parts(requests), ObjectNames(entry.name for entry in pod.claims)
    entries = [own.one(POD_CLAIM) for _ in parts]
    entry_of = {name: entry for part, entry in zip(parts, entries, strict=True) for name in part}
    for path, wanted in uses.items():
        container = file.at(document.origin.document, prefix + path)
        resources = container["resources"]
        gone = frozenset().union(
            *({request.resource, *known.resources} for request, known in known_requested if request.path == path)
        )
        for part in ("limits", "requests"):
            remove_keys(resources, part, gone)
        claims = [{"name": entry_of[request], "request": request} for request in wanted]
        resources["claims"] = [*(resources.get("claims") or ()), *claims]
    templates = [names.one(object_name(f"{document.name or document.kind}-devices")) for _ in parts]
    spec = file.at(document.origin.document, prefix + pod.path)
    added = [{"name": entry, "resourceClaimTemplateName": name} for entry, name in zip(entries, templates, strict=True)]
    spec["resourceClaims"] = [*(spec.get("resourceClaims") or ()), *added]
    work.findings += (*_too_many(pod, requests, len(parts)), *_beyond_limit(pod, known_requested, requests, uses))
    return [
        _template(document, name, part, _different(part, uses)) for name, part in zip(templates, parts, strict=True)
    ]


def _template(
    document: Document, name: str, requests: Requests, constraints: tuple[DeviceConstraint, ...]
) -> ResourceClaimTemplate:
    devices = DeviceClaim(
        requests=tuple(_request(key, *value) for key, value in requests.items()), constraints=constraints
    )
    meta = ObjectMeta(name=name, namespace=document.namespace, labels={"app.kubernetes.io/managed-by": "dra-lab"})
    return ResourceClaimTemplate(metadata=meta, spec=ResourceClaimTemplateSpec(spec=ResourceClaimSpec(devices=devices)))


Requests = dict[str, tuple[int, PluginResource]]


def _parts(requests: Requests) -> list[Requests]:
    """Return the requests in as few claims as hold them, in their order; a larger request stands alone."""
    parts: list[Requests] = []
    for name, (count, known) in requests.items():
        part = next((p for p in parts if count + sum(n for n, _ in p.values()) <= MAX_DEVICES), None)
        if part is None:
            parts.append(part := {})
        part[name] = (count, known)
    return parts


def _share_out(known_requested: KnownRequests) -> tuple[Requests, dict[str, list[str]]]:
    """Return the requests of the claim (count and sort of device by name), and what each container uses of them."""
    names, requests = ObjectNames(), Requests()
    uses: dict[str, list[str]] = {}
    of_resource: dict[str, list[str]] = {}
    alone = len({request.path for request, _ in known_requested if not request.once}) <= 1
    for request, known in known_requested:
        if request.once:
            continue
        base = known.request if alone else object_name(f"{request.container}-{known.request}")
        name = names.one(base)
        requests[name] = (request.count, known)
        uses.setdefault(request.path, []).append(name)
        if not _is_sidecar(request):
            of_resource.setdefault(request.resource, []).append(name)
    for request, known in known_requested:
        if not request.once:
            continue
        left, mine = request.count, []
        for name in of_resource.get(request.resource, ()):
            if left > 0:
                mine.append(name)
                left -= requests[name][0]
        if left > 0:
            name = names.one(object_name(f"{request.container}-{known.request}"))
            requests[name] = (left, known)
            mine.append(name)
        uses.setdefault(request.path, []).extend(mine)
    return requests, uses


def _is_sidecar(request: PluginRequest) -> bool:
    return "initContainers" in request.path and not request.once


def _request(name: str, count: int, known: PluginResource) -> DeviceRequest:
    selectors = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in known.selectors)
    capacity = CapacityRequirements(requests=dict(known.capacity_requests)) if known.capacity_requests else None
    exactly = ExactDeviceRequest(
        device_class_name=known.device_class,
        selectors=selectors,
        allocation_mode="ExactCount",
        count=count,
        capacity=capacity,
    )
    return DeviceRequest(name=name, exactly=exactly)


def _different(requests: Requests, uses: Mapping[str, list[str]]) -> tuple[DeviceConstraint, ...]:
    """Return what keeps the shares of one container on different devices, as a device plugin does."""
    found = []
    for names in uses.values():
        shares = [name for name in names if name in requests and requests[name][1].capacity_requests]
        if sum(requests[name][0] for name in shares) > 1:
            driver = requests[shares[0]][1].driver
            found.append(DeviceConstraint(requests=tuple(shares), distinct_attribute=f"{driver}/uuid"))
    return tuple(dict.fromkeys(found))


def _beyond_limit(
    pod: PodTemplate, known_requested: KnownRequests, requests: Requests, uses: Mapping[str, list[str]]
) -> Iterator[Finding]:
    for request, known in known_requested:
        given = sum(
            count
            for name in uses[request.path]
            for count, other in [requests[name]]
            if other.resource == known.resource
        )
        if request.once and given > request.count:
            message = f"the init container {request.container} asked for {request.count} and sees {given} devices"
            advice = "Containers share a whole request. If that matters, give the init container its own request."
            place = pod.document.at(request.path)
            yield Finding("migrate-init-container", Severity.NOTE, pod.subject, message, advice, place)


def _too_many(pod: PodTemplate, requests: Requests, claims: int) -> Iterator[Finding]:
    total, place = sum(count for count, _ in requests.values()), pod.document.at(pod.path)
    if any(count > MAX_DEVICES for count, _ in requests.values()):
        message = (
            f"the workload requests {total} devices, but one claim, and so one request, can contain at most "
            f"{MAX_DEVICES}"
        )
        advice = "Request fewer devices, or write several requests in several claims of the pod."
        yield Finding("claim-too-many-devices", Severity.ERROR, pod.subject, message, advice, place)
    elif claims > 1:
        message = (
            f"the workload requests {total} devices and one claim can contain {MAX_DEVICES}, so it gets {claims} claims"
        )
        advice = "A link cannot connect devices of two claims."
        yield Finding("claims-split", Severity.WARNING, pod.subject, message, advice, place)
