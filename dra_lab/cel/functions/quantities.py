"""Quantities and versions (`k8s.io/apiserver/pkg/cel/library/quantity.go`, `semverlib.go`)."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.declare import SCALARS, Declarations, accepts
from dra_lab.cel.values import QUANTITY, SEMVER, amount, kind_of, quantity, quantity_of, semver
from dra_lab.model.quantity import parse_quantity, semver_key

_T = cel.Type
_INT64 = 2**63


def _order(value: Any) -> Any:
    kind = kind_of(value)
    if kind == "Quantity":
        return amount(value)
    if kind == "Semver":
        return semver_key(value.text)
    raise ValueError("no such overload: only quantities and semantic versions can be compared this way")


def _compare(left: Any, right: Any) -> int:
    if kind_of(left) != kind_of(right):
        raise ValueError(f"no such overload: a {kind_of(left)} cannot be compared with a {kind_of(right)}")
    first, second = _order(left), _order(right)
    return int(first > second) - int(first < second)


def _amount(value: Any) -> Fraction:
    if kind_of(value) != "Quantity":
        raise ValueError(f"no such overload: {kind_of(value)} is not a quantity")
    return amount(value)


def _fits_int(value: Any) -> bool:
    number = _amount(value)
    return number.denominator == 1 and -_INT64 <= number < _INT64


def _as_integer(value: Any) -> int:
    if not _fits_int(value):
        raise ValueError("cannot convert value to integer")
    return int(_amount(value))


def _as_float(value: Any) -> float:
    number = _amount(value)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?\Z", re.DOTALL | re.ASCII)


def _normalized(text: str) -> str:
    match = _LOOSE.match(text)
    if match is None:
        return text
    return ".".join(str(int(part or 0)) for part in match.groups()[:3]) + (match[4] or "")


def _parse(text: str, normalize: bool = False) -> Any:  # noqa: FBT001, FBT002 - the engine passes by position
    return semver(_normalized(text) if normalize else text)


def _part(value: Any, index: int) -> int:
    if kind_of(value) != "Semver":
        raise ValueError(f"no such overload: {kind_of(value)} is not a semantic version")
    numbers = semver_key(value.text)[:3]
    return numbers[index]


def _comparable(value: Any) -> Any:
    if kind_of(value) == "Semver":
        raise ValueError('no such overload: a version is compared with semver("..."), not with another type')
    return value


def declare(into: Declarations) -> None:
    """Add the library."""
    into.add("quantity", QUANTITY, [_T.STRING], quantity)
    into.add("isQuantity", _T.BOOL, [_T.STRING], accepts(parse_quantity))
    for kind in (QUANTITY, SEMVER):
        into.add("compareTo", _T.INT, [kind, kind], _compare, member=True)
        into.add("isGreaterThan", _T.BOOL, [kind, kind], lambda a, b: _compare(a, b) > 0, member=True)
        into.add("isLessThan", _T.BOOL, [kind, kind], lambda a, b: _compare(a, b) < 0, member=True)
    into.add("sign", _T.INT, [QUANTITY], lambda a: (_amount(a) > 0) - (_amount(a) < 0))
    into.add("isInteger", _T.BOOL, [QUANTITY], _fits_int, member=True)
    into.add("asInteger", _T.INT, [QUANTITY], _as_integer, member=True)
    into.add("asApproximateFloat", _T.DOUBLE, [QUANTITY], _as_float, member=True)
    into.add("add", QUANTITY, [QUANTITY, QUANTITY], lambda a, b: quantity_of(_amount(a) + _amount(b)), member=True)
    into.add("add", QUANTITY, [QUANTITY, _T.INT], lambda a, b: quantity_of(_amount(a) + b), member=True)
    into.add("sub", QUANTITY, [QUANTITY, QUANTITY], lambda a, b: quantity_of(_amount(a) - _amount(b)), member=True)
    into.add("sub", QUANTITY, [QUANTITY, _T.INT], lambda a, b: quantity_of(_amount(a) - b), member=True)
    into.add("semver", SEMVER, [_T.STRING], _parse)
    into.add("semver", SEMVER, [_T.STRING, _T.BOOL], _parse)
    into.add("isSemver", _T.BOOL, [_T.STRING], accepts(_parse))
    into.add("isSemver", _T.BOOL, [_T.STRING, _T.BOOL], accepts(_parse))
    for kind in (*SCALARS, SEMVER, _T.List(_T.DYN)):
        into.add("@comparable", kind, [kind], _comparable)
    into.add("major", _T.INT, [SEMVER], lambda v: _part(v, 0), member=True)
    into.add("minor", _T.INT, [SEMVER], lambda v: _part(v, 1), member=True)
    into.add("patch", _T.INT, [SEMVER], lambda v: _part(v, 2), member=True)
