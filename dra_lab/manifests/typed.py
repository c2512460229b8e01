"""Plain values to model values: typed decoding with the full path in messages, unknown fields reported or dropped."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin
from dra_lab.model.decoding import from_builtins

T = TypeVar("T")
Path = tuple[str | int, ...]
MAX_UNKNOWN = 1000
ANY_KEY = "..."
_PATH = re.compile(r"^(?P<what>.*?) - at `\$(?P<path>.*)`$", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|\.?\[?([^.\[\]]+|\.\.\.)\]?")
_NUMBER = re.compile(r"\[\d+\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<field>.*)`$", re.DOTALL)


def convert(value: Any, kind: type[T], origin: Origin) -> T:
    """Return a plain value as a model value; unknown fields are refused.

    Raises ManifestError whose origin has the path in the document (`spec.devices[1].name`), map keys filled in.
    """
    try:
        return from_builtins(value, kind)
    except msgspec.ValidationError as error:
        raise _explain(error, value, kind, origin) from None
    except RecursionError:
        raise ManifestError("it is nested too deeply", origin=origin) from None


def convert_dropping_unknown(value: Any, kind: type[T], origin: Origin) -> tuple[T, tuple[str, ...]]:
    """Return a plain value as a model value and the paths of the unknown fields that were left out.

    A field that several entries of a list or map have is reported once, without their numbers (`spec.devices[].new`).
    Raises ManifestError for everything that is wrong apart from unknown fields.
    """
    dropped: list[str] = []
    while len(dropped) < MAX_UNKNOWN:
        try:
            return from_builtins(value, kind), tuple(dropped)
        except msgspec.ValidationError as error:
            what, steps = _split(str(error))
            unknown = _UNKNOWN.match(what)
            places: list[Path] = []
            if unknown is not None:
                value = _without(value, steps, unknown["field"], places)
            if unknown is None or not places:
                raise _explain(error, value, kind, origin) from None
            dropped.append(print_path(places[0]) if len(places) == 1 else _pattern((*steps, unknown["field"])))
    raise ManifestError(f"more than {MAX_UNKNOWN} fields are unknown; is this of the right kind?", origin=origin)


def pattern_of(path: str) -> str:
    """Return a printed path without the numbers in it: `spec.devices[].name` for `spec.devices[3].name`."""
    return _NUMBER.sub("[]", path)


def print_path(steps: Path) -> str:
    """Return `spec.devices[1].attributes["a.b/c"].string`, as messages print a path."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if step.isidentifier() else f'["{step}"]'
    return text.lstrip(".")


def _pattern(steps: Path) -> str:
    return pattern_of(print_path(tuple(0 if step == ANY_KEY else step for step in steps)))


def _explain(error: msgspec.ValidationError, value: Any, kind: type[Any], origin: Origin) -> ManifestError:
    what, steps = _split(str(error))
    steps = _fill_keys(steps, value, kind, what)
    unknown = _UNKNOWN.match(what)
    if unknown:
        what, steps = f"unknown field {unknown['field']!r}", (*steps, unknown["field"])
    what = what.replace("Object missing required field", "missing the required field")
    return ManifestError(what[:1].lower() + what[1:], origin=replace(origin, path=print_path(steps)))


def _split(text: str) -> tuple[str, Path]:
    found = _PATH.match(text)
    if found is None:
        return text, ()
    steps = [int(index) if index else name for index, name in _STEP.findall(found["path"])]
    return found["what"], tuple(steps)


def _fill_keys(steps: Path, value: Any, kind: type[Any], what: str) -> Path:
    # msgspec writes [...] for every map key: try the keys one by one until the same complaint comes back
    while ANY_KEY in steps:
        head = steps[: steps.index(ANY_KEY)]
        mapping = _at(value, head)
        key = _failing_key(mapping, value, head, kind, what) if isinstance(mapping, dict) else None
        if key is None:
            return steps
        steps = (*head, key, *steps[len(head) + 1 :])
    return steps


def _failing_key(mapping: dict[Any, Any], value: Any, head: Path, kind: type[Any], what: str) -> str | None:
    for key, entry in mapping.items():
        try:
            from_builtins(_replaced(value, head, {key: entry}), kind)
        except msgspec.ValidationError as error:
            if _split(str(error))[0] == what:
                return str(key)
    return None


def _at(value: Any, steps: Path) -> Any:
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _replaced(value: Any, steps: Path, new: Any) -> Any:
    if not steps:
        return new
    copy: Any = list(value) if isinstance(value, list | tuple) else dict(value)
    copy[steps[0]] = _replaced(copy[steps[0]], steps[1:], new)
    return copy


def _without(value: Any, steps: Path, field: str, places: list[Path], here: Path = ()) -> Any:
    """Return a value without a field at these steps, in every entry of the lists and maps on the way: one type all."""
    if not steps:
        if not isinstance(value, dict) or field not in value:
            return value
        places.append((*here, field))
        return {name: entry for name, entry in value.items() if name != field}
    step, rest = steps[0], steps[1:]
    if isinstance(step, int) and isinstance(value, list | tuple):
        return [_without(entry, rest, field, places, (*here, index)) for index, entry in enumerate(value)]
    if not isinstance(value, dict):
        return value
    names = value if step == ANY_KEY else (step,)
    changed = {name: _without(value[name], rest, field, places, (*here, name)) for name in names if name in value}
    return {**value, **changed}
