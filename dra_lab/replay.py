"""Recorded cases of Kubernetes, answered: what `dra-lab replay` prints."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from dra_lab.errors import InputError, SourceError
from dra_lab.findings import Origin

ALLOCATORS = ("first-fit", "ilp")
"""What can answer an allocation case: kube-scheduler's search, or the planner (does it fit under the rules of 1.37)."""


def replay_file(path: Path, allocator: str = "first-fit") -> Iterator[dict[str, Any]]:
    """Yield the answer to every case of a file of NDJSON (plain, `.gz`, or `-` for standard input), in its order.

    The kind of a case is seen from its fields: `expression` is CEL, `slices` is allocation, `object` is validation;
    `allocator` is one of ALLOCATORS and answers cases of allocation. Raises SourceError when the file cannot be read
    and InputError for a line that is no case.
    """
    with _lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            origin = Origin(str(path), line=number)
            try:
                case = json.loads(line)
            except ValueError as error:
                raise InputError(f"this is no JSON: {error}", origin=origin) from None
            try:
                answer = _answer(case, origin, allocator)
            except InputError as error:
                raise InputError(error.message, origin=error.origin or origin) from error
            yield answer


def _answer(case: Any, origin: Origin, allocator: str) -> dict[str, Any]:
    if isinstance(case, Mapping) and "expression" in case:
        from dra_lab.cel.replay import replay_cel

        return replay_cel(case)
    if isinstance(case, Mapping) and "slices" in case and allocator == "ilp":
        from dra_lab.planner.replay import replay_feasibility

        return replay_feasibility(case)
    if isinstance(case, Mapping) and "slices" in case:
        from dra_lab.scheduler.replay import replay_allocation

        return replay_allocation(case)
    if isinstance(case, Mapping) and "object" in case:
        from dra_lab.checks.replay import replay_validation

        return replay_validation(case)
    why = "this is no recorded case: it has neither `expression` nor `slices` nor `object`"
    raise InputError(why, origin=origin)


def _lines(path: Path) -> AbstractContextManager[Iterable[bytes]]:
    if str(path) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return gzip.open(path) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
