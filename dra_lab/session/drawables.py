"""What texts hold that can be opened as a drawing: plan files, claims, templates, and the claims of pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import DraLabError, ManifestError
from dra_lab.findings import Origin
from dra_lab.manifests.documents import decode_object, hub_document
from dra_lab.manifests.file_text import expanded
from dra_lab.manifests.plan_files import drawing_of, is_drawing
from dra_lab.manifests.pod_templates import pod_fields
from dra_lab.manifests.versions import written_path
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from dra_lab.model.names import is_label
from dra_lab.model.sketch import ClaimSketch, Drawing, pod_drawing
from dra_lab.sketch.links import listed
from dra_lab.sketch.read_back import sketch_of

CLAIM_KINDS = {"ResourceClaimTemplate": ResourceClaimTemplate, "ResourceClaim": ResourceClaim}
EXAMPLE = "-example"
"""How the names of exported examples end: the drawing has the name before it."""
MAX_CHARACTERS = 4 * 2**20
"""Characters of a file that is looked at; a longer one is a cluster."""
MAX_FILES = 100
"""Files of a folder that are looked at."""

_OF_CLUSTERS = ("ResourceSlice", "Node", "List")
_SLICES = re.compile(r"""kind["']?:\s*["']?ResourceSlice""")
"""The kinds that a cluster has, so that a large one is not read twice to find out."""
_ENDINGS = (".yaml", ".yml", ".json")


class Drawable(Struct, frozen=True):
    """A drawing that a text holds: what it is called and where it comes from.

    `is_pod` says that a pod uses its claims.
    `is_plan` says that it is a plan file, with all that one says, and not a claim.
    """

    label: str
    drawing: Drawing
    detail: str = ""
    is_pod: bool = False
    is_plan: bool = False


class Drawables(Struct, frozen=True):
    """The drawings of some texts, and what in them cannot be opened, in sentences."""

    found: tuple[Drawable, ...] = ()
    notes: tuple[str, ...] = ()


class _Claim(Struct, frozen=True):
    document: YamlDocument
    source: str

    @property
    def key(self) -> tuple[str, str]:
        return str(self.document.value["kind"]), _name(self.document.value)


def drawables(texts: Mapping[str, str]) -> Drawables | None:
    """Return what can be opened of texts by file name; None where they are a cluster, or nothing of it is in them.

    A pod (or what makes pods, such as a Deployment) is one drawing with all claims that it names, whose requests come
    from the same texts. A claim that no pod names is offered by itself; several of them also as one pod. Raises
    ManifestError or SketchError with file and line for a drawing or claim that is wrong.
    """
    if any(_SLICES.search(text) for text in texts.values()):
        return None
    read = [(name, document) for name, text in texts.items() for document in _documents(text, name)]
    values = [document.value for _, document in read if isinstance(document.value, dict)]
    if any(value.get("kind") in _OF_CLUSTERS for value in values):
        return None
    claims: dict[tuple[str, str], _Claim] = {}
    found: list[Drawable] = []
    for name, document in read:
        if is_drawing(document.value):
            drawing = drawing_of(document.value, name, document.line)
            found.append(Drawable(drawing.sketch.name, drawing, f"plan file {name}", is_plan=True))
        elif isinstance(document.value, dict) and document.value.get("kind") in CLAIM_KINDS:
            claim = _Claim(document, name)
            claims.setdefault(claim.key, claim)
    pods = [(value, pod, entries) for value in values for pod, entries in _claims_of(value)]
    if not found and not claims and not pods:
        return None
    where = next(iter(texts)) or "the text" if len(texts) == 1 else "these files"
    notes: list[str] = []
    named: set[tuple[str, str]] = set()
    for value, pod, entries in pods:
        lacking = dict.fromkeys(key for key in entries.values() if key not in claims)
        notes += [f"{pod} uses the {kind} {name}, which is not in {where}." for kind, name in lacking]
        own = {entry: claims[key] for entry, key in entries.items() if key in claims}
        named.update(claim.key for claim in own.values())
        if own:
            found.append(_pod_drawable(own, pod, _name(value).removesuffix(EXAMPLE)))
    single = {claim.key[1]: claim for key, claim in claims.items() if key not in named}
    found += [_drawable(claim, name) for name, claim in single.items()]
    if not pods and len(single) > 1 and all(map(is_label, single)):
        together = _pod_drawable(single, f"All {len(single)} claims as one pod", "pod")
        found.append(replace(together, is_pod=False))
    return Drawables(tuple(found), tuple(dict.fromkeys(notes)))


def texts_at(source: str) -> dict[str, str]:
    """Return the YAML and JSON texts of a file, or of a folder, by name; none for another source or unreadable files.

    If a file has a pod, the other files of its folder are read as well, for the claims that the pod names.
    """
    path = expanded(Path(source))
    try:
        if path.is_dir():
            return dict(_read(path))
        if not path.is_file() or path.suffix.lower() not in _ENDINGS:
            return {}
        own = {path.name: _text(path)}
        if has_pod(own):
            beside = (one for one in _read(path.parent) if any(kind in one[1] for kind in CLAIM_KINDS))
            return {**own, **{n: t for n, t in beside if not any(f"kind: {kind}" in t for kind in _OF_CLUSTERS)}}
    except (OSError, UnicodeDecodeError, DraLabError):
        return {}
    return own


def _read(folder: Path) -> Iterator[tuple[str, str]]:
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS and path.is_file())
    for path in files[:MAX_FILES]:
        if path.stat().st_size <= MAX_CHARACTERS:
            yield path.name, _text(path)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig") if path.stat().st_size <= MAX_CHARACTERS else ""


