"""The entry point: one parser, one table of commands, errors of ours as one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dra_lab.cli.commands import COMMANDS
from dra_lab.cli.exit_status import FITS, UNANSWERED
from dra_lab.cli.parser import Parser, declare, unknown
from dra_lab.cli.plain_output import plain_output
from dra_lab.errors import DraLabError
from dra_lab.garbage import rare_collections
from dra_lab.version import __version__

_DESCRIPTION = """\
A planner for Kubernetes Dynamic Resource Allocation. Without a command, or
with `lab`, it opens JupyterLab on the planner notebook."""

_EPILOG = """\
to start:
  dra-lab samples
  dra-lab plan sample:eks-p4d --claim sample:eks-p4d/gpu-nic-pairs
  dra-lab plan context: --claim claim.yaml      in kubectl's current cluster.
  dra-lab COMMAND --help

exit status: 0 = fits or valid, 1 = not, 2 = not answered"""

_LAB_HELP = """\
usage: dra-lab [lab] [JUPYTERLAB-OPTION ...]

Opens JupyterLab on the planner notebook of this folder, plan.ipynb, and creates it if it is missing.
Options go to JupyterLab unchanged: dra-lab lab --port=9999 --no-browser (all of them: jupyter lab --help)."""


_TRACEBACK = "DRA_LAB_TRACEBACK"
"""Environment variable: if it is set, an unexpected exception shows its traceback."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: an error becomes a line and status 2, a defect becomes one too."""
    if "_ARGCOMPLETE" in os.environ:
        from dra_lab.cli.completion import complete

        complete(_parser)
    arguments = list(sys.argv[1:] if argv is None else argv)
    with plain_output(), rare_collections():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        if not arguments or arguments[0] == "lab":
            return _lab(arguments[1:])
        # A thread for each processor costs more at the start of numpy than it saves afterwards; JupyterLab has its own.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        options = _parser(arguments).parse_args(arguments)
        if "read_namespaces" in options:
            from dra_lab.cli.options import check_cluster_options

            check_cluster_options(options)
        status: int = options.run(options)
        sys.stdout.flush()
    except DraLabError as error:
        from dra_lab.cli.output import explained_by

        text = f"error: {error} {explained_by(error.rule)}"
        for line in text.split("\n") if error.in_lines else [text]:
            print(line, file=sys.stderr)
        return UNANSWERED
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return UNANSWERED
    except BrokenPipeError:
        _close_output()
        return UNANSWERED
    except OSError as error:
        # reading or writing a file raises DraLabError; what is left has a name that cannot be one, or
        # is the output itself
        what = f"{str(error.filename)[:80]!r} cannot be read" if error.filename else "the output cannot be written"
        print(f"error: {what}: {error.strerror or error}", file=sys.stderr)
        _close_output()
        return UNANSWERED
    except Exception as error:
        if os.environ.get(_TRACEBACK):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        print(
            f"error: this is a defect of dra-lab: {what}. Report it with what {_TRACEBACK}=1 prints.", file=sys.stderr
        )
        return UNANSWERED
    return status


def _close_output() -> None:
    """Let the interpreter end without another attempt to write what is left for standard output."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Formatter(argparse.HelpFormatter):
    """Help whose description is wrapped to the terminal, and whose examples are not."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command that is asked for."""
    parser = Parser(
        prog="dra-lab",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"dra-lab {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("lab", help="open JupyterLab on the planner notebook (the default)")
    chosen = next((word for word in arguments if not word.startswith("-")), "")
    if chosen and chosen not in ("lab", *COMMANDS):
        parser.error(unknown("command", chosen, COMMANDS))
    for name, listed in COMMANDS.items():
        text = listed.text
        command = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", formatter_class=_Formatter
        )
        if name == chosen:
            # Another command's options are not needed, and importing them takes most of the start.
            declare(command, listed, arguments)
    return parser


def _lab(arguments: list[str]) -> int:
    from dra_lab.jupyter_launch import open_lab

    if {"-h", "--help"} & set(arguments):
        print(_LAB_HELP)
        return FITS
    return open_lab(arguments, Path.cwd())
