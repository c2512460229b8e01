"""How `print` and a notebook show a result. The package `words` has the words, and `dra_lab` registers them here."""

from __future__ import annotations

from typing import Any, Protocol


class Words(Protocol):
    """What makes text or HTML of a result."""

    def __call__(self, value: object, *, html: bool = False) -> str:
        """Return the result as text for a terminal, or as HTML without scripts."""


_WORDS: list[Words] = []


def show_with(words: Words) -> None:
    """Let `words` show every result; `dra_lab` does so when it is imported."""
    _WORDS[:] = [words]


class Shown:
    """A result that `print` shows as a terminal does, and a notebook as HTML or as the same text."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the whole answer as a terminal shows it."""
        return _WORDS[0](self)

    def __repr__(self) -> str:
        """Return the first line of the answer."""
        return f"<{type(self).__name__}: {str(self).partition(chr(10))[0]}>"

    def _repr_html_(self) -> str:
        return _WORDS[0](self, html=True)

    def __init_subclass__(cls, **options: Any) -> None:
        """Come before the `__repr__` of the class, which IPython would use for text."""
        super().__init_subclass__(**options)
        cls._repr_pretty_ = Shown._repr_pretty_  # type: ignore[method-assign]

    def _repr_pretty_(self, printer: Any, _cycle: object) -> None:
        printer.text(_WORDS[0](self))
