"""A document for a terminal: fitted to its width, and in colour unless NO_COLOR is set or TERM is dumb."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from dra_lab.words.document import Item, Lines, Part, Picture, Sentence, Table, Words, printable, table_words

OUTCOME_STYLES = {
    "fits": "bold green",
    "does-not-fit": "bold red",
    "not-checked": "bold yellow",
    "stopped": "bold yellow",
}
MARK_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_NUMBER = re.compile(r"\S*\d\S*")
_NARROW = 12
"""Characters to which a column of words may shrink; a column of figures never does."""


def print_terminal(parts: Iterable[Part], file: IO[str], outcome: str = "") -> None:
    """Print a document on a terminal; `outcome` is the word that colours its first sentence."""
    console = _console(file)
    for number, part in enumerate(parts):
        shown_part = [*_lines(part, console, OUTCOME_STYLES.get(outcome, "bold"))]
        if shown_part and number:
            console.print()
        for line in shown_part:
            # a line of code is wrapped by the terminal, so that it can be copied
            console.print(line, soft_wrap=isinstance(line, Text) and bool(line.no_wrap))


def print_findings(findings: Iterable[str], file: IO[str]) -> None:
    """Print each finding as a paragraph that begins with its severity."""
    console = _console(file)
    for finding in findings:
        mark, _, rest = printable(finding).partition(": ")
        console.print(Text.assemble((mark, MARK_STYLES.get(mark, "")), ": ", rest), overflow="fold")


def _console(file: IO[str]) -> Console:
    return Console(file=file, highlight=False, markup=False, emoji=False)


def _lines(part: Part, console: Console, style: str) -> Iterator[Text | Padding]:
    match part:
        case Sentence(text):
            first, stop, rest = printable(text).partition(". ")
            yield Text.assemble((first + stop.rstrip(), style), f" {rest}" if stop else "", overflow="fold")
        case Words(text):
            yield Text(printable(text), overflow="fold")
        case Picture(_, text):
            yield from (Text(printable(line), overflow="fold") for line in text.splitlines())
        case Lines(heading, lines) if lines:
            if heading:
                yield Text(printable(heading), "bold")
            for item in lines:
                yield from _item(item, indented=bool(heading))
        case Table() if part.rows:
            if part.title:
                yield Text(printable(part.title), "bold")
            yield from (Text(f"  {printable(note)}", overflow="fold") for note in part.notes)
            yield from _table(part, console.width)


def _item(item: Item | str, *, indented: bool) -> Iterator[Text | Padding]:
    one = Item(item) if isinstance(item, str) else item
    left = 2 if indented else 0
    mark = (f"{one.mark}: ", MARK_STYLES.get(one.mark, "")) if one.mark else ""
    text = Text.assemble(mark, printable(f"{one.text} {one.advice}".rstrip()), overflow="fold")
    grid = Grid.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("-", text)
    yield Padding(grid, (0, 0, 0, left))
    yield from (Text(f"{' ' * (left + 4)}{printable(line)}", no_wrap=True) for line in one.code)


def _table(table: Table, width: int) -> Iterator[Text | Padding]:
    """Yield a table in which words wrap and figures stay whole; on a narrow terminal, a line for each cell."""
    heads, rows, right = table_words(table)
    least = [_least([head, *(row[at] for row in rows)], whole=right[at]) for at, head in enumerate(heads)]
    if sum(least) + 2 * len(heads) > width:
        for row in rows:
            cells = (f"{head}: {cell}" for head, cell in zip(heads, row, strict=True) if cell)
            yield from (
                Text(f"  {'  ' if number else '- '}{cell}", overflow="fold") for number, cell in enumerate(cells)
            )
        return
    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for head, far, narrow in zip(heads, right, least, strict=True):
        grid.add_column(Text(head), justify="right" if far else "left", no_wrap=far, overflow="fold", min_width=narrow)
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    yield Padding(grid, (0, 0, 0, 2))


def _least(cells: Sequence[str], *, whole: bool) -> int:
    """Return the width below which a column would cut a figure."""
    longest = max(map(len, cells))
    figures = (len(word) for cell in cells for word in _NUMBER.findall(cell) if len(word) <= _NARROW)
    return longest if whole else max(min(longest, _NARROW), *figures, 0)
