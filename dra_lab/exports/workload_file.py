"""The file of a person's workload: the object in it, and which of its pod templates get the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_lab.errors import ExportError, InputError, SourceError
from dra_lab.manifests.device_asks import requested_devices
from dra_lab.manifests.file_text import expanded, read_bytes, utf8_text
from dra_lab.manifests.pod_templates import RUNTIMES, PodField, pod_fields
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml, value_at

MAX_FILE_BYTES = 16 * 2**20


@dataclass(frozen=True)
class WorkloadFile:
    """A file with one object whose pods get a claim; `name` is the file's, `text` what it holds.

    `document` counts the documents of the file from 0, without the empty ones. `templates` are the pod templates of
    the object that get the claim, and `pods` is how many pods they run at a time; 1 where that is one on each node.
    """

    name: str
    text: str
    kind: str
    subject: str
    namespace: str
    document: int = 0
    templates: tuple[PodField, ...] = ()
    pods: int = 1

    @property
    def title(self) -> str:
        """Return the object as `Kind/name`."""
        return f"{self.kind}/{self.subject}"


def read_workload(path: str | Path, templates: Sequence[str] = ()) -> WorkloadFile:
    """Return the object with pod templates in the file of a workload, and which of its pods get the claim.

    `templates` are the paths of the pod templates that get it, such as "spec.template". Default: those that request
    devices today, or the only one that is no launcher, head or initializer. Raises ExportError for a file that cannot
    be read, ManifestError for a broken text, and InputError without an object with a pod template, with several, or if
    it is not clear which templates get the claim.
    """
    path = Path(path)
    text, (at, value, fields) = _read(path)
    chosen = _named(path, value, fields, templates) if templates else _clear(path, value, fields)
    pods = sum(0 if field.per_node else field.pods for field in chosen) or 1
    metadata = metadata_of(value)
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    namespace = str(metadata.get("namespace") or "")
    return WorkloadFile(path.name, text, str(value.get("kind") or ""), name, namespace, at, chosen, pods)


def pod_templates(path: Path) -> tuple[PodField, ...]:
    """Return the pod templates of a workload's file, whichever get the claim. Raises as `read_workload`."""
    return _read(path)[1][2]


def container_names(fields: Sequence[PodField]) -> tuple[str, ...]:
    """Return the names of the containers of pod templates, each once, in their order."""
    found = (item for field in fields for item in field.spec.get("containers") or () if isinstance(item, Mapping))
    return tuple(dict.fromkeys(str(item["name"]) for item in found if item.get("name")))


