"""Folders of manifests to documents: each with its file and the line of every path."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace as changed

from dra_lab.errors import DraLabError, ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Rule, Severity
from dra_lab.index.documented_classes import with_given_classes
from dra_lab.manifests.documents import decode_object, hub_document, is_read
from dra_lab.manifests.file_text import (
    NO_MANIFEST,
    RENDER,
    STANDARD_INPUT,
    SUFFIXES,
    expanded,
    json_texts,
    manifest_files,
    read_bytes,
    up_to,
    utf8_text,
)
from dra_lab.manifests.plan_files import is_drawing
from dra_lab.manifests.versions import written_path
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import has_lists
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import TOPOLOGY_KINDS, TopologyObject

MAX_FILE_BYTES = 64 * 2**20
TEMPLATE_RULE: Rule = "template-not-rendered"
UNREADABLE = ("file-broken", TEMPLATE_RULE)
"""Rules of the findings about a document, or a file, that could not be read."""

NOT_RENDERED = f"{NO_MANIFEST}; it is not checked"


class Document(Struct, frozen=True):
    """One object as written: `value` its fields, `origin` its file and place, `line(path)` the line of a path in it.

    `inside` leads to the object in its document, where that is a list of objects (`items[0]`).
    """

    value: Mapping[str, Any]
    origin: Origin
    line: Callable[[str], int]
    inside: str = ""

    @property
    def kind(self) -> str:
        """Return `kind`, "" where there is none."""
        kind = self.value.get("kind")
        return kind if isinstance(kind, str) else ""

    @property
    def name(self) -> str:
        """Return `metadata.name`, or `metadata.generateName`, or ""."""
        name = self._metadata("name") or self._metadata("generateName")
        return name if isinstance(name, str) else ""

    @property
    def namespace(self) -> str:
        """Return `metadata.namespace`, "" where none is written."""
        namespace = self._metadata("namespace")
        return namespace if isinstance(namespace, str) else ""

    def at(self, path: str) -> Origin:
        """Return the place of a path of the document's v1 form, as the document has it in its own version."""
        path = written_path(self.value, path)
        return Origin(self.origin.source, self.origin.document, f"{self.kind}/{self.name}", path, self.line(path))

    def _metadata(self, key: str) -> Any:
        metadata = self.value.get("metadata")
        return metadata.get(key) if isinstance(metadata, Mapping) else None


class Manifests(Struct, frozen=True):
    """What paths held: documents in the order of their files, the text of every file, what could not be read."""

    documents: tuple[Document, ...] = ()
    texts: Mapping[str, str] = ()  # type: ignore[assignment]
    findings: tuple[Finding, ...] = ()


def read_manifests(paths: Iterable[str | Path]) -> Manifests:
    """Return the objects in files, in folders with everything below them, and on standard input ("-").

    Hidden files and folders and drawings are left out. In a folder, files ending in .json, .yaml or .yml are read. A
    file or document that cannot be used becomes a finding, and the others are read. Raises SourceError if there is no
    file or folder at a path, or if a folder has no manifests or more than 10,000. Raises ManifestError if standard
    input is not UTF-8.
    """
    findings: list[Finding] = []
    return manifests_of(_texts(paths, findings), findings)


def manifests_of(named: Iterable[tuple[str, str]], findings: list[Finding]) -> Manifests:
    """Return the objects in texts by the names of their files; what cannot be read is added to `findings`."""
    documents: list[Document] = []
    texts: dict[str, str] = {}
    for name, text in named:
        if name in texts:
            continue
        texts[name] = text
        errors: list[ManifestError] = []
        try:
            documents += _documents(name, text, errors.append)
        except ManifestError as error:
            errors.append(error)
        findings += [_broken(name, error) for error in errors]
    return Manifests(tuple(documents), texts, tuple(findings))


def _broken(name: str, error: ManifestError) -> Finding:
    place = error.origin or Origin(name)
    if error.message.startswith(NO_MANIFEST):
        return Finding(TEMPLATE_RULE, Severity.WARNING, Path(name).name, NOT_RENDERED, RENDER, place)
    advice = "dra-lab read the other documents; correct this one."
    return Finding("file-broken", Severity.ERROR, Path(name).name, error.message, advice, place)


def _documents(name: str, text: str, broken: Callable[[ManifestError], None]) -> Iterator[Document]:
    # JSON is read as YAML too: that is slower, and knows the lines.
    at = number = 0
    for part in _json_parts(text):
        at = text.index(part, at)
        above, before = text.count("\n", 0, at), number
        for document in load_yaml(part, name, broken=broken):
            number = before + document.number
            yield from objects_of(changed(document, number=number, above=document.above + above), name)
        at += len(part)


def _json_parts(text: str) -> list[str]:
    """Return the JSON values of a text that has several, one after the other; any other text is one part."""
    try:
        parts = list(json_texts(text)) if text.lstrip()[:1] in ("{", "[") else []
    except (ValueError, RecursionError):
        parts = []
    return parts if len(parts) > 1 else [text]


