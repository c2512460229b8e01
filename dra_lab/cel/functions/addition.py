"""`+` where it may build texts or lists: with a bound, because doubling a text a few times exhausts the memory.

`rewrite.prepare` puts `@add` in place of `+` on texts, lists and values of unknown type. Kubernetes stops such a
selector at run time by its cost (a tenth of a unit for each character, at most 1,000,000 units).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.declare import LIST_LIMIT, TEXT_LIMIT, Declarations
from dra_lab.cel.values import plain

_T = cel.Type
_INT64, _UINT64 = 2**63, 2**64


def _text(left: Any, right: Any) -> Any:
    if len(left) + len(right) > TEXT_LIMIT:
        raise ValueError(f"+: the result would be longer than {TEXT_LIMIT} characters")
    return left + right


def _list(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    if len(left) + len(right) > LIST_LIMIT:
        raise ValueError(f"+: the result would have more than {LIST_LIMIT} elements")
    return plain(left) + plain(right)


def _int(left: int, right: int) -> int:
    total = left + right
    if not -_INT64 <= total < _INT64:
        raise ValueError("integer overflow")
    return total


def _uint(left: int, right: int) -> int:
    total = left + right
    if total >= _UINT64:
        raise ValueError("unsigned integer overflow")
    return total


def _other(left: Any, right: Any) -> Any:
    return left + right


def declare(into: Declarations) -> None:
    """Add `@add` for every pair of kinds that `+` takes."""
    for kind, body in ((_T.STRING, _text), (_T.BYTES, _text), (_T.List(_T.DYN), _list), (_T.INT, _int)):
        into.add("@add", kind, [kind, kind], body)
    into.add("@add", _T.UINT, [_T.UINT, _T.UINT], _uint)
    into.add("@add", _T.DOUBLE, [_T.DOUBLE, _T.DOUBLE], _other)
    into.add("@add", _T.DURATION, [_T.DURATION, _T.DURATION], _other)
    into.add("@add", _T.TIMESTAMP, [_T.TIMESTAMP, _T.DURATION], _other)
    into.add("@add", _T.TIMESTAMP, [_T.DURATION, _T.TIMESTAMP], _other)
