"""matchAttribute and distinctAttribute, with the memory that the allocator keeps of them (docs/semantics.md 3.9)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol

from dra_lab.model.claims import DeviceConstraint
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.release import Gates
from dra_lab.scheduler.search_limits import AttemptAborted

Lookup = Callable[[int, str], DeviceAttribute | None]
"""Returns the attribute of a full name of the device at a position, or None."""

Key = tuple[str, frozenset[object], bool]
"""Type of the elements, the values, whether it is a list."""


class Constraint(Protocol):
    """A constraint as the search needs it; `request` is the name of the request without the alternative's."""

    attribute: str

    @property
    def keys(self) -> Sequence[Key | None]:
        """Return type and values of the attribute by position, None where a device has none."""
        ...

    def held(self) -> Iterable[Hashable]:
        """Return the keys that decide what may be added: of a match the common one, of a distinct those remembered."""
        ...

    def state(self) -> Hashable:
        """Return all that decides what may be added."""
        ...

    def add(self, request: str, device: int, /) -> bool:
        """Count a device in if the constraint still holds; say whether it does."""
        ...

    def remove(self, request: str, device: int, /) -> None:
        """Undo the last `add`."""
        ...


def build_constraint(
    constraint: DeviceConstraint, keys_of: Callable[[str], Sequence[Key | None]], gates: Gates, where: str
) -> Constraint:
    """Return the working form of `constraints[]`; with both attributes set only the match is applied.

    `keys_of` is `attribute_keys` of an attribute. Raises AttemptAborted for an empty constraint.
    """
    if constraint.match_attribute is not None:
        keys = keys_of(constraint.match_attribute)
        if gates.list_attributes:
            return _MatchList(constraint.match_attribute, keys, gates)
        return _Match(constraint.match_attribute, keys)
    if constraint.distinct_attribute is not None:
        return _Distinct(constraint.distinct_attribute, keys_of(constraint.distinct_attribute), gates)
    raise AttemptAborted(f"{where}: a constraint names no attribute; kube-scheduler gives up the pod")


def covers_request(constraint: DeviceConstraint, request: str, subrequest: str) -> bool:
    """Say whether a constraint applies to a request or to one of its alternatives (docs/semantics.md 3.9.1)."""
    names = constraint.requests
    return not names or request in names or (bool(subrequest) and f"{request}/{subrequest}" in names)


def constraint_values(constraint: Constraint, device: int) -> tuple[str, str, str]:
    """Return the attribute of a constraint, the value that it expects now, and the device's own, "" for none."""
    own, held = constraint.keys[device], ", ".join(sorted(map(_text, constraint.held())))
    expected = f"other than {held}" if isinstance(constraint, _Distinct) and held else held
    return constraint.attribute, expected, "" if own is None else _text(own)


def _text(key: object) -> str:
    values = key[1] if isinstance(key, tuple) else ()
    return ", ".join(sorted(str(value).lower() if isinstance(value, bool) else str(value) for value in values))


def attribute_keys(attribute: str, lookup: Lookup, devices: int) -> list[Key | None]:
    """Return type and values of an attribute by device position, None for a device that has none."""
    known: dict[Key, Key] = {}
    found: list[Key | None] = []
    for device in range(devices):
        key = _key(lookup(device, attribute))
        found.append(key if key is None else known.setdefault(key, key))
    return found


def _key(attribute: DeviceAttribute | None) -> Key | None:
    if attribute is None:
        return None
    kind, value = attribute.kind, attribute.value
    if isinstance(value, tuple):
        return kind.removesuffix("s"), frozenset(value), True
    return kind, frozenset((value,)), False


class _Match:
    """All devices have the attribute with the same type and value; a list is accepted as the first device only.

    Rule: docs/semantics.md 3.9.10.
    """

    __slots__ = ("_count", "_value", "attribute", "keys")

    def __init__(self, attribute: str, keys: Sequence[Key | None]) -> None:
        self.attribute = attribute
        self.keys = keys
        self._value: Key | None = None
        self._count = 0

    def held(self) -> Iterable[Hashable]:
        return (self._value,) if self._count else ()

    def state(self) -> Hashable:
        return self._value if self._count else None

    def add(self, _request: str, device: int, /) -> bool:
        key = self.keys[device]
        if key is None:
            return False
        if self._count == 0:
            self._value = key
        elif key is not self._value or key[2]:
            return False
        self._count += 1
        return True

    def remove(self, _request: str, _device: int, /) -> None:
        self._count -= 1


class _MatchList:
    """The values of all devices have an element in common; a scalar is a list of one (docs/semantics.md 3.9.11)."""

    __slots__ = ("_count", "_defects", "_saved", "_type", "_values", "attribute", "keys")

    def __init__(self, attribute: str, keys: Sequence[Key | None], gates: Gates) -> None:
        self.attribute = attribute
        self.keys = keys
        self._defects = gates.defects
        self._type = ""
        self._values: frozenset[object] = frozenset()
        self._saved: list[frozenset[object]] = []
        self._count = 0

    def held(self) -> Iterable[Hashable]:
        # as a scalar's key, where no device has a list
        return ((self._type, self._values, False),) if self._count else ()

    def state(self) -> Hashable:
        return (self._type, self._values) if self._count else None

    def add(self, _request: str, device: int, /) -> bool:
        key = self.keys[device]
        if key is None:
            return False
        if self._count == 0:
            common = key[1]
        else:
            common = self._values & key[1] if key[0] == self._type else frozenset()
            if not common:
                return False
        self._saved.append(self._values)
        self._type, self._values = key[0], common
        self._count += 1
        return True

    def remove(self, _request: str, _device: int, /) -> None:
        self._count -= 1
        saved = self._saved.pop()
        if not self._defects:
            self._values = saved


class _Distinct:
    """No two devices share a value.

    Up to 1.36 the memory holds one value a request, the most recent one, and loses it when a device of the request is
    taken back (docs/semantics.md 3.9.18); from 1.37 all devices are compared.
    """

    __slots__ = ("_count", "_defects", "_latest", "_lists", "_seen", "attribute", "keys")

    def __init__(self, attribute: str, keys: Sequence[Key | None], gates: Gates) -> None:
        self.attribute = attribute
        self.keys = keys
        self._defects = gates.defects
        self._lists = gates.list_attributes
        self._latest: dict[str, Key] = {}
        self._seen: list[Key] = []
        self._count = 0

    def held(self) -> Iterable[Hashable]:
        return set(self._latest.values() if self._defects else self._seen)

    def state(self) -> Hashable:
        return frozenset(self.held())

    def add(self, request: str, device: int, /) -> bool:
        key = self.keys[device]
        if key is None:
            return False
        stored = self._latest.values() if self._defects else self._seen
        if self._count and any(self._collides(key, other) for other in stored):
            return False
        self._latest[request] = key
        self._seen.append(key)
        self._count += 1
        return True

    def remove(self, request: str, _device: int, /) -> None:
        self._latest.pop(request, None)
        self._seen.pop()
        self._count -= 1

    def _collides(self, key: Key, other: Key) -> bool:
        if key[2] and not self._lists:
            return True
        return key[0] == other[0] and not key[1].isdisjoint(other[1]) and (self._lists or key[2] == other[2])
