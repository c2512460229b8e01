"""Selectors nested deeper than the engine reads (32 levels): deep parts are bound to names, and put back in the tree.

`cel.bind` evaluates a part only where its name is needed, so answers and errors stay those of the text as written. The
cost estimate and all readers of the tree see the parts in their places (`restore`).
"""

from __future__ import annotations

import re
from math import ceil, log2
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.cel.syntax_tree import Tree, children

DEEPEST = 150
"""Levels of brackets or of operators that are read; Kubernetes may read more."""

_STEP = 12
_SCOPED = frozenset(
    ("all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy", "transformList", "transformMap",
     "transformMapEntry", "bind", "optMap", "optFlatMap")
)  # fmt: skip
"""Macros that give names to values: what is inside them must be bound inside them."""

_LOOSE = frozenset(("==", "!=", "<", ">", "<=", ">=", "in"))
_LOGIC = frozenset(("&&", "||"))
_CHOICE = frozenset(("?", ":"))
_NO_SIGNS = ("text", "mark")
"""Kinds of tokens that are no operators: a mark is the `?` of `.?field`, `[?key]` and optional elements."""


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


class _Group(Struct):
    opening: str
    items: list[_Item] = field(default_factory=list)


_Item = Token | _Group


class _Part(Struct, frozen=True):
    """A part of the new text: how deep it is there, and how deep it is as written."""

    text: str
    height: int
    written: int


def shallow(expression: str, name: str) -> str:
    """Return the text with deep parts bound to `name` and a number; "" where that cannot be done.

    It cannot where brackets do not match and beyond `DEEPEST` levels.
    """
    top = _grouped(expression)
    if top is None or name in expression:
        return ""
    writer = _Writer(name)
    try:
        part = writer.region(top.items)
    except RecursionError:
        return ""
    return part.text if writer.count and part.written <= DEEPEST else ""


def restore(tree: Tree, name: str) -> None:
    """Put the parts that `shallow` bound to names back into their places; no node is copied twice."""
    _restore(tree.root, name, {})


def _restore(node: Any, name: str, parts: dict[str, Any]) -> None:
    loop = node.comprehension if node.HasField("comprehension") else None
    if loop is not None and loop.accu_var.startswith(name):
        _restore(loop.accu_init, name, parts)
        parts[loop.accu_var] = _copy(loop.accu_init)
        _restore(loop.result, name, parts)
        node.CopyFrom(_copy(loop.result))
    elif node.HasField("ident") and node.ident.name in parts:
        node.CopyFrom(parts[node.ident.name])
    else:
        for child in list(children(node)):
            _restore(child, name, parts)


def _copy(node: Any) -> Any:
    found = type(node)()
    found.CopyFrom(node)
    return found


def _grouped(expression: str) -> _Group | None:
    """Return the tokens nested as their brackets are, or None where these do not match."""
    open_groups = [_Group("")]
    for token in tokens(expression):
        if token.kind == "sign" and token.text in PAIRS:
            open_groups.append(_Group(token.text))
            open_groups[-2].items.append(open_groups[-1])
        elif token.kind == "sign" and token.text in PAIRS.values():
            group = open_groups.pop()
            if not open_groups or PAIRS.get(group.opening) != token.text or len(open_groups) > DEEPEST:
                return None
        else:
            items = open_groups[-1].items
            marks = token.text == "?" and (not items or getattr(items[-1], "text", "") in (".", ","))
            items.append(replace(token, kind="mark") if marks else token)
    return open_groups[0] if len(open_groups) == 1 else None


def _split(items: list[_Item], signs: frozenset[str]) -> list[list[_Item]]:
    parts: list[list[_Item]] = [[]]
    for item in items:
        if isinstance(item, Token) and item.kind not in _NO_SIGNS and item.text in signs:
            parts.append([])
        else:
            parts[-1].append(item)
    return parts


def _signs(items: list[_Item], signs: frozenset[str]) -> list[int]:
    return [
        i
        for i, item in enumerate(items)
        if isinstance(item, Token) and item.kind not in _NO_SIGNS and item.text in signs
    ]


def _is_value(item: _Item | None) -> bool:
    """Say whether an operator or an index may follow an item."""
    return item is not None and (isinstance(item, _Group) or (item.kind != "sign" and item.text != "in"))


