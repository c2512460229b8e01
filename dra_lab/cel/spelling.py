"""The text of a selector as the engine's parser wants it, and the way back from its places to ours.

`existsOne` over one variable is a second spelling of `exists_one` (cel-go `parser/macro.go`) that the engine lacks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `kind` is text, name, number or sign; `start` and `end` are offsets."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Spelling:
    """A text for the engine, and (offset there, offset in the original) wherever the two drift apart."""

    text: str
    drift: tuple[tuple[int, int], ...] = ((0, 0),)

    def original(self, offset: int) -> int:
        """Return the offset in the original text of an offset in this one; -1 stays -1."""
        if offset < 0:
            return offset
        there, here = self.drift[bisect_right(self.drift, (offset, 2**62)) - 1]
        return here + offset - there


def tokens(expression: str) -> list[Token]:
    """Return the tokens of a text without its spaces and comments; whatever is no token of CEL comes as a sign."""
    return [
        Token(str(match.lastgroup), match[0], *match.span())
        for match in _TOKEN.finditer(expression)
        if match.lastgroup != "space"
    ]


def respell(expression: str) -> Spelling:
    """Return the text with `existsOne(x, ...)` written `exists_one(x, ...)`; anything else is left as it stands."""
    if "existsOne" not in expression:
        return Spelling(expression)
    found = tokens(expression)
    one = [
        token
        for index, token in enumerate(found)
        if token.text == "existsOne" and index and found[index - 1].text == "." and _arguments(found, index + 1) == 2
    ]
    return replaced(expression, ((token.start, token.end, "exists_one") for token in one))


def replaced(expression: str, edits: Iterable[tuple[int, int, str]]) -> Spelling:
    """Return the text with (start, end, text) put in, in their order; places inside an edit are its start."""
    pieces, drift, done, length = [], [(0, 0)], 0, 0
    for start, end, text in edits:
        pieces += [expression[done:start], text]
        length += start - done + len(text)
        drift.append((length, end))
        done = end
    return Spelling("".join([*pieces, expression[done:]]), tuple(drift))


def _arguments(found: list[Token], opening: int) -> int:
    """Return the number of arguments between the bracket at an index and its partner; 0 without a partner."""
    if opening >= len(found) or found[opening].text != "(":
        return 0
    closers: list[str] = []
    commas = 0
    for token in found[opening:]:
        if token.kind != "sign":
            continue
        if token.text in PAIRS:
            closers.append(PAIRS[token.text])
        elif closers and token.text == closers[-1]:
            closers.pop()
            if not closers:
                return commas + 1
        elif token.text == "," and len(closers) == 1:
            commas += 1
    return 0
