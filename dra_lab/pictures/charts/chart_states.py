"""The states of devices and amounts in charts: a letter, words and a colour of Okabe and Ito each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChartState:
    """One state: `fill` and `text` are colours with a contrast of at least 4.5:1, readable on light and dark ground."""

    letter: str
    words: str
    fill: str
    text: str

    @property
    def legend(self) -> str:
        """Return `U in use`: the letter that stands on the parts, and what it means."""
        return f"{self.letter} {self.words}"


IN_USE = ChartState("U", "in use", "#0072b2", "#ffffff")
PLANNED = ChartState("P", "planned", "#e69f00", "#000000")
FREE = ChartState("F", "free", "#56b4e9", "#000000")
STRANDED = ChartState("S", "stranded", "#d55e00", "#000000")
BLOCKED = ChartState("N", "not available", "#999999", "#000000")

AMOUNT_STATES = (IN_USE, PLANNED, FREE, STRANDED, BLOCKED)
"""In the order of `Amounts.values`, which is the order of the parts of a bar."""
