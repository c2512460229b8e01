"""Undo and redo for a canvas that stands alone in a cell; with a `Session` the session keeps the one history."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

STEPS = 200
"""Steps that can be undone (design 7)."""

T = TypeVar("T")


class SketchHistory(Generic[T]):
    """The values before and after the present one; the oldest is forgotten after `STEPS`."""

    def __init__(self, present: T, steps: int = STEPS) -> None:
        """Start with nothing to undo."""
        self.present = present
        self._past: deque[T] = deque(maxlen=steps)
        self._future: list[T] = []

    @property
    def can_undo(self) -> bool:
        """Say whether there is a step to undo."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Say whether there is an undone step to do again."""
        return bool(self._future)

    def change(self, value: T) -> None:
        """Make `value` the present one; what was undone before can no longer be done again."""
        if value == self.present:
            return
        self._past.append(self.present)
        self._future.clear()
        self.present = value

    def undo(self) -> T:
        """Go one step back and return the value there; the present one when there is none."""
        if self._past:
            self._future.append(self.present)
            self.present = self._past.pop()
        return self.present

    def redo(self) -> T:
        """Go one undone step forward and return the value there; the present one when there is none."""
        if self._future:
            self._past.append(self.present)
            self.present = self._future.pop()
        return self.present
