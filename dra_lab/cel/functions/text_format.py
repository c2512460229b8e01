"""`"%s-%d".format([...])` (cel-go `ext/formatting.go`): the verbs s, d, f, e, b, o, x, X and `%%`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from dra_lab.cel.functions.cel_limits import TEXT_LIMIT
from dra_lab.cel.values import plain

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
