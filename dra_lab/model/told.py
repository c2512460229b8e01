"""How results say themselves as text: the words stand in rooms above the model, and the front door knows where."""

from __future__ import annotations

from importlib import import_module


def told(value: object) -> str:
    """Return a result as a terminal shows it (`dra_lab.in_words`), so that `print` in plain Python is readable."""
    # Only when something is printed: the rooms above may not be imported by the model.
    text: str = import_module("dra_lab").in_words(value)
    return text