def objects_of(document: YamlDocument, name: str) -> Iterator[Document]:
    """Yield the objects of a YAML document of a file: one, or those of a list; nothing for a drawing."""
    yield from _objects(document.value, Origin(name, document.number, line=document.line()), document.line)


def _objects(value: Any, origin: Origin, line: Callable[[str], int], inside: str = "") -> Iterator[Document]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _objects(item, origin, line, f"{inside}[{index}]")
        return
    if not isinstance(value, Mapping) or is_drawing(value):
        return
    items = value.get("items")
    if isinstance(items, list) and str(value.get("kind")).endswith("List"):
        for index, item in enumerate(items):
            yield from _objects(item, origin, line, f"{inside}.items[{index}]".lstrip("."))
        return
    yield Document(value, origin, (lambda path: line(f"{inside}.{path}".rstrip("."))) if inside else line, inside)


def _texts(paths: Iterable[str | Path], findings: list[Finding]) -> Iterator[tuple[str, str]]:
    for path in paths:
        if str(path) == "-":
            yield STANDARD_INPUT, utf8_text(up_to(sys.stdin.buffer, MAX_FILE_BYTES, STANDARD_INPUT), STANDARD_INPUT)
            continue
        for file in _files(expanded(path)):
            try:
                yield str(file), utf8_text(read_bytes(file, MAX_FILE_BYTES), str(file))
            except (ManifestError, SourceError) as error:
                advice = "dra-lab read the other files; correct or remove this one."
                place = error.origin or Origin(str(file))
                findings.append(Finding("file-broken", Severity.ERROR, file.name, error.message, advice, place))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.exists() and not path.is_dir():
        raise SourceError(f"{str(path)!r} is a pipe or device, and dra-lab reads manifests more than once; give a file")
    if not path.is_dir():
        raise SourceError(f"there is no file or folder {str(path)!r}; give files, folders, or - for standard input")
    return manifest_files(path, path.rglob("*"))


K = TypeVar("K", DeviceClass, DeviceTaintRule, ResourceSlice, TopologyObject)


def with_classes(cluster: Cluster, manifests: Manifests) -> Cluster:
    """Return the cluster with the DeviceClasses among the manifests, which come before its own of the same name."""
    written = {one.metadata.name: one for one in _given(manifests, DeviceClass)}
    return with_given_classes(cluster, written.values())


def with_topologies(cluster: Cluster, manifests: Manifests) -> Cluster:
    """Return the cluster with the objects among the manifests that say which nodes are close, before its own."""
    given = tuple(found for kind in TOPOLOGY_KINDS.values() for found in _given(manifests, kind))
    names = {(one.resource, one.name) for one in given}
    kept = tuple(one for one in cluster.topologies if (one.resource, one.name) not in names)
    return replace(cluster, topologies=(*kept, *given)) if given else cluster


def written_rules(manifests: Manifests) -> Iterator[DeviceTaintRule]:
    """Yield the DeviceTaintRules among the manifests."""
    return _given(manifests, DeviceTaintRule)


def shows_lists(manifests: Manifests) -> bool:
    """Say whether a ResourceSlice among the manifests shows a list-typed attribute: then its gate is on."""
    return any(has_lists(device) for one in _given(manifests, ResourceSlice) for device in one.spec.devices or ())


def _given(manifests: Manifests, kind: type[K]) -> Iterator[K]:
    name = kind.__name__
    for document in manifests.documents:
        if document.kind == name and is_read(name, document.value.get("apiVersion")):
            try:
                yield decode_object(hub_document(dict(document.value), name), kind, document.origin)
            except DraLabError:
                continue  # the API's validation says it


def with_own_classes(source: str | Path, cluster: Cluster) -> Cluster:
    """Return the cluster with the DeviceClasses that stand beside a claim in its file or folder."""
    return with_classes(cluster, read_manifests([source])) if Path(source).exists() else cluster


_MOST_FILES = 200
_MOST_BYTES = 2**20


def file_with_class(name: str, source: str) -> str:
    """Return the file in the folder of `source`, or in a folder of it, that has the DeviceClass `name`; "" for none.

    At most 200 files are looked at, none of more than 1 MiB.
    """
    if not source or source == STANDARD_INPUT or not Path(source).is_file():
        return ""
    folder = Path(source).parent
    files = (path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern)))
    files = (path for path in files if path.suffix.lower() in SUFFIXES and path.is_file())
    return next((str(path) for path in islice(files, _MOST_FILES) if _has_class(path, name)), "")


def _has_class(path: Path, name: str) -> bool:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return False
        text = path.read_text(encoding="utf-8")
        if name not in text or "DeviceClass" not in text:
            return False
        documents = load_yaml(text, str(path), broken=lambda _: None)
        objects = (found for document in documents for found in objects_of(document, str(path)))
        return any(found.kind == "DeviceClass" and found.name == name for found in objects)
    except (OSError, UnicodeDecodeError, DraLabError):
        return False  # it is not a file that was given
