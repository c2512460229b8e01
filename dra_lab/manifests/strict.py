"""Documents of `resource.k8s.io` decoded as strictly as the API server does it, with every field that it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from dra_lab.errors import ManifestError, QuantityError, did_you_mean
from dra_lab.findings import Origin
from dra_lab.manifests.schema import Field, struct_fields
from dra_lab.model.decoding import json_value
from dra_lab.model.quantity import canonical_quantity
from dra_lab.model.release import DEFAULT_RELEASE


class FieldError(NamedTuple):
    """A complaint about one field: its path as the API server prints it, and a sentence.

    The path has the form `spec.devices[0].capacity[memory].value`; a whole struct is named when the complaint is about
    several of its fields together.
    """

    field: str
    message: str

    def __str__(self) -> str:
        """Return `path: message`."""
        return f"{self.field}: {self.message}" if self.field else self.message


Place = tuple["Place", str | int, bool] | None
"""A path while it is being walked, innermost step first; the flag says that the step is the key of a map."""


def print_place(place: Place) -> str:
    """Return a walked path as Kubernetes prints it."""
    steps: list[tuple[str | int, bool]] = []
    while place is not None:
        place, step, is_key = place
        steps.append((step, is_key))
    text = ""
    for step, is_key in reversed(steps):
        if is_key or isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


Problems = list[tuple[Place, str]]
Decoder = Callable[[Any, Place, Problems], Any]

MAX_PROBLEMS = 100
"""The most problems reported for one document; the others are of the same kind."""

_INT64 = range(-(2**63), 2**63)
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(Z|[+-]\d\d:\d\d)\Z", re.ASCII)
_GO_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


def decode_strict(
    document: Mapping[str, Any], kind: str, version: str = "v1", release: str = DEFAULT_RELEASE
) -> tuple[dict[str, Any], tuple[FieldError, ...]]:
    """Return a document of a kind and version with unset fields left out, and everything the decoder refuses.

    Null counts as unset, quantities come in canonical form and times in UTC. The values are of use only when there is
    no problem.
    """
    problems: Problems = []
    value = _struct_decoder(kind, version, release)(document, None, problems)
    errors = tuple(FieldError(print_place(place), message) for place, message in problems[:MAX_PROBLEMS])
    return value if isinstance(value, dict) else {}, errors


def decode_strict_json(text: str | bytes, source: str = "") -> tuple[Any, tuple[FieldError, ...]]:
    """Return the value of a JSON text and the keys that stand twice in one object (the last one wins).

    Raises ManifestError when the text is not JSON.
    """
    repeated: list[FieldError] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            twice = sorted({name for name in names if names.count(name) > 1})
            repeated.extend(FieldError(name, "appears twice in one object") for name in twice)
        return value

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    try:
        value = json_value(text, object_pairs_hook=once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"this is not valid JSON: {error}", origin=Origin(source)) from None
    return value, tuple(repeated)


@lru_cache(maxsize=1024)
def _struct_decoder(name: str, version: str, release: str) -> Decoder:
    # fields are looked up when the first value comes, so that a struct may hold itself
    fields: dict[str, Decoder] = {}

    def decode(value: Any, place: Place, problems: Problems) -> Any:
        if value is None:
            return {}
        if not isinstance(value, dict):
            problems.append((place, f"must be an object, not {_go_name(value)}"))
            return {}
        if not fields:
            known = struct_fields(name, version, release)
            fields.update({field.name: _field_decoder(field, version, release) for field in known.values()})
        found = {}
        for key, item in value.items():
            if item is None and key in fields:
                continue
            decoder = fields.get(key)
            if decoder is None:
                similar = did_you_mean(str(key), fields) if len(problems) < MAX_PROBLEMS else ""
                problems.append(((place, str(key), False), f"unknown field {key!r}{similar}"))
                continue
            found[key] = decoder(item, (place, key, False), problems)
        return found

    return decode


def _field_decoder(field: Field, version: str, release: str) -> Decoder:
    scalar = _SCALARS.get(field.type)
    item = scalar if scalar is not None else _struct_decoder(field.type, version, release)
    if field.container == "list":
        return _list_decoder(item)
    return _map_decoder(item) if field.container == "map" else item


def _list_decoder(item: Decoder) -> Decoder:
    def decode(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, list | tuple):
            problems.append((place, f"must be a list, not {_go_name(value)}"))
            return []
        return [item(entry, (place, index, False), problems) for index, entry in enumerate(value)]

    return decode


def _map_decoder(item: Decoder) -> Decoder:
    def decode(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, dict):
            problems.append((place, f"must be a map, not {_go_name(value)}"))
            return {}
        return {str(key): item(entry, (place, str(key), True), problems) for key, entry in value.items()}

    return decode


def _text(value: Any, place: Place, problems: Problems) -> Any:
    if isinstance(value, str):
        return value
    if value is not None:
        problems.append((place, f"must be a string, not {_go_name(value)}"))
    return ""


def _int(value: Any, place: Place, problems: Problems) -> Any:
    if type(value) is int and value in _INT64:
        return value
    if value is not None:
        problems.append((place, f"must be a whole number of 64 bits, not {_go_name(value)}"))
    return 0


def _bool(value: Any, place: Place, problems: Problems) -> Any:
    if isinstance(value, bool):
        return value
    if value is not None:
        problems.append((place, f"must be true or false, not {_go_name(value)}"))
    return False


class Quantity(str):
    """A quantity in canonical form, with the text that was `written`: 1.37 compares that in one place (1.7.3)."""

    __slots__ = ("written",)
    written: str


def _quantity(value: Any, place: Place, problems: Problems) -> Any:
    if value is None:
        return "0"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        problems.append((place, f"must be a quantity such as 16, 500m or 40Gi, not {_go_name(value)}"))
        return "0"
    try:
        found = Quantity(canonical_quantity(value))
    except QuantityError as error:
        problems.append((place, error.message))
        return "0"
    found.written = str(value)
    return found


def _time(value: Any, place: Place, problems: Problems) -> Any:
    moment = _moment(value) if isinstance(value, str) else None
    if moment is None and value is not None:
        problems.append((place, "must be a time such as 2026-01-31T12:00:00Z"))
    return moment


def _moment(text: str) -> str | None:
    match = _TIME.match(text)
    if match is None:
        return None
    try:
        moment = datetime.strptime(match[1], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC)
        if match[2] != "Z":
            hours, minutes = match[2][1:].split(":")
            shift = timedelta(hours=int(hours), minutes=int(minutes))
            moment = moment - shift if match[2][0] == "+" else moment + shift
    except (ValueError, OverflowError):
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year >= 1000 else moment.isoformat()[:19] + "Z"


def _raw(value: Any, place: Place, problems: Problems) -> Any:
    del place, problems
    return value


_SCALARS: Mapping[str, Decoder] = {
    "text": _text,
    "int": _int,
    "bool": _bool,
    "quantity": _quantity,
    "time": _time,
    "raw": _raw,
}


def _go_name(value: Any) -> str:
    return "null" if value is None else _GO_NAMES.get(type(value), type(value).__name__)
