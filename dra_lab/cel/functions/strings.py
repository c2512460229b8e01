"""Strings: cel-go's `ext/strings.go` v2 and Kubernetes' `find` and `findAll` (`library/regex.go`).

The engine's own string extension is not used: it would claim `indexOf`, which lists have as well. Positions count
characters, not bytes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from cel_expr_python import cel

from dra_lab.cel.functions.cel_limits import TEXT_LIMIT
from dra_lab.cel.functions.declare import Declarations
from dra_lab.cel.functions.regex import find_all
from dra_lab.cel.functions.text_format import format_string
from dra_lab.cel.values import plain

_T = cel.Type
_S, _I, _B = _T.STRING, _T.INT, _T.BOOL
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _in_range(text: str, index: int) -> None:
    if index < 0 or index > len(text):
        raise ValueError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    _in_range(text, index)
    return text[index : index + 1]


def _index_of(text: str, wanted: str, offset: int = 0) -> int:
    if not wanted:
        return offset
    _in_range(text, offset)
    return text.find(wanted, offset)


def _last_index_of(text: str, wanted: str, offset: int | None = None) -> int:
    if offset is not None:
        _in_range(text, offset)
    if not wanted:
        return len(text) if offset is None else offset
    return text.rfind(wanted) if offset is None else text.rfind(wanted, 0, offset + len(wanted))


def _join(items: Sequence[object], separator: str = "") -> str:
    values = plain(items)
    if not all(isinstance(value, str) for value in values):
        raise ValueError("join: no such overload, the list must hold strings only")
    return separator.join(values)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    times = text.count(old) if count < 0 else min(count, text.count(old))
    if len(text) + times * (len(new) - len(old)) > TEXT_LIMIT:
        raise ValueError(f"replace: the result would be longer than {TEXT_LIMIT} characters")
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        pieces = list(text)
        return pieces if count < 0 or len(pieces) <= count else [*pieces[: count - 1], "".join(pieces[count - 1 :])]
    return text.split(separator, count - 1 if count > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    _in_range(text, start)
    stop = len(text) if end is None else end
    _in_range(text, stop)
    if start > stop:
        raise ValueError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _ascii(text: str, *, upper: bool) -> str:
    return "".join((c.upper() if upper else c.lower()) if c.isascii() else c for c in text)


def declare(into: Declarations) -> None:
    """Add the libraries."""
    words = _T.List(_S)
    into.add("charAt", _S, [_S, _I], _char_at, member=True)
    into.add("indexOf", _I, [_S, _S], _index_of, member=True)
    into.add("indexOf", _I, [_S, _S, _I], _index_of, member=True)
    into.add("lastIndexOf", _I, [_S, _S], _last_index_of, member=True)
    into.add("lastIndexOf", _I, [_S, _S, _I], _last_index_of, member=True)
    into.add("join", _S, [words], _join, member=True)
    into.add("join", _S, [words, _S], _join, member=True)
    into.add("lowerAscii", _S, [_S], lambda s: _ascii(s, upper=False), member=True)
    into.add("upperAscii", _S, [_S], lambda s: _ascii(s, upper=True), member=True)
    into.add("replace", _S, [_S, _S, _S], _replace, member=True)
    into.add("replace", _S, [_S, _S, _S, _I], _replace, member=True)
    into.add("split", words, [_S, _S], _split, member=True)
    into.add("split", words, [_S, _S, _I], _split, member=True)
    into.add("substring", _S, [_S, _I], _substring, member=True)
    into.add("substring", _S, [_S, _I, _I], _substring, member=True)
    into.add("trim", _S, [_S], lambda s: s.strip(_SPACE), member=True)
    into.add("strings.quote", _S, [_S], lambda s: json.dumps(s, ensure_ascii=False))
    into.add("format", _S, [_S, _T.List(_T.DYN)], format_string, member=True)
    into.add("find", _S, [_S, _S], lambda s, r: next(iter(find_all(s, r, 1)), ""), member=True)
    into.add("findAll", words, [_S, _S], find_all, member=True)
    into.add("findAll", words, [_S, _S, _I], find_all, member=True)
