"""Files to bytes and text: what may be read, up to which size, in which encoding, and where a text is not UTF-8."""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import IO

from dra_lab.errors import ManifestError, SourceError
from dra_lab.findings import Origin

STANDARD_INPUT = "standard input"
WRITER_SECONDS = 10.0
"""How long a named pipe may have no program that writes to it."""

_CHUNK = 2**20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_JSON_SPACE = re.compile(r"[ \t\r\n]*")


SUFFIXES = (".json", ".yaml", ".yml")
MAX_FILES = 10_000
"""Files of a folder that are read."""


def open_to_others(mode: int) -> int:
    """Return the mode of a new file or folder as the person's umask has it."""
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mode & ~mask


def expanded(path: str | Path) -> Path:
    """Return a path with `~` and `~user` replaced. Raises SourceError for a user that does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = str(path).partition("/")[0]
        raise SourceError(
            f"{str(path)[:80]!r} cannot be read: the home folder of {user!r} is unknown; write the whole path"
        ) from None


def is_manifest_file(name: PurePath) -> bool:
    """Say whether a file below a folder is read: JSON or YAML, and neither hidden nor in a hidden folder."""
    return name.suffix.lower() in SUFFIXES and not any(part.startswith(".") for part in name.parts)


def manifest_files(folder: Path, found: Iterable[Path]) -> list[Path]:
    """Return the files among those that were found in a folder that are read, sorted.

    Raises SourceError for none, and for more than MAX_FILES.
    """
    files = sorted(file for file in found if is_manifest_file(file.relative_to(folder)) and file.is_file())
    if not files:
        raise SourceError(f"the folder {str(folder)!r} contains no .json, .yaml or .yml file")
    if len(files) > MAX_FILES:
        raise SourceError(f"the folder {str(folder)!r} contains {len(files):,} files; the limit is {MAX_FILES:,}")
    return files


def read_bytes(path: Path, limit: int, *, pipes: bool = False) -> bytes:
    """Return the bytes of a file.

    Raises SourceError for a folder, a device such as `/dev/zero`, a file or pipe of more than `limit` bytes, a pipe
    unless `pipes` allows it, and whatever the system refuses.
    """
    try:
        info = path.stat()
        if stat.S_ISREG(info.st_mode):
            if info.st_size > limit:
                raise SourceError(f"{str(path)!r} has {info.st_size:,} bytes; the limit is {limit:,}")
            with path.open("rb") as file:
                return up_to(file, limit, repr(str(path)))
        if stat.S_ISDIR(info.st_mode):
            raise SourceError(f"{str(path)!r} is a folder; give a file")
        if not stat.S_ISFIFO(info.st_mode):
            raise SourceError(f"{str(path)!r} is a device or socket; give a file")
        if not pipes:
            raise SourceError(f"{str(path)!r} is a pipe, and dra-lab reads the file more than once; save it in a file")
        return _pipe_bytes(path, limit)
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None


def up_to(file: IO[bytes], limit: int, name: str, first: bytes = b"") -> bytes:
    """Return `first` and all bytes of an open file. Raises SourceError beyond `limit` bytes."""
    parts: list[bytes] = [first]
    size = len(first)
    while part := file.read(min(_CHUNK, limit + 1 - size)):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise SourceError(f"{name} has more than {limit:,} bytes, which is the limit")
    return b"".join(parts)


def as_utf8(data: bytes, *, cut: bool = False) -> bytes:
    """Return a text that begins with a mark of its encoding (UTF-8, UTF-16) in UTF-8 without it; other data as it is.

    What is no text in the encoding that it claims is returned as it is too, for the reader to refuse; `cut` says that
    it is only the beginning of a text, which may end anywhere.
    """
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if not data.startswith(_UTF16):
        return data
    try:
        return data.decode("utf-16", "replace" if cut else "strict").encode()
    except UnicodeDecodeError:
        return data


def utf8_text(data: bytes, source: str) -> str:
    """Return the text of bytes in UTF-8 or UTF-16. Raises ManifestError with the line and position of a wrong byte."""
    try:
        return as_utf8(data).decode()
    except UnicodeDecodeError as error:
        packed = next((name for first, name in _PACKED.items() if data.startswith(first)), "")
        if packed:
            raise ManifestError(f"this file is compressed ({packed}); unpack it first", origin=Origin(source)) from None
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = f"byte 0x{data[error.start]:02x} at column {column} (byte {error.start} of the file)"
        message = f"this is not UTF-8 text: {place}; save the file as UTF-8"
        raise ManifestError(message, origin=Origin(source, line=line)) from None


def json_texts(text: str) -> Iterator[str]:
    """Yield the text of each JSON value, with or without a line end between them: `jq '.items[]'`, or one a line.

    A second `kubectl get -o json >> FILE` writes such a text too. Raises ValueError for a value that is not JSON,
    RecursionError for one that is nested too deeply.
    """
    scan, at = json.JSONDecoder().raw_decode, _JSON_SPACE.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        start, at = at, scan(text, at)[1]
        yield text[start:at]
        at = _JSON_SPACE.match(text, at).end()  # type: ignore[union-attr]


def _pipe_bytes(path: Path, limit: int) -> bytes:
    """Return what comes through a pipe, without waiting for ever for a program that writes to it."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb", buffering=0) as pipe:
        end = time.monotonic() + WRITER_SECONDS
        # None means that a program has opened it and has not written yet
        while (first := pipe.read(min(_CHUNK, limit))) == b"":
            if time.monotonic() > end:
                raise SourceError(f"{str(path)!r} is a pipe that no program writes to; start the program first")
            time.sleep(0.02)
        os.set_blocking(handle, True)
        return up_to(pipe, limit, repr(str(path)), first or b"")


