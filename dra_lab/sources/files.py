"""Files and folders to documents: what is read, in which order, up to which size, and what a page may name."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any

from dra_lab.errors import InputError, ManifestError, SourceError, did_you_mean
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import KINDS, Documents, decode_documents
from dra_lab.manifests.file_text import SUFFIXES, expanded, is_manifest_file, manifest_files, read_bytes
from dra_lab.model.claims import DeviceClass, ResourceClaim, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import MAX_ARCHIVE_VALUES, text_values
from dra_lab.model.nodes import Node
from dra_lab.model.pods import Pod
from dra_lab.model.queues import QueueObject
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import CustomValue, TopologyObject
from dra_lab.sources.samples import PREFIX
from dra_lab.sources.snapshot_info import FILE as SNAPSHOT
from dra_lab.sources.snapshot_info import SnapshotInfo, check_age, decode_info, file_places_of, findings_of

ARCHIVES = (".tar.gz", ".tgz")
MAX_FILE_BYTES = 2**30
CHOICES = "a file, a folder, context:NAME, or sample:NAME (see dra-lab samples)"
"""The sources of a cluster, for messages."""

CONTEXT = "context:"
"""The prefix of a running cluster; the rest of the name is a context of the kubeconfig."""

TOPOLOGY = "topo:"
"""`topo:FILE[*COUNT[@DRIVER,...]]`: COUNT equal nodes (default 1) made from the topology file of one server.

The drivers are those to plan for (`sources.foreign.make_cluster`).
"""


def read_documents(path: Path) -> Documents:
    """Return the documents of a file, or of the JSON and YAML files directly in a folder, sorted by name.

    A file that cannot be used becomes a Finding and the others are read. Raises SourceError when there is nothing at
    the path, when a folder has no such file, when a single file cannot be used, or when it is over MAX_FILE_BYTES.
    """
    if not path.exists():
        kind, colon, name = str(path).partition(":")
        similar = did_you_mean(kind, (CONTEXT[:-1], PREFIX[:-1], TOPOLOGY[:-1]), end=f":{name}") if colon else ""
        raise SourceError(f"there is no file or folder {str(path)!r}{similar or f'; give {CHOICES}'}")
    if not path.is_dir():
        return decode_documents(read_bytes(path, MAX_FILE_BYTES), str(path))
    info = SNAPSHOT if folder_info(path) is not None else ""
    files = manifest_files(path, (f for f in path.iterdir() if not f.name.endswith(".dralab.yaml") and f.name != info))
    return merge(_decoded(str(file), file.name, file) for file in files)


def is_archive(name: str | Path) -> bool:
    """Say whether a file is an archive, by its name."""
    return str(name).lower().endswith(ARCHIVES)


def read_archive_documents(name: str, archive: Path | bytes) -> tuple[Documents, SnapshotInfo | None]:
    """Return the documents of a `.tar.gz`, and what it says of itself where it is a snapshot.

    A file in it that cannot be used becomes a Finding and the others are read. Raises SourceError like `read_archive`,
    beyond MAX_ARCHIVE_VALUES, and where it holds no JSON or YAML file.
    """
    # Folders need no reader of archives, and importing it takes a while.
    from dra_lab.sources.archives import read_archive

    parts: list[Documents] = []
    info: SnapshotInfo | None = None
    values = 0
    with _opened(archive) as data:
        for member, content in read_archive(data, name):
            path = PurePosixPath(member)
            if not is_manifest_file(PurePosixPath(path.name)) or path.name.endswith(".dralab.yaml"):
                continue
            values += text_values(content)
            if values > MAX_ARCHIVE_VALUES:
                what = f"its files have more than {MAX_ARCHIVE_VALUES:,} values, which is the limit"
                raise SourceError(f"{what}; unpack it, and give the folder", origin=Origin(name))
            if path.name == SNAPSHOT and (found := decode_info(content, f"{name}:{member}")) is not None:
                info = found
            else:
                parts.append(_decoded(f"{name}:{member}", path.name, content))
    if not parts:
        raise SourceError(f"the archive {name!r} contains no .json, .yaml or .yml file")
    return merge(iter(parts)), info


def folder_info(path: Path) -> SnapshotInfo | None:
    """Return what a folder says of itself where it is a snapshot, else None. Raises ManifestError for a broken one."""
    file = path / SNAPSHOT
    return decode_info(read_bytes(file, MAX_FILE_BYTES), str(file)) if path.is_dir() and file.is_file() else None


def merge(parts: Iterable[Documents]) -> Documents:
    """Return several texts' documents as one, in order."""
    collected = list(parts)
    objects = tuple(item for part in collected for item in part.objects)
    return Documents(objects, tuple(finding for part in collected for finding in part.findings))


