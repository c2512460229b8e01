"""A regular expression as a list of instructions, and the search that runs all its threads at once (Thompson, Pike)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_SIZE_LIMIT = 20_000
_DIGITS = frozenset("0123456789")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SPACE = frozenset("\t\n\f\r ")
_CATEGORIES = {"DIGIT": _DIGITS, "WORD": _WORD, "SPACE": _SPACE}

Test = Callable[[str], bool]
Instruction = tuple[Any, ...]


def _is_word(text: str, index: int) -> bool:
    return 0 <= index < len(text) and text[index] in _WORD


_ASSERTIONS: dict[str, Callable[[str, int], bool]] = {
    "AT_BEGINNING": lambda _, i: i == 0,
    "AT_BEGINNING_STRING": lambda _, i: i == 0,
    "AT_END": lambda text, i: i == len(text),
    "AT_END_STRING": lambda text, i: i == len(text),
    "AT_BOUNDARY": lambda text, i: _is_word(text, i - 1) != _is_word(text, i),
    "AT_NON_BOUNDARY": lambda text, i: _is_word(text, i - 1) == _is_word(text, i),
    "LINE_BEGINNING": lambda text, i: i == 0 or text[i - 1] == "\n",
    "LINE_END": lambda text, i: i == len(text) or text[i] == "\n",
}


class Program:
    """Instructions: ("char", test), ("assert", check), ("split", first, second), ("jump", to), ("match",)."""

    def __init__(self) -> None:
        """Start empty."""
        self.code: list[Instruction] = []

    def __len__(self) -> int:
        return len(self.code)

    def emit(self, *instruction: Any) -> int:
        """Append an instruction and return its place; raises ValueError when the program grows too large."""
        if len(self.code) >= _SIZE_LIMIT:
            raise ValueError("error parsing regexp: the expression is too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def search(self, text: str, position: int) -> tuple[int, int, int] | None:
        """Return (start, end, characters read) of the leftmost match at or behind a position, or None."""
        threads: list[tuple[int, int]] = []
        seen: set[int] = set()
        found: tuple[int, int] | None = None
        index = position
        for index in range(position, len(text) + 1):
            if found is None:
                self._follow(threads, seen, 0, index, text, index)
            following: list[tuple[int, int]] = []
            reached: set[int] = set()
            for place, start in threads:
                instruction = self.code[place]
                if instruction[0] == "match":
                    found = (start, index)
                    break
                if index < len(text) and instruction[1](text[index]):
                    self._follow(following, reached, place + 1, start, text, index + 1)
            threads, seen = following, reached
            if not threads and found is not None:
                break
        return (*found, index + 1 - position) if found is not None else None

    def _follow(
        self, threads: list[tuple[int, int]], seen: set[int], place: int, start: int, text: str, index: int
    ) -> None:
        """Add a thread and all that it can become without reading, in the order of preference."""
        pending = [place]
        while pending:
            place = pending.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = self.code[place]
            kind = instruction[0]
            if kind == "jump":
                pending.append(instruction[1])
            elif kind == "split":
                pending.extend((instruction[2], instruction[1]))
            elif kind == "assert":
                if instruction[1](text, index):
                    pending.append(place + 1)
            else:
                threads.append((place, start))


def compile_program(pattern: str) -> Program:
    """Return the program of a pattern; raises ValueError for one that Python cannot read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(pattern)
        program = Program()
        _compile(program, tree, tree.state.flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"error parsing regexp: dra_lab cannot read {pattern[:64]!r}: {error}") from None
    program.emit("match")
    return program


def _compile(program: Program, nodes: Iterable[Any], flags: int) -> None:
    for code, argument in nodes:
        name = str(code)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            _repeat(program, argument, flags, greedy=name == "MAX_REPEAT")
        elif name == "BRANCH":
            _branch(program, argument[1], flags)
        elif name == "SUBPATTERN":
            _, added, removed, body = argument
            _compile(program, body, (flags | added) & ~removed)
        elif name == "AT":
            program.emit("assert", _assertion(str(argument), flags))
        else:
            program.emit("char", _test(name, argument, flags))


def _assertion(name: str, flags: int) -> Callable[[str, int], bool]:
    if flags & re.MULTILINE and name in ("AT_BEGINNING", "AT_END"):
        name = name.replace("AT_", "LINE_")
    return _ASSERTIONS[name]


def _branch(program: Program, alternatives: list[Any], flags: int) -> None:
    ends = []
    for alternative in alternatives[:-1]:
        split = program.emit("split", 0, 0)
        _compile(program, alternative, flags)
        ends.append(program.emit("jump", 0))
        program.code[split] = ("split", split + 1, len(program))
    _compile(program, alternatives[-1], flags)
    for end in ends:
        program.code[end] = ("jump", len(program))


def _repeat(program: Program, argument: Any, flags: int, *, greedy: bool) -> None:
    least, most, body = argument
    for _ in range(least):
        _compile(program, body, flags)
    if most is parser.MAXREPEAT:
        split = program.emit("split", 0, 0)
        _compile(program, body, flags)
        program.emit("jump", split)
        program.code[split] = _choice(split, len(program), greedy=greedy)
        return
    splits = []
    for _ in range(most - least):
        splits.append(program.emit("split", 0, 0))
        _compile(program, body, flags)
    for split in splits:
        program.code[split] = _choice(split, len(program), greedy=greedy)


def _choice(split: int, after: int, *, greedy: bool) -> Instruction:
    return ("split", split + 1, after) if greedy else ("split", after, split + 1)


def _test(name: str, argument: Any, flags: int) -> Test:
    """Return the test of one character."""
    if name == "ANY":
        return (lambda _: True) if flags & re.DOTALL else (lambda c: c != "\n")
    if name not in ("LITERAL", "NOT_LITERAL", "IN"):
        raise ValueError(f"error parsing regexp: {name.lower()} is not known to RE2")
    negated = name == "NOT_LITERAL"
    items = [("LITERAL", argument)] if name != "IN" else [(str(code), value) for code, value in argument]
    if items[0][0] == "NEGATE":
        negated, items = True, items[1:]
    tests = [_item(code, value) for code, value in items]
    fold = bool(flags & re.IGNORECASE)

    def test(character: str) -> bool:
        forms = {character, character.lower(), character.upper()} if fold else (character,)
        return any(len(form) == 1 and check(form) for form in forms for check in tests) != negated

    return test


def _item(code: str, value: Any) -> Test:
    if code == "LITERAL":
        return lambda c: ord(c) == value
    if code == "RANGE":
        return lambda c: value[0] <= ord(c) <= value[1]
    category = str(value).removeprefix("CATEGORY_")
    members = _CATEGORIES[category.removeprefix("NOT_")]
    return (lambda c: c not in members) if category.startswith("NOT_") else (lambda c: c in members)
