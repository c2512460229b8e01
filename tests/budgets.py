"""Have the planner, or what pins its plans, work with other sizes and shares of time than its defaults."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace

from dra_lab.pinning import pin_budget
from dra_lab.planner import budget


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


def use_sizes(monkeypatch: pytest.MonkeyPatch, **sizes: int) -> None:
    """Replace some default sizes until the test ends."""
    monkeypatch.setattr(budget, "_SIZES", replace(budget.default_sizes(), **sizes))


def use_shares(monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
    """Replace some default shares of time until the test ends."""
    monkeypatch.setattr(budget, "_SHARES", replace(budget.default_shares(), **shares))


def use_pin_shares(monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
    """Replace some default shares of time of pinning until the test ends."""
    monkeypatch.setattr(pin_budget, "_SHARES", replace(pin_budget.default_pin_shares(), **shares))