def _decoded(source: str, name: str, content: Path | bytes) -> Documents:
    try:
        return decode_documents(read_bytes(content, MAX_FILE_BYTES) if isinstance(content, Path) else content, source)
    except (ManifestError, SourceError) as error:
        message = f"{error.message}; dra-lab ignores this file"
        rest = "dra-lab read the other files; correct or remove this one."
        origin = error.origin or Origin(source)
        return Documents((), (Finding("file-broken", Severity.WARNING, name, message, rest, origin),))


def modified_at(path: Path) -> str:
    """Return the ISO time at which a file, or the newest file of a folder, was last changed; "" where none can say.

    The data of a file about a cluster is not younger than that.
    """
    files = [path] if path.is_file() else [f for f in path.iterdir() if f.suffix.lower() in SUFFIXES]
    try:
        newest = max((file.stat().st_mtime for file in files), default=0.0)
        return datetime.fromtimestamp(newest).astimezone().isoformat(timespec="seconds") if newest else ""
    except (OSError, ValueError, OverflowError):
        return ""


def _opened(archive: Path | bytes) -> IO[bytes]:
    if isinstance(archive, bytes):
        return BytesIO(archive)
    try:
        if archive.stat().st_size > MAX_FILE_BYTES:
            raise SourceError(f"{str(archive)!r} has more than {MAX_FILE_BYTES:,} bytes, which is the limit")
        return archive.open("rb")
    except OSError as error:
        raise SourceError(f"{str(archive)!r} cannot be read: {error.strerror or error}") from None


# --------------------------------------------------------------------- documents to a cluster

KUBECTL = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes -A -o json"
"""The command that writes everything that is needed into one file."""

NOT_USED = frozenset(("document-broken", "file-broken", "version-old", "version-unknown"))
"""Rules of the findings about a document or file that counts as absent."""


def assemble(documents: Documents, name: str, *, read_at: str = "", info: SnapshotInfo | None = None) -> Cluster:
    """Return the snapshot that documents make; `name` is what the person gave.

    `read_at` is when the cluster was read, as far as it is known. `info` is what the description of a captured
    snapshot says: then the time is that of the capture, and what was missing is what was missing then.

    Raises SourceError when they hold neither a ResourceSlice nor a Node.
    """
    findings = list(documents.findings)
    kept = _latest(documents, findings)
    slices, nodes = _of(kept, ResourceSlice), _of(kept, Node)
    if not slices and not nodes:
        first = next((str(f) for f in findings if f.rule in NOT_USED), "")
        reason = f" First problem: {first}" if first else ""
        raise SourceError(f"there are no ResourceSlices and no Nodes in {name!r}; write them with: {KUBECTL}.{reason}")
    claims = _of(kept, ResourceClaim)
    if info is None:
        known = _check_claims(claims, slices, name, findings)
    else:
        read_at, known = info.captured_at, info.claims_known
        findings += findings_of(info, name)
        found = Counter(map(_kind_of, kept))
        for kind, count in sorted(info.counts.items()):
            if kind in KINDS and found[kind] != count:
                message = f"{found[kind]:,} of the {count:,} captured objects of kind {kind} are left"
                advice = (
                    "The snapshot is damaged or was changed; capture the cluster again, or download the snapshot again."
                )
                where = Origin(name, object=SNAPSHOT)
                findings.append(Finding("snapshot-incomplete", Severity.WARNING, name, message, advice, where))
    findings += check_age(read_at, name, datetime.now().astimezone())
    return Cluster(
        slices,
        _of(kept, DeviceClass),
        nodes,
        claims,
        _of(kept, DeviceTaintRule),
        name,
        read_at,
        tuple(findings),
        known,
        _of(kept, Pod),
        file_places=file_places_of(info.file_places) if info is not None else {},
        topologies=_of(kept, TopologyObject),
        queues=_of(kept, QueueObject),
        templates=_of(kept, ResourceClaimTemplate) or None,
        server_version=info.server_version if info is not None else "",
    )


