"""The parser of the command line: the commands, and messages that name the nearest option or command."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from dra_lab.cli.output import UNANSWERED
from dra_lab.version import __version__

COMMANDS: Mapping[str, str] = {
    "samples": "list the shipped sample clusters",
    "plan": "find the best allocation of a claim or of many replicas, or the reason why it does not fit",
    "explain": "explain why a claim fits on a node or not, with kube-scheduler's search step by step",
    "diff": "compare two plans: what each answers, and how their manifests differ",
    "draw": "draw the hardware of a node, with the plan of a claim",
    "export": "write the manifests that make kube-scheduler choose the plan",
    "check": "check manifests against a cluster, for CI",
    "migrate": "turn workloads that request nvidia.com/gpu: 8 into workloads with claims",
    "topology": "show racks, blocks and NVLink domains of a cluster, or files of nvidia-smi topo -m, hwloc or NCCL",
    "capture": "write what planning needs from a cluster to a folder or .tar.gz",
    "replay": "answer recorded cases of Kubernetes, so that anyone can check our claims",
    "help": "explain CLUSTER, plan files, output or the rule of a finding",
}
"""The commands in the order in which help lists them. `NAME_command` has `add`, `run` and EXAMPLES of each."""

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


class Parser(argparse.ArgumentParser):
    """A parser that refuses an unknown option before it looks for missing ones, and names the nearest option."""

    words: Sequence[str] = ()
    """The command line: with `--topology` a command has no CLUSTER."""

    @property
    def declared(self) -> Sequence[argparse.Action]:
        """Return the options and arguments, in the order of their declaration."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        """Print what is wrong in one line, without the usage, which hides it."""
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
                self.error(_unknown("option", name, self._option_string_actions))
        return super().parse_known_args(args, namespace)


class _Formatter(argparse.HelpFormatter):
    """Help whose description is wrapped to the terminal, and whose examples are not."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def declare(parser: Parser, name: str, words: Sequence[str] = ()) -> None:
    """Declare the options of a command, and its examples."""
    # importing all commands takes longer than most answers
    command = import_module(f"dra_lab.cli.{name}_command")
    parser.words = words
    command.add(parser)
    parser.set_defaults(run=command.run)
    parser.epilog = "\n  ".join(("examples:", *command.EXAMPLES))


def parser_of(arguments: list[str]) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command in the arguments."""
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
        parser.error(_unknown("command", chosen, COMMANDS))
    for name, text in COMMANDS.items():
        command = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", formatter_class=_Formatter
        )
        if name == chosen:
            declare(command, name, arguments)
    return parser


def _unknown(what: str, word: str, known: Iterable[str]) -> str:
    """Return the message about an unknown option or command, with the nearest known one."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"unknown {what} {word!r}" + (f"; did you mean {near[0]}?" if near else "; --help lists all")


# --------------------------------------------------------------------- completion


def complete(parser_of: Callable[[list[str]], argparse.ArgumentParser]) -> None:
    """Print the words that complete the shell's command line, and end the process; `parser_of` takes the words."""
    import argcomplete

    line = os.environ.get("COMP_LINE", "")
    words = line.split()[1:]
    argcomplete.autocomplete(parser_of(words if line[-1:].isspace() else words[:-1]))


def complete_with(action: argparse.Action, words: Callable[[], Iterable[str]]) -> None:
    """Complete an option or argument with these words, and with files if none of them fits."""
    action.completer = lambda **_: list(words())  # type: ignore[attr-defined]


def cluster_words() -> Iterator[str]:
    """Yield the samples, and the start of a kubeconfig's context."""
    from dra_lab.sources.samples import samples

    yield from (f"sample:{sample.name}" for sample in samples())
    yield "context:"


def drawing_words() -> Iterator[str]:
    """Yield the example drawings of the samples."""
    from dra_lab.sources.samples import samples

    yield from (f"sample:{sample.name}/{example}" for sample in samples() for example in sample.examples)
