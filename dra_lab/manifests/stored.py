"""A document as the API server returns it: fields in its order, empty lists unset, some fields always there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.manifests.schema import SCALARS, Field, struct_fields
from dra_lab.model.release import DEFAULT_RELEASE

_ZERO: Mapping[str, Any] = {"text": "", "int": 0, "bool": False, "quantity": "0", "time": None, "raw": None}


def as_stored(
    document: Mapping[str, Any], kind: str, version: str = "v1", release: str = DEFAULT_RELEASE
) -> dict[str, Any]:
    """Return a decoded document of a kind and version as the API server writes it.

    Empty lists and maps are unset, as storage does not keep them; zero values are left out unless their field is always
    written, and then an empty list reads null. Maps come sorted by key.
    """
    head = {name: document[name] for name in ("apiVersion", "kind") if name in document}
    return {**head, **_struct(document, kind, version, release)}


def _struct(value: Mapping[str, Any], name: str, version: str, release: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in struct_fields(name, version, release).values():
        item = value.get(field.name)
        if item is None:
            if field.always:
                found[field.name] = _nothing(field, version, release)
            continue
        written = _field(item, field, version, release)
        if field.pointer or field.always or written:
            found[field.name] = written if written or not field.container else None
    return found


def _nothing(field: Field, version: str, release: str) -> Any:
    if field.pointer or field.container:
        return None
    return _ZERO[field.type] if field.type in SCALARS else _struct({}, field.type, version, release)


def _field(item: Any, field: Field, version: str, release: str) -> Any:
    if field.type in SCALARS:
        if field.container == "map":
            return dict(sorted(item.items()))
        return list(item) if field.container == "list" else item
    if field.container == "list":
        return [_struct(entry, field.type, version, release) for entry in item]
    if field.container == "map":
        return {key: _struct(entry, field.type, version, release) for key, entry in sorted(item.items())}
    return _struct(item, field.type, version, release)
