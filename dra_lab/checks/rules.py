"""The shapes that the API server's rules share: lists with a limit, sets, maps, unions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dra_lab.manifests.field_errors import FieldError

Errors = Iterator[FieldError]
Rule = Callable[[Any, str], Errors]

_MAX_KEY = 16
"""A key of a path is never cut shorter than this (`truncateIfTooLong`)."""


def required(path: str, why: str = "") -> FieldError:
    """Return the complaint about a missing value."""
    return FieldError(path, f"a value is required: {why}" if why else "a value is required")


def invalid(path: str, value: object, why: str) -> FieldError:
    """Return the complaint about a value; long values are shortened."""
    text = repr(value)
    return FieldError(path, f"{text if len(text) <= 80 else text[:77] + '...'} is invalid: {why}")


def too_many(path: str, count: int, limit: int) -> FieldError:
    """Return the complaint about a list or map with too many entries."""
    return FieldError(path, f"{count} entries are too many: at most {limit} are allowed")


def too_long(path: str, limit: int) -> FieldError:
    """Return the complaint about a text with too many bytes."""
    return FieldError(path, f"too long: at most {limit} bytes are allowed")


def size(text: str) -> int:
    """Return the length of a text in bytes of UTF-8, as the API server counts."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def check_list(items: Sequence[Any] | None, limit: int, rule: Rule, path: str) -> Errors:
    """Yield what is wrong with a list. Above its limit it yields only that and does not check the items."""
    items = items or ()
    if len(items) > limit:
        yield too_many(path, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from rule(item, f"{path}[{index}]")


def check_set(
    items: Sequence[Any] | None, limit: int, rule: Rule, path: str, key: Callable[[Any], Hashable] = lambda item: item
) -> Errors:
    """Do what `check_list` does for a list whose items must differ in their key."""
    items = items or ()
    yield from check_list(items, limit, rule, path)
    if len(items) <= limit:
        yield from check_unique(map(key, items), path)


def check_unique(keys: Iterable[Hashable], path: str) -> Errors:
    """Yield every entry of a list that was there before."""
    seen: set[Hashable] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield FieldError(f"{path}[{index}]", f"{key!r} appears twice")
        seen.add(key)


def check_map(
    items: Mapping[str, Any] | None, limit: int, key_length: int, key_rule: Rule, rule: Rule, path: str
) -> Errors:
    """Yield what is wrong with a map.

    Problems with keys refer to the map, problems with values to their key. `limit` below 0 means none.
    """
    items = items or {}
    if 0 <= limit < len(items):
        yield too_many(path, len(items), limit)
        return
    for key, item in items.items():
        yield from key_rule(key, path)
        yield from rule(item, f"{path}[{shortened(key, key_length)}]")


def shortened(key: str, length: int) -> str:
    """Return a key as paths print it: cut in the middle when it is longer than a valid one could be."""
    length = max(length, _MAX_KEY)
    if len(key) <= length:
        return key
    rest = length - 3
    return key[: (rest + 1) // 2] + "..." + key[len(key) - rest // 2 :]


def nothing_to_check(value: object, path: str) -> Errors:
    """Yield nothing: any decoded value is valid."""
    del value, path
    yield from ()