def _documents(text: str, source: str) -> Iterator[YamlDocument]:
    """Yield the documents of a text that may hold a drawing; none of what is too long or no YAML."""
    if len(text) > MAX_CHARACTERS:
        return
    try:
        yield from load_yaml(text, source)
    except ManifestError:
        return


def _claims_of(value: Any) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Yield, for the pods that an object makes, their name and the kind and name of each claim by its name in the pod.

    A ResourceClaim that a pod names twice is one claim.
    """
    if not isinstance(value, dict) or value.get("kind") in CLAIM_KINDS:
        return
    fields = [field for field in pod_fields(value) if isinstance(field.spec, dict)]
    for field in fields:
        listed = field.spec.get("resourceClaims")
        entries: dict[str, tuple[str, str]] = {}
        for entry in listed if isinstance(listed, list) else ():
            if not isinstance(entry, dict):
                continue
            template, claim = entry.get("resourceClaimTemplateName"), entry.get("resourceClaimName")
            key = ("ResourceClaimTemplate", str(template)) if template else ("ResourceClaim", str(claim))
            if template or (claim and key not in entries.values()):
                entries.setdefault(str(entry.get("name", "")), key)
        if entries:
            part = f" ({field.template})" if len(fields) > 1 else ""
            yield f"{value.get('kind')} {_name(value)}{part}", entries


def pod_claims(value: Any) -> Mapping[str, tuple[str, str]]:
    """Return the kind and name of each claim of the first pod of an object with claims, by its name in the pod."""
    return next((entries for _, entries in _claims_of(value)), {})


def has_pod(texts: Mapping[str, str]) -> bool:
    """Say whether a text has an object whose pods use claims."""
    return any(pod_claims(document.value) for name, text in texts.items() for document in _documents(text, name))


def _drawable(claim: _Claim, label: str) -> Drawable:
    sketch = _sketch(claim, claim.key[1])
    return Drawable(label, Drawing(sketch=sketch), f"{claim.key[0]} {claim.key[1]}, {_counts(sketch)}")


def _pod_drawable(claims: Mapping[str, _Claim], pod: str, name: str) -> Drawable:
    """Return the drawing of a pod with these claims, by their name in it."""
    if len(claims) == 1:
        ((entry, claim),) = claims.items()
        return replace(_drawable(claim, f"{pod}: claim {entry}"), is_pod=True)
    sketch = pod_drawing(name, (_sketch(claim, entry) for entry, claim in claims.items()))
    detail = f"claims {listed(claims)}, {_counts(sketch)}"
    return Drawable(pod, Drawing(sketch=sketch), detail, is_pod=True)


def _sketch(claim: _Claim, name: str) -> ClaimSketch:
    return sketch_of(decoded_claim(claim.document, claim.source)[1], name)


def _counts(sketch: ClaimSketch) -> str:
    counts = [(len(sketch.requests), "request"), (len(sketch.links), "link")]
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)


def decoded_claim(document: YamlDocument, source: str = "") -> tuple[str, ResourceClaimSpec]:
    """Return (name, spec) of a claim's or template's document. Raises ManifestError with its line."""
    kind = document.value["kind"]
    origin = Origin(source, document.number, kind, line=document.line())
    try:
        claim = decode_object(hub_document(document.value, kind), CLAIM_KINDS[kind], origin)
    except ManifestError as error:
        path = written_path(document.value, error.origin.path if error.origin else "")
        place = with_fields(error.origin or origin, path=path, line=document.line(path))
        raise ManifestError(error.message, origin=place) from None
    return claim.metadata.name, claim.spec if kind == "ResourceClaim" else claim.spec.spec


def _name(value: Mapping[str, Any]) -> str:
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return str(name or "claim")
