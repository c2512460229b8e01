"""Leftmost-first searches for `find` and `findAll` (RE2 rules), without the backtracking that can take for ever.

Python's `re` reads the pattern; whether RE2 would accept it is asked of the engine first (`matches`), so what only
Python knows (look-around, back-references) is refused. Patterns whose repetition contains a choice or another
repetition can make a backtracking search exponential and are refused by name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

_TEXT_LIMIT = 10_240


@lru_cache(maxsize=1)
def _matcher() -> Any:
    environment = cel.NewEnv(variables={"pattern": cel.Type.STRING})
    return environment.compile('"".matches(pattern)')


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    answer = _matcher().eval(data={"pattern": pattern})
    if answer.type() == cel.Type.ERROR:
        raise ValueError(f"error parsing regexp: {pattern[:64]!r}")
    if re.search(r"\)\s*[*+{]", pattern) or len(re.findall(r"[*+{]", pattern)) > 4:
        raise ValueError(f"find: the regular expression {pattern[:64]!r} is too complex for dra_lab; use matches()")
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"error parsing regexp: {error}") from None


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the matches from left to right, at most `limit` unless that is negative; raises ValueError."""
    if len(text) > _TEXT_LIMIT:
        raise ValueError(f"find: the text is longer than {_TEXT_LIMIT} characters")
    found: list[str] = []
    for match in _compiled(pattern).finditer(text):
        if 0 <= limit <= len(found):
            break
        found.append(match[0])
    return found
