"""Files in a folder that a person may edit too: written as a set, all or none, and never over an edit."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from dra_lab.errors import ExportError
from dra_lab.manifests.file_text import as_utf8, expanded, open_to_others
from dra_lab.model.decoding import json_value
from dra_lab.words.comparison import changed_lines

RECORD = "plan.json"
"""The plan, and the digest of every file beside it, which shows a person's edit."""

DIGESTS = "dra-lab.files"
"""The digests alone, in a file that `kubectl apply -f` of the folder does not read."""

RECORD_VERSION = "dra-lab/v1"
_MADE = re.compile(r"(?!plan\.json)[A-Za-z0-9][\w.-]*\.(?:ya?ml|json)|README\.md|picture\.svg", re.ASCII)
"""The names that an export can have made."""
_MARK = ".dra-lab-"
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


@dataclass(frozen=True)
class _Step:
    """An export that is under way: files to replace or remove, and the record before and after."""

    changed: Mapping[str, str]
    stale: tuple[str, ...]
    journal: str
    record: str


def write_files(
    folder: Path,
    texts: Mapping[str, str],
    record: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
    without: Collection[str] = (),
    beside: str = RECORD,
) -> tuple[Path, ...]:
    """Write texts to the files of a folder, which is made if need be; return their paths in the order given.

    Beside them `plan.json`, or the file `beside`, holds `record` and the digest of each file. Every file is written
    beside its place and synced before the first is renamed, so after an interruption each file is old or new and never
    a mixture. The next export finishes the rest, because that file has the old and the new digests while files are
    renamed. A file that says the same already is left alone, and an untouched file of an earlier export is replaced.
    With `overwrite`, one that this export has not is removed, if an export can have made its name. The files `without`
    are neither written nor removed. The record has their digests of this export, so `check` does not take an earlier
    version for this one, and those of an earlier export, so the next one knows them. Raises ExportError, before
    anything is written, if a file was edited, is not from an export, or is to be removed (unless `overwrite`), and if
    the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{str(folder)!r} is a file; give a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        step = _plan(folder, texts, record or {}, beside, overwrite=overwrite, without=without)
        # what an export that was killed left beside the files
        starts = tuple(f".{name}{_MARK}" for name in (*texts, beside))
        for path in [*folder.iterdir()]:
            if path.name.startswith(starts) and path.name.endswith(".tmp"):
                path.unlink(missing_ok=True)
        _carry_out(folder, step, beside)
    except OSError as error:
        place = error.filename or folder
        raise ExportError(f"{str(place)!r} cannot be written: {error.strerror or error}") from None
    return (*(folder / name for name in texts if name not in without), folder / beside)


def replace_text(path: Path, old: str, new: str) -> None:
    """Write another text into a file, whole or not at all; its encoding, mode and links stay.

    Raises ExportError where it cannot be written, or does not hold the old text any more.
    """
    try:
        data = path.read_bytes()
        if as_utf8(data).decode("utf-8", "replace") != old:
            raise ExportError(f"{str(path)!r} changed in the meantime, so nothing is written; run the command again")
        mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
        target = path.resolve()
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "it is read-only", str(path))
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}{_MARK}", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(mark + new.encode(_MARKS.get(mark, "utf-8")))
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(target, name)
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise ExportError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None


def known_digests(folder: Path, beside: str = RECORD) -> Mapping[str, frozenset[str]] | None:
    """Return the digests that an export may have left, by file name; None where the file `beside` is not ours."""
    text = _read(folder / beside)
    if text is None:
        return {}
    try:
        found = json_value(text)
        if found["apiVersion"] != RECORD_VERSION:
            return None
        known: dict[str, set[str]] = {}
        for part in (found["files"], found.get("replaced", {})):
            for name, digest in part.items():
                known.setdefault(name, set()).add(digest)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    # `plan.json` may come from anyone: no other file is ever replaced or removed because of it
    return {name: frozenset(digests) for name, digests in known.items() if _MADE.fullmatch(name)}


def digest(text: str) -> str:
    """Return the SHA-256 of a text; line ends do not count, as Git may change them."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogateescape")).hexdigest()


