"""One undo history for mouse, keyboard, Python and YAML."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")
MAX_STEPS = 200


class History(Generic[T]):
    """The present value and up to MAX_STEPS values before it; a new value forgets what was undone."""

    def __init__(self, present: T) -> None:
        """Begin with a value and nothing to undo."""
        self.present = present
        self._past: list[T] = []
        self._future: list[T] = []

    def push(self, value: T) -> bool:
        """Make a value the present one; returns False, and keeps everything, when it equals the present one."""
        if value == self.present:
            return False
        self._past = [*self._past, self.present][-MAX_STEPS:]
        self._future = []
        self.present = value
        return True

    def replace_present(self, value: T) -> None:
        """Replace the present value; no step is added."""
        self.present = value

    def undo(self) -> bool:
        """Go one step back; returns False when there is none."""
        if not self._past:
            return False
        self._future.append(self.present)
        self.present = self._past.pop()
        return True

    def redo(self) -> bool:
        """Take one undone step again; returns False when there is none."""
        if not self._future:
            return False
        self._past.append(self.present)
        self.present = self._future.pop()
        return True

    @property
    def can_undo(self) -> bool:
        """Say whether there is a step to undo."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Say whether there is a step to redo."""
        return bool(self._future)
