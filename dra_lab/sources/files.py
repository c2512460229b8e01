"""Files and folders to documents: what is read, in which order, up to which size."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dra_lab.errors import ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import Documents, decode_documents

SUFFIXES = (".json", ".yaml", ".yml")
MAX_FILE_BYTES = 2**30
MAX_FILES = 10_000


def read_documents(path: Path) -> Documents:
    """Return the documents of a file, or of the JSON and YAML files directly in a folder, sorted by name.

    A file that cannot be used becomes a Finding and the others are read. Raises SourceError when there is nothing at
    the path, when a folder has no such file, when a single file cannot be used, or when it is over MAX_FILE_BYTES.
    """
    if not path.exists():
        raise SourceError(
            f"there is nothing at {str(path)!r}; give a file, a folder, or sample:NAME (see dra-lab samples)"
        )
    if path.is_file():
        return decode_documents(_read(path), str(path))
    files = sorted(f for f in path.iterdir() if f.suffix.lower() in SUFFIXES and f.is_file() and f.name[0] != ".")
    files = [f for f in files if not f.name.endswith(".dralab.yaml")]
    if not files:
        raise SourceError(f"the folder {str(path)!r} holds no .json, .yaml or .yml file")
    if len(files) > MAX_FILES:
        raise SourceError(f"the folder {str(path)!r} holds {len(files):,} files; the limit is {MAX_FILES:,}")
    return merge(_read_each(files))


def read_standard_input() -> Documents:
    """Return the documents on standard input (`kubectl get ... -o json | dra-lab plan - ...`)."""
    return decode_documents(sys.stdin.buffer.read(MAX_FILE_BYTES), "standard input")


def merge(parts: Iterator[Documents]) -> Documents:
    """Return several texts' documents as one, in order."""
    collected = list(parts)
    objects = tuple(item for part in collected for item in part.objects)
    return Documents(objects, tuple(finding for part in collected for finding in part.findings))


def _read_each(files: list[Path]) -> Iterator[Documents]:
    for file in files:
        try:
            yield decode_documents(_read(file), str(file))
        except (ManifestError, SourceError) as error:
            rest = "The other files are read; correct or remove this one."
            origin = error.origin or Origin(str(file))
            yield Documents((), (Finding("file-broken", Severity.ERROR, file.name, error.message, rest, origin),))


def _read(file: Path) -> bytes:
    try:
        size = file.stat().st_size
        if size > MAX_FILE_BYTES:
            raise SourceError(f"{str(file)!r} has {size:,} bytes; the limit is {MAX_FILE_BYTES:,}")
        return file.read_bytes()
    except OSError as error:
        raise SourceError(f"{str(file)!r} cannot be read: {error.strerror or error}") from None
