"""Rows as aligned plain text, for terminals and for places that draw nothing."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.pictures.captions import clean


def plain_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows as aligned text, every one of them; columns of numbers stand to the right, None is empty."""
    shown = [[clean(_cell(cell)) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[at]) for row in shown) for at in range(len(head))]
    right = [bool(rows) and all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(head))]
    lines = (
        "  ".join(cell.rjust(width) if far else cell.ljust(width) for cell, width, far in zip(*parts, strict=True))
        for parts in ((row, widths, right) for row in shown)
    )
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """Return a number as people write it: whole where it is whole, else one decimal."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"
