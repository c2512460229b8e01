"""All vectors of devices up to what a shape needs, by position."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from dra_lab.planner.places.shapes import Vector

Array = Any
"""A numpy array."""

_EXACT = 512
"""Vectors of one shape up to which all of them are looked at on every place."""


class Lattice:
    """All vectors up to what a shape needs: the first is none, the last is all.

    It is `exact` if every vector of a place is looked at. With more vectors, only those of a place count that no other
    one of it covers: then a pod that is not found may exist, and a better one too.
    """

    def __init__(self, need: Vector) -> None:
        """List the vectors."""
        self.vectors = list(product(*(range(count + 1) for count in need)))
        self.at = {vector: position for position, vector in enumerate(self.vectors)}
        self.size = len(self.vectors)
        self.exact = self.size <= _EXACT
        self.rows = np.array(self.vectors, np.int64).reshape(self.size, len(need))
        self._less: dict[int, Array] = {}
        self._all = np.stack([*map(self._less_of, range(self.size))], axis=1) if self.exact else None

    def less(self, columns: Array) -> Array:
        """Return positions[a, column] of the a-th vector without that of a column, `size` where it is negative."""
        if self._all is not None:
            return self._all[:, columns]
        return np.stack([*map(self._less_of, columns.tolist())], axis=1)

    def _less_of(self, column: int) -> Array:
        if column not in self._less:
            # Vectors are in the order of their digits, so that positions subtract as vectors do.
            able = (self.rows >= self.rows[column]).all(axis=1)
            self._less[column] = np.where(able, np.arange(self.size) - column, self.size)
        return self._less[column]

    def sum_of(self, one: int, other: int) -> int:
        """Return the position of the sum of two vectors, -1 if that is more than the shape needs."""
        total = tuple(a + b for a, b in zip(self.vectors[one], self.vectors[other], strict=True))
        return self.at.get(total, -1)

    def kept(self, columns: Array) -> Array:
        """Say which vectors of a place count."""
        if self.exact or len(columns) < 2:
            return np.ones(len(columns), bool)
        rows = self.rows[columns]
        return np.array([(row <= rows).all(axis=1).sum() == 1 for row in rows])


@lru_cache(maxsize=64)
def lattice_of(need: Vector) -> Lattice:
    """Return the lattice up to a vector; shapes of one pod, and orders of goals, share it."""
    return Lattice(need)
