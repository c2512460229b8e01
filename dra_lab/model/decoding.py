"""Decode JSON and plain values into model types, thread-safe, with a limit on the number of values."""

from __future__ import annotations

import json
import re
from typing import Any, Generic, TypeVar

import msgspec

from dra_lab._workarounds import MSGSPEC_TYPES

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


T = TypeVar("T")


class JsonDecoder(Generic[T]):
    """A JSON decoder of msgspec that refuses too many values, and text that is not UTF-8, as other broken JSON."""

    __slots__ = ("_decode",)

    def __init__(self, kind: type[T]) -> None:
        """Work out all that is to be known of the type."""
        self._decode = msgspec.json.Decoder(kind).decode

    def decode(self, data: bytes | str | msgspec.Raw) -> T:
        """Return JSON as a value. Raises as `from_json`."""
        if isinstance(data, bytes | str) and (why := too_many_values(data)):
            raise msgspec.DecodeError(why)
        try:
            return self._decode(data)
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(f"JSON is not UTF-8 text ({error.reason})") from None


_DECODERS: dict[Any, JsonDecoder[Any]] = {}


def decoder(kind: type[T]) -> JsonDecoder[T]:
    """Return the JSON decoder of a type (a Struct, a dataclass, a list or tuple of them): the same one every time.

    Raises TypeError for a type that msgspec cannot decode to.
    """
    found = _DECODERS.get(kind)
    if found is None:
        with MSGSPEC_TYPES:  # one lock for all types: two that differ may be made of a third
            found = _DECODERS.get(kind)
            if found is None:
                found = _DECODERS[kind] = JsonDecoder(kind)
    return found


def from_json(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """Return JSON as a value of a type.

    Raises msgspec.DecodeError for what is no JSON or has too many values (`limits`), msgspec.ValidationError for JSON
    of another form, RecursionError for what is nested too deeply.
    """
    return decoder(kind).decode(data)


def json_value(text: str | bytes, **options: Any) -> Any:
    """Return JSON as plain values, read by the standard library with its `options`.

    Raises ValueError for what is no JSON or has too many values, RecursionError for what is nested too deeply.
    """
    if why := too_many_values(text):
        raise ValueError(why)
    return json.loads(text, **options)


def from_builtins(value: Any, kind: type[T], *, from_attributes: bool = False) -> T:
    """Return a plain value (dicts, lists, texts, numbers) as a value of a type: the way back from `to_builtins`.

    With `from_attributes` an object with attributes of the fields' names may stand for a dict. Raises
    msgspec.ValidationError for a value of another form, RecursionError for one that is nested too deeply.
    """
    decoder(kind)
    return msgspec.convert(value, kind, from_attributes=from_attributes)
