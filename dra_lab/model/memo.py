"""Where data derived from a cluster is kept, and the one rule for how long."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Cache(dict[Hashable, Any]):
    """Derived values by the function that made them and its arguments; it can be referenced weakly."""


_DEVICES, _RULES = ("slices", "profiles", "file_places"), ("classes", "taint_rules")

LIFETIMES: Mapping[str, frozenset[str]] = {
    "devices": frozenset((*_DEVICES, "places")),
    "hardware": frozenset((*_DEVICES, "places", *_RULES)),
    "labels": frozenset((*_DEVICES, "labels", *_RULES)),
    "rules": frozenset(_RULES),
    "claims": frozenset(("claims",)),
}
"""By lifetime the fields of a Cluster that a function may read; its value is kept while these are the same objects.

`places` are the names of the nodes, and their labels where slices select nodes by them. `labels` are all labels too.
A live cluster changes its claims often, its slices sometimes, and classes and labels hardly ever.
"""


class Memo:
    """The derived values of one Cluster.

    A function that derives data from a cluster has the decorator of a lifetime. `once_per_snapshot` may read every
    field, and `once_per_slice` profiles and one ResourceSlice of the cluster, the first argument after it.

    `Cluster.with_objects` hands the caches to the next snapshot. A value is never adapted to other fields: it is
    derived again. A value may be a container that the same module fills later, under the same rule.
    No value may refer to a Cluster that has the same cache: such a cycle stays until a garbage collection.
    A memo is not pickled and not copied with its cluster.
    """

    __slots__ = ("caches", "slices")

    def __init__(self) -> None:
        """Begin without any value."""
        self.caches = {lifetime: Cache() for lifetime in (*LIFETIMES, "snapshot")}
        # By function and its other arguments, then by the place in memory of the slice, which the cluster keeps.
        self.slices: dict[Hashable, dict[int, Any]] = {}

    def take(self, memo: Memo, same: Collection[str]) -> None:
        """Take the caches over whose fields stay the same in a living cluster."""
        kept = (lifetime for lifetime, read in LIFETIMES.items() if read.issubset(same))
        self.caches |= {lifetime: memo.caches[lifetime] for lifetime in kept}

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
    """A decorator: what a function derives stays in the cache of a lifetime of its cluster's memo."""

    def __init__(self, lifetime: str) -> None:
        self._lifetime = lifetime

    def __call__(self, derive: _Derive[C, P, T]) -> _Derive[C, P, T]:
        """Return the function, which derives a value only once."""
        lifetime = self._lifetime

        @wraps(derive)
        def known(cluster: C, /, *key: P.args, **named: P.kwargs) -> T:
            cache = cluster.memo.caches[lifetime]
            whole = (derive, *key, *named.items())
            found = cache.get(whole, _MISSING)
            if found is _MISSING:
                # Two threads that ask at once get the same value.
                found = cache.setdefault(whole, derive(cluster, *key, **named))
            value: T = found
            return value

        return known


once_per_devices, once_per_hardware, once_per_labels = _Once("devices"), _Once("hardware"), _Once("labels")
once_per_rules, once_per_claims, once_per_snapshot = _Once("rules"), _Once("claims"), _Once("snapshot")


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
