"""Manifests of a drawing: a ResourceClaimTemplate, a pod that uses it, and the classes that the cluster lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from dra_lab.authoring.classes import needed_classes
from dra_lab.authoring.compile import CompiledClaim, compile_claim, to_template
from dra_lab.authoring.names import object_name
from dra_lab.exports.files import write_files
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.documents import encode
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml
from dra_lab.model.claims import DeviceClass, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.workloads import (
    Container,
    ContainerResourceClaim,
    Pod,
    PodResourceClaim,
    PodSpec,
    ResourceRequirements,
)
from dra_lab.pictures.letters import letters

TEMPLATE_FILE = "resourceclaimtemplate.yaml"
POD_FILE = "pod.yaml"
MANAGED_BY = "dra-lab"
POD_CLAIM = "devices"
POD_IMAGE = "busybox:1.37"
_UNTOLD = ("link-not-writable", "pairwise-counts")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\u00a1-\ufffd]")


@dataclass(frozen=True)
class ManifestText:
    """YAML documents as one text.

    `lines` maps the name of a drawn request to the lines (from 1) of everything that was written for it; `marks` maps
    the first line of each written request to the request's letter; `findings` tell what could not be written.
    """

    text: str
    lines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    marks: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Files:
    """The documents by file name, and where the requests stand in the template's."""

    texts: Mapping[str, str]
    spans: tuple[tuple[str, int, int], ...]
    findings: tuple[Finding, ...]


def manifest_yaml(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    plan: Plan | None = None,
    namespace: str = "",
) -> ManifestText:
    """Return the manifests of a drawing as YAML: missing classes, the template, an example pod.

    Fields stand in the API's order with the server's defaults written out; the requests carry the letters of the
    canvas as comments; nothing in it depends on time, machine or the state of the cluster, so the same drawing gives
    the same bytes. `plan` adds its findings about what a manifest cannot say. Never writes a status.
    """
    files = _files(sketch, cluster, release, plan, namespace)
    text, offset, template_at = "", 0, 0
    for number, (name, document) in enumerate(files.texts.items()):
        separator = "---\n" if number else ""
        offset += 1 if number else 0
        if name == TEMPLATE_FILE:
            template_at = offset
        text += separator + document
        offset += document.count("\n")
    lines: dict[str, list[int]] = {request.name: [] for request in sketch.requests}
    marks: dict[int, str] = {}
    for request, first, last in files.spans:
        lines[request] += range(template_at + first, template_at + last + 1)
        marks[template_at + first] = letters(sketch)[request]
    return ManifestText(text, {name: tuple(found) for name, found in lines.items()}, files.findings, marks)


def write_manifests(
    folder: str | Path,
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    plan: Plan | None = None,
    namespace: str = "",
    overwrite: bool = False,
) -> tuple[Path, ...]:
    """Write the manifests to a folder, one file an object, and return the paths.

    `deviceclass-NAME.yaml` for classes that the cluster lacks, `resourceclaimtemplate.yaml`, `pod.yaml`. See
    `files.write_files` for what happens to files that are there. Raises ExportError.
    """
    files = _files(sketch, cluster, release, plan, namespace)
    return write_files(Path(folder).expanduser(), files.texts, overwrite=overwrite)


def _files(
    sketch: ClaimSketch, cluster: Cluster, release: KubernetesRelease, plan: Plan | None, namespace: str
) -> _Files:
    compiled = compile_claim(sketch, cluster, release)
    texts: dict[str, str] = {}
    for device_class in needed_classes(sketch, cluster):
        texts[f"deviceclass-{device_class.name}.yaml"] = dump_yaml(encode(_labelled_class(device_class)))
    template = _labelled_template(to_template(sketch, compiled, namespace))
    body, spans = _with_letters(sketch, compiled, dump_yaml(_explicit(encode(template))))
    head = _header(sketch, release, compiled)
    texts[TEMPLATE_FILE] = head + body
    texts[POD_FILE] = dump_yaml(encode(example_pod(template)))
    shift = head.count("\n")
    findings = [*compiled.findings, *_name_findings(sketch, template)]
    if plan is not None:
        findings += [finding for finding in plan.findings if finding.rule == "link-not-writable"]
    return _Files(texts, tuple((name, a + shift, b + shift) for name, a, b in spans), sort_findings(findings))


