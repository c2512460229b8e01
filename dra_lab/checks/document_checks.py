"""What the API server would say to the objects of a text, as Findings with their places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from dra_lab.checks.admission import BAD_REQUEST, Admission, admit
from dra_lab.errors import ManifestError
from dra_lab.findings import Finding, Origin, Rule, Severity, sort_findings
from dra_lab.manifests.file_text import json_texts
from dra_lab.manifests.strict import decode_strict_json
from dra_lab.manifests.versions import removed, short_version, text_of, upgrade, written_path
from dra_lab.manifests.yaml_text import is_flow_yaml, load_yaml
from dra_lab.model.release import KubernetesRelease

Line = Callable[[str], int]


def check_text(
    text: str,
    source: str = "",
    release: KubernetesRelease | None = None,
    *,
    broken: Callable[[ManifestError], None] | None = None,
) -> tuple[Finding, ...]:
    """Return what the API server of a release refuses or drops of the objects in a JSON or YAML text.

    Objects of other groups are not looked at. Raises ManifestError if the text is neither JSON nor YAML. `broken` gets
    the single YAML documents that are invalid, and the others are checked (`load_yaml`).
    """
    release = release or KubernetesRelease()
    found: list[Finding] = []
    values, repeated = _json_values(text, source)
    if values is not None:
        found.extend(_repeated(name, Origin(source)) for name in repeated)
        for number, document in enumerate(values, 1):
            found.extend(_objects(document, Origin(source, number), release, lambda _: 0))
        return sort_findings(found)
    for document in load_yaml(text, source, broken=broken):
        origin = Origin(source, document.number, line=document.line())
        for name, first, line in _keys_twice(document.node):
            found.append(_repeated(name, replace(origin, line=document.above + line), document.above + first))
        found.extend(_objects(document.value, origin, release, document.line))
    return sort_findings(found)


def check_object(
    document: Mapping[str, Any], release: KubernetesRelease | None = None, origin: Origin | None = None
) -> tuple[Finding, ...]:
    """Return what the API server of a release refuses or drops of one object of `resource.k8s.io`.

    Admin access is a warning, because the labels of the namespace are not known here. Raises ManifestError for an
    object of another group or version.
    """
    release = release or KubernetesRelease()
    answer = admit(document, release, admin_namespace=True)
    metadata = document.get("metadata")
    name = text_of(metadata.get("name")) if isinstance(metadata, Mapping) else ""
    place = replace(origin or Origin(), object=f"{text_of(document.get('kind'))}/{name}")
    found = [*_refused(answer, release, place), *_dropped(answer, release, place)]
    if answer.stored is not None:
        hub = upgrade(answer.stored)
        found.extend(_admin(hub, place))
    return sort_findings(found)


def _json_values(text: str, source: str) -> tuple[list[Any] | None, list[str]]:
    """Return the documents of a JSON text (one, an array, or one after the other), and the keys that appear twice.

    None for YAML, also for YAML in flow style.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None, []
    try:
        parts = [decode_strict_json(part, source) for part in json_texts(text)]
    except (ManifestError, ValueError, RecursionError) as error:
        if is_flow_yaml(text.encode("utf-8", "replace")):
            return None, []
        if isinstance(error, ManifestError):
            raise
        raise ManifestError(f"this is not valid JSON: {error}", origin=Origin(source)) from None
    values = [item for value, _ in parts for item in (value if isinstance(value, list) else [value])]
    return values, [error.field for _, repeated in parts for error in repeated]


def _objects(document: Any, origin: Origin, release: KubernetesRelease, line: Line) -> Iterator[Finding]:
    if not isinstance(document, Mapping):
        return
    kind, items = text_of(document.get("kind")), document.get("items")
    if kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            if isinstance(item, Mapping):
                bare = kind != "List" and "kind" not in item
                head = {"apiVersion": document.get("apiVersion"), "kind": kind[:-4]} if bare else {}
                yield from _objects({**head, **item}, origin, release, _inside(line, index))
        return
    if not short_version(document.get("apiVersion"), kind):
        yield from _removed(document, kind, origin, line)
        return
    for finding in check_object(document, release, origin):
        place = finding.origin or origin
        path = written_path(document, place.path)
        yield replace(finding, origin=replace(place, path=path, line=line(path)))


