"""Files in a folder that a person may edit too: written whole or not at all, never over somebody's change."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dra_lab.errors import ExportError

_SEAL = re.compile(r"# Written by dra-lab\. Digest of the lines below: ([0-9a-f]{64})\n")


def sealed(text: str) -> str:
    """Return a text with a first line that holds its digest, by which a later edit is noticed."""
    return f"# Written by dra-lab. Digest of the lines below: {_digest(text)}\n{text}"


def is_untouched(text: str) -> bool:
    """Say whether a file's text is what `sealed` gave, line ends aside."""
    plain = text.replace("\r\n", "\n")
    found = _SEAL.match(plain)
    return found is not None and found[1] == _digest(plain[found.end() :])


def write_files(folder: Path, texts: Mapping[str, str], *, overwrite: bool = False) -> tuple[Path, ...]:
    """Write sealed texts to the files of a folder, which is made if need be; return their paths in the order given.

    Every file is written beside its place and synced before the first is renamed, so an interruption leaves each file
    old or new and never a mixture. A file that is there already is left alone where it says the same, and replaced
    where it is an untouched file of ours. Raises ExportError, before anything is written, where a file is somebody
    else's or was edited (unless `overwrite`), and when the folder cannot be written.
    """
    contents = {folder / name: sealed(text) for name, text in texts.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        changed = {path: text for path, text in contents.items() if _read(path) != text}
        foreign = [path for path in changed if path.exists() and not is_untouched(_read(path) or "")]
        if foreign and not overwrite:
            names = ", ".join(str(path) for path in foreign)
            verb = "were" if len(foreign) > 1 else "was"
            raise ExportError(
                f"{names} {verb} changed by somebody, or not written by dra-lab; "
                "nothing is written. Move it away, choose another folder, or allow it to be overwritten"
            )
        _replace_all(changed)
    except OSError as error:
        place = error.filename or folder
        raise ExportError(f"{str(place)!r} cannot be written: {error.strerror or error}") from None
    return tuple(contents)


def _replace_all(contents: Mapping[Path, str]) -> None:
    staged: dict[str, Path] = {}
    try:
        for path, text in contents.items():
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
            staged[name] = path
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
        for name, path in tuple(staged.items()):
            Path(name).replace(path)
            del staged[name]
    finally:
        for name in staged:
            Path(name).unlink(missing_ok=True)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
