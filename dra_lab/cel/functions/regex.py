"""Regular expressions of CEL by RE2, the library whose syntax Go's `regexp` shares."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import re2

_QUIET = re2.Options()
_QUIET.log_errors = False


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    try:
        return re2.compile(pattern, options=_QUIET)
    except (re2.error, UnicodeEncodeError):
        return None


def is_pattern(pattern: str) -> bool:
    """Say whether RE2 reads a pattern."""
    return _compiled(pattern) is not None


def _program(pattern: str) -> Any:
    program = _compiled(pattern)
    if program is None:
        raise ValueError(f"error parsing regexp: {pattern[:64]!r}")
    return program


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the matches from left to right, at most `limit` unless that is negative; raises ValueError.

    Rule: Go's `Regexp.FindAllString`; an empty match right behind another match does not count.
    """
    found: list[str] = []
    last_end = -1
    for match in _program(pattern).finditer(text) if limit else ():
        start, end = match.span()
        if end > start or start != last_end:
            found.append(match.group())
        last_end = end
        if len(found) == limit:
            break
    return found


def names_with(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names in which a pattern matches somewhere, in their order; raises ValueError for no pattern.

    Rule: Go's `regexp.MatchString`.
    """
    search = _program(pattern).search
    return [name for name in names if search(name)]
