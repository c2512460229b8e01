"""Archives (`.tar.gz`, `.tgz`): read within stated limits and without touching the disk, always written the same."""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import IO, cast

from dra_lab.errors import SourceError
from dra_lab.findings import Origin

MAX_UNPACKED_BYTES = 2**30
"""Bytes that an archive may unpack to, its headers included."""
MAX_MEMBERS = 10_000
_CHUNK = 2**20
_TOP = "cluster"
_ADVICE = "pack it again with: tar czf cluster.tar.gz FOLDER"


def read_archive(data: IO[bytes], source: str) -> Iterator[tuple[str, bytes]]:
    """Yield the regular files of a `.tar.gz` as (path in the archive, bytes), sorted by path.

    Nothing is extracted. Every member is looked at before the first is yielded. Raises SourceError, which names the
    member and the limit, for paths that leave the archive (absolute, `..`, drive letters). It also raises it for links,
    devices and sparse files, for a path that appears twice, and beyond MAX_MEMBERS or MAX_UNPACKED_BYTES.
    """
    with tempfile.TemporaryFile() as plain:
        try:
            _unpack(data, plain, source)
            with tarfile.open(fileobj=cast("IO[bytes]", _Bounded(plain)), mode="r:") as tar:
                members = _checked(tar, source)
                for name in sorted(members):
                    yield name, _read(tar, members[name])
        except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError, OverflowError) as error:
            what = str(error) or type(error).__name__
            raise SourceError(
                f"dra-lab cannot read it as an archive ({what}); {_ADVICE}", origin=Origin(source)
            ) from None


def archive_bytes(files: Mapping[str, bytes]) -> bytes:
    """Return a `.tar.gz` of files under one folder; the same files give the same bytes, whenever they are packed."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, content in files.items():
            member = tarfile.TarInfo(f"{_TOP}/{name}")
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


class _Bounded(io.RawIOBase):
    """A file that refuses to read much at once: only a header that lies about its length asks for it."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > _CHUNK:
            raise ValueError("one of its headers is longer than 1 MiB")
        return self._inner.read(size)

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]  # what io gives is a buffer
        data = self._inner.read(len(view))
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        return self._inner.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _unpack(data: IO[bytes], plain: IO[bytes], source: str) -> None:
    size = 0
    with gzip.GzipFile(fileobj=data, mode="rb") as packed:
        while chunk := packed.read(_CHUNK):
            size += len(chunk)
            if size > MAX_UNPACKED_BYTES:
                text = f"it unpacks to more than {MAX_UNPACKED_BYTES:,} bytes, which is the limit"
                raise SourceError(f"{text}; give the folder itself", origin=Origin(source))
            plain.write(chunk)
    plain.seek(0)


def _checked(tar: tarfile.TarFile, source: str) -> dict[str, tarfile.TarInfo]:
    found: dict[str, tarfile.TarInfo] = {}
    count = 0
    while (member := tar.next()) is not None:
        count += 1
        why, name = _why_refused(member), str(PurePosixPath(member.name))
        if count > MAX_MEMBERS:
            why = f"the archive contains more than {MAX_MEMBERS:,} members, which is the limit"
        elif name in found:
            why = "it appears twice"
        if why:
            raise SourceError(f"{why}; {_ADVICE}", origin=Origin(source, object=f"member {member.name[:200]!r}"))
        if member.isreg():
            found[name] = member
    return found


def _why_refused(member: tarfile.TarInfo) -> str:
    path = PurePosixPath(member.name)
    if path.is_absolute() or "\\" in member.name or ":" in "".join(path.parts[:1]):
        return "its path is absolute or not a plain path"
    if ".." in path.parts:
        return "its path leads out of the archive"
    if member.issym() or member.islnk():
        return "it is a link"
    if member.issparse() or not (member.isreg() or member.isdir()):
        return "it is neither a file nor a folder"
    return ""


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    if file is None:
        return b""
    parts = []
    while chunk := file.read(_CHUNK):
        parts.append(chunk)
    data = b"".join(parts)
    if len(data) != member.size:
        raise EOFError("it ends in the middle of a file")
    return data
