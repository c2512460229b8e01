"""Documents of Kubernetes as model values: each object with its origin, and findings about what cannot be used."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import Struct, field

from dra_lab.errors import ManifestError
from dra_lab.findings import Finding, Origin, Rule, Severity
from dra_lab.manifests.file_text import as_utf8, json_texts, utf8_text
from dra_lab.manifests.typed import convert, convert_dropping_unknown, pattern_of
from dra_lab.manifests.versions import KIND_VERSIONS, downgrade, removed, short_version, text_of, upgrade, written_path
from dra_lab.manifests.yaml_text import is_flow_yaml, load_yaml
from dra_lab.model.claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from dra_lab.model.decoding import decoder, from_builtins, from_json, too_many_values
from dra_lab.model.device import RESOURCE_V1, DeviceAttribute
from dra_lab.model.nodes import Node
from dra_lab.model.pods import Pod
from dra_lab.model.queues import CUSTOM_KINDS, CustomObject
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice, share_attributes
from dra_lab.model.topologies import CUSTOM_VERSIONS, is_custom

CONFIG_KEY = "controller_manager_config.yaml"
"""The key of the ConfigMap `kueue-manager-config`."""


def kueue_configuration(config_map: dict[str, Any]) -> dict[str, Any] | None:
    """Return the Configuration that a ConfigMap has, with the metadata of the ConfigMap; None if it has none."""
    data, metadata = config_map.get("data"), config_map.get("metadata")
    text = data.get(CONFIG_KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        return None
    try:
        values = [document.value for document in load_yaml(text, CONFIG_KEY)]
    except ManifestError:
        return None
    for value in values:
        if not isinstance(value, dict) or value.get("kind") != "Configuration":
            continue
        if is_custom("Configuration", value.get("apiVersion")):
            named = metadata if isinstance(metadata, dict) else {}
            kept = {key: named[key] for key in ("name", "namespace") if isinstance(named.get(key), str)}
            return {**value, "metadata": {"name": "kueue", **kept}}
    return None


Object = (
    ResourceSlice | DeviceClass | ResourceClaim | ResourceClaimTemplate | DeviceTaintRule | Node | Pod | CustomObject
)

KINDS: dict[str, tuple[str, type[Any]]] = {
    "ResourceSlice": (RESOURCE_V1, ResourceSlice),
    "DeviceClass": (RESOURCE_V1, DeviceClass),
    "ResourceClaim": (RESOURCE_V1, ResourceClaim),
    "ResourceClaimTemplate": (RESOURCE_V1, ResourceClaimTemplate),
    "DeviceTaintRule": (RESOURCE_V1, DeviceTaintRule),
    "Node": ("v1", Node),
    "Pod": ("v1", Pod),
    **{
        kind: (f"{group}/{versions[0]}", CUSTOM_KINDS[kind])
        for group, kinds in reversed(list(CUSTOM_VERSIONS.items()))
        for kind, versions in kinds.items()
    },
}
"""The kinds that are read, with the version in which their objects are understood."""


MAX_REFUSED = 1_000
"""Findings about unusable objects of one text; the others are counted."""

_FIRST_SIGN = re.compile(rb"\s*[\[{]")


class Documents(Struct, frozen=True):
    """What a text held: objects with their origins, in order, and what could not be used."""

    objects: tuple[tuple[Object, Origin], ...] = ()
    findings: tuple[Finding, ...] = ()

    def of(self, kind: type[Any]) -> tuple[Any, ...]:
        """Return the objects of a model class, in order."""
        return tuple(item for item, _ in self.objects if isinstance(item, kind))


class _Reader(Struct):
    """Collects objects and findings while one text is read."""

    source: str
    objects: list[tuple[Object, Origin]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    def document(self, value: Any, origin: Origin) -> None:
        """Take one document: an object, a List, or something else."""
        if not isinstance(value, dict):
            self._refuse("document-broken", f"expected an object with `kind`, got {_type_name(value)}", origin)
            return
        kind, items = value.get("kind"), value.get("items")
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            for index, item in enumerate(items):
                bare = isinstance(item, dict) and kind != "List" and "kind" not in item
                inner = {"apiVersion": value.get("apiVersion"), "kind": kind[:-4], **item} if bare else item
                self.document(inner, Origin(origin.source, origin.document, f"items[{index}]", line=origin.line))
            return
        if not isinstance(kind, str) or not kind:
            self._refuse("document-broken", "it has no `kind`; is this a Kubernetes object?", origin)
            return
        self._object(value, kind, origin)

    def _object(self, value: dict[str, Any], kind: str, origin: Origin) -> None:
        if kind == "ConfigMap" and (inside := kueue_configuration(value)) is not None:
            value, kind = inside, str(inside["kind"])
        if kind not in KINDS or _is_anothers(kind, value.get("apiVersion")):
            self.ignored[kind] += 1
            return
        model = KINDS[kind][1]
        metadata = value.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        origin = Origin(origin.source, origin.document, f"{kind}/{name}", line=origin.line)
        found = value.get("apiVersion")
        if not is_read(kind, found):
            group, _, version = KINDS[kind][0].rpartition("/")
            if advice := removed(found, kind):
                self._refuse("version-old", f"Kubernetes 1.34 has no {kind} of {text_of(found)}", origin, advice)
                return
            advice = f"Read it in {KINDS[kind][0]}: kubectl get {kind.lower()}s.{version}.{group} -o json"
            self._refuse("version-unknown", f"apiVersion {text_of(found)!r} of {kind} is not supported", origin, advice)
            return
        try:
            item, unknown = _convert(hub_document(value, kind), model, origin)
        except ManifestError as error:
            place = error.origin or origin
            self._refuse("document-broken", error.message, replace(place, path=written_path(value, place.path)))
            return
        self.objects.append((item, origin))
        for path in (written_path(value, path) for path in unknown):
            place = Origin(origin.source, origin.document, origin.object, path, origin.line)
            self.findings.append(
                Finding(
                    "unknown-field",
                    Severity.WARNING,
                    name,
                    f"the field {path} is unknown, so dra-lab ignores it",
                    "",
                    place,
                )
            )

    def _refuse(self, rule: Rule, message: str, origin: Origin, advice: str = "") -> None:
        self.refused += 1
        if self.refused > MAX_REFUSED:
            return
        subject = origin.object or "document"
        advice = advice or "dra-lab read the other documents; correct this one."
        self.findings.append(_not_used(rule, subject, message, advice, origin))

    def done(self) -> Documents:
        """Return what was collected."""
        if self.refused > MAX_REFUSED:
            message = f"{self.refused - MAX_REFUSED:,} more objects cannot be used"
            advice = "dra-lab names the first ones; correct these."
            self.findings.append(_not_used("document-broken", self.source, message, advice, Origin(self.source)))
        if self.ignored:
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.ignored.items()))
            message = f"dra-lab does not use objects of other kinds: {kinds}"
            self.findings.append(Finding("kind-ignored", Severity.NOTE, self.source, message, "", Origin(self.source)))
        return Documents(tuple(self.objects), _gathered(self.findings))


def _not_used(rule: Rule, subject: str, message: str, advice: str, origin: Origin | None) -> Finding:
    """Return the finding about a document without which all answers are given."""
    return Finding(rule, Severity.WARNING, subject, f"{message}; dra-lab ignores it", advice, origin)


def _gathered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with one for all objects of a kind that have the same unknown field, where the first stood."""
    groups: dict[tuple[str, str] | int, list[Finding]] = defaultdict(list)
    for number, finding in enumerate(findings):
        place = finding.origin if finding.rule == "unknown-field" else None
        groups[(place.object.partition("/")[0], pattern_of(place.path)) if place else number].append(finding)
    found = []
    for key, group in groups.items():
        first = group[0]
        if len(group) > 1 and not isinstance(key, int) and first.origin is not None:
            kind, path = key
            message = f"the field {path} of {len(group):,} {kind} objects is unknown, so dra-lab ignores it"
            advice = "Kubernetes or a driver is newer than this dra-lab; a later dra-lab may know the field."
            first = Finding(first.rule, first.severity, kind, message, advice, Origin(first.origin.source))
        found.append(first)
    return tuple(found)


