"""Recorded cases of Kubernetes, answered: what `dra-lab replay` prints."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from pathlib import Path
from typing import IO, Any, cast

from dra_lab.errors import InputError, SourceError
from dra_lab.findings import Origin
from dra_lab.manifests.file_text import read_bytes
from dra_lab.model.decoding import json_value
from dra_lab.model.release import RECORDED_RELEASE
from dra_lab.sources.files import MAX_FILE_BYTES

ALLOCATORS = ("first-fit", "ilp")
"""What can answer an allocation case: kube-scheduler's search, or the planner (does it fit under the rules of 1.37)."""

MAX_LINE_BYTES = 64 * 2**20
"""Longest line of a file of cases."""


def replay_file(path: Path, allocator: str = "first-fit", release: str = RECORDED_RELEASE) -> Iterator[dict[str, Any]]:
    """Yield the answer to every case of a file of NDJSON (plain, `.gz`, or `-` for standard input), in its order.

    The kind of a case is seen from its fields: `expression` is CEL, `slices` is allocation, `object` is validation;
    `allocator` is one of ALLOCATORS and answers cases of allocation, first fit with the rules of `release`. Raises
    SourceError when the file cannot be read and InputError for a line that is no case.
    """
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        origin = Origin(str(path), line=number)
        try:
            answer = _answer(_case(line), origin, allocator, release)
        except RecursionError:
            raise InputError("it is nested too deeply", origin=origin) from None
        except InputError as error:
            raise InputError(error.message, origin=error.origin or origin) from error
        yield answer


def _case(line: bytes) -> Any:
    try:
        return json_value(line)
    except ValueError as error:
        raise InputError(f"this is not JSON: {error}") from None


def _answer(case: Any, origin: Origin, allocator: str, release: str) -> dict[str, Any]:
    if isinstance(case, Mapping) and "expression" in case:
        from dra_lab.cel.replay_cel import replay_cel

        return replay_cel(case)
    if isinstance(case, Mapping) and "slices" in case and allocator == "ilp":
        from dra_lab.planner.recorded_cases import replay_feasibility

        return replay_feasibility(case)
    if isinstance(case, Mapping) and "slices" in case:
        from dra_lab.scheduler.replay_allocator import replay_allocation

        return replay_allocation(case, release)
    if isinstance(case, Mapping) and "object" in case:
        from dra_lab.checks.document_checks import replay_validation

        return replay_validation(case)
    why = "this is not a recorded case, because it has neither `expression` nor `slices` nor `object`"
    raise InputError(why, origin=origin)


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file. Raises SourceError for one of more than MAX_LINE_BYTES, which no recorded case has."""
    try:
        with _opened(path) as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                if len(line) > MAX_LINE_BYTES:
                    raise SourceError(
                        f"{str(path)!r} has a line of more than {MAX_LINE_BYTES:,} bytes; is this NDJSON?"
                    )
                yield line
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise SourceError(f"{str(path)!r} cannot be read: {why}") from None


def _opened(path: Path) -> AbstractContextManager[IO[bytes]]:
    if str(path) == "-":
        return nullcontext(sys.stdin.buffer)
    if path.is_fifo():
        return BytesIO(read_bytes(path, MAX_FILE_BYTES, pipes=True))
    if not path.is_file() and path.exists():
        raise SourceError(f"{str(path)!r} is not a file; give a file of NDJSON")
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
