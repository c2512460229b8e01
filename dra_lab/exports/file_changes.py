"""What writing an export would change in a folder: each file with its state and its lines, old and new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from dra_lab.errors import ExportError
from dra_lab.exports.written_files import digest, known_digests
from dra_lab.manifests.file_text import expanded
from dra_lab.words.comparison import changed_lines

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
        return (*found, *_removed(place, texts, known))
    except OSError as error:
        raise ExportError(f"{str(error.filename or place)!r} cannot be read: {error.strerror or error}") from None


def _change(folder: Path, name: str, text: str, known: frozenset[str]) -> FileChange:
    old = _read(folder / name)
    if old is None:
        return FileChange(name, "new", changed_lines("", text))
    if old == text:
        return FileChange(name, "unchanged", tuple(f" {line}" for line in text.splitlines()))
    return FileChange(name, "changed" if digest(old) in known else "edited", changed_lines(old, text))


def _removed(folder: Path, texts: Mapping[str, str], known: Mapping[str, frozenset[str]]) -> Iterator[FileChange]:
    for name, digests in known.items():
        old = _read(folder / name) if name not in texts else None
        if old is not None and digest(old) in digests:
            yield FileChange(name, "removed", changed_lines(old, ""))


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
