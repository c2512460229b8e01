r"""Searches for `find` and `findAll` by the rules of RE2: leftmost, first alternative, in time linear in the text.

The engine has RE2, but only says whether something matches. So whether a pattern is RE2's is asked of the engine, its
structure is read by Python's parser, and the search runs here on sets of states; nothing backtracks, so no pattern can
take for ever. A construct that only one of the two parsers knows (`\pL`, `[[:alpha:]]`, look-around) is refused by
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.regex_program import Program, compile_program

_WORK_LIMIT = 4_000_000
_ATOM = r"(?:[a-zA-Z0-9._-]|\\[.d]|\[(?:[a-zA-Z0-9](?:-[a-zA-Z0-9])?)+\])"
_PLAIN = re.compile(rf"\^?(?:{_ATOM}[*+]?)*(?:\((?:{_ATOM}|\|)*\)(?:{_ATOM}[*+]?)*)?\$?")
"""Patterns that Python reads as RE2 does, and 20 times faster than the engine."""
_REPEATS, _FEW_REPEATS = re.compile(r"[*+]"), 2
"""With more of them Python may take long for a name."""
_OTHERWISE = re.compile(r"\[\[:|\\[pPCQE]|\(\?[a-zA-Z]*U")


@lru_cache(maxsize=1)
def _matcher() -> Any:
    environment = cel.NewEnv(variables={"pattern": cel.Type.STRING})
    return environment.compile('"".matches(pattern)')


@lru_cache(maxsize=1)
def _name_matcher() -> Any:
    environment = cel.NewEnv(variables={"name": cel.Type.STRING, "pattern": cel.Type.STRING})
    return environment.compile("name.matches(pattern)")


@lru_cache(maxsize=256)
def is_pattern(pattern: str) -> bool:
    """Say whether RE2 reads a pattern."""
    return bool(_matcher().eval(data={"pattern": pattern}).type() != cel.Type.ERROR)


@lru_cache(maxsize=256)
def _program(pattern: str) -> Program:
    if not is_pattern(pattern):
        raise ValueError(f"error parsing regexp: {pattern[:64]!r}")
    if _OTHERWISE.search(pattern):
        raise ValueError(f"find: dra_lab cannot search for {pattern[:64]!r}; write its classes out, like [a-z]")
    return compile_program(pattern)


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the matches from left to right, at most `limit` unless that is negative; raises ValueError.

    Rule: Go's `Regexp.FindAllString`; an empty match right behind another match does not count.
    """
    program = _program(pattern)
    if len(program) * (len(text) + 1) > _WORK_LIMIT:
        raise ValueError(f"find: {pattern[:64]!r} is too large a pattern for a text of {len(text)} characters")
    found: list[str] = []
    position, last_end, work = 0, -1, 0
    while position <= len(text) and (limit < 0 or len(found) < limit):
        match = program.search(text, position)
        if match is None:
            break
        start, end, read = match
        work += read * len(program)
        if work > _WORK_LIMIT:
            raise ValueError(f"find: {pattern[:64]!r} is too large a pattern for a text of {len(text)} characters")
        if end > start or start != last_end:
            found.append(text[start:end])
        last_end = end
        position = end if end > position else position + 1
        if end == start and end >= position:
            position = end + 1
    return found


def names_with(names: Iterable[str], pattern: str) -> list[str]:
    """Return the names in which a pattern matches somewhere, in their order; raises ValueError for no pattern.

    Rule: Go's `regexp.MatchString`.
    """
    if not is_pattern(pattern):
        raise ValueError(f"error parsing regexp: {pattern[:64]!r}")
    if _PLAIN.fullmatch(pattern) and len(_REPEATS.findall(pattern)) <= _FEW_REPEATS:
        search = re.compile(pattern, re.ASCII).search
        return [name for name in names if search(name)]
    matches = _name_matcher()
    return [name for name in names if matches.eval(data={"name": name, "pattern": pattern}).value()]
