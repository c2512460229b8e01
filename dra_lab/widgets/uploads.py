"""Files that the browser sends in pieces, since Jupyter ends a connection on a message of more than 10 MiB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dra_lab.errors import SourceError
from dra_lab.manifests.file_text import as_utf8
from dra_lab.sources.files import is_archive

MAX_UPLOAD_BYTES = 256 * 2**20
"""Bytes of files that are taken from the browser at once; larger ones are read from where they lie, by their path."""


class FileSize(Struct, frozen=True, forbid_unknown_fields=True):
    """The name and the bytes of a file that is about to be sent."""

    name: str
    size: int


class Upload:
    """The files of one drop: announced with names and sizes, then filled piece by piece, in order."""

    def __init__(self, number: int, files: Sequence[FileSize]) -> None:
        """Take what is announced. Raises SourceError beyond MAX_UPLOAD_BYTES."""
        self.number = number
        self._sizes = [(file.name, file.size) for file in files]
        total = sum(size for _, size in self._sizes)
        if total > MAX_UPLOAD_BYTES:
            limit = f"{MAX_UPLOAD_BYTES // 2**20} MiB"
            advice = "save it beside the notebook and give its path"
            raise SourceError(f"files of {total / 2**20:,.0f} MiB exceed the limit of {limit}; {advice}")
        self._data = bytearray()
        self._total = total

    @property
    def received(self) -> int:
        """Return how many bytes are here."""
        return len(self._data)

    @property
    def is_whole(self) -> bool:
        """Say whether every byte is here."""
        return len(self._data) >= self._total

    def add(self, piece: bytes | bytearray | memoryview) -> None:
        """Take the next piece; what is beyond the announced sizes is refused with SourceError."""
        self._data += piece
        if len(self._data) > self._total:
            raise SourceError("the browser sent more than it announced; drop the files again")

    def files(self) -> dict[str, bytes]:
        """Return the files by name."""
        found, at = {}, 0
        for name, size in self._sizes:
            found[name] = bytes(self._data[at : at + size])
            at += size
        return found


def plain_texts(files: Mapping[str, str | bytes]) -> dict[str, str]:
    """Return files as texts; none where one of them is an archive."""
    if any(is_archive(name) for name in files):
        return {}
    return {
        name: data if isinstance(data, str) else as_utf8(data).decode("utf-8", "replace")
        for name, data in files.items()
    }
