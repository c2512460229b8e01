"""What the API server would say to the objects of a text, as Findings with their places.

It decodes a new object, fills in, drops, validates and stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from dra_lab.checks.claim_validation import check_claim, check_claim_template, check_class
from dra_lab.checks.rules import Errors
from dra_lab.checks.slice_validation import check_slice
from dra_lab.checks.taint_validation import check_taint_rule
from dra_lab.errors import ManifestError
from dra_lab.findings import Finding, Origin, Rule, Severity, sort_findings
from dra_lab.manifests.file_text import json_texts
from dra_lab.manifests.schema import as_stored, drop_disabled, fill_defaults
from dra_lab.manifests.strict import FieldError, decode_strict, decode_strict_json
from dra_lab.manifests.versions import KIND_VERSIONS, downgrade, removed, short_version, text_of, upgrade, written_path
from dra_lab.manifests.yaml_text import is_flow_yaml, load_yaml
from dra_lab.model.release import GATES, KubernetesRelease, has_gate

CREATED, BAD_REQUEST, INVALID = 201, 400, 422

_CHECKS: Mapping[str, Callable[[Mapping[str, Any], KubernetesRelease], Errors]] = {
    "ResourceSlice": check_slice,
    "DeviceClass": check_class,
    "DeviceTaintRule": check_taint_rule,
}
_OF_NAMESPACES = {"ResourceClaim": check_claim, "ResourceClaimTemplate": check_claim_template}


@dataclass(frozen=True)
class Admission:
    """The answer to a new object.

    `status` is 201 (accepted), 400 (refused by the decoder: unknown field, wrong type) or 422 (invalid). `errors` name
    fields in v1 form, as the API server does for every version. `stored` is the object in its own version with its
    defaults, when it is accepted. `dropped` are fields whose feature gate is off, with the name of the gate.
    """

    status: int
    errors: tuple[FieldError, ...] = ()
    stored: Mapping[str, Any] | None = None
    dropped: tuple[tuple[str, str], ...] = ()

    @property
    def accepted(self) -> bool:
        """Say whether the object would be created."""
        return self.status == CREATED


def admit(
    document: Mapping[str, Any],
    release: KubernetesRelease | None = None,
    *,
    admin_namespace: bool = False,
    now: str = "",
) -> Admission:
    """Return what the API server of a release answers to a new object of `resource.k8s.io`, in any of its versions.

    `admin_namespace` says that the namespace carries the label for admin access; `now` is the time for new taints, the
    clock's where it is empty. A `status` is not looked at, as a new object has none. Raises ManifestError for what is
    no object of a kind and version that is known here.
    """
    release = release or KubernetesRelease()
    kind, api_version = text_of(document.get("kind")), text_of(document.get("apiVersion"))
    version = short_version(api_version, kind)
    if not version:
        known = ", ".join(KIND_VERSIONS)
        raise ManifestError(f"{kind[:64]!r} in {api_version[:64]!r} is not an object of resource.k8s.io ({known})")
    value, problems = decode_strict(document, kind, version, release.version)
    if problems:
        return Admission(BAD_REQUEST, problems)
    value.pop("status", None)
    fill_defaults(value, version, now)
    hub = upgrade(value)
    dropped = drop_disabled(hub, release)
    if kind in _OF_NAMESPACES:
        errors = tuple(_OF_NAMESPACES[kind](hub, release, admin_namespace=admin_namespace))
    else:
        errors = tuple(_CHECKS[kind](hub, release))
    if errors:
        return Admission(INVALID, errors, dropped=dropped)
    return Admission(CREATED, (), as_stored(downgrade(hub, version), kind, version, release.version), dropped)


RECORDED = KubernetesRelease("1.36.2", {gate: True for gate in GATES if has_gate("1.36.2", gate)})
"""The API server that was recorded: 1.36.2 with every feature gate of DRA that it has."""


def replay_validation(case: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a recorded case: `{"id", "accepted", "causes": [{"field", "message"}], "stored"}`.

    `case` has `id` and `object`. An object that the decoder refuses has no causes, as in the recording. Raises
    ManifestError for a case of another form.

    The API server stamps new taints with its clock. A recording notes that moment in its `stored` alone, so it is read
    there, and nothing else is; without it the clock of this machine is used.
    """
    document = case.get("object")
    if not isinstance(document, Mapping):
        raise ManifestError("this is not a recorded validation case, because it has no `object`")
    try:
        answer = admit(document, RECORDED, now=_moment(case))
    except ManifestError:
        # the API server has no such kind or version
        return {"id": case.get("id"), "accepted": False, "causes": [], "stored": None}
    causes = [error._asdict() for error in answer.errors] if answer.status != BAD_REQUEST else []
    return {"id": case.get("id"), "accepted": answer.accepted, "causes": causes, "stored": answer.stored}


def _moment(case: Mapping[str, Any]) -> str:
    """Return the time at which a case was recorded, as far as a taint that was sent without a time shows it."""
    sent, stored = _taints(case.get("object")), _taints(case.get("stored"))
    for before, after in zip(sent, stored, strict=False):
        if "timeAdded" not in before and "timeAdded" in after:
            return str(after["timeAdded"])
    return ""


def _taints(document: Any) -> list[Mapping[str, Any]]:
    spec = document.get("spec") if isinstance(document, Mapping) else None
    devices = spec.get("devices") if isinstance(spec, Mapping) else None
    found: list[Mapping[str, Any]] = []
    for device in devices if isinstance(devices, list) else ():
        content = device.get("basic") or device if isinstance(device, Mapping) else {}
        taints = content.get("taints") if isinstance(content, Mapping) else None
        found.extend(taint for taint in taints or () if isinstance(taint, Mapping))
    return found


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