def _removed(document: Mapping[str, Any], kind: str, origin: Origin, line: Line) -> Iterator[Finding]:
    """Yield what to write in place of an object of a version that is gone."""
    version = document.get("apiVersion")
    if advice := removed(version, kind):
        metadata = document.get("metadata")
        subject = f"{kind}/{text_of(metadata.get('name')) if isinstance(metadata, Mapping) else ''}"
        message = f"Kubernetes 1.34 has no {kind} of {text_of(version)}"
        place = replace(origin, object=subject, path="apiVersion", line=line("apiVersion"))
        yield Finding("version-old", Severity.ERROR, subject, message, advice, place)


def _inside(line: Line, index: int) -> Line:
    return lambda path: line(f"items[{index}].{path}")


def _refused(answer: Admission, release: KubernetesRelease, place: Origin) -> Iterator[Finding]:
    rule: Rule = "api-undecodable" if answer.status == BAD_REQUEST else "api-refused"
    for error in answer.errors:
        advice = f"The API server of Kubernetes {release.version} refuses the object."
        yield Finding(rule, Severity.ERROR, place.object, str(error.message), advice, replace(place, path=error.field))


def _dropped(answer: Admission, release: KubernetesRelease, place: Origin) -> Iterator[Finding]:
    for path, gate in answer.dropped:
        message = (
            f"the API server drops this field silently, because the feature gate {gate} is off in Kubernetes {release}"
        )
        advice = "Turn the gate on, or remove the field."
        yield Finding("gate-off", Severity.WARNING, place.object, message, advice, replace(place, path=path))


def _admin(hub: Mapping[str, Any], place: Origin) -> Iterator[Finding]:
    spec, path = hub.get("spec") or {}, "spec"
    if hub.get("kind") == "ResourceClaimTemplate":
        spec, path = spec.get("spec") or {}, "spec.spec"
    devices = spec.get("devices")
    for index, request in enumerate((devices.get("requests") or ()) if isinstance(devices, Mapping) else ()):
        if isinstance(request, Mapping) and (request.get("exactly") or {}).get("adminAccess"):
            message = "admin access works only in a namespace with the admin label"
            advice = 'Label the namespace: resource.kubernetes.io/admin-access: "true".'
            origin = replace(place, path=f"{path}.devices.requests[{index}].exactly.adminAccess")
            yield Finding("admin-access", Severity.WARNING, place.object, message, advice, origin)


def _repeated(name: str, origin: Origin, first: int = 0) -> Finding:
    where = f" (lines {first} and {origin.line})" if first else ""
    message = f"the key {name!r} appears twice in one object{where}; kubectl apply uses the last one"
    advice = "Keep one of the two. Strict readers such as kustomize refuse the file."
    return Finding("key-repeated", Severity.WARNING, name, message, advice, origin)


def _keys_twice(root: Any) -> Iterator[tuple[str, int, int]]:
    """Yield (key, line of the one before, line) of the keys that a mapping has more than once."""
    pending, seen = [root], {id(root)}
    while pending:
        node = pending.pop()
        parts: list[Any] = []
        if isinstance(node, yaml.MappingNode):
            lines: dict[str, int] = {}
            for key, value in node.value:
                name = getattr(key, "value", None)
                if isinstance(name, str):
                    line = int(key.start_mark.line) + 1
                    if name in lines:
                        yield name, lines[name], line
                    lines[name] = line
                parts.append(value)
        elif isinstance(node, yaml.SequenceNode):
            parts = list(node.value)
        new = [part for part in parts if id(part) not in seen]
        seen.update(map(id, new))
        pending.extend(new)