def decode_documents(text: str | bytes, source: str = "") -> Documents:
    """Return the objects of a JSON or YAML text: single objects, Lists, many documents; each with its origin.

    A document that cannot be used becomes a Finding and the others are read. Raises ManifestError when the text as a
    whole is no JSON and no YAML, or has too many values.
    """
    data = as_utf8(text.encode() if isinstance(text, str) else text)
    reader = _Reader(source)
    if _FIRST_SIGN.match(data):
        if why := too_many_values(data):
            raise ManifestError(why, origin=Origin(source))
        fast = _decode_list(data, source)
        if fast is not None:
            return fast
        try:
            for number, value in enumerate(_json_values(data, source), 1):
                reader.document(value, Origin(source, number))
            return reader.done()
        except ManifestError:
            if reader.objects or not is_flow_yaml(data):
                raise
    yaml_text = utf8_text(data, source)
    errors: list[ManifestError] = []
    for document in load_yaml(yaml_text, source, broken=errors.append):
        origin = Origin(source, document.number, line=document.line())
        for value in document.value if isinstance(document.value, list) else [document.value]:
            reader.document(value, origin)
    if errors and not reader.objects:
        raise errors[0]
    rest = "dra-lab read the other documents; correct this one."
    for error in errors:
        reader.findings.append(_not_used("document-broken", "document", error.message, rest, error.origin))
    return reader.done()


