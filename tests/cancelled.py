"""Cancel events for tests: a question is ended at any look, however fast the machine is."""

from __future__ import annotations

import threading


class CancelledAfter(threading.Event):
    """A cancel event that is set from the given number of looks on."""

    def __init__(self, looks: int) -> None:
        """Keep the number of looks."""
        super().__init__()
        self.looks = looks

    def is_set(self) -> bool:
        """Look once more."""
        self.looks -= 1
        return self.looks < 0


def assert_true_goals(plan, best) -> None:
    """Assert that no bound is above the best value and that a proven value is the best, until the values differ."""
    for mine, known in zip(plan.goals, best.goals, strict=False):
        assert mine.bound is None or mine.bound <= known.value, mine
        assert not mine.proven or mine.value == known.value, mine
        if mine.value != known.value:
            break  # what comes after is another question