class _Writer:
    """Rewrites a text; `count` is the number of names given so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0

    def region(self, items: list[_Item]) -> _Part:
        """Write an expression with the bindings of its deep parts around it."""
        bound: list[tuple[str, str]] = []
        part = self._expression(items, bound)
        text = part.text
        for name, value in reversed(bound):
            text = f"cel.bind({name}, {value}, {text})"
        return _Part(text, part.height + len(bound), part.written)

    def _bind(self, part: _Part, bound: list[tuple[str, str]]) -> _Part:
        name = f"{self.name}{self.count}"
        self.count += 1
        bound.append((name, part.text))
        return _Part(name, 0, part.written)

    def _expression(self, items: list[_Item], bound: list[tuple[str, str]]) -> _Part:
        choices = _signs(items, _CHOICE)
        signs = "".join(str(getattr(items[i], "text", "")) for i in choices)
        if len(choices) > 2 * _STEP and signs == "?:" * (len(choices) // 2):
            cut = choices[2 * _STEP - 1] + 1
            rest = self._bind(self._expression(items[cut:], bound), bound)
            head = self._expression([*items[:cut], Token("name", rest.text, 0, 0)], bound)
            return _Part(head.text, head.height, max(head.written, rest.written + _STEP))
        pieces: list[str] = []
        height, written = 0, 0
        borders = _signs(items, _LOOSE | _LOGIC | _CHOICE)
        for start, end in zip([-1, *borders], [*borders, len(items)], strict=True):
            sum_ = self._sum(items[start + 1 : end], bound)
            border = items[end] if end < len(items) else None
            pieces += [sum_.text, f" {border.text} " if isinstance(border, Token) else ""]
            height, written = max(height, sum_.height), max(written, sum_.written)
        loose, logic = len(_signs(items, _LOOSE)), len(_signs(items, _LOGIC))
        own = min(loose, 1 + loose // (logic + 1)) + ceil(log2(logic + 1)) + len(choices) // 2
        return _Part("".join(pieces), height + own, written + own)

    def _sum(self, items: list[_Item], bound: list[tuple[str, str]]) -> _Part:
        """Write terms joined by + and -; long chains are bound from their left end."""
        places = [i for i in _signs(items, frozenset("+-")) if i and _is_value(items[i - 1])]
        done: _Part | None = None
        chained = 0
        for start, end in zip([0, *places], [*places, len(items)], strict=True):
            term = self._term(items[start:end], bound)
            if done is None:
                done = term
                continue
            if chained >= _STEP:
                done, chained = self._bind(done, bound), 0
            done = _Part(done.text + term.text, max(done.height, term.height) + 1, max(done.written, term.written) + 1)
            chained += 1
        return done if done is not None else _Part("", 0, 0)

    def _term(self, items: list[_Item], bound: list[tuple[str, str]]) -> _Part:
        pieces: list[str] = []
        height, written, own = 0, 0, 0
        for index, item in enumerate(items):
            before = items[index - 1] if index else None
            if isinstance(item, Token):
                own += item.kind == "sign" and item.text in ".*/%!-"
                pieces.append(item.text if item.kind != "name" or not pieces or pieces[-1] == "." else f" {item.text}")
                continue
            inner = self._group(item, before if _is_value(before) else None, bound)
            own += item.opening == "[" and _is_value(before)
            pieces.append(inner.text)
            height, written = max(height, inner.height), max(written, inner.written)
        return _Part("".join(pieces), height + own, written + own)

    def _group(self, group: _Group, before: _Item | None, bound: list[tuple[str, str]]) -> _Part:
        called = before.text if isinstance(before, Token) else ""
        scoped = called in _SCOPED
        bindable = not scoped and called != "has" and group.opening != "{"
        plain = before is None and group.opening == "("
        texts, height, written = [], 0, 0
        for items in _split(group.items, frozenset(",")):
            part = self.region(items) if scoped else self._expression(items, bound)
            if part.height >= _STEP and bindable:
                part = self._bind(part, bound)
            texts.append(part.text)
            height, written = max(height, part.height), max(written, part.written)
        return _Part(f"{group.opening}{', '.join(texts)}{PAIRS[group.opening]}", height + 1, written + (not plain))
