"""What texts hold that can be opened as a drawing: plan files, claims, templates, and the claims of pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import DraLabError, ManifestError
from dra_lab.gitops.folder import Document, objects_of
from dra_lab.gitops.object_pods import pod_templates
from dra_lab.gitops.references import CLAIM, CLAIM_KINDS, TEMPLATE, distinct_entries, written_claim
from dra_lab.manifests.file_text import expanded
from dra_lab.manifests.plan_files import drawing_of, is_drawing
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml, value_at
from dra_lab.model.names import is_label
from dra_lab.model.sketch import ClaimSketch, Drawing, pod_drawing
from dra_lab.sketch.links import listed
from dra_lab.sketch.read_back import sketch_of

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


def drawables(texts: Mapping[str, str]) -> Drawables | None:
    """Return what can be opened of texts by file name; None where they are a cluster, or nothing of it is in them.

    A pod (or what makes pods, such as a Deployment) is one drawing with all claims that it names, whose requests come
    from the same texts. A claim that no pod names is offered by itself; several of them also as one pod. Raises
    ManifestError or SketchError with file and line for a drawing or claim that is wrong.
    """
    if any(_SLICES.search(text) for text in texts.values()):
        return None
    read = [(name, document) for name, text in texts.items() for document in _documents(text, name)]
    objects = [one for name, document in read for one in objects_of(document, name)]
    values = [*(one.value for one in objects), *(one.value for _, one in read)]
    if any(value_at(value, "kind") in _OF_CLUSTERS for value in values):
        return None
    drawings = [(name, drawing_of(one.value, name, one.line)) for name, one in read if is_drawing(one.value)]
    found = [Drawable(one.sketch.name, one, f"plan file {name}", is_plan=True) for name, one in drawings]
    claims: dict[tuple[str, str], Document] = {}
    for document in objects:
        if document.kind in CLAIM_KINDS:
            claims.setdefault((document.kind, _name(document)), document)
    pods = [(document, pod, entries) for document in objects for pod, entries in _claims_of(document)]
    if not found and not claims and not pods:
        return None
    where = next(iter(texts)) or "the text" if len(texts) == 1 else "these files"
    notes: list[str] = []
    named: set[tuple[str, str]] = set()
    for document, pod, entries in pods:
        lacking = dict.fromkeys(key for key in entries.values() if key not in claims)
        notes += [f"{pod} uses the {kind} {name}, which is not in {where}." for kind, name in lacking]
        own = {entry: claims[key] for entry, key in entries.items() if key in claims}
        named.update(key for key in entries.values() if key in claims)
        if own:
            found.append(_pod_drawable(own, pod, _name(document).removesuffix(EXAMPLE)))
    single = {name: claim for (kind, name), claim in claims.items() if (kind, name) not in named}
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


def _claims_of(document: Document) -> Iterator[tuple[str, dict[str, tuple[str, str]]]]:
    """Yield, for the pods that an object makes, their name and the kind and name of each claim by its name in the pod.

    A ResourceClaim that a pod names twice is one claim.
    """
    pods = () if document.kind in CLAIM_KINDS else tuple(pod_templates(document))
    for pod in pods:
        entries: dict[str, tuple[str, str]] = {}
        for entry in distinct_entries(pod):
            if entry.template or entry.claim:
                key = (TEMPLATE, entry.template) if entry.template else (CLAIM, entry.claim)
                entries.setdefault(entry.name, key)
        if entries:
            part = f" ({pod.template})" if len(pods) > 1 else ""
            yield f"{document.kind} {_name(document)}{part}", entries


def pod_claims(document: YamlDocument) -> Mapping[str, tuple[str, str]]:
    """Return the kind and name of each claim of the first pod of an object with claims, by its name in the pod."""
    return next((entries for one in objects_of(document, "") for _, entries in _claims_of(one)), {})


def has_pod(texts: Mapping[str, str]) -> bool:
    """Say whether a text has an object whose pods use claims."""
    return any(pod_claims(document) for name, text in texts.items() for document in _documents(text, name))


def _drawable(claim: Document, label: str) -> Drawable:
    sketch = sketch_of(written_claim(claim).spec, _name(claim))
    return Drawable(label, Drawing(sketch=sketch), f"{claim.kind} {_name(claim)}, {_counts(sketch)}")


def _pod_drawable(claims: Mapping[str, Document], pod: str, name: str) -> Drawable:
    """Return the drawing of a pod with these claims, by their name in it."""
    if len(claims) == 1:
        ((entry, claim),) = claims.items()
        return replace(_drawable(claim, f"{pod}: claim {entry}"), is_pod=True)
    sketch = pod_drawing(name, (sketch_of(written_claim(claim).spec, entry) for entry, claim in claims.items()))
    detail = f"claims {listed(claims)}, {_counts(sketch)}"
    return Drawable(pod, Drawing(sketch=sketch), detail, is_pod=True)


def _counts(sketch: ClaimSketch) -> str:
    counts = [(len(sketch.requests), "request"), (len(sketch.links), "link")]
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count)


def _name(document: Document) -> str:
    return str(value_at(document.value, "metadata.name") or "claim")
