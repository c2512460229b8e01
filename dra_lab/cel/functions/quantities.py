"""`quantity()` and its methods (`k8s.io/apiserver/pkg/cel/library/quantity.go`), and what Semver shares with them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.declare import Declarations
from dra_lab.cel.values import QUANTITY, SEMVER, amount, kind_of, quantity, quantity_of
from dra_lab.errors import QuantityError
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


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


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


def declare(into: Declarations) -> None:
    """Add the library."""
    into.add("quantity", QUANTITY, [_T.STRING], quantity)
    into.add("isQuantity", _T.BOOL, [_T.STRING], _is_quantity)
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
