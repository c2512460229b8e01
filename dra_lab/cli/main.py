"""The entry point: runs one command; an error of ours becomes one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dra_lab.cli.output import FITS, UNANSWERED, explained_by, plain_output
from dra_lab.cli.parser import parser_of
from dra_lab.errors import DraLabError
from dra_lab.garbage import rare_collections

_LAB_HELP = """\
usage: dra-lab [lab] [JUPYTERLAB-OPTION ...]

Opens JupyterLab on the planner notebook of this folder, plan.ipynb, and creates it if it is missing.
Options go to JupyterLab unchanged: dra-lab lab --port=9999 --no-browser (all of them: jupyter lab --help)."""


_TRACEBACK = "DRA_LAB_TRACEBACK"
"""Environment variable: if it is set, an unexpected exception shows its traceback."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status: an error becomes a line and status 2, a defect becomes one too."""
    if "_ARGCOMPLETE" in os.environ:
        from dra_lab.cli.parser import complete

        complete(parser_of)
    arguments = list(sys.argv[1:] if argv is None else argv)
    with plain_output(), rare_collections():
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    try:
        if not arguments or arguments[0] == "lab":
            return _lab(arguments[1:])
        # A thread for each processor costs more at the start of numpy than it saves afterwards; JupyterLab has its own.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        options = parser_of(arguments).parse_args(arguments)
        if "read_namespaces" in options:
            from dra_lab.cli.options import check_cluster_options

            check_cluster_options(options)
        status: int = options.run(options)
        sys.stdout.flush()
    except DraLabError as error:
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


def _lab(arguments: list[str]) -> int:
    from dra_lab.jupyter_launch import open_lab

    if {"-h", "--help"} & set(arguments):
        print(_LAB_HELP)
        return FITS
    return open_lab(arguments, Path.cwd())
