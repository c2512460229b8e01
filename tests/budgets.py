"""Have the planner work with other sizes and shares of time than its defaults."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab.planner import budget


def use_sizes(monkeypatch: pytest.MonkeyPatch, **sizes: int) -> None:
    """Replace some default sizes until the test ends."""
    monkeypatch.setattr(budget, "_SIZES", replace(budget.default_sizes(), **sizes))


def use_shares(monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
    """Replace some default shares of time until the test ends."""
    monkeypatch.setattr(budget, "_SHARES", replace(budget.default_shares(), **shares))