def _of(items: list[Any], kind: Any) -> tuple[Any, ...]:
    return tuple(item for item in items if isinstance(item, kind))


def _kind_of(item: object) -> str:
    return item.kind if isinstance(item, CustomValue) else type(item).__name__


def _latest(documents: Documents, findings: list[Finding]) -> list[Any]:
    seen: dict[tuple[str, str, str], tuple[Any, Origin]] = {}
    for item, origin in documents.objects:
        kind = _kind_of(item)
        # one name may be there in two groups
        key = (
            f"{kind} {item.group}" if isinstance(item, CustomValue) else kind,
            item.metadata.namespace,
            item.metadata.name or str(origin),  # `generateName`: several manifests without a name are several objects
        )
        before = seen.pop(key, None)
        seen[key] = (item, origin)
        if before is not None and before[0] != item:
            message = f"{kind} {item.metadata.name!r} appears twice with different content; dra-lab uses the later one"
            advice = f"The earlier one is in {before[1]}; remove one of them."
            findings.append(Finding("object-twice", Severity.WARNING, item.metadata.name, message, advice, origin))
    return [item for item, _ in seen.values()]


def _check_claims(
    claims: tuple[ResourceClaim, ...], slices: tuple[ResourceSlice, ...], name: str, findings: list[Finding]
) -> bool:
    if not slices or name.startswith("sample:"):
        return True
    if not claims:
        message = "no ResourceClaims were read, so it is not known which devices are in use; all devices look free"
        findings.append(Finding("claims-missing", Severity.WARNING, name, message, f"Read them with: {KUBECTL}"))
        return False
    namespaces = {claim.metadata.namespace for claim in claims}
    if len(namespaces) == 1:
        namespace = next(iter(namespaces))
        whence = f"are from the namespace {namespace!r}" if namespace else "have no namespace"
        message = f"all ResourceClaims {whence}; if other namespaces have claims, their devices look free"
        findings.append(
            Finding("claims-one-namespace", Severity.WARNING, name, message, f"Read all with -A: {KUBECTL}")
        )
    return True


# --------------------------------------------------------------------- what a page of a browser may name

FOLDERS = "DRA_LAB_FOLDERS"
_COUNT = re.compile(r"\*\d+(@.*)?$", re.DOTALL)


def is_live(source: object) -> bool:
    """Say whether reading a cluster by its name contacts a running one."""
    return str(source).strip().startswith(CONTEXT)


def confined(path: str | Path) -> Path:
    """Return a path that a page of a browser may name: in the notebook's folder, or in one of DRA_LAB_FOLDERS.

    Links are followed first. Raises InputError for any other path.
    """
    allowed = (Path.cwd(), *map(Path, filter(None, os.environ.get(FOLDERS, "").split(os.pathsep))))
    try:
        place = expanded(path).resolve()
        if any(place.is_relative_to(folder.resolve()) for folder in allowed):
            return place
    except (OSError, RuntimeError, ValueError):
        pass  # a loop of links, or a name that no file has
    advice = f"name it in a cell, or start Jupyter with its folder in {FOLDERS}"
    raise InputError(f"{str(path)[:80]!r} is not in the notebook's folder, so this page may not reach it; {advice}")


def confined_source(source: str) -> str:
    """Return what `load_cluster` takes, if a page of a browser may name it: each file of it is `confined`.

    Raises InputError for another file, and for standard input.
    """
    if source == "-":
        raise InputError("a page cannot read standard input; give a file")
    for path in _files(source):
        confined(path)
    return source


def why_refused(source: str) -> str:
    """Return why a page of a browser may not name a source (`confined_source`), "" if it may."""
    try:
        confined_source(source)
    except InputError as error:
        return str(error)
    return ""


def _files(source: str) -> Iterator[str]:
    """Yield the file that a source names; with a count or a driver behind it also as if that were part of the name."""
    if source.startswith(TOPOLOGY):
        file = source.removeprefix(TOPOLOGY)
        yield from filter(None, (file, _COUNT.sub("", file)))
    elif not source.startswith((CONTEXT, PREFIX)):
        yield source