def _plan(
    folder: Path,
    texts: Mapping[str, str],
    record: Mapping[str, Any],
    beside: str,
    *,
    overwrite: bool,
    without: Collection[str],
) -> _Step:
    known = known_digests(folder, beside)
    there = {name: _read(folder / name) for name in (*texts, *(known or {}))}
    changed = {name: text for name, text in texts.items() if there[name] != text and name not in without}
    foreign = [name for name in changed if not _is_ours(there[name], (known or {}).get(name, frozenset()))]
    if known is None:
        foreign.append(beside)
    stale = tuple(
        name
        for name, digests in (known or {}).items()
        if name not in {*texts, *without} and there[name] is not None and _is_ours(there[name], digests)
    )
    why = "edited or not written by dra-lab, so", "written by an earlier export, and this one would remove it, so"
    for found, words in zip(((), ()) if overwrite else (foreign, stale), why, strict=True):
        if found:
            names, verb = ", ".join(str(folder / name) for name in found), "were" if len(found) > 1 else "was"
            advice = "Move it away, choose another folder, or use --overwrite"
            raise ExportError(f"{names} {verb} {words} nothing is written. {advice}")
    left: dict[str, str] = {}
    for name, digests in (known or {}).items():
        if name in without:
            text = there[name]
            # any one of them if a person edited the file
            left[name] = own if text is not None and (own := digest(text)) in digests else min(digests)
    files = left | {name: digest(text) for name, text in texts.items()}
    old = left | {name: digest(text) for name in (*changed, *stale) if (text := there[name]) is not None}
    head = {"apiVersion": RECORD_VERSION, **record, "files": files}
    return _Step(
        changed, stale, _json({**head, "replaced": old}), _json({**head, **({"replaced": left} if left else {})})
    )


def _is_ours(text: str | None, digests: frozenset[str]) -> bool:
    return text is None or digest(text) in digests


def _carry_out(folder: Path, step: _Step, beside: str) -> None:
    if not step.changed and not step.stale and _read(folder / beside) == step.record:
        return
    staged: dict[str, Path] = {}
    try:
        journal = _stage(folder / beside, step.journal, staged)
        temporary = [_stage(folder / name, text, staged) for name, text in step.changed.items()]
        record = _stage(folder / beside, step.record, staged)
        for name in (journal, *temporary):
            Path(name).replace(staged.pop(name))
        for stale in step.stale:
            (folder / stale).unlink(missing_ok=True)
        Path(record).replace(staged.pop(record))
    finally:
        for name in staged:
            Path(name).unlink(missing_ok=True)


def _stage(path: Path, text: str, staged: dict[str, Path]) -> str:
    if path.is_dir():
        raise IsADirectoryError(21, "a folder has this name", str(path))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}{_MARK}", suffix=".tmp")
    staged[name] = path
    with os.fdopen(handle, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(name).chmod(open_to_others(0o666))
    return name


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


Change = Literal["new", "changed", "unchanged", "edited", "removed"]


class FileChange(Struct, frozen=True):
    """One file of an export beside the file on disk.

    `edited` is a file that differs and that a person wrote or changed: it is replaced only if they allow it. `removed`
    is a file of an earlier export that this one has not. `lines` begin with "+", "-" or " ", as in a unified diff.
    """

    name: str
    state: Change
    lines: tuple[str, ...]


def file_changes(folder: str | Path, texts: Mapping[str, str]) -> tuple[FileChange, ...]:
    """Return what writing texts to a folder would change, in the order of the texts; removed files are last.

    Nothing is written, and the folder need not exist. Raises ExportError where it cannot be read.
    """
    place = expanded(folder)
    try:
        if place.exists() and not place.is_dir():
            raise ExportError(f"{str(folder)!r} is a file; give a folder")
        known = known_digests(place) or {}
        found = [_change(place, name, text, known.get(name, frozenset())) for name, text in texts.items()]
        for name, digests in known.items():
            old = _shown(place / name) if name not in texts else None
            if old is not None and digest(old) in digests:
                found.append(FileChange(name, "removed", changed_lines(old, "")))
        return tuple(found)
    except OSError as error:
        raise ExportError(f"{str(error.filename or place)!r} cannot be read: {error.strerror or error}") from None


def _change(folder: Path, name: str, text: str, known: frozenset[str]) -> FileChange:
    old = _shown(folder / name)
    if old is None:
        return FileChange(name, "new", changed_lines("", text))
    if old == text:
        return FileChange(name, "unchanged", tuple(f" {line}" for line in text.splitlines()))
    return FileChange(name, "changed" if digest(old) in known else "edited", changed_lines(old, text))


def _shown(path: Path) -> str | None:
    text = _read(path)
    return None if text is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
