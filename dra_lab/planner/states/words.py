"""Amounts as machine words, in which every resource has its own bits and a guard: what fits, for many rows at once."""

from __future__ import annotations

import numpy as np

from dra_lab.planner.states.columns import Array

_BLOCK = 256


def fitting(left: Array, wanted: Array, guards: Array) -> Array:
    """Say for rows of words and columns of words whether the column fits: a matrix of truth values."""
    fits = np.ones((len(left), len(wanted)), bool)
    for word, guard in enumerate(guards):
        rest = (left[:, word] | guard)[:, None] - wanted[None, :, word]
        fits &= (rest & guard) == guard
    return fits


def first_column(left: Array, wanted: Array, guards: Array) -> Array:
    """Return for each row of words the first column that fits, -1 where none does."""
    found = np.full(len(left), -1, np.int64)
    still = np.arange(len(left))
    start, size = 0, 8
    while start < len(wanted) and len(still):
        block = wanted[start : start + size]
        fits = fitting(left[still], block, guards)
        hit = fits.any(axis=1)
        found[still[hit]] = start + fits[hit].argmax(axis=1)
        still = still[~hit]
        start += len(block)
        size = min(_BLOCK, size * 2)
    return found