# --------------------------------------------------------------------- text that is not a manifest yet

NO_MANIFEST = "this is a template with variables ({{ }} or ${ }), not a manifest"
RENDER = "Give the output of `helm template`, or replace its variables."

_MARK = re.compile(r"\{\{|\$[{(]?[A-Za-z_]")
"""`{{ .Values.name }}` of Helm, `${NAME}`, `$(NAME)` and `$NAME` of envsubst and kustomize."""

_ALONE = re.compile(r"\{\{|^[ \t]*\$(?:\{\w+\}|\w+)[ \t]*$", re.MULTILINE)
"""Marks of Helm, and a variable that is a whole line: either keeps a text from being YAML."""


def has_variables(value: str) -> bool:
    """Say whether a value of a manifest still has a variable."""
    return _MARK.search(value) is not None


def is_template(text: str) -> bool:
    """Say whether a text that is no YAML is a template for YAML."""
    return _ALONE.search(text) is not None


_COMMANDS = r"(?:kubectl|oc|k3s|microk8s|helm|kustomize|minikube|cat|curl|sudo|nvidia-smi|dra-lab)"
_USER = r"[\w.+-]+@[^\s:#$%>]+[^\n$#%>]{0,80}"
_PROMPT = rf"(?:{_USER}|\[[^\]\n]{{1,80}}\]|\([\w.-]+\) ?|~[^\s$#%>]{{0,80}}|PS [^\n>]{{0,80}})?[$#%>❯➜+]+"
_MESSAGE = r"(?:Warning: |Error from server|No resources found)"
"""Lines that kubectl writes to its error output, which `2>&1` and a copy mix into a manifest."""
_LINE = re.compile(
    rf"^(?:(?:\$|❯|➜)[ \t]+\S[^\n]*|{_PROMPT}[ \t]+{_COMMANDS}\b[^\n]*|{_COMMANDS}[ \t]+[^\s:=|>][^\n]*|"
    rf"{_MESSAGE}[^\n]*|\$[ \t]*|{_USER}[$#%>][ \t]*|EOF[ \t]*)\r?$",
    re.MULTILINE,
)
_MAX_WIDTH = 60


def shell_lines(text: str) -> tuple[tuple[int, str], ...]:
    """Return (number from 1, beginning) of the lines at the left margin that a shell printed or a person typed there.

    A comment (`# kubectl apply ...`) is YAML and not among them. Values of a manifest never stand so: inside an object
    they are indented or follow a key.
    """
    found = []
    for match in _LINE.finditer(text):
        line = match[0].strip()
        if not line.startswith("#"):
            found.append((text.count("\n", 0, match.start()) + 1, line))
    return tuple((number, line if len(line) <= _MAX_WIDTH else f"{line[:_MAX_WIDTH]}...") for number, line in found)


def shell_message(lines: tuple[tuple[int, str], ...]) -> str:
    """Return the sentence that names these lines and says to remove them."""
    first = f"line {lines[0][0]} was copied from a terminal and is not YAML or JSON: {lines[0][1]!r}"
    if len(lines) == 1:
        return f"{first}; remove this line"
    others = ", ".join(str(number) for number, _ in lines[1:6]) + (" ..." if len(lines) > 6 else "")
    return f"{first}; remove this line and line{'s' if len(lines) > 2 else ''} {others}"
