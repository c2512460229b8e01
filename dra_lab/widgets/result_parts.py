"""The parts of which the displays of results are made: sentences, small tables and lists, as HTML and as plain text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dra_lab.exports.sentences import printable
from dra_lab.pictures.plain_table import plain_table

_STYLE = "padding:2px 14px 2px 0"
_NUMBER = re.compile(r"[-+]?[\d,]+(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Sentence:
    """What stands first and is bold."""

    text: str


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under their heads; columns that hold only numbers stand to the right. Without a row it is not shown."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A heading with a list under it. Without a line it is not shown."""

    heading: str
    lines: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Picture:
    """HTML that was made and escaped elsewhere; plain text leaves it out."""

    markup: str


Part = Sentence | Words | Table | Lines | Picture


def as_html(parts: Iterable[Part]) -> str:
    """Return parts as HTML without scripts; text from a cluster is escaped."""
    return f'<div class="dra-result">{"".join(map(_html, parts))}</div>'


def as_text(parts: Iterable[Part]) -> str:
    """Return parts as plain text for a terminal, every row of them; text from a cluster is made printable."""
    return "\n\n".join(text for text in map(_text, parts) if text)


def _html(part: Part) -> str:
    match part:
        case Sentence(text):
            return f"<p><strong>{html.escape(printable(text))}</strong></p>"
        case Words(text):
            return f"<p>{html.escape(printable(text))}</p>"
        case Picture(markup):
            return markup
        case Lines(heading, lines):
            items = "".join(f"<li>{html.escape(printable(line))}</li>" for line in lines)
            return f"<p>{html.escape(printable(heading))}:</p><ul>{items}</ul>" if lines else ""
        case Table():
            return _table_html(part)


def _table_html(table: Table) -> str:
    if not table.rows:
        return ""
    sides = ["right" if far else "left" for far in _numbers(table)]
    top = "".join(_cell("th", words, side) for words, side in zip(table.head, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', words, side) for words, side in zip(row, sides, strict=True))}</tr>"
        for row in table.rows
    )
    title = f"<p>{html.escape(printable(table.title))}:</p>" if table.title else ""
    return f"{title}<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(name: str, words: object, side: str) -> str:
    return f'<{name} style="text-align:{side};{_STYLE}">{html.escape(printable(str(words)))}</{name}>'


def _numbers(table: Table) -> list[bool]:
    """Say of every column whether it holds nothing but numbers."""
    return [all(_NUMBER.fullmatch(str(row[at])) for row in table.rows) for at in range(len(table.head))]


def _text(part: Part) -> str:
    match part:
        case Sentence(text) | Words(text):
            return printable(text)
        case Lines(heading, lines):
            return "\n".join([printable(heading), *(f"  - {printable(line)}" for line in lines)]) if lines else ""
        case Table() if part.rows:
            text = _table_text(part)
            return f"{printable(part.title)}\n{text}" if part.title else text
    return ""


def _table_text(table: Table) -> str:
    columns = []
    for at, far in enumerate(_numbers(table)):
        cells = [table.head[at], *(str(row[at]) for row in table.rows)]
        width = max(map(len, cells))
        columns.append([cell.rjust(width) if far else cell for cell in cells])
    head, *rows = zip(*columns, strict=True)
    return plain_table(head, rows)
