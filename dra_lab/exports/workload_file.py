"""The file of a person's workload, and the pod templates in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_lab.errors import ExportError, InputError, SourceError
from dra_lab.manifests.files import expanded, read_bytes, utf8_text
from dra_lab.manifests.yaml_text import load_yaml

MAX_FILE_BYTES = 16 * 2**20
_MAX_DEPTH = 24


@dataclass(frozen=True)
class WorkloadFile:
    """A file with exactly one object that has pod templates; `name` is the file's, `text` what it holds."""

    name: str
    text: str
    kind: str
    subject: str
    namespace: str


def read_workload(path: Path) -> WorkloadFile:
    """Read the file of a workload: YAML or JSON, any object with a pod template (`spec` with `containers`).

    Raises ExportError where it cannot be read, InputError where it has no such object, or several, and ManifestError
    for broken text.
    """
    try:
        data = read_bytes(expanded(path), MAX_FILE_BYTES)
    except SourceError as error:
        raise ExportError(error.message) from None
    text = utf8_text(data, str(path))
    # our own reader first: it has limits against what is hostile
    documents = [document.value for document in load_yaml(text, str(path))]
    found = [value for value in documents if isinstance(value, dict) and any(pod_specs(value))]
    names = ", ".join(f"{value.get('kind')}/{metadata_of(value).get('name')}" for value in found)
    if len(found) != 1:
        have = f"it has {len(found)}: {names}" if found else "it has none (a `spec` with `containers`)"
        raise InputError(f"{str(path)!r} must hold one object with a pod template; {have}")
    kind, metadata = str(found[0].get("kind") or ""), metadata_of(found[0])
    return WorkloadFile(path.name, text, kind, str(metadata.get("name") or ""), str(metadata.get("namespace") or ""))


def metadata_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `metadata` of a plain object, empty where it has none."""
    found = value.get("metadata")
    return found if isinstance(found, Mapping) else {}


def pod_specs(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield (path, spec) of every pod template: a mapping `spec` with a list `containers`, at any depth."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from pod_specs(item, (*path, str(index)))
    if not isinstance(value, MutableMapping):
        return
    spec = value.get("spec")
    if isinstance(spec, MutableMapping) and isinstance(spec.get("containers"), list) and spec["containers"]:
        yield (*path, "spec"), spec
        return
    for key, child in value.items():
        if isinstance(child, (MutableMapping, list)) and key not in ("metadata", "status"):
            yield from pod_specs(child, (*path, str(key)))
