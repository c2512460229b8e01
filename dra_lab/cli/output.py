"""The options -o, -q and -v, the exit statuses, and how an answer, its files and its findings are printed.

Names may hold escapes and line ends, so standard output and error are without what a terminal or a CI log would obey.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity

if TYPE_CHECKING:
    from dra_lab.words.document import Part

FITS, NOT, UNANSWERED = 0, 1, 2
"""Exit statuses of all commands: fits or valid, does not fit or invalid, could not be answered."""


def status_of(outcome: str) -> int:
    """Return the exit status of an outcome: 0 for fits, 1 for does-not-fit, 2 for not decided or not checked."""
    return {"fits": FITS, "does-not-fit": NOT}.get(outcome, UNANSWERED)


def add_output(parser: argparse.ArgumentParser, *more: str, all_of_it: str = "print the whole answer") -> None:
    """Declare -o with text, json and `more`, and -q and -v, which say how much of the text is printed."""
    formats = ("text", "json", *more)
    group = parser.add_argument_group("output")
    group.add_argument(
        "-o",
        choices=formats,
        default="text",
        dest="format",
        metavar="FORMAT",
        help=f"{', '.join(formats)} (default: text)",
    )
    detail = group.add_mutually_exclusive_group()
    text = "print the answer's sentences only, and no notes on standard error"
    detail.add_argument("-q", action="store_const", const="answer", default="short", dest="detail", help=text)
    detail.add_argument("-v", action="store_const", const="all", dest="detail", help=all_of_it)


def add_write(parser: argparse.ArgumentParser) -> None:
    """Declare --dir and --overwrite, for a command that writes manifests."""
    text = "the folder to write; required unless -o yaml prints the manifests"
    parser.add_argument("--dir", type=Path, metavar="DIR", help=text)
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="overwrite files you edited by hand, and remove files of an earlier export",
    )


def refuse_write(options: argparse.Namespace) -> None:
    """Raise InputError if there is no folder to write to, or one that -o yaml does not write to."""
    if options.format == "yaml" and options.dir:
        raise InputError("-o yaml prints the manifests and writes no file; leave out --dir, or -o yaml")
    if options.format != "yaml" and not options.dir:
        raise InputError("--dir is missing; give the folder to write, or -o yaml to print the manifests")


def print_yaml(texts: Mapping[str, str]) -> None:
    """Print the manifests among the files of a folder as one stream of YAML documents."""
    names = [name for name in texts if name.endswith((".yaml", ".yml", ".json")) and name != "kustomization.yaml"]
    print("---\n".join(texts[name].removeprefix("---\n").rstrip("\n") + "\n" for name in names), end="")


def print_parts(parts: Iterable[Part], outcome: str = "") -> None:
    """Print an answer on standard output: fitted to a terminal, else plain text in which no line is wrapped.

    `outcome` colours the first sentence on a terminal.
    """
    if sys.stdout.isatty():
        # the import takes 30 ms, which piped output need not pay
        from dra_lab.words.terminal import print_terminal

        print_terminal(parts, underlying(sys.stdout), outcome)
        return
    from dra_lab.words.document import as_text

    print(as_text(parts))


def print_json(value: Any) -> None:
    """Print an answer as one JSON object."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_findings(options: argparse.Namespace, findings: Iterable[Finding]) -> None:
    """Print each finding once on standard error; -q leaves out the notes, and the commands that explain rules."""
    quiet = options.detail == "answer"
    shown = [f for f in dict.fromkeys(findings) if not (quiet and f.severity is Severity.NOTE)]
    lines = [str(finding) if quiet else f"{finding} {explained_by(finding.rule)}" for finding in shown]
    if lines and sys.stderr.isatty():
        from dra_lab.words import terminal

        terminal.print_findings(lines, underlying(sys.stderr))
        return
    for line in lines:
        print(line, file=sys.stderr)


def explained_by(rule: str) -> str:
    """Return the command that explains the rule of a finding or an error, in brackets."""
    return f"[dra-lab help {rule}]"


# --------------------------------------------------------------------- plain output

_OBEYED = (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_BREAKS = {code: json.dumps(chr(code))[1:-1] for code in (*map(ord, "\n\r\t\v\f"), 0x2028, 0x2029)}
_SHOWN = {code: f"\\u{code:04x}" for code in _OBEYED if chr(code) not in "\n\t"}  # as JSON writes them


class _Plain:
    """A stream that writes control characters, and those that turn the direction of text, as their escapes.

    With `in_lines`, what is written at once is one line: a name cannot forge another. What is printed as JSON stays the
    same JSON. A carriage return at the beginning stays, because progress bars redraw
    themselves with it.
    """

    def __init__(self, stream: TextIO, *, in_lines: bool = False) -> None:
        self._stream, self._in_lines = stream, in_lines

    def write(self, text: str) -> int:
        start = text[:1] if text[:1] == "\r" else ""
        shown = start + text[len(start) :].translate(_SHOWN)
        if self._in_lines:
            # line ends inside become escapes; those around it are the program's own
            inside = shown.strip("\r\n")
            shown = shown.replace(inside, inside.translate(_BREAKS), 1) if inside else shown
        try:
            self._stream.write(shown)
        except UnicodeEncodeError:
            self._stream.write("".join(map(self._escaped, shown)))
        return len(text)

    def _escaped(self, sign: str) -> str:
        """Return a character that the encoding of the stream lacks as JSON writes it."""
        try:
            sign.encode(self._stream.encoding)
        except UnicodeEncodeError:
            return json.dumps(sign)[1:-1]
        return sign

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def underlying(stream: TextIO) -> TextIO:
    """Return the stream below `plain_output`, for a writer that makes its text printable itself and adds colour.

    It writes a character that its encoding lacks as an escape.
    """
    found = stream._stream if isinstance(stream, _Plain) else stream  # noqa: SLF001  one module, one secret
    if isinstance(found, TextIOWrapper):
        found.reconfigure(errors="backslashreplace")
    return found


@contextmanager
def plain_output() -> Iterator[None]:
    """Let everything that is printed meanwhile be text, whatever stands in the names that it shows."""
    errors = _Plain(sys.stderr, in_lines=True)
    with redirect_stdout(cast("TextIO", _Plain(sys.stdout))), redirect_stderr(cast("TextIO", errors)):
        yield
