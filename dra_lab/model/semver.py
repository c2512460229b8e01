"""Semantic versions 2.0.0, as the `version` attributes of devices hold them."""

from __future__ import annotations

import re
from functools import lru_cache

from dra_lab.errors import SemverError
from dra_lab.model.numbers import unsigned_number

_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_TEXT = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z",
    re.ASCII,
)

SemverKey = tuple[int, int, int, bool, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=4096)
def semver_key(text: str) -> SemverKey:
    """Return a key that orders versions by precedence; build metadata is ignored (semver.org 2.0.0, item 11).

    Raises SemverError when the text is no version with exactly three numeric parts.
    """
    match = _TEXT.match(text)
    if match is None:
        raise SemverError(f"{text[:64]!r} is not a semantic version; write three numbers, for example 1.2.0")
    parts = match[4].split(".") if match[4] else []
    pre = tuple((1, 0, part) if (n := unsigned_number(part)) is None else (0, n, "") for part in parts)
    return int(match[1]), int(match[2]), int(match[3]), not pre, pre
