"""Snapshots: a cluster as a folder or a `.tar.gz` that can be sent, kept, and read like any other cluster."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dra_lab.errors import DraLabError, ExportError
from dra_lab.manifests.documents import KINDS
from dra_lab.model.cluster import Cluster
from dra_lab.model.queues import CUSTOM_KINDS
from dra_lab.model.topologies import PLURALS
from dra_lab.sources.archives import archive_bytes, read_archive
from dra_lab.sources.drawing_files import put_whole
from dra_lab.sources.files import ARCHIVES, is_archive
from dra_lab.sources.snapshot_info import FILE, SnapshotInfo, decode_info, encode_info, kept_places, noted
from dra_lab.sources.snapshots_kept import portable

FILES = {
    "DeviceClass": "deviceclasses.json",
    "DeviceTaintRule": "devicetaintrules.json",
    "Node": "nodes.json",
    "Pod": "pods.json",
    "ResourceClaim": "resourceclaims.json",
    "ResourceSlice": "resourceslices.json",
    **{kind: f"{PLURALS[kind]}.json" for kind in CUSTOM_KINDS},
}
"""The files of a snapshot next to its description, one per kind, each a `kind: List`."""

_LIST_HEAD = b'{"apiVersion":"v1","kind":"List","items":[\n'
_LIST_TAIL = b"\n]}\n"


class Snapshot(Struct, frozen=True):
    """A snapshot before it is written: what it says of itself, and the bytes of its files by name, sorted."""

    info: SnapshotInfo
    files: Mapping[str, bytes]


def make_snapshot(
    cluster: Cluster, *, replaced: Mapping[str, int] | None = None, left_out: Mapping[str, int] | None = None
) -> Snapshot:
    """Return the snapshot of a cluster: only what planning needs (`snapshots_kept`), in the API's own documents.

    `replaced` counts what was made anonymous in `cluster` before, None where nothing was; `left_out` what was left out
    of it then. The bytes of one cluster are always the same.
    """
    kept, dropped = portable(cluster)
    parts: dict[str, tuple[Any, ...]] = {
        "DeviceClass": kept.classes,
        "DeviceTaintRule": kept.taint_rules,
        "Node": kept.nodes,
        "Pod": kept.pods,
        "ResourceClaim": kept.claims,
        "ResourceSlice": kept.slices,
    }
    for kind, model in CUSTOM_KINDS.items():
        if found := tuple(item for item in (*kept.topologies, *kept.queues) if isinstance(item, model)):
            parts[kind] = found
    counts = {kind: len(items) for kind, items in parts.items()}
    counts["Device"] = sum(len(item.spec.devices or ()) for item in kept.slices)
    info = SnapshotInfo(
        captured_at=cluster.read_at,
        source=_source(cluster.name, anonymised=replaced is not None),
        anonymised=replaced is not None,
        claims_known=cluster.claims_known,
        counts=counts,
        left_out=dict(sorted((Counter(dropped) + Counter(left_out or {})).items())),
        replaced=dict(replaced or {}),
        findings=noted(cluster.findings, anonymised=replaced is not None),
        file_places=kept_places(cluster.file_places),
        server_version=cluster.server_version,
    )
    files = {}
    for kind, items in parts.items():
        # one object a line: as small as JSON is, and a change of one object is a change of one line
        head = f'{{"apiVersion":"{KINDS[kind][0]}","kind":"{kind}",'.encode()
        if kind in CUSTOM_KINDS:  # of several groups: they say themselves of which
            head = f'{{"kind":"{kind}",'.encode()
        rows = (head + msgspec.json.encode(item)[1:] for item in items)
        files[FILES[kind]] = _LIST_HEAD + b",\n".join(rows) + _LIST_TAIL
    return Snapshot(info, dict(sorted({**files, FILE: encode_info(info)}.items())))


def write_snapshot(snapshot: Snapshot, out: Path | str) -> None:
    """Write a snapshot to a folder, or to one file where the name ends in `.tar.gz` or `.tgz`: whole or not at all.

    Only its owner may read it, because it says much about a cluster. It is written next to `out` and renamed. What is
    at `out` already is replaced where it is a snapshot, and is left alone otherwise. Raises ExportError, and then `out`
    is as it was.
    """
    out = Path(out)
    try:
        _check_place(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        if is_archive(out):
            put_whole(out, archive_bytes(snapshot.files), 0o600)
        else:
            _write_folder(out, snapshot.files)
    except OSError as error:
        raise ExportError(f"{str(out)!r} cannot be written: {error.strerror or error}; nothing was changed") from None


def _source(name: str, *, anonymised: bool) -> str:
    """Return where a cluster came from without the folders of a path, which may name people and projects."""
    scheme, colon, _ = name.partition(":")
    if colon and scheme in ("context", "sample"):
        return f"{scheme}:" if anonymised and scheme == "context" else name
    return "files" if anonymised else Path(name).name


def _check_place(out: Path) -> None:
    if not out.exists() and not out.is_symlink():
        return
    if is_archive(out):
        ours = out.is_file() and _is_snapshot_archive(out)
    else:
        ours = out.is_dir() and (not any(out.iterdir()) or _is_snapshot_folder(out))
    if not ours:
        what = "is not a snapshot" if not out.is_dir() else "contains something other than a snapshot"
        raise ExportError(
            f"{str(out)!r} exists and {what}, so nothing is written. Move it away, or give another name"
            f" (a folder, or a file ending in {' or '.join(ARCHIVES)})"
        )


def _is_snapshot_folder(folder: Path) -> bool:
    with suppress(OSError, DraLabError):
        if decode_info((folder / FILE).read_bytes(), FILE) is not None:
            return all(entry.is_file() and entry.suffix == ".json" for entry in folder.iterdir())
    return False


def _is_snapshot_archive(path: Path) -> bool:
    with suppress(DraLabError), path.open("rb") as data:
        infos = (one for one in read_archive(data, str(path)) if one[0].rpartition("/")[2] == FILE)
        return any(decode_info(content, name) is not None for name, content in infos)
    return False


def _write_folder(out: Path, files: Mapping[str, bytes]) -> None:
    temporary = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".tmp"))
    try:
        for name, content in files.items():
            put_whole(temporary / name, content, 0o600)
        before = temporary.with_suffix(".old")
        if out.exists():
            out.rename(before)
        try:
            temporary.rename(out)
        except BaseException:
            if before.exists():
                before.rename(out)
            raise
        shutil.rmtree(before, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
