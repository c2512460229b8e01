"""How many values a document or an archive may have, so that a small file cannot fill the memory.

A value is an object, a list, a text or a number. One takes up to some hundred bytes of memory, and two bytes of a file.
"""

from __future__ import annotations

import re

MAX_VALUES = 1_000_000
"""Values that any document may have; a larger one may have one per BYTES_PER_VALUE bytes, up to MOST_VALUES."""

BYTES_PER_VALUE = 12
"""Bytes of a large document per value at least. Documents of Kubernetes have about 20."""

MOST_VALUES = 20_000_000
MAX_ARCHIVE_VALUES = 5_000_000
"""Values of all documents of an archive; 5,000 nodes with 90,000 devices have 2 million."""

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def values_allowed(size: int) -> int:
    """Return how many values a document of a size in bytes may have."""
    return min(max(MAX_VALUES, size // BYTES_PER_VALUE), MOST_VALUES)


def json_values(data: bytes) -> int:
    """Return how many values a JSON text has, with those that only its strings seem to have; it is not decoded."""
    return 1 + data.count(b",") + data.count(b"[") + data.count(b"{")


def text_values(data: bytes) -> int:
    """Return how many values a JSON or YAML text has at most: each has a sign, a line or a dash of its own."""
    is_json = data.lstrip()[:1] in (b"{", b"[")
    return json_values(data) if is_json else json_values(data) + sum(map(data.count, (b"\n", b"\r", b":", b"-")))


def too_many_values(data: bytes | str) -> str:
    """Return why a JSON text has too many values to be decoded, "" if it has not."""
    limit = values_allowed(len(data))
    if len(data) <= limit:
        return ""
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    excess = json_values(data) - limit
    for string in _STRING.finditer(data) if excess > 0 else ():
        excess -= json_values(string[0]) - 1
        if excess <= 0:
            return ""
    return too_many(limit) if excess > 0 else ""


def too_many(limit: int) -> str:
    """Return the words for a document with more values than a limit."""
    return f"it has more than {limit:,} values, which is the limit for its size; write its objects into several files"
