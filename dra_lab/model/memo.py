"""Where data derived from a cluster is kept, and the one rule for how long."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Cache(dict[Hashable, Any]):
    """Derived values by the function that made them and its arguments; it can be referenced weakly."""


class Memo:
    """The derived values of one Cluster.

    One rule holds for all of them. A function that derives data from a cluster has one of seven decorators. The
    decorator names the fields that the function may read. The value is kept while these fields are the same objects:

    - `once_per_devices`: slices, profiles, names of the nodes, their labels where slices select nodes, file_places.
    - `once_per_hardware`: the same, DeviceClasses and DeviceTaintRules.
    - `once_per_labels`: the same, and all labels of the nodes.
    - `once_per_rules`: DeviceClasses and DeviceTaintRules.
    - `once_per_claims`: claims.
    - `once_per_snapshot`: every field.
    - `once_per_slice`: profiles, and one ResourceSlice of the cluster, the first argument after it.

    `Cluster.with_objects` hands the caches to the next snapshot if their fields stay. A value is never adapted to other
    fields: it is derived again. A value may be a container that the same module fills later, under the same rule.
    No value may refer to a Cluster that has the same cache: such a cycle stays until a garbage collection.
    A memo is not pickled and not copied with its cluster.
    """

    __slots__ = ("claims", "devices", "hardware", "labels", "rules", "slices", "snapshot")

    def __init__(self) -> None:
        """Begin without any value."""
        self.devices, self.hardware, self.claims, self.snapshot = Cache(), Cache(), Cache(), Cache()
        self.rules, self.labels = Cache(), Cache()
        # By function and its other arguments, then by the place in memory of the slice, which the cluster keeps.
        self.slices: dict[Hashable, dict[int, Any]] = {}

    def keep_slices(self, memo: Memo, slices: Iterable[Any]) -> None:
        """Take the values over that the memo of a living cluster has of these slices, if they are the same objects."""
        ids = [*map(id, slices)]
        self.slices = {key: {i: found[i] for i in ids if i in found} for key, found in tuple(memo.slices.items())}


class HasMemo(Protocol):
    """A Cluster, for the type checker."""

    @property
    def memo(self) -> Memo:
        """Return the derived values."""


C = TypeVar("C", bound=HasMemo)
P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
_Derive = Callable[Concatenate[C, P], T]
_MISSING = object()


class _Once:
    """A decorator: what a function derives stays in one cache of its cluster's memo."""

    def __init__(self, cache_of: Callable[[Memo], Cache]) -> None:
        self._cache_of = cache_of

    def __call__(self, derive: _Derive[C, P, T]) -> _Derive[C, P, T]:
        """Return the function, which derives a value only once."""
        cache_of = self._cache_of

        @wraps(derive)
        def known(cluster: C, /, *key: P.args, **named: P.kwargs) -> T:
            cache = cache_of(cluster.memo)
            whole = (derive, *key, *named.items())
            found = cache.get(whole, _MISSING)
            if found is _MISSING:
                # Two threads that ask at once get the same value.
                found = cache.setdefault(whole, derive(cluster, *key, **named))
            value: T = found
            return value

        return known


# `Memo` says which fields a function with each of these may read.
once_per_devices = _Once(lambda memo: memo.devices)
once_per_hardware = _Once(lambda memo: memo.hardware)
once_per_labels = _Once(lambda memo: memo.labels)
once_per_claims = _Once(lambda memo: memo.claims)
once_per_snapshot = _Once(lambda memo: memo.snapshot)
once_per_rules = _Once(lambda memo: memo.rules)


def slice_values(cluster: HasMemo, *key: Hashable) -> dict[int, Any]:
    """Return the values that are kept of each slice under a key, by its place in memory."""
    values = cluster.memo.slices.get(key)
    return cluster.memo.slices.setdefault(key, {}) if values is None else values


def once_per_slice(derive: _Derive[C, Concatenate[S, P], T]) -> _Derive[C, Concatenate[S, P], T]:
    """Keep what a function derives from one slice alone."""

    @wraps(derive)
    def known(cluster: C, slice_: S, /, *key: P.args, **named: P.kwargs) -> T:
        values = slice_values(cluster, derive, *key, *named.items())
        found = values.get(id(slice_), _MISSING)
        if found is _MISSING:
            found = values.setdefault(id(slice_), derive(cluster, slice_, *key, **named))
        value: T = found
        return value

    return known
