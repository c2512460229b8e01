"""`dra-lab completion`: what a shell completes, and the scripts that ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig

import pytest

from dra_lab.cli import main
from dra_lab.cli.commands import COMMANDS
from dra_lab.cli.completion_command import completions

COMPLETED = {
    "dra-lab pl": ["plan"],
    "dra-lab plan sample:eks": ["sample:eks-p4d"],
    "dra-lab plan con": ["context:"],
    "dra-lab plan sample:eks-p4d --claim sample:eks-p4d/f": ["sample:eks-p4d/five-pairs", "sample:eks-p4d/four-pairs"],
    "dra-lab plan sample:eks-p4d --rele": ["--release"],
    "dra-lab plan sample:eks-p4d --release 1.3": ["1.34", "1.35", "1.36", "1.37"],
    "dra-lab check cluster/ manifests/ -o s": ["sarif"],
    "dra-lab plan --idle sample:tw": ["sample:two-sockets"],
    "dra-lab help selector-m": ["selector-matches-nothing"],
    "dra-lab completion f": ["fish"],
    "dra-lab plan sample:eks-p4d --claim claim.y": [],
    "dra-lab frobnicate ": [],
}


@pytest.mark.parametrize(("line", "found"), COMPLETED.items(), ids=COMPLETED)
def test_a_line_is_completed_with_what_the_parser_knows(line, found):
    """Commands, options, choices, samples and their examples; a file is left to the shell."""
    assert completions(line, COMMANDS) == found


def test_an_empty_word_is_completed_with_every_command():
    """Every command is offered, and the planner's own."""
    assert set(completions("dra-lab ", COMMANDS)) == {"lab", *COMMANDS, "--help", "--version"}


def bash(line: str, folder, script: str) -> list[str]:
    """Return what bash offers for a line, in a folder."""
    code = f"{script}\nCOMP_LINE={line!r} COMP_POINT=${{#COMP_LINE}}\n_dra_lab\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    # the script asks the command of this environment, which need not be the first in PATH
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    env = {**os.environ, "PATH": path}
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True, cwd=folder, env=env)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dra-lab expo", ["export"]),
        ("dra-lab plan sample:eks", ["eks-p4d"]),
        ("dra-lab plan sample:eks-p4d --claim sample:eks-p4d/gp", ["eks-p4d/gpu-nic-pairs"]),
        ("dra-lab plan sample:eks-p4d --time", ["--time-limit"]),
        ("dra-lab check cluster/ man", []),
    ],
)
def test_bash_completes_words_with_its_script(line, found, tmp_path, capsys):
    """Bash gets what is behind the last colon, because it splits words there; files it completes itself."""
    main(["completion", "bash"])
    assert bash(line, tmp_path, capsys.readouterr().out) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_script(shell, capsys):
    """The script has no error of syntax."""
    main(["completion", shell])
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n"], input=capsys.readouterr().out, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_asks_for_its_shell(shell, capsys):
    """It names the command and passes the line on."""
    main(["completion", shell])
    script = capsys.readouterr().out
    assert (f"dra-lab completion {shell} " in script, script.count("{")) == (True, script.count("}"))