def decode_object(value: Any, kind: type[Any], origin: Origin) -> Any:
    """Return one plain value as a model value; unknown fields are an error, as a person wrote it.

    A field that is null is absent, as it is to the API server.
    """
    try:
        return convert(value, kind, origin)
    except ManifestError:
        bare = without_nulls(value)
        if bare == value:
            raise
        return convert(bare, kind, origin)


def is_read(kind: str, api_version: object) -> bool:
    """Say whether objects of a kind are read in a version of the API."""
    if kind in KIND_VERSIONS:
        return bool(short_version(api_version, kind))
    if kind in CUSTOM_KINDS:
        return is_custom(kind, api_version)
    return kind in KINDS and api_version == KINDS[kind][0]


def hub_document(value: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return a document of a version that is read as a document of the version in which it is understood."""
    return value if kind in CUSTOM_KINDS or value.get("apiVersion") == KINDS[kind][0] else upgrade(value)


def _is_anothers(kind: str, api_version: object) -> bool:
    """Say whether an object has the name of a kind that is read and is of another API: many call theirs Topology."""
    return kind in CUSTOM_KINDS and not is_custom(kind, api_version)


def encode(item: Object, version: str = "") -> dict[str, Any]:
    """Return a model value as plain values in the API's form: apiVersion, kind, metadata, spec, status.

    `version` is an older version of `resource.k8s.io` (`v1beta1`, `v1beta2`); raises ManifestError for one that the
    kind does not have.
    """
    plain: dict[str, Any] = msgspec.to_builtins(item)
    kind = type(item).__name__
    head = {"apiVersion": getattr(item, "api_version", "") or KINDS[kind][0], "kind": kind}
    order = ("metadata", "spec", "status")
    document = {**head, **{key: plain[key] for key in order if key in plain}}
    return downgrade(document, version) if version else document


def _convert(value: dict[str, Any], model: type[Any], origin: Origin) -> tuple[Any, tuple[str, ...]]:
    try:
        return convert_dropping_unknown(value, model, origin)
    except ManifestError:
        try:
            bare = without_nulls(value)
        except RecursionError:
            raise ManifestError("it is nested too deeply", origin=origin) from None
        if bare == value:
            raise
        return convert_dropping_unknown(bare, model, origin)


class _Head(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


class _List(msgspec.Struct, rename="camel"):
    kind: str
    items: list[msgspec.Raw]


_DECODERS = {kind: decoder(model) for kind, (_, model) in KINDS.items()}
_HEAD = decoder(_Head)


def _decode_list(data: bytes, source: str) -> Documents | None:
    """Decode a JSON `kind: List` straight into model values; None when anything needs a closer look."""
    try:
        items = from_json(data, _List)
        if items.kind != "List":
            return None
        objects: list[tuple[Object, Origin]] = []
        ignored: Counter[str] = Counter()
        attributes: dict[DeviceAttribute, DeviceAttribute] = {}
        for index, raw in enumerate(items.items):
            head = _HEAD.decode(raw)
            if head.kind == "ConfigMap" and CONFIG_KEY.encode() in bytes(raw):
                return None
            if head.kind not in KINDS or _is_anothers(head.kind, head.api_version):
                ignored[head.kind] += 1
                continue
            if not is_read(head.kind, head.api_version):
                return None
            item = _decode_raw(raw, head)
            if isinstance(item, ResourceSlice):
                share_attributes((item,), attributes)
            objects.append((item, Origin(source, 1, f"items[{index}]")))
    except (msgspec.MsgspecError, RecursionError):
        return None
    reader = _Reader(source, objects, ignored=ignored)
    return reader.done() if not any(not kind for kind in ignored) else None


def _decode_raw(raw: msgspec.Raw, head: _Head) -> Any:
    if head.kind in CUSTOM_KINDS or head.api_version == KINDS[head.kind][0]:
        return _DECODERS[head.kind].decode(raw)
    return from_builtins(upgrade(from_json(raw, dict)), KINDS[head.kind][1])


def _json_values(data: bytes, source: str) -> Iterator[Any]:
    try:
        values = [from_json(data, Any)]
    except (msgspec.DecodeError, RecursionError) as error:
        text = utf8_text(data, source)  # a byte that is not UTF-8 is named with its place
        try:
            values = [from_json(part, Any) for part in json_texts(text)]
        except (ValueError, msgspec.DecodeError, RecursionError):
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise ManifestError(f"this is not valid JSON: {why}", origin=Origin(source)) from None
    for value in values:
        yield from value if isinstance(value, list) else [value]


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "a list"
    return "text" if isinstance(value, str) else "a number"


FREE_FIELDS = ("parameters", "data", "fieldsV1")
"""Fields whose content belongs to another program, so that a null there is a value."""


def without_nulls(value: Any) -> Any:
    """Return a plain value without the fields that are null; the API server writes some that way (`requests: null`)."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if item is not None}
        return {key: item if key in FREE_FIELDS else without_nulls(item) for key, item in kept.items()}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value
