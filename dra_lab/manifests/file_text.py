"""Files to bytes and text: what may be read, up to which size, and where a text is not UTF-8."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Protocol

from dra_lab.errors import ManifestError, SourceError
from dra_lab.findings import Origin
from dra_lab.manifests.encodings import as_utf8

STANDARD_INPUT = "standard input"
WRITER_SECONDS = 10.0
"""How long a named pipe may have no program that writes to it."""

_CHUNK = 2**20


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most `size` bytes; nothing at the end."""


def expanded(path: str | Path) -> Path:
    """Return a path with `~` and `~user` replaced. Raises SourceError for a user that does not exist."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        user = str(path).partition("/")[0]
        raise SourceError(
            f"{str(path)[:80]!r} cannot be read: the home folder of {user!r} is unknown; write the whole path"
        ) from None


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


def up_to(file: Readable, limit: int, name: str, first: bytes = b"") -> bytes:
    """Return `first` and all bytes of an open file. Raises SourceError beyond `limit` bytes."""
    parts: list[bytes] = [first]
    size = len(first)
    while part := file.read(min(_CHUNK, limit + 1 - size)):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise SourceError(f"{name} has more than {limit:,} bytes, which is the limit")
    return b"".join(parts)


def utf8_text(data: bytes, source: str) -> str:
    """Return the text of bytes in UTF-8 or UTF-16. Raises ManifestError with the line and position of a wrong byte."""
    try:
        return as_utf8(data).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = f"byte 0x{data[error.start]:02x} at column {column} (byte {error.start} of the file)"
        message = f"this is not UTF-8 text: {place}; save the file as UTF-8"
        raise ManifestError(message, origin=Origin(source, line=line)) from None


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