def example_pod(template: ResourceClaimTemplate) -> Pod:
    """Return a pod with one container that gets all devices of a template's claim."""
    name = template.metadata.name
    container = Container(
        name="main",
        image=POD_IMAGE,
        command=("sleep", "infinity"),
        resources=ResourceRequirements(claims=(ContainerResourceClaim(name=POD_CLAIM),)),
    )
    return Pod(
        metadata=ObjectMeta(
            name=object_name(f"{name[:55]}-example"), namespace=template.metadata.namespace, labels=_labels(name, "pod")
        ),
        spec=PodSpec(
            containers=(container,),
            resource_claims=(PodResourceClaim(name=POD_CLAIM, resource_claim_template_name=name),),
            restart_policy="Never",
        ),
    )


def _labels(name: str, component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": object_name(name),
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }


def _labelled_template(template: ResourceClaimTemplate) -> ResourceClaimTemplate:
    labels = _labels(template.metadata.name, "devices")
    return replace(
        template,
        metadata=replace(template.metadata, labels=labels),
        spec=replace(template.spec, metadata=ObjectMeta(labels=labels)),
    )


def _labelled_class(device_class: DeviceClass) -> DeviceClass:
    # without extendedResourceName: the claim does not need it, and it would change how other pods get their devices
    return replace(
        device_class,
        metadata=replace(device_class.metadata, labels=_labels(device_class.name, "device-class")),
        spec=replace(device_class.spec, extended_resource_name=None),
    )


def _explicit(document: dict[str, Any]) -> dict[str, Any]:
    """Write out the defaults that the API server would add and the model leaves out (tolerations' operator)."""
    for request in document["spec"]["spec"]["devices"].get("requests", ()):
        for part in (request.get("exactly"), *request.get("firstAvailable", ())):
            if part and part.get("tolerations"):
                part["tolerations"] = [_toleration(toleration) for toleration in part["tolerations"]]
    return document


def _toleration(plain: dict[str, Any]) -> dict[str, Any]:
    order = ("key", "operator", "value", "effect", "tolerationSeconds")
    full = {"operator": "Equal", **plain}
    return {key: full[key] for key in order if key in full}


def _with_letters(sketch: ClaimSketch, compiled: CompiledClaim, text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """Put the drawing's letters beside the requests; return the text and (drawn request, first line, last line)."""
    marks = letters(sketch)
    lines = text.split("\n")
    node = next(load_yaml(text)).node
    for step in ("spec", "spec", "devices", "requests") if compiled.spec.devices.requests else ():
        node = next(value for key, value in node.value if key.value == step)
    entries = node.value
    spans = []
    for index, request in enumerate(compiled.spec.devices.requests):
        drawn = split_request(compiled.origin[request.name])[0]
        entry = entries[index]
        first, last = int(entry.start_mark.line), _last_line(entry)
        lines[first] += f"  # {marks[drawn]}"
        spans.append((drawn, first + 1, last + 1))
    return "\n".join(lines), spans


def _last_line(node: Any) -> int:
    """Return the last line (from 0) on which something of a composed node stands."""
    if isinstance(node.value, list) and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    end = node.end_mark
    # a block of text ends at the beginning of the line after it
    return int(end.line) - 1 if end.column == 0 and end.line > node.start_mark.line else int(end.line)


def _header(sketch: ClaimSketch, release: KubernetesRelease, compiled: CompiledClaim) -> str:
    marks = letters(sketch)
    rows = [f"{sketch.name}: for Kubernetes {release}, drawn with dra-lab."]
    for request in sketch.requests:
        ways = []
        for ask in asks(request):
            amount = "".join(f", {key} {value}" for key, value in ask.capacity.items())
            ways.append(f"{'all' if ask.all_devices else ask.count} of {ask.device_class_name}{amount}")
        rows.append(f"  {marks[request.name]}  {request.name}: {', else '.join(ways)}")
    for link in sketch.links:
        word = "must be" if link.must else "should be"
        rows.append(f"  {' + '.join(link.requests)}: {word} {link.how.value} at {link.where}")
    rows += [f"  Not told to kube-scheduler: link {f.subject}" for f in compiled.findings if f.rule in _UNTOLD]
    return "".join(f"# {_UNPRINTABLE.sub('?', row)}".rstrip() + "\n" for row in rows)


def _name_findings(sketch: ClaimSketch, template: ResourceClaimTemplate) -> tuple[Finding, ...]:
    if template.metadata.name == sketch.name:
        return ()
    message = f"this name cannot be an object's; the manifests say {template.metadata.name!r}"
    advice = "Use lower-case letters, digits and '-', at most 63."
    return (Finding("name-changed", Severity.NOTE, sketch.name, message, advice),)