def metadata_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `metadata` of a plain object, empty where it has none."""
    found = value.get("metadata")
    return found if isinstance(found, Mapping) else {}


Fields = tuple[PodField, ...]


def _read(path: Path) -> tuple[str, tuple[int, Mapping[str, Any], Fields]]:
    try:
        data = read_bytes(expanded(path), MAX_FILE_BYTES)
    except SourceError as error:
        raise ExportError(error.message) from None
    text = utf8_text(data, str(path))
    # our own reader first: it has limits against what is hostile
    return text, _object(path, list(load_yaml(text, str(path))))


def _object(path: Path, documents: Sequence[YamlDocument]) -> tuple[int, Mapping[str, Any], Fields]:
    """Return the object with pod templates, or the only one of several whose pods ask for devices today."""
    found = []
    for at, document in enumerate(documents):
        if isinstance(document.value, Mapping):
            value = _as_started(document.value, documents)
            fields = tuple(field for field in pod_fields(value) if field.spec.get("containers") != [])
            found += [(at, document.value, fields)] if fields else []
    asking = [one for one in found if any(requested_devices(field.spec) for field in one[2])]
    one = found if len(found) == 1 else asking
    if len(one) == 1:
        return one[0]
    if not found:
        raise InputError(_without(path, documents))
    names = ", ".join(_title(value) for _, value, _ in found)
    raise InputError(
        f"{str(path)!r} must contain one object with a pod template; it has {len(found)}: {names}, and "
        f"{len(asking) or 'none'} of them request{'' if len(asking) > 1 else 's'} devices; put the one that gets the "
        "claim into its own file"
    )


def _as_started(value: Mapping[str, Any], documents: Sequence[YamlDocument]) -> Mapping[str, Any]:
    """Return a training runtime with the nodes that the only TrainJob of the file asks of it; others unchanged."""
    jobs = [one.value for one in documents if isinstance(one.value, Mapping) and one.value.get("kind") == "TrainJob"]
    if len(jobs) != 1 or value.get("kind") not in RUNTIMES:
        return value
    spec, nodes = value.get("spec"), value_at(jobs[0], "spec.trainer.numNodes")
    ours = value_at(jobs[0], "spec.runtimeRef.name") == metadata_of(value).get("name")
    if not ours or nodes is None or not isinstance(spec, Mapping):
        return value
    policy = spec.get("mlPolicy")
    policy = {**(policy if isinstance(policy, Mapping) else {}), "numNodes": nodes}
    return {**value, "spec": {**spec, "mlPolicy": policy}}


def _without(path: Path, documents: Sequence[YamlDocument]) -> str:
    for document in documents:
        value = document.value if isinstance(document.value, Mapping) else {}
        if value.get("kind") == "TrainJob":
            kind, name = (value_at(value, f"spec.runtimeRef.{key}") for key in ("kind", "name"))
            which = f"{kind or 'ClusterTrainingRuntime'}/{name or '?'}"
            return (
                f"{str(path)!r}: a TrainJob has no pod template for a claim, because {which} defines its pods "
                "(spec.runtimeRef); give --workload the file of that runtime"
            )
    return (
        f"{str(path)!r} must contain one object with a pod template; it has none (a `spec` with `containers`, "
        "or the pod template of a kind that dra-lab knows)"
    )


def _named(path: Path, value: Mapping[str, Any], fields: Fields, templates: Sequence[str]) -> Fields:
    """Return the templates that were named: by the path of the template, or of the spec in it."""
    chosen = []
    for name in templates:
        wanted = name.strip().lstrip(".")
        match = [field for field in fields if wanted in (field.template, field.path)]
        if not match:
            raise InputError(f"{str(path)!r} has no pod template {name!r}; {_title(value)} has: {_listed(fields)}")
        chosen += match
    return tuple(field for field in fields if field in chosen)


def _clear(path: Path, value: Mapping[str, Any], fields: Fields) -> Fields:
    """Return the templates that clearly get the claim. Raises InputError if this is not clear."""
    running = tuple(field for field in fields if field.pods) or fields
    asking = tuple(field for field in running if requested_devices(field.spec))
    if asking and len({requested_devices(field.spec) for field in asking}) == 1:
        return asking
    working = tuple(field for field in running if not field.helper) or running
    if not asking and len(working) == 1:
        return working
    why = "they request different devices today" if asking else "none of them requests devices today"
    raise InputError(
        f"{str(path)!r}: {_title(value)} has {len(fields)} pod templates, and it is not clear which get the claim: "
        f"{why}. Name them with --template PATH (repeatable): {_listed(fields)}"
    )


def _title(value: Mapping[str, Any]) -> str:
    metadata = metadata_of(value)
    return f"{value.get('kind')}/{metadata.get('name') or metadata.get('generateName')}"


def _listed(fields: Fields) -> str:
    lines = []
    for field in fields:
        asks = ", ".join(requested_devices(field.spec)) or "no devices"
        pods = "one pod per node" if field.per_node else f"{field.pods} pod{'' if field.pods == 1 else 's'}"
        helper = f"{field.helper}, " if field.helper else ""
        lines.append(f"{field.template} ({helper}{pods}; asks for {asks})")
    return ", ".join(lines)
