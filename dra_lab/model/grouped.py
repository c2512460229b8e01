"""Slices by what they have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from dra_lab.model.slices import ResourceSlice

K = TypeVar("K", bound=Hashable)


def node_of(slice_: ResourceSlice) -> str | None:
    """Return the node that a slice names, or None."""
    return slice_.spec.node_name or None


def pool_of(slice_: ResourceSlice) -> tuple[str, str]:
    """Return driver and name of a slice's pool."""
    return slice_.spec.driver, slice_.spec.pool.name


def newest(slices: Sequence[ResourceSlice]) -> list[ResourceSlice]:
    """Return the slices of the newest generation among those of one pool, in their order; none of none."""
    if len(slices) == 1:
        return [*slices]
    latest = max((slice_.spec.pool.generation for slice_ in slices), default=0)
    return [slice_ for slice_ in slices if slice_.spec.pool.generation == latest]


def grouped(
    slices: Iterable[ResourceSlice], key_of: Callable[[ResourceSlice], K | None]
) -> dict[K, tuple[ResourceSlice, ...]]:
    """Return the slices by key, each group in their order; those of which the key is None are left out."""
    found: dict[K, list[ResourceSlice]] = defaultdict(list)
    for slice_ in slices:
        key = key_of(slice_)
        if key is not None:
            found[key].append(slice_)
    return {key: tuple(group) for key, group in found.items()}
