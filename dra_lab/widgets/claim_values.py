"""What the editor of the claim is told."""

from __future__ import annotations

from dra_lab.widgets.canvas_values import Row


class ClaimAnswer(Row, frozen=True):
    """What became of the text number `number`: "" where the drawing took it, else what is wrong, at `line` (from 1)."""

    number: int = 0
    message: str = ""
    line: int = 0
