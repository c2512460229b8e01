"""The parts of a document, and the document as plain text, as HTML, as Markdown and as DataFrames.

The modules beside this one return the parts of an answer. The renderers make text from a cluster fit for where it is
shown: nothing of it controls a terminal, and nothing of it is markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from dra_lab.errors import require

if TYPE_CHECKING:
    import pandas as pd

_BREAKS = re.compile(r"\s*[\r\n\t\u2028\u2029]\s*")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|~"})
_LIVE = re.compile(r"@|://|www\.", re.IGNORECASE)
_INERT = {"@": "&#64;&#8203;", "://": ":&#8203;//", "www.": "www.&#8203;"}
"""GitHub reads escapes before it looks for persons and addresses; a space without width keeps them apart."""
_NUMBER = re.compile(r"([-+]?[\d,]+(\.\d+)?)?")


class Sentence(Struct, frozen=True):
    """The answer, which stands first."""

    text: str


class Words(Struct, frozen=True):
    """A paragraph."""

    text: str


class Picture(Struct, frozen=True):
    """HTML that was made and escaped elsewhere, with its words for plain text ("": plain text leaves it out)."""

    markup: str
    text: str = ""


class Column(Struct, frozen=True):
    """A column of a table: its head for people, and its name in a DataFrame; one that is "" leaves it out there."""

    head: str = ""
    name: str = ""


class Table(Struct, frozen=True):
    """Rows under their heads, with notes above. Without a row it is not shown.

    People see no column without a value, and numbers stand to the right. A DataFrame has every value as it is.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    notes: Sequence[str] = ()


class Item(Struct, frozen=True):
    """A line of a list: what is the matter, what to do about it, a word that it begins with, and lines of code."""

    text: str
    advice: str = ""
    mark: str = ""
    code: Sequence[str] = ()


class Lines(Struct, frozen=True):
    """A heading with a list under it. Without a line it is not shown."""

    heading: str
    lines: Sequence[Item | str] = ()


Part = Sentence | Words | Table | Lines | Picture

Detail = Literal["answer", "short", "all"]
"""How much of an answer is shown: its sentences; with its first table and first reasons; or everything."""


# ---------------------------------------------------------------- text from a cluster


def clean(text: str) -> str:
    """Return text that XML can hold and that cannot reorder what stands around it: control signs become U+FFFD."""
    if text.isprintable():  # nearly all text is, and asking for each sign takes longer than drawing
        return text
    import unicodedata

    # Cf are the invisible ones, such as right-to-left overrides; Cs lone surrogates; Cn what no font has.
    return "".join(
        "\ufffd" if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Cn") and sign not in "\n\t" else sign
        for sign in text
    )


def printable(text: str) -> str:
    """Return text in one line, without what controls a terminal or turns the direction of writing."""
    return text if text.isprintable() else clean(_BREAKS.sub(" ", text))


def escaped(text: str) -> str:
    """Return text in one line as HTML."""
    return printable(text).translate(_ENTITIES)


# ---------------------------------------------------------------- plain text


def as_text(parts: Iterable[Part]) -> str:
    """Return parts as plain text for a terminal, with every row."""
    return "\n\n".join(text for text in map(_text, parts) if text)


def _text(part: Part) -> str:
    match part:
        case Sentence(text) | Words(text):
            return printable(text)
        case Picture(_, text):
            return "\n".join(map(printable, text.splitlines()))
        case Lines(heading, lines):
            return _section(heading, [line for item in lines for line in _item_text(item)]) if lines else ""
        case Table() if part.rows:
            heads, rows = _shown(part)
            return _section(part.title, [*part.notes, *plain_table(heads, rows).split("\n")])
    return ""


def _section(title: str, lines: Iterable[str]) -> str:
    shown = map(printable, lines)
    return "\n".join([printable(title), *(f"  {line}" for line in shown)] if title else shown)


def _item_text(item: Item | str) -> list[str]:
    if isinstance(item, str):
        return [f"- {item}"]
    mark = f"{item.mark}: " if item.mark else ""
    return [f"- {mark}{item.text} {item.advice}".rstrip(), *(f"    {line}" for line in item.code)]


