"""How `print` shows a result: `dra_lab.words`, above the model, has the words."""

from __future__ import annotations

from importlib import import_module


def told(value: object) -> str:
    """Return a result as a terminal shows it, so that `print` in plain Python is readable."""
    # Only when something is printed: the model may not import the packages above it.
    text: str = import_module("dra_lab.words.shown").in_words(value)
    return text
