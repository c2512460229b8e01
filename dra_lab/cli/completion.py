"""Completion of command lines by argcomplete; `dra-lab help output` says how a shell turns it on."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator


def complete(parser_of: Callable[[list[str]], argparse.ArgumentParser]) -> None:
    """Print the words that complete the shell's command line, and end the process.

    Args:
        parser_of: Returns the parser for the words after `dra-lab`.
    """
    import argcomplete

    line = os.environ.get("COMP_LINE", "")
    words = line.split()[1:]
    argcomplete.autocomplete(parser_of(words if line[-1:].isspace() else words[:-1]))


def complete_with(action: argparse.Action, words: Callable[[], Iterable[str]]) -> None:
    """Complete an option or argument with these words, and with files if none of them fits."""
    action.completer = lambda **_: list(words())  # type: ignore[attr-defined]


def cluster_words() -> Iterator[str]:
    """Yield the samples, and the start of a kubeconfig's context."""
    from dra_lab.sources import samples

    yield from (f"sample:{sample.name}" for sample in samples())
    yield "context:"


def drawing_words() -> Iterator[str]:
    """Yield the example drawings of the samples."""
    from dra_lab.sources import samples

    yield from (f"sample:{sample.name}/{example}" for sample in samples() for example in sample.examples)
