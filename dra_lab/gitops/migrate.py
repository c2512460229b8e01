"""From device plugins to DRA: a workload that asks for `nvidia.com/gpu: 8` becomes one with a claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dra_lab.authoring.names import Names, object_name
from dra_lab.drivers.device_plugins import PluginResource, plugin_resource
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.gitops.edit_yaml import YamlFile, remove_keys
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.plugin_requests import PluginRequest, plugin_requests
from dra_lab.gitops.pods import PodTemplate, pod_templates
from dra_lab.gitops.what_changes import told_once, what_changes
from dra_lab.manifests.documents import encode
from dra_lab.manifests.files import STANDARD_INPUT
from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceClaim,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dra_lab.model.nodes import ObjectMeta

POD_CLAIM = "devices"
MAX_DEVICES = 32


@dataclass(frozen=True)
class Migration:
    """What a migration writes: `texts` by file name; `findings` tell what changes and what was left as it was."""

    texts: Mapping[str, str]
    findings: tuple[Finding, ...] = ()


@dataclass
class _Work:
    chosen: Mapping[str, str]
    texts: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def migrate(manifests: Manifests, *, device_classes: Mapping[str, str] | None = None) -> Migration:
    """Return the workloads with claims in place of extended resources, and a ResourceClaimTemplate for each.

    Every container keeps devices of its own, as device plugins gave them; an ordinary init container uses those of the
    containers after it. `device_classes` names the class for resources that are not known here. Files keep their
    comments; files without such a workload are not in the answer. What cannot be migrated stays as it is and is told.
    """
    work = _Work(device_classes or {})
    files: dict[str, YamlFile] = {}
    names = Names()
    for document in manifests.documents:
        for pod in pod_templates(document):
            asked = known_requests(pod, work.chosen, work.findings)
            if not asked:
                continue
            source = document.origin.source
            if source not in files:
                files[source] = YamlFile(manifests.texts[source], source)
            template = _rewrite(work, files[source], pod, asked, names)
            name = template.metadata.name
            work.texts[f"{name}.yaml"] = files[source].dump(encode(template))
            work.findings += what_changes(pod, [request for request, _ in asked])
    for source, file in files.items():
        path = Path(source if source != STANDARD_INPUT else "workloads.yaml")
        taken = path.name in work.texts
        work.texts[f"{path.parent.name}-{path.name}" if taken else path.name] = file.text()
    return Migration(work.texts, sort_findings((*manifests.findings, *told_once(work.findings))))


Asked = list[tuple[PluginRequest, PluginResource]]


def known_requests(pod: PodTemplate, device_classes: Mapping[str, str], findings: list[Finding]) -> Asked:
    """Return what can be migrated of a pod, and add a Finding for each resource that cannot."""
    found: Asked = []
    for request in plugin_requests(pod):
        known = plugin_resource(request.resource)
        named = device_classes.get(request.resource)
        if named:
            base = object_name(request.resource.rpartition("/")[2])
            known = PluginResource(request.resource, "", named, base, "named on the command line")
        if known is not None and known.device_class:
            found.append((request, known))
            continue
        place = pod.document.at(f"{request.path}.resources.limits")
        why = known.note if known is not None else "no DRA driver is known here for this resource"
        advice = f"Name the class that takes its place: --map {request.resource}=DEVICECLASS."
        message = f"{request.resource} is left as it is: {why}"
        findings.append(Finding("resource-not-migrated", Severity.WARNING, pod.subject, message, advice, place))
    return found


def _rewrite(work: _Work, file: YamlFile, pod: PodTemplate, asked: Asked, names: Names) -> ResourceClaimTemplate:
    """Change the pod's text and return the template of its claim."""
    document = pod.document
    prefix = f"{document.inside}." if document.inside else ""
    name = names.one(object_name(f"{document.name or document.kind}-devices"))
    entry = _entry_name(pod)
    requests, uses = _share_out(asked)
    for path, wanted in uses.items():
        container = file.at(document.origin.document, prefix + path)
        resources = container["resources"]
        gone = frozenset(request.resource for request, _ in asked if request.path == path)
        for part in ("limits", "requests"):
            remove_keys(resources, part, gone)
        claims = [{"name": entry, "request": request} for request in wanted]
        resources["claims"] = [*resources.get("claims", ()), *claims]
    spec = file.at(document.origin.document, prefix + pod.path)
    spec["resourceClaims"] = [*spec.get("resourceClaims", ()), {"name": entry, "resourceClaimTemplateName": name}]
    work.findings += (*_too_many(pod, requests), *_more_than_asked(pod, asked, requests, uses))
    devices = DeviceClaim(requests=tuple(_request(key, *value) for key, value in requests.items()))
    labels = {"app.kubernetes.io/managed-by": "dra-lab"}
    meta = ObjectMeta(name=name, namespace=document.namespace, labels=labels)
    return ResourceClaimTemplate(metadata=meta, spec=ResourceClaimTemplateSpec(spec=ResourceClaimSpec(devices=devices)))


def _entry_name(pod: PodTemplate) -> str:
    return Names(entry.name for entry in pod.claims).one(POD_CLAIM)


Requests = dict[str, tuple[int, PluginResource]]


def _share_out(asked: Asked) -> tuple[Requests, dict[str, list[str]]]:
    """Return the requests of the claim (count and sort of device by name), and what each container uses of them."""
    names, requests = Names(), Requests()
    uses: dict[str, list[str]] = {}
    of_resource: dict[str, list[str]] = {}
    alone = len({request.path for request, _ in asked if not request.once}) <= 1
    for request, known in asked:
        if request.once:
            continue
        base = known.request if alone else object_name(f"{request.container}-{known.request}")
        name = names.one(base)
        requests[name] = (request.count, known)
        uses.setdefault(request.path, []).append(name)
        if not _is_sidecar(request):
            of_resource.setdefault(request.resource, []).append(name)
    for request, known in asked:
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
    exactly = ExactDeviceRequest(
        device_class_name=known.device_class, selectors=selectors, allocation_mode="ExactCount", count=count
    )
    return DeviceRequest(name=name, exactly=exactly)


def _more_than_asked(
    pod: PodTemplate, asked: Asked, requests: Requests, uses: Mapping[str, list[str]]
) -> Iterator[Finding]:
    for request, known in asked:
        given = sum(
            count
            for name in uses[request.path]
            for count, other in [requests[name]]
            if other.resource == known.resource
        )
        if request.once and given > request.count:
            message = f"the init container {request.container} asked for {request.count} and sees {given} devices"
            advice = "A request is shared as a whole; give it a request of its own if that matters."
            place = pod.document.at(request.path)
            yield Finding("migrate-init-container", Severity.NOTE, pod.subject, message, advice, place)


def _too_many(pod: PodTemplate, requests: Requests) -> Iterator[Finding]:
    total = sum(count for count, _ in requests.values())
    if total > MAX_DEVICES:
        message = f"the claim asks for {total} devices; one claim can hold {MAX_DEVICES}"
        advice = "Split it into several claims of the pod."
        place = pod.document.at(pod.path)
        yield Finding("claim-too-many-devices", Severity.ERROR, pod.subject, message, advice, place)
