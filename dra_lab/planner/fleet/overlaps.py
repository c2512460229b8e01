"""Sets that have something in common, directly or by way of others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

_Any = TypeVar("_Any")


def joined(sets: Iterable[frozenset[_Any]]) -> list[frozenset[_Any]]:
    """Return sets that overlap, directly or by way of others, as one."""
    found: list[frozenset[_Any]] = []
    for one in sets:
        apart = [other for other in found if not one & other]
        found = [*apart, one.union(*(other for other in found if one & other))]
    return found
