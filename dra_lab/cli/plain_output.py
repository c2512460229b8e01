"""Standard output and error without what a terminal or a CI log would obey: names may hold escapes and line ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOWrapper
from typing import Any, TextIO, cast

_OBEYED = (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_BREAKS = {code: json.dumps(chr(code))[1:-1] for code in (*map(ord, "\n\r\t\v\f"), 0x2028, 0x2029)}
_SHOWN = {code: f"\\u{code:04x}" for code in _OBEYED if chr(code) not in "\n\t"}  # as JSON writes them


def _in_one_line(text: str) -> str:
    """Return text with the line ends inside of it as escapes; those around it are the program's own."""
    inside = text.strip("\r\n")
    start = text.find(inside)
    return text[:start] + inside.translate(_BREAKS) + text[start + len(inside) :] if inside else text


class _Plain:
    """A stream that writes control characters, and those that turn the direction of text, as their escapes.

    With `in_lines`, what is written at once is one line: a name cannot forge another. What is printed as JSON stays the
    same JSON. A carriage return at the beginning stays, because progress bars redraw
    themselves with it.
    """

    def __init__(self, stream: TextIO, *, in_lines: bool = False) -> None:
        self._stream, self._in_lines = stream, in_lines

    def write(self, text: str) -> int:
        start = text[:1] if text[:1] == "\r" else ""
        shown = start + text[len(start) :].translate(_SHOWN)
        if self._in_lines:
            shown = _in_one_line(shown)
        try:
            self._stream.write(shown)
        except UnicodeEncodeError:
            self._stream.write("".join(map(self._escaped, shown)))
        return len(text)

    def _escaped(self, sign: str) -> str:
        """Return a character that the encoding of the stream lacks as JSON writes it."""
        try:
            sign.encode(self._stream.encoding)
        except UnicodeEncodeError:
            return json.dumps(sign)[1:-1]
        return sign

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def underlying(stream: TextIO) -> TextIO:
    """Return the stream below `plain_output`, for a writer that makes its text printable itself and adds colour.

    It writes a character that its encoding lacks as an escape.
    """
    found = stream._stream if isinstance(stream, _Plain) else stream  # noqa: SLF001  one module, one secret
    if isinstance(found, TextIOWrapper):
        found.reconfigure(errors="backslashreplace")
    return found


@contextmanager
def plain_output() -> Iterator[None]:
    """Let everything that is printed meanwhile be text, whatever stands in the names that it shows."""
    errors = _Plain(sys.stderr, in_lines=True)
    with redirect_stdout(cast("TextIO", _Plain(sys.stdout))), redirect_stderr(cast("TextIO", errors)):
        yield
