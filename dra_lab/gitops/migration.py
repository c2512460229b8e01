"""From device plugins to DRA: a workload that asks for `nvidia.com/gpu: 8` becomes one with a claim."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dra_lab.drivers.profiles import PluginResource, plugin_resource
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.gitops.extended_resources import PluginRequest, plugin_requests
from dra_lab.gitops.folder import Document, Manifests, read_manifests
from dra_lab.gitops.migration_findings import (
    NOT_MIGRATED,
    KnownRequests,
    not_read,
    outside_findings,
    share_findings,
    what_changes,
    what_changes_by_name,
    without_repeats,
)
from dra_lab.gitops.object_pods import PodTemplate, pod_templates
from dra_lab.index.documented_classes import known_classes
from dra_lab.manifests.documents import encode
from dra_lab.manifests.file_text import STANDARD_INPUT, SUFFIXES
from dra_lab.manifests.yaml_file import YamlFile
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.claims import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    cel_selectors,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.object_names import ObjectNames, object_name

POD_CLAIM = "devices"
MAX_DEVICES = 32


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


def migrate(
    paths: Iterable[str | Path] | Manifests,
    *,
    device_classes: Mapping[str, str] | None = None,
    cluster: Cluster | None = None,
) -> Migration:
    """Return the workloads with claims in place of extended resources, and a ResourceClaimTemplate for each.

    Every container keeps its own devices. An ordinary init container uses those of the containers after it. A
    workload that asks for a part of a device stays as it is.

    Args:
        paths: Files and folders with the workloads, or "-" for standard input; or what was read of them.
        device_classes: The DeviceClass of each resource that dra-lab does not know; default: none.
        cluster: The cluster that they run on; default None: not known.

    Returns:
        The changed files, with their comments, the templates, and findings about what changes or stays as it is.

    Raises:
        SourceError: There is no file or folder at a path.
        ManifestError: A file cannot be edited.

    Example:
        >>> from dra_lab import migrate
        >>> # With a small file.
        >>> spec = "{containers: [{name: main, resources: {limits: {nvidia.com/gpu: 2}}}]}"
        >>> _ = open("pod.yaml", "w").write("{apiVersion: v1, kind: Pod, metadata: {name: train}, spec: " + spec + "}")
        >>> sorted(migrate(["pod.yaml"]).texts)
        ['pod.yaml', 'train-devices.yaml']
    """
    manifests = paths if isinstance(paths, Manifests) else read_manifests(paths)
    texts: dict[str, str] = {}
    findings: list[Finding] = []
    workloads: list[str] = []
    named = device_classes or {}
    files: dict[str, YamlFile] = {}
    names = ObjectNames()
    for document in manifests.documents:
        findings += outside_findings(document)
        for pod in pod_templates(document):
            known_requested = known_requests(pod, named, cluster, findings)
            if not known_requested:
                continue
            workloads.append(pod.subject)
            source = document.origin.source
            if source not in files:
                files[source] = YamlFile(manifests.texts[source], source)
            for template in _rewrite(findings, files[source], pod, known_requested, names):
                texts[f"{template.metadata.name}.yaml"] = dump_yaml(encode(template))
            findings += (*what_changes(pod, known_requested), *not_read(pod, known_requested, cluster))
    for source, file in files.items():
        texts[_changed_name(source, texts)] = file.text()
    every = sort_findings((*manifests.findings, *without_repeats(findings)))
    return Migration(texts, every, tuple(dict.fromkeys(workloads)))


def _changed_name(source: str, taken: Collection[str]) -> str:
    """Return the name of a changed file: its own, behind as many of its folders as make it another name."""
    path = Path(source if source != STANDARD_INPUT else "workloads.yaml")
    name = path.name if path.suffix.lower() in SUFFIXES else f"{path.name}.yaml"
    above = [part for part in path.parent.parts if part.strip("./")]
    while name in taken:
        name = f"{above.pop() if above else 'more'}-{name}"
    return name


def known_requests(
    pod: PodTemplate, device_classes: Mapping[str, str], cluster: Cluster | None, findings: list[Finding]
) -> KnownRequests:
    """Return what can be migrated of a pod, and add a Finding for each resource that cannot.

    A pod that asks for a part of a device stays as it is: its other devices may be on the same GPU.
    """
    requests = plugin_requests(pod)
    refused = [*share_findings(pod, requests, device_classes, cluster)]
    findings += refused
    found: list[tuple[PluginRequest, PluginResource]] = []
    for request in () if refused else requests:
        known = _known(request.resource, device_classes, cluster)
        if known is not None and known.device_class:
            found.append((request, known))
            continue
        place = pod.document.at(f"{request.path}.resources.limits")
        why = known.note if known is not None else "dra-lab knows no DRA driver for this resource"
        advice = f"Name the class that replaces it: --map {request.resource}=DEVICECLASS."
        message = f"{request.resource} is left as it is: {why}"
        findings.append(Finding(NOT_MIGRATED, Severity.WARNING, pod.subject, message, advice, place))
    return found


def _known(resource: str, device_classes: Mapping[str, str], cluster: Cluster | None) -> PluginResource | None:
    """Return what takes the place of a resource: what a person named, what is known, or the class of this cluster."""
    base = object_name(resource.rpartition("/")[2])
    if resource in device_classes:
        return PluginResource(resource, "named on the command line", "", device_classes[resource], base)
    known = plugin_resource(resource)
    if cluster is None or (known is not None and (known.selectors or known.device_class in cluster.class_by_name)):
        return known
    if known is not None and any(published.spec.driver == known.driver for published in cluster.slices):
        return known
    serving = [item.name for item in cluster.classes if item.spec.extended_resource_name == resource]
    if len(serving) != 1:
        return known
    request = known.request if known is not None else base
    source = "the cluster's class says so (extendedResourceName)"
    return PluginResource(resource, source, "", serving[0], request)


def _rewrite(
    findings: list[Finding], file: YamlFile, pod: PodTemplate, known_requested: KnownRequests, names: ObjectNames
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
        gone = frozenset(request.resource for request, _ in known_requested if request.path == path)
        for part in ("limits", "requests"):
            _remove_keys(resources, part, gone)
        claims = [{"name": entry_of[request], "request": request} for request in wanted]
        resources["claims"] = [*(resources.get("claims") or ()), *claims]
    templates = [names.one(object_name(f"{document.name or document.kind}-devices")) for _ in parts]
    spec = file.at(document.origin.document, prefix + pod.path)
    added = [{"name": entry, "resourceClaimTemplateName": name} for entry, name in zip(entries, templates, strict=True)]
    spec["resourceClaims"] = [*(spec.get("resourceClaims") or ()), *added]
    findings += (*_too_many(pod, requests, len(parts)), *_beyond_limit(pod, known_requested, requests, uses))
    return [_template(document, name, part) for name, part in zip(templates, parts, strict=True)]


def _remove_keys(parent: Any, name: str, keys: frozenset[str]) -> None:
    """Remove keys from the mapping `parent[name]`, and that mapping where nothing is left in it."""
    found = parent.get(name)
    if not isinstance(found, dict):
        return
    for key in [key for key in found if key in keys]:
        del found[key]
    if not found:
        del parent[name]


def _template(document: Document, name: str, requests: Requests) -> ResourceClaimTemplate:
    wanted = []
    for key, (count, known) in requests.items():
        selectors = cel_selectors(known.selectors)
        exactly = ExactDeviceRequest(
            device_class_name=known.device_class, selectors=selectors, allocation_mode=EXACT_COUNT, count=count
        )
        wanted.append(DeviceRequest(name=key, exactly=exactly))
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=tuple(wanted)))
    meta = ObjectMeta(name=name, namespace=document.namespace, labels={"app.kubernetes.io/managed-by": "dra-lab"})
    return ResourceClaimTemplate(metadata=meta, spec=ResourceClaimTemplateSpec(spec=spec))


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
        if "initContainers" not in request.path:  # the devices of a sidecar are its own
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


# --------------------------------------------------------------------- resource names that stay


def keep_names(
    manifests: Manifests,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    device_classes: Mapping[str, str] | None = None,
) -> Migration:
    """Return the DeviceClasses that serve the resource names which workloads ask for; the workloads stay as they are.

    A class of the cluster that serves a name already is left alone. If the class exists and serves no name, it is
    returned with the name added. A resource that is narrower than its class (a MIG profile) gets its own class. Source:
    `extendedResourceName` of a DeviceClass (KEP-5004), docs/semantics.md 1.16.
    """
    findings: list[Finding] = []
    made: dict[str, DeviceClass] = {}
    workloads: list[str] = []
    served = {c.spec.extended_resource_name for c in cluster.classes}
    classes = dict(known_classes(cluster))
    for document in manifests.documents:
        for pod in pod_templates(document):
            requests = known_requests(pod, device_classes or {}, None, findings)
            for resource in {request.resource: known for request, known in requests}.values():
                if resource.resource in served:
                    continue
                serving = _class(resource, classes.get(resource.device_class))
                if serving is None:
                    what = (
                        f"no class serves {resource.resource}: the cluster has no DeviceClass {resource.device_class}"
                    )
                    advice = "Install the DRA driver with this class, or name another class with --map."
                    place = pod.document.at(pod.path)
                    findings.append(Finding(NOT_MIGRATED, Severity.WARNING, pod.subject, what, advice, place))
                    continue
                made[serving.name] = classes[serving.name] = serving
                served.add(resource.resource)
            requests = [(request, known) for request, known in requests if request.resource in served]
            if requests:
                workloads.append(pod.subject)
                findings += what_changes_by_name(pod, [request for request, _ in requests], release)
    for name, item in made.items():
        if any(name == own.name for own in cluster.classes):
            added = f"extendedResourceName {item.spec.extended_resource_name}"
            message = f"the manifests add {added} to the class {name} of the cluster"
            advice = "The class is cluster-wide. Look for other owners (a Helm chart, an operator) first."
            findings.append(Finding("class-changed", Severity.WARNING, name, message, advice))
    texts = {f"deviceclass-{name}.yaml": dump_yaml(encode(item)) for name, item in made.items()}
    every = sort_findings((*manifests.findings, *without_repeats(findings)))
    return Migration(texts, every, tuple(dict.fromkeys(workloads)))


def _class(resource: PluginResource, base: DeviceClass | None) -> DeviceClass | None:
    """Return the class that serves a resource: `base` with its name, or one beside it; None if nothing is known."""
    own = cel_selectors(resource.selectors)
    meta = ObjectMeta(name=resource.device_class, labels=dict(base.metadata.labels) if base else {})
    if own or (base is not None and base.spec.extended_resource_name not in (None, "", resource.resource)):
        meta = ObjectMeta(name=f"{object_name(resource.resource.rpartition('/')[2])}.{resource.device_class}")
    if base is not None:
        spec = replace(base.spec, selectors=(*base.spec.selectors, *own))
    elif own or resource.driver:
        driver = f"device.driver == {json.dumps(resource.driver)}"
        spec = DeviceClassSpec(selectors=own or cel_selectors((driver,)))
    else:
        return None
    return DeviceClass(metadata=meta, spec=replace(spec, extended_resource_name=resource.resource))
