"""The one door from plain values and JSON to typed values: safe for whichever thread is the first to need a type.

msgspec (seen in 0.22) works out what it has to know of a Struct or dataclass at the first decoding, and hands the
unfinished table to every other thread meanwhile, which ends the process with a segmentation fault. So each type is
worked out once here, with all that it is made of, while other threads that need a new one wait. Decoding itself does
not wait. Encoding, `to_builtins` and `structs.replace` use no such table.
"""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

import msgspec

from dra_lab._workarounds import MSGSPEC_TYPES
from dra_lab.model.limits import too_many_values

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
