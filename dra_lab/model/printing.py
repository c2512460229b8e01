"""How `print` shows a result. The packages above the model have the words, and register them here."""

from __future__ import annotations

from collections.abc import Callable

_WORDS: list[Callable[[object], str]] = []


def print_with(words: Callable[[object], str]) -> None:
    """Let `words` return the text of every result; `dra_lab` does so when it is imported."""
    _WORDS[:] = [words]


def printed(value: object) -> str:
    """Return a result as a terminal shows it, so that `print` in plain Python is readable."""
    return _WORDS[0](value)
