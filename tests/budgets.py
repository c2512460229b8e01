"""Have the planner, or what pins its plans, work with other sizes and shares of time than its defaults."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab.pinning import pin_budget
from dra_lab.planner import budget


def use_shares(monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
    """Replace some default shares of time until the test ends."""
    monkeypatch.setattr(budget, "_SHARES", replace(budget.default_shares(), **shares))


def use_pin_shares(monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
    """Replace some default shares of time of pinning until the test ends."""
    monkeypatch.setattr(pin_budget, "_SHARES", replace(pin_budget.default_pin_shares(), **shares))
