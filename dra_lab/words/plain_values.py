"""Values of an answer as plain values for machines: the public fields in camel case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.headroom import Bounded, Headroom, LargestJob, Stranded, StrandedKind
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch

_LATER_WORD = re.compile(r"_(\w)")

_OF_THE_API = (ClaimSketch, ResourceClaim)
_NOT_WRITTEN = ("seconds", "parts", "tracer", "on")
"""Fields that differ between equal answers, or that have a meaning in a process alone."""

_IF_ANY = ("at_most", "of", "claim", "group", "number", "domain", "label", "leader", "slices", "shared_claims")
"""Fields that are written only if they have a value."""

_PROPERTIES: Mapping[type, tuple[str, ...]] = {
    Bounded: ("exact",),
    Headroom: ("proven",),
    LargestJob: ("proven",),
    Stranded: ("proven",),
    StrandedKind: ("stranded", "least", "proven"),
}
"""Properties that are written beside the fields."""


def plain_value(value: Any) -> Any:
    """Return a value of an answer as plain values; a device is `driver`, `pool` and `device` of what has it."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, DeviceID):
        return value._asdict()
    if isinstance(value, _OF_THE_API):
        return msgspec.to_builtins(value, builtin_types=())
    if isinstance(value, Mapping):
        return {str(key): plain_value(one) for key, one in value.items()}
    if isinstance(value, Struct) or is_dataclass(value):
        return _object(value)
    if isinstance(value, frozenset | set):
        return sorted(map(plain_value, value))
    if isinstance(value, Iterable):
        return [plain_value(one) for one in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _object(value: Any) -> dict[str, Any]:
    own = value.__struct_fields__ if isinstance(value, Struct) else [field.name for field in fields(value)]
    found: dict[str, Any] = {}
    for name in (*own, *_PROPERTIES.get(type(value), ())):
        one = getattr(value, name)
        if name in _NOT_WRITTEN or (name in _IF_ANY and not one):
            continue
        if isinstance(one, DeviceID):
            found |= one._asdict()
        else:
            found[camel(name)] = plain_value(one)
    return found


def camel(name: str) -> str:
    """Return the name of a field as JSON has it: `not_examined` is `notExamined`."""
    return _LATER_WORD.sub(lambda word: word[1].upper(), name)
