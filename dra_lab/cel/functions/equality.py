"""CEL's equality on Python values: numbers across types, never a bool with a number, never an error."""

from __future__ import annotations

from typing import Any

from dra_lab.cel.functions.cel_limits import PAIR_LIMIT


def equal(left: Any, right: Any) -> bool:
    """Say whether CEL's `==` holds; values of different types are unequal, int, uint and double compare by value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    try:
        return bool(left == right)
    except TypeError:  # a message against a foreign type
        return False


def bound_pairs(first: int, second: int) -> None:
    """Raise ValueError where comparing every element with every other would take more than `PAIR_LIMIT` steps."""
    if first * second > PAIR_LIMIT:
        raise ValueError(f"operation cancelled: actual cost limit exceeded, {first} times {second} comparisons")
