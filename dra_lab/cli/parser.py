"""The parts of every command: a module with its options and examples, and a parser that names the nearest option."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, Protocol

from dra_lab.cli.exit_status import UNANSWERED


class Command(Protocol):
    """A module of this package that is a command."""

    @property
    def EXAMPLES(self) -> tuple[str, ...]:  # noqa: N802  a constant of the module
        """Command lines that help shows."""

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options, and `run` as what answers them."""


class ListedCommand(NamedTuple):
    """What help says of a command, and how to import its module."""

    text: str
    load: Callable[[], Command]


class Parser(argparse.ArgumentParser):
    """A parser that refuses an unknown option before it looks for missing ones, and names the nearest option."""

    words: Sequence[str] = ()
    """The command line: with `--topology` a command has no CLUSTER."""

    @property
    def declared(self) -> Sequence[argparse.Action]:
        """Return the options and arguments, in the order of their declaration."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong in one line, without the usage, which hides it."""
        more = "" if "--help" in message or message.endswith("?") else f"; {self.prog} --help lists the options"
        self.exit(UNANSWERED, f"error: {message}{more}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return what argparse returns. An option has one spelling, so that a shortened one is unknown."""
        for word in args:
            # what follows a command is for the parser of that command
            if word == "--" or (self._subparsers and not word.startswith("-")):
                break
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                self.error(unknown("option", name, self._option_string_actions))
        return super().parse_known_args(args, namespace)


def unknown(what: str, word: str, known: Iterable[str]) -> str:
    """Return the message about an unknown option or command, with the nearest known one."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"unknown {what} {word!r}" + (f"; did you mean {near[0]}?" if near else "; --help lists all")


def declare(parser: Parser, listed: ListedCommand, words: Sequence[str] = ()) -> None:
    """Declare the options of a command, and its examples."""
    command = listed.load()
    parser.words = words
    command.add(parser)
    parser.epilog = "\n  ".join(("examples:", *command.EXAMPLES))
