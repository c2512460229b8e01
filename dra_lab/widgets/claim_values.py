"""The values of the claim editor."""

from __future__ import annotations

from dra_lab.widgets.canvas_values import Row


class FixRow(Row, frozen=True):
    """A correction with one sensible reading: the line (from 1) in the claim's text, and what becomes what, and why."""

    text: str
    line: int = 0


class ClaimAnswer(Row, frozen=True):
    """The answer to the text number `number`: "" if the drawing shows it, else what is wrong, at `line` (from 1).

    `fixes` are the corrections that the text could have. Where they were asked for, `text` is the corrected text, and
    `fixes` are what was changed.
    """

    number: int = 0
    message: str = ""
    line: int = 0
    fixes: tuple[FixRow, ...] = ()
    text: str = ""
