"""`dra-lab completion`: the script with which a shell completes commands, options, samples and their examples."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dra_lab.cli.exit_status import FITS
from dra_lab.cli.parser import ListedCommand, Parser, declare

if TYPE_CHECKING:
    from dra_lab.sources.samples import Sample

EXAMPLES = (
    "dra-lab completion bash > ~/.local/share/bash-completion/completions/dra-lab",
    "dra-lab completion zsh > ~/.zfunc/_dra-lab",
    "dra-lab completion fish > ~/.config/fish/completions/dra-lab.fish",
)

_BASH = """\
_dra_lab() {
  local line=${COMP_LINE:0:COMP_POINT}
  mapfile -t COMPREPLY < <(dra-lab completion bash "$line" 2> /dev/null)
  # bash splits words at colons and replaces what is behind the last one.
  local word=${line##*[[:space:]]}
  [[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}")
  return 0
}
complete -o default -F _dra_lab dra-lab
"""

_ZSH = """\
#compdef dra-lab
_dra_lab() {
  local -a found
  found=(${(f)"$(dra-lab completion zsh "${(j: :)words[1,CURRENT]}" 2> /dev/null)"})
  # Without candidates, files are completed.
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _dra-lab ]]; then _dra_lab "$@"; else compdef _dra_lab dra-lab; fi
"""

_FISH = """\
function __dra_lab
    set -l found (dra-lab completion fish (commandline -cp) 2> /dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c dra-lab -f -a '(__dra_lab)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="print the script of this shell")
    parser.add_argument("line", nargs="?", metavar="LINE", help="print the completions of LINE, for the script")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script, or a line for each word that completes a command line."""
    if options.line is None:
        print(_SCRIPTS[options.shell], end="")
    else:
        print("".join(f"{word}\n" for word in completions(options.line, options.commands)), end="")
    return FITS


def completions(line: str, commands: Mapping[str, ListedCommand]) -> list[str]:
    """Return the words that can stand at the end of a command line; none where a file can stand alone."""
    words = line.split()
    if line[-1:].isspace():
        words.append("")
    start = words[-1] if words else ""
    return [word for word in _possible(words, commands) if word.startswith(start)]


def _possible(words: Sequence[str], commands: Mapping[str, ListedCommand]) -> Iterator[str]:
    if len(words) < 3:
        yield from ("lab", *commands, "--help", "--version")
        return
    command, before, word = words[1], words[-2], words[-1]
    if command not in commands:
        return
    parser = Parser()
    declare(parser, commands[command], words)
    options = {name: action for action in parser.declared for name in action.option_strings}
    if before in options and options[before].nargs != 0:
        yield from _values(options[before])
    elif word.startswith("-"):
        yield from options
    else:
        for action in parser.declared:
            if not action.option_strings:
                yield from _values(action)


def _values(action: argparse.Action) -> Iterator[str]:
    """Yield the known values of an option or argument; files are left to the shell."""
    if action.dest == "topic":
        from dra_lab.cli.help_command import TOPICS
        from dra_lab.words.rule_catalogue import rule_catalogue

        yield from TOPICS
        yield from rule_catalogue()
    elif action.choices is not None:
        yield from map(str, action.choices)
    elif action.dest == "cluster":
        yield from (f"sample:{sample.name}" for sample in _samples())
        yield "context:"
    elif "--claim" in action.option_strings:
        yield from (f"sample:{sample.name}/{example}" for sample in _samples() for example in sample.examples)


def _samples() -> Sequence[Sample]:
    from dra_lab.sources import samples

    return samples()
