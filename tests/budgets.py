"""Have the planner work with other shares of time than its defaults."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab.planner import budget


def use_shares(monkeypatch: pytest.MonkeyPatch, **shares: float) -> None:
    """Replace some default shares of time until the test ends."""
    monkeypatch.setattr(budget, "_SHARES", replace(budget.default_shares(), **shares))
