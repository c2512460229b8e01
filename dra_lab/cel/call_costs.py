"""What one call adds to the estimate, beyond its arguments; sizes and saturating arithmetic.

The rules for operators and the standard library are those of cel-go `checker/cost.go` (`functionCost`), by overload: an
untyped argument leaves several overloads open, and the most expensive one counts. The other rules are those of
`apiserver/pkg/cel/library/cost.go` and cel-go's `ext` (such as `lists.go`), by name. `format.named` and the inserting
of `transformMap` count 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from dra_lab.cel.functions.declare import INCLUDES_LIMIT

MOST = 2**64 - 1


def add(left: int, right: int) -> int:
    """Return the sum, at most 2^64 - 1."""
    return min(left + right, MOST)


def multiply(left: int, right: int) -> int:
    """Return the product, at most 2^64 - 1."""
    return min(left * right, MOST)


def scaled(value: int, factor: float) -> int:
    """Return `value * factor` rounded up, in double precision as Kubernetes does it, at most 2^64 - 1."""
    product = math.ceil(float(value) * factor)
    return min(product, MOST)


class Size(Struct, frozen=True):
    """A number of characters, bytes or elements between `min` and `max`."""

    min: int
    max: int

    def __add__(self, other: Size) -> Size:
        """Return the size of both together."""
        return Size(add(self.min, other.min), add(self.max, other.max))

    def __mul__(self, other: Size) -> Size:
        """Return the product of both."""
        return Size(multiply(self.min, other.min), multiply(self.max, other.max))

    def union(self, other: Size) -> Size:
        """Return the range that covers both."""
        return Size(min(self.min, other.min), max(self.max, other.max))


UNKNOWN = Size(0, MOST)


def known_size(node: Any) -> Size | None:
    """Return the size of a literal, or None for anything that is no literal."""
    if node.HasField("list"):
        return Size(len(node.list.elements), len(node.list.elements))
    if node.HasField("struct") and not node.struct.message_name:
        return Size(len(node.struct.entries), len(node.struct.entries))
    if not node.HasField("const"):
        return None
    if node.const.HasField("string"):
        return Size(len(node.const.string), len(node.const.string))
    if node.const.HasField("bytes"):
        return Size(len(node.const.bytes), len(node.const.bytes))
    return Size(1, 1)


TEXT = 0.1
_REGEX = 0.25
_FORMAT_REGEX = 128
_LIST = 11
"""A call and the list that it makes."""


class Argument(Struct, frozen=True):
    """An argument of a call, the target first: its size, its type and its node."""

    size: Size
    type: str
    node: Any


Estimate = tuple[int, Size | None]
Rule = Callable[[Sequence[Argument]], Estimate]


def call_cost(function: str, overloads: Sequence[str], arguments: Sequence[Argument]) -> Estimate:
    """Return (cost, size of the result or None); 1 for every call without a rule of its own."""
    rule = _LIBRARY.get(function)
    if rule is not None and arguments:
        return rule(arguments)
    if function in ("_==_", "_!=_"):
        return _equality(function, arguments), None
    found = [_standard(overload, arguments) for overload in overloads] or [(1, None)]
    sizes = [size for _, size in found if size is not None]
    joined = sizes[0] if sizes else None
    for size in sizes[1:]:
        joined = size.union(joined) if joined is not None else size
    return max(cost for cost, _ in found), joined


def _shorter(arguments: Sequence[Argument]) -> int:
    return scaled(min(argument.size.max for argument in arguments), TEXT)


def _equality(function: str, arguments: Sequence[Argument]) -> int:
    types = {argument.type for argument in arguments}
    if function == "_==_" and types in ({"kubernetes.Quantity"}, {"kubernetes.IP"}, {"kubernetes.CIDR"}):
        return 1
    return _shorter(arguments)


def _standard(overload: str, arguments: Sequence[Argument]) -> Estimate:
    sizes = [argument.size for argument in arguments]
    if overload in _ORDERED_TEXT and len(sizes) == 2:
        return _shorter(arguments), None
    if overload in ("add_string", "add_bytes"):
        both = sizes[0] + sizes[1]
        return scaled(both.max, TEXT), both
    if overload == "add_list":
        return 1, sizes[0] + sizes[1]
    if overload == "in_list":
        return sizes[1].max, None
    if overload in ("starts_with_string", "ends_with_string"):
        return scaled(sizes[1].max, TEXT), None
    if overload == "contains_string":
        return multiply(scaled(sizes[0].max, TEXT), scaled(sizes[1].max, TEXT)), None
    if overload in ("matches", "matches_string"):
        return _search(sizes), None
    if overload in ("string_to_bytes", "bytes_to_string"):
        return scaled(sizes[0].max, TEXT), sizes[0]
    return 1, None


_ORDERED_TEXT = frozenset(f"{order}_{kind}" for order in ("less", "less_equals", "greater", "greater_equals")
                          for kind in ("string", "bytes"))  # fmt: skip


def _search(sizes: Sequence[Size]) -> int:
    return multiply(scaled(add(sizes[0].max, 1), TEXT), scaled(sizes[1].max, _REGEX))


def _traversal(factor: float, *, keeps_size: bool) -> Rule:
    def rule(arguments: Sequence[Argument]) -> Estimate:
        size = arguments[0].size
        return scaled(size.max, factor), size if keeps_size else None

    return rule


def _elements(arguments: Sequence[Argument]) -> Estimate:
    """`isSorted`, `sum`, `max`, `min`, `indexOf`, `lastIndexOf`: each element once, texts with their length."""
    target = arguments[0]
    if not target.type.startswith("list("):
        return scaled(target.size.max, TEXT), None
    each = 1
    if target.type in ("list(string)", "list(bytes)"):
        each = add(each, scaled(UNKNOWN.max, TEXT))
    return multiply(target.size.max, each), None


def _new_list(factor: float, size: Size) -> Estimate:
    return add(scaled(size.max, factor), _LIST), size


def _whole(argument: Argument, default: int) -> int:
    """Return the value of an integer literal, 0 for a negative one, `default` for anything else."""
    literal = argument.node.const if argument.node.HasField("const") else None
    return default if literal is None or not literal.HasField("int") else max(int(literal.int), 0)


def _range(arguments: Sequence[Argument]) -> Estimate:
    number = _whole(arguments[0], MOST)
    return _new_list(1, Size(number, number))


def _slice(arguments: Sequence[Argument]) -> Estimate:
    number = _whole(arguments[2], arguments[0].size.max) - _whole(arguments[1], 0)
    return _new_list(1, Size(number % (MOST + 1), number % (MOST + 1)))  # the difference is unsigned there


def _sort(arguments: Sequence[Argument]) -> Estimate:
    keys = arguments[-1]
    return _new_list(2 + (TEXT if keys.type in ("list(string)", "list(bytes)") else 0), keys.size * keys.size)


def _find(arguments: Sequence[Argument]) -> Estimate:
    return _search([argument.size for argument in arguments[:2]]), None


def _join(arguments: Sequence[Argument]) -> Estimate:
    items = arguments[0].size
    size = items * UNKNOWN
    if len(arguments) > 1:
        size += arguments[1].size * Size(max(items.min - 1, 0), max(items.max - 1, 0))
    return scaled(size.max, TEXT), size


def _replace(arguments: Sequence[Argument]) -> Estimate:
    size, old, new = (argument.size for argument in arguments[:3])
    if old.min == 0:
        most = add(multiply(add(size.max, 1), new.max), size.max)
    elif new.max <= old.min:
        most = size.max
    else:
        most = multiply(math.ceil(size.max / old.min), new.max)
    return scaled(size.max, 2 * TEXT), Size(0, min(most, MOST))


def _split(arguments: Sequence[Argument]) -> Estimate:
    size = arguments[0].size
    most = size.max
    if len(arguments) > 2 and arguments[2].node.HasField("const") and arguments[2].node.const.int >= 0:
        most = int(arguments[2].node.const.int)
    return scaled(size.max, 2 * TEXT), Size(0, most)


def _sets(factor: int) -> Rule:
    def rule(arguments: Sequence[Argument]) -> Estimate:
        return add(multiply(multiply(arguments[0].size.max, arguments[1].size.max), factor), 1), None

    return rule


def _contains(*, network: bool) -> Rule:
    """`containsIP`, `containsCIDR`: two addresses of up to 16 bytes; a text is read first, a network masked as well."""

    def rule(arguments: Sequence[Argument]) -> Estimate:
        cost = scaled(32, TEXT) + (scaled(16, TEXT) + 1 if network else 0)
        if len(arguments) > 1 and not arguments[1].type.startswith("kubernetes."):
            cost = add(cost, scaled(arguments[1].size.max, TEXT))
        return cost, None

    return rule


def _validate(arguments: Sequence[Argument]) -> Estimate:
    return multiply(scaled(arguments[1].size.max, TEXT), scaled(_FORMAT_REGEX, _REGEX)), None


_LIBRARY: dict[str, Rule] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _elements),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _traversal(TEXT, keeps_size=True)),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _traversal(TEXT, keeps_size=False)),
    **dict.fromkeys(("url", "isURL", "ip", "isIP", "cidr", "isCIDR", "format"), _traversal(TEXT, keeps_size=False)),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _sets(1)),
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    "sets.equivalent": _sets(2),
    "lists.range": _range,
    "slice": _slice,
    "reverse": lambda found: _new_list(1, found[0].size),
    "flatten": lambda found: _new_list(_whole(found[1], MOST) if len(found) > 1 else 1, found[0].size),
    "distinct": lambda found: _new_list(2, found[0].size * found[0].size),
    "join": _join,
    "replace": _replace,
    "split": _split,
    "includes": lambda _: (INCLUDES_LIMIT, None),
    "containsIP": _contains(network=False),
    "containsCIDR": _contains(network=True),
    "validate": _validate,
}