def plain_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return rows as aligned text, every one of them; columns of numbers stand to the right, None is empty."""
    shown = [[printable(cell_words(cell)) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[at]) for row in shown) for at in range(len(head))]
    right = _numbers(shown[1:], len(head))
    lines = (
        "  ".join(cell.rjust(width) if far else cell.ljust(width) for cell, width, far in zip(*parts, strict=True))
        for parts in ((row, widths, right) for row in shown)
    )
    return "\n".join(line.rstrip() for line in lines)


def cell_words(value: object) -> str:
    """Return a value of a table as people read it: whole numbers with commas, others with one decimal."""
    if value is None:
        return ""
    if isinstance(value, Picture):
        return value.text
    if isinstance(value, float):
        return number_words(value)
    return f"{value:,}" if type(value) is int else str(value)


def number_words(value: float) -> str:
    """Return a number as people write it: whole where it is whole, else one decimal."""
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"


def _numbers(rows: Sequence[Sequence[str]], columns: int) -> list[bool]:
    return [bool(rows) and all(_NUMBER.fullmatch(row[at]) for row in rows) for at in range(columns)]


def _shown(table: Table) -> tuple[list[str], list[list[object]]]:
    heads = [column if isinstance(column, str) else column.head for column in table.columns]
    used = [at for at, head in enumerate(heads) if head and (not at or any(cell_words(row[at]) for row in table.rows))]
    return [heads[at] for at in used], [[row[at] for at in used] for row in table.rows]


def table_words(table: Table) -> tuple[list[str], list[list[str]], list[bool]]:
    """Return the heads and cells that people see, in one line each, and which columns are numbers only."""
    heads, rows = _shown(table)
    words = [[printable(cell_words(cell)) for cell in row] for row in rows]
    return [*map(printable, heads)], words, _numbers(words, len(heads))


# ---------------------------------------------------------------- HTML


def as_html(parts: Iterable[Part], *, page: bool = False) -> str:
    """Return parts as HTML without scripts; `page` gives them the headings of a page of their own."""
    return f'<div class="dra-result">{"".join(_html(part, page=page) for part in parts)}</div>'


def _html(part: Part, *, page: bool) -> str:
    match part:
        case Sentence(text):
            return f"<h1>{escaped(text)}</h1>" if page else f"<p><strong>{escaped(text)}</strong></p>"
        case Words(text):
            return f"<p>{escaped(text)}</p>"
        case Picture(markup):
            return markup
        case Lines(heading, lines) if lines:
            return f"{_heading(heading, page=page)}<ul>{''.join(f'<li>{_item_html(item)}</li>' for item in lines)}</ul>"
        case Table() if part.rows:
            return _heading(part.title, page=page) + _table_html(part)
    return ""


def _heading(text: str, *, page: bool) -> str:
    if not text:
        return ""
    return f"<h2>{escaped(text)}</h2>" if page else f"<p>{escaped(text)}:</p>"


def _item_html(item: Item | str) -> str:
    if isinstance(item, str):
        return escaped(item)
    mark = f'<span class="severity {escaped(item.mark)}">{escaped(item.mark)}</span> ' if item.mark else ""
    advice = f' <span class="advice">{escaped(item.advice)}</span>' if item.advice else ""
    code = f"<pre>{chr(10).join(map(escaped, item.code))}</pre>" if item.code else ""
    return f"{mark}{escaped(item.text)}{advice}{code}"


def _table_html(table: Table) -> str:
    heads, rows = _shown(table)
    right = _numbers([[cell_words(cell) for cell in row] for row in rows], len(heads))
    top = "".join(_cell_html("th", head, far=far) for head, far in zip(heads, right, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell_html('td', cell, far=far) for cell, far in zip(row, right, strict=True))}</tr>"
        for row in rows
    )
    notes = "".join(f"<li>{escaped(note)}</li>" for note in table.notes)
    listed = f"<ul>{notes}</ul>" if notes else ""
    return f'{listed}<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell_html(name: str, value: object, *, far: bool) -> str:
    inner = value.markup if isinstance(value, Picture) else escaped(cell_words(value))
    return f'<{name} style="text-align:{"right" if far else "left"};padding:2px 14px 2px 0">{inner}</{name}>'


# ---------------------------------------------------------------- Markdown


def as_markdown(parts: Iterable[Part]) -> str:
    """Return parts as Markdown; pictures are their words."""
    return "\n\n".join(text for text in map(_markdown, parts) if text)


def _markdown(part: Part) -> str:
    match part:
        case Sentence(text):
            return f"**{marked_up(text)}**"
        case Words(text) | Picture(_, text):
            return marked_up(text)
        case Lines(heading, lines) if lines:
            items = (marked_up(line) for item in lines for line in _item_text(item))
            return "\n".join([*([f"{marked_up(heading)}:", ""] if heading else []), *items])
        case Table() if part.rows:
            heads, rows = _shown(part)
            body = [[marked_up(cell_words(cell)) for cell in row] for row in rows]
            cells = [[*map(marked_up, heads)], ["---"] * len(heads), *body]
            above = [f"{marked_up(part.title)}:", ""] if part.title else []
            above += [line for note in part.notes for line in (f"- {marked_up(note)}", "")]
            return "\n".join([*above, *(f"| {' | '.join(row)} |" for row in cells)])
    return ""


def marked_up(text: str) -> str:
    """Return text in one line as Markdown: nothing in it is markup, mentions a person, or becomes a link."""
    return _LIVE.sub(lambda found: _INERT[found[0].lower()], printable(text).translate(_MARKUP))


# ---------------------------------------------------------------- DataFrames


def as_frame(table: Table) -> pd.DataFrame:
    """Return a table as a DataFrame of the columns that have a name."""
    named = [(at, column if isinstance(column, str) else column.name) for at, column in enumerate(table.columns)]
    kept = [(at, name) for at, name in named if name]
    return frame_of([[row[at] for at, _ in kept] for row in table.rows], [name for _, name in kept])


def frame_of(rows: Sequence[Sequence[object]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows under their columns as a DataFrame that keeps every value as it is."""
    require("pandas", "charts")
    import pandas as pd

    # object keeps 3 beside None as 3, where a float column would show 3.0 and NaN
    return pd.DataFrame(rows, columns=list(columns), dtype=object)
