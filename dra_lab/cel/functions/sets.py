"""`sets.contains`, `sets.intersects`, `sets.equivalent` (cel-go `ext/sets.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.declare import SCALARS, Declarations, bound_pairs, equal
from dra_lab.cel.values import QUANTITY, SEMVER, plain


def _within(items: list[Any], others: list[Any]) -> bool:
    bound_pairs(len(items), len(others))
    return all(any(equal(item, other) for other in others) for item in items)


def _contains(items: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return _within(plain(wanted), plain(items))


def _intersects(items: Sequence[Any], others: Sequence[Any]) -> bool:
    first, second = plain(items), plain(others)
    bound_pairs(len(first), len(second))
    return any(equal(item, other) for item in first for other in second)


def _equivalent(items: Sequence[Any], others: Sequence[Any]) -> bool:
    first, second = plain(items), plain(others)
    return _within(first, second) and _within(second, first)


def declare(into: Declarations) -> None:
    """Add the library; both lists hold one type of element."""
    for element in (*SCALARS, QUANTITY, SEMVER, cel.Type.List(cel.Type.DYN), cel.Type.Map(cel.Type.DYN, cel.Type.DYN)):
        both = [cel.Type.List(element)] * 2
        into.add("sets.contains", cel.Type.BOOL, both, _contains)
        into.add("sets.intersects", cel.Type.BOOL, both, _intersects)
        into.add("sets.equivalent", cel.Type.BOOL, both, _equivalent)
