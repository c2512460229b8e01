"""Sizes and saturating arithmetic of the cost estimate (cel-go `checker/cost.go`, `SizeEstimate`)."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

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
