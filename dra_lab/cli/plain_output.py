"""Standard output and error without what a terminal would obey: names in a cluster or file may hold escapes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOWrapper
from typing import Any, TextIO, cast

_OBEYED = (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\u{code:04x}" for code in _OBEYED if chr(code) not in "\n\t"}  # as JSON writes them


class _Plain:
    """A stream that writes control characters, and those that turn the direction of text, as their escapes.

    What is printed as JSON stays the same JSON. A carriage return at the beginning stays, because progress bars redraw
    themselves with it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        start = text[:1] if text[:1] == "\r" else ""
        shown = start + text[len(start) :].translate(_SHOWN)
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
    with redirect_stdout(cast("TextIO", _Plain(sys.stdout))), redirect_stderr(cast("TextIO", _Plain(sys.stderr))):
        yield
