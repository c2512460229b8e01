"""Lists: the Kubernetes library (`library/lists.go`), cel-go's `ext/lists.go` v3 and `ext/sets.go`, and `includes`.

Also what is left of `sortBy` and `transformMap` once their macros are expanded (`@sortByAssociatedKeys`, `@map_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.declare import (
    INCLUDES_LIMIT,
    LIST_LIMIT,
    RANGE_LIMIT,
    SCALARS,
    TEXT_LIMIT,
    TIMES,
    Declarations,
    bound_pairs,
    equal,
)
from dra_lab.cel.values import QUANTITY, SEMVER, plain

_T = cel.Type
_ANY_LIST = _T.List(_T.DYN)


def _comparable(items: list[Any]) -> list[Any]:
    kinds = {float if type(item) is int else type(item) for item in items}
    if len(kinds) > 1:
        raise ValueError("no such overload: the elements of the list have different types")
    return items


def _is_sorted(items: Sequence[Any]) -> bool:
    values = _comparable(plain(items))
    return all(not values[i] < values[i - 1] for i in range(1, len(values)))


def _extreme(items: Sequence[Any], *, largest: bool) -> Any:
    values = _comparable(plain(items))
    if not values:
        raise ValueError(f"{'max' if largest else 'min'} called on empty list")
    return max(values) if largest else min(values)


def _sum(items: Sequence[Any]) -> Any:
    values = _comparable(plain(items))
    if any(isinstance(value, bool | str | bytes) for value in values):
        raise ValueError("no such overload: sum")
    if not values:
        return 0
    return sum(values[1:], start=values[0]) if not isinstance(values[0], timedelta) else sum(values, timedelta())


def _index(items: Sequence[Any], wanted: Any, *, last: bool = False) -> int:
    values = plain(items)
    order = reversed(range(len(values))) if last else range(len(values))
    return next((i for i in order if equal(values[i], wanted)), -1)


def _includes(have: Any, wanted: Any) -> bool:
    if not isinstance(have, list | tuple):
        return equal(have, wanted)
    if len(have) > INCLUDES_LIMIT:
        raise ValueError(f"includes: the list has more than {INCLUDES_LIMIT} elements")
    return any(equal(value, wanted) for value in plain(have))


def _sorted(items: Sequence[Any], keys: Sequence[Any]) -> list[Any]:
    """Return the items in the order of their keys; equal keys keep their order."""
    values, order = plain(items), _comparable(plain(keys))
    return [values[i] for i in sorted(range(len(values)), key=order.__getitem__)]


def _map_of(entries: Sequence[Any]) -> dict[Any, Any]:
    """Return the map of [key, value] pairs or of small maps; a key that comes twice is an error."""
    found: dict[Any, Any] = {}
    for entry in plain(entries):
        for key, value in entry.items() if isinstance(entry, dict) else (entry,):
            if key in found:
                raise ValueError(f"insert failed: key {key!r} already exists")
            found[key] = value
    return found


def _slice(items: Sequence[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0 or start > end or end > len(items):
        raise ValueError(f"cannot slice({start}, {end}), list has {len(items)} elements")
    return plain(items)[start:end]


def _flatten(items: Sequence[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("level must be non-negative")
    flat: list[Any] = []
    for item in plain(items):
        flat.extend(_flatten(item, depth - 1) if isinstance(item, list) and depth else [item])
    return flat


def _distinct(items: Sequence[Any]) -> list[Any]:
    bound_pairs(len(items), len(items))
    found: list[Any] = []
    for item in plain(items):
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


def _range(count: int) -> list[int]:
    if count > RANGE_LIMIT:
        raise ValueError(f"lists.range: more than {RANGE_LIMIT} elements")
    return list(range(count))


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
    """Add the libraries; overloads are declared per element type, because the engine has no type parameters for us."""
    for element in SCALARS:
        items = _T.List(element)
        into.add("isSorted", _T.BOOL, [items], _is_sorted, member=True)
        into.add("min", element, [items], lambda v: _extreme(v, largest=False), member=True)
        into.add("max", element, [items], lambda v: _extreme(v, largest=True), member=True)
    for element in (_T.INT, _T.UINT, _T.DOUBLE, _T.DURATION):
        into.add("sum", element, [_T.List(element)], _sum, member=True)
    for element in (*SCALARS, QUANTITY, SEMVER, _ANY_LIST):
        items = _T.List(element)
        into.add("indexOf", _T.INT, [items, element], _index, member=True)
        into.add("lastIndexOf", _T.INT, [items, element], lambda v, x: _index(v, x, last=True), member=True)
    # `includes` takes anything; unequal types are false, no error. The engine dispatches `dyn` parameters to nothing.
    kinds = (*SCALARS, QUANTITY, SEMVER)
    for have in (*kinds, _ANY_LIST):
        for wanted in kinds:
            into.add("includes", _T.BOOL, [have, wanted], _includes, member=True)
    for element in (*SCALARS, QUANTITY, SEMVER, cel.Type.List(cel.Type.DYN), cel.Type.Map(cel.Type.DYN, cel.Type.DYN)):
        both = [cel.Type.List(element)] * 2
        into.add("sets.contains", cel.Type.BOOL, both, _contains)
        into.add("sets.intersects", cel.Type.BOOL, both, _intersects)
        into.add("sets.equivalent", cel.Type.BOOL, both, _equivalent)


def declare_for_runner(into: Declarations) -> None:
    """Add what the checker has from `checked_configuration`, and only the runner needs from us.

    Each function that returns durations or timestamps has a second name for them (`max@duration`), which
    `rewrite.prepare` inserts.
    """
    _declare_returning(into, "", _ANY_LIST, _T.Map(_T.DYN, _T.DYN))
    into.add("flatten", _ANY_LIST, [_ANY_LIST], _flatten, member=True)
    into.add("flatten", _ANY_LIST, [_ANY_LIST, _T.INT], _flatten, member=True)
    into.add("lists.range", _T.List(_T.INT), [_T.INT], _range)
    for name, time in TIMES.items():
        _declare_returning(into, f"@{name}", _T.List(time), _T.Map(_T.DYN, time))
        into.add(f"min@{name}", time, [_ANY_LIST], lambda v: _extreme(v, largest=False), member=True)
        into.add(f"max@{name}", time, [_ANY_LIST], lambda v: _extreme(v, largest=True), member=True)
    into.add("sum@duration", _T.DURATION, [_ANY_LIST], lambda v: sum(plain(v), timedelta()), member=True)


def _declare_returning(into: Declarations, suffix: str, result: Any, mapped: Any) -> None:
    items = _ANY_LIST
    into.add(f"sort{suffix}", result, [items], lambda v: _sorted(v, v), member=True)
    into.add(f"@sortByAssociatedKeys{suffix}", result, [items, items], _sorted, member=True)
    into.add(f"slice{suffix}", result, [items, _T.INT, _T.INT], _slice, member=True)
    into.add(f"distinct{suffix}", result, [items], _distinct, member=True)
    into.add(f"reverse{suffix}", result, [items], lambda v: plain(v)[::-1], member=True)
    into.add(f"@map_of{suffix}", mapped, [items], _map_of)


# --------------------------------------------------------------------- addition with a bound
# `+` where it may build texts or lists: with a bound, because doubling a text a few times exhausts the memory.
# `rewrite.prepare` puts `@add` in place of `+` on texts, lists and values of unknown type. Kubernetes stops such a
# selector at run time by its cost (a tenth of a unit for each character, at most 1,000,000 units).

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


def declare_addition(into: Declarations) -> None:
    """Add `@add` for every pair of kinds that `+` takes."""
    for kind, body in ((_T.STRING, _text), (_T.BYTES, _text), (_T.List(_T.DYN), _list), (_T.INT, _int)):
        into.add("@add", kind, [kind, kind], body)
    into.add("@add", _T.UINT, [_T.UINT, _T.UINT], _uint)
    into.add("@add", _T.DOUBLE, [_T.DOUBLE, _T.DOUBLE], _other)
    into.add("@add", _T.DURATION, [_T.DURATION, _T.DURATION], _other)
    into.add("@add", _T.TIMESTAMP, [_T.TIMESTAMP, _T.DURATION], _other)
    into.add("@add", _T.TIMESTAMP, [_T.DURATION, _T.TIMESTAMP], _other)
