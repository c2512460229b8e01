"""Where data derived from a cluster is kept, and the one rule for how long."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

HARDWARE = frozenset(("slices", "profiles", "file_places", "places", "classes", "taint_rules"))
"""The fields of a Cluster that a function of the hardware may read; its value is kept while these are the same objects.

`places` are the names of the nodes, and their labels where slices select nodes by them.
"""


class Cache(dict[Hashable, Any]):
    """Derived values by the function that made them and its arguments; it can be referenced weakly."""


class Memo:
    """The derived values of one Cluster.

    A function that derives data from a cluster has the decorator of one of two lifetimes: `once_per_snapshot` may read
    every field, and `once_per_hardware` those of HARDWARE. A live cluster changes its claims often, its slices
    sometimes, and classes and labels hardly ever, so two sorts of values outlive the hardware. `once_per_slice` may
    read profiles and one ResourceSlice of the cluster, the first argument after it. `latest` holds what says itself
    from which objects it was derived.

    `Cluster.with_objects` hands the values to the next snapshot. A value is never adapted to other fields: it is
    derived again. A value may be a container that the same module fills later, under the same rule.
    No value may refer to a Cluster that has the same cache: such a cycle stays until a garbage collection.
    A memo is not pickled and not copied with its cluster.
    """

    __slots__ = ("hardware", "latest", "slices", "snapshot")

    def __init__(self) -> None:
        """Begin without any value."""
        self.snapshot, self.hardware = Cache(), Cache()
        self.latest: dict[Hashable, Any] = {}
        # By function and its other arguments, then by the place in memory of the slice, which the cluster keeps.
        self.slices: dict[Hashable, dict[int, Any]] = {}

    def take(self, memo: Memo, same: Collection[str], slices: Iterable[Any]) -> None:
        """Take over what stays of the values of a living cluster, of which some fields are the same."""
        self.latest = memo.latest
        if HARDWARE.issubset(same):
            self.hardware = memo.hardware
        if "profiles" not in same:
            return
        if "slices" in same:
            self.slices = memo.slices
        else:
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


def _once(derive: _Derive[C, P, T], cache_of: Callable[[Memo], Cache]) -> _Derive[C, P, T]:
    @wraps(derive)
    def known(cluster: C, /, *key: P.args, **named: P.kwargs) -> T:
        cache, whole = cache_of(cluster.memo), (derive, *key, *named.items())
        found = cache.get(whole, _MISSING)
        if found is _MISSING:
            # Two threads that ask at once get the same value.
            found = cache.setdefault(whole, derive(cluster, *key, **named))
        value: T = found
        return value

    return known


def once_per_snapshot(derive: _Derive[C, P, T]) -> _Derive[C, P, T]:
    """Keep what a function derives from any fields of a cluster."""
    return _once(derive, lambda memo: memo.snapshot)


def once_per_hardware(derive: _Derive[C, P, T]) -> _Derive[C, P, T]:
    """Keep what a function derives from the fields of HARDWARE."""
    return _once(derive, lambda memo: memo.hardware)


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
