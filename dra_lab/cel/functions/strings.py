"""Strings: cel-go's `ext/strings.go` v2, `format` and Kubernetes' `find` and `findAll` (`library/regex.go`).

The engine's own string extension is not used: it would claim `indexOf`, which lists have as well. Positions count
characters, not bytes.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import re2
from cel_expr_python import cel

from dra_lab.cel.functions.declare import TEXT_LIMIT, Declarations
from dra_lab.cel.values import FORMAT, kind_of, message, plain

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


_CLAUSE = re.compile(r"%(?:(%)|(?:\.(\d{1,3}))?([sdfeboxX])|(.?))", re.DOTALL | re.ASCII)
_DEFAULT_PRECISION = 6


def _string(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_string(item) for item in plain(value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_string(key)}: {_string(item)}" for key, item in value.items())) + "}"
    if isinstance(value, int | str):
        return str(value)
    raise ValueError("could not convert argument to string")


def _integer(verb: str, value: Any) -> str:
    if verb in "xX" and isinstance(value, str | bytes):
        digits = (value.encode() if isinstance(value, str) else value).hex()
        return digits.upper() if verb == "X" else digits
    if verb == "b" and isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"%{verb} can only be used with integers")
    return format(value, verb)


def _clause(verb: str, precision: str | None, value: Any) -> str:
    if verb == "s":
        return _string(value)
    if verb in "fe":
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"%{verb} can only be used with doubles")
        return format(float(value), f".{_DEFAULT_PRECISION if precision is None else int(precision)}{verb}")
    return _integer(verb, value)


def format_string(template: str, arguments: Sequence[Any]) -> str:
    """Return the template with its clauses filled in, in order; raises ValueError for a wrong verb or count."""
    values = plain(arguments)
    used = 0
    pieces = []
    end = 0
    for match in _CLAUSE.finditer(template):
        pieces.append(template[end : match.start()])
        end = match.end()
        if match[1]:
            pieces.append("%")
            continue
        if not match[3]:
            raise ValueError(f"could not parse formatting clause: unrecognized formatting clause {match[4]!r}")
        if used >= len(values):
            raise ValueError(f"index {used} out of range")
        pieces.append(_clause(match[3], match[2], values[used]))
        used += 1
    if used < len(values):
        raise ValueError(f"too many arguments supplied to string.format (expected {used}, got {len(values)})")
    text = "".join([*pieces, template[end:]])
    if len(text) > TEXT_LIMIT:
        raise ValueError(f"format: the result would be longer than {TEXT_LIMIT} characters")
    return text


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


# --------------------------------------------------------------------- named formats
# `format.dns1123Label()` and its kin, and `validate` (`k8s.io/apiserver/pkg/cel/library/format.go`).
# In Kubernetes `validate` returns an optional list of problems, `format.named` an optional format. Python cannot return
# an optional to the engine, so both return a plain value here and `rewrite.prepare` wraps the call in
# `optional.ofNonZeroValue`.

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


def _pattern(pattern: str, limit: int, what: str) -> Callable[[str], list[str]]:
    shape = re.compile(rf"(?:{pattern})\Z")

    def check(text: str) -> list[str]:
        problems = [f"must be no more than {limit} characters"] if len(text) > limit else []
        if not shape.match(text[: limit + 1]):
            problems.append(f"must be {what}")
        return problems

    return check


def _reader(read: Callable[[str], Any], what: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        try:
            read(text)
        except ValueError:
            return [f"must be {what}"]
        return []

    return check


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    problems = _pattern(_QUALIFIED, 63, "a qualified name")(name)
    return problems + (_CHECKS["dns1123Subdomain"](prefix) if slash else [])


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not (text.startswith("/") or parts.scheme):
        raise ValueError(text)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: check(f"{text[:-1]}a" if text.endswith("-") else text)


def _label_value(text: str) -> list[str]:
    return _pattern(_QUALIFIED, 63, "a label value")(text) if text else []


_LABEL_CHECK = _pattern(_LABEL, 63, "a DNS-1123 label")
_SUBDOMAIN_CHECK = _pattern(rf"{_LABEL}(\.{_LABEL})*", 253, "a DNS-1123 subdomain")
_LABEL_1035_CHECK = _pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "a DNS-1035 label")
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

_CHECKS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": _LABEL_CHECK,
    "dns1123Subdomain": _SUBDOMAIN_CHECK,
    "dns1035Label": _LABEL_1035_CHECK,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _prefix(_LABEL_CHECK),
    "dns1123SubdomainPrefix": _prefix(_SUBDOMAIN_CHECK),
    "dns1035LabelPrefix": _prefix(_LABEL_1035_CHECK),
    "labelValue": _label_value,
    "uri": _reader(_uri, "a URI"),
    "uuid": _pattern(_UUID, 36, "a UUID"),
    "byte": _reader(lambda text: base64.b64decode(text, validate=True), "base64"),
    "date": _reader(lambda text: datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC), "a date"),
    "datetime": _reader(datetime.fromisoformat, "a date and time"),
}


def _validate(value: Any, text: str) -> list[str]:
    if kind_of(value) != "NamedFormat":
        raise ValueError("no such overload: validate needs a format, such as format.dns1123Label()")
    return _CHECKS[value.text](text)


def _named(name: str) -> Any:
    """Return a format by its name; one with the empty text, which `optional.ofNonZeroValue` makes none, if unknown."""
    return message("NamedFormat", name if name in _CHECKS else "")


def declare_formats(into: Declarations) -> None:
    """Add the library; what returns an optional is declared to the checker in `checked_configuration`."""
    for name in _CHECKS:
        into.add(f"format.{name}", FORMAT, [], lambda name=name: message("NamedFormat", name))


def declare_formats_for_runner(into: Declarations) -> None:
    """Add `validate` and `format.named` with plain results, which `rewrite.prepare` turns into optionals."""
    into.add("validate", _T.DYN, [FORMAT, _T.STRING], _validate, member=True)
    into.add("format.named", FORMAT, [_T.STRING], _named)
