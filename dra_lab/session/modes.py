"""The modes of the planner screen, and the one in which a drawing was left."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.model.sketch import Drawing

LEARN = "learn"
MODES: Mapping[str, str] = {"plan": "Plan", "fleet": "Fleet", "compare": "Compare", "trace": "Trace", LEARN: "Learn"}
"""What the planner screen shows at a time, by the name of the mode, with its label."""

FIRST = next(iter(MODES))


def mode_of(drawing: Drawing) -> str:
    """Return the mode in which a drawing was left."""
    mode = drawing.view.get("mode", FIRST)
    return mode if mode in MODES else FIRST


def view_of(mode: str) -> dict[str, str]:
    """Return what a plan file says of a mode: nothing of the first one."""
    return {} if mode == FIRST else {"mode": mode}
