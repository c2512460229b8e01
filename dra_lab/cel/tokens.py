"""The tokens of a selector's text."""

from __future__ import annotations

import re

from msgspec import Struct

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
    |(?P<text>[bB]?[rR][bB]?(?:\"\"\".*?\"\"\"|'''.*?'''|"[^"\n]*"|'[^'\n]*')
        |[bB]?(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|`[^`\n]*`)
    |(?P<number>\.?[0-9](?:[eE][-+][0-9]|[0-9A-Za-z_]|\.(?=[0-9]))*)
    |(?P<sign>&&|\|\||[=!<>]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
PAIRS = {"(": ")", "[": "]", "{": "}"}


class Token(Struct, frozen=True):
    """A token: `kind` is text, name, number or sign; `start` and `end` are offsets."""

    kind: str
    text: str
    start: int
    end: int


def tokens(expression: str) -> list[Token]:
    """Return the tokens of a text without its spaces and comments; whatever is no token of CEL comes as a sign."""
    return [
        Token(str(match.lastgroup), match[0], *match.span())
        for match in _TOKEN.finditer(expression)
        if match.lastgroup != "space"
    ]
