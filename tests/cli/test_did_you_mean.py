"""Misspelt commands and options, and a plan without a claim."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dra_lab
from dra_lab.cli import main

EKS = "sample:eks-p4d"


def refused(capsys, *arguments: str) -> str:
    """Return the last line of a refusal, which ends with status 2."""
    try:
        status = main(list(arguments))
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_an_unknown_command_is_refused_with_the_nearest_one(capsys):
    """A misspelt command names the command that is meant."""
    assert refused(capsys, "pln", EKS).endswith("unknown command 'pln'; did you mean plan?")


@pytest.mark.parametrize(
    ("word", "meant"), [("--clam", "--claim"), ("--replica=3", "--replicas"), ("--relaese", "--release")]
)
def test_an_unknown_option_is_refused_with_the_nearest_one(word, meant, capsys):
    """A misspelt or shortened option names the option that is meant, also where a claim is missing."""
    assert refused(capsys, "plan", EKS, word, "x").endswith(f"did you mean {meant}?")


def test_an_option_like_no_other_points_to_the_help(capsys):
    """Without a near option nothing is guessed."""
    assert refused(capsys, "samples", "--xyzzy").endswith("unknown option '--xyzzy'; --help lists all")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", EKS], "error: the following arguments are required: PATH; dra-lab check --help lists the options"),
        (["plan", EKS, "--time-limit", "0"], "'0' is not a number of seconds above 0"),
        (["plan", EKS, "-o", "xml"], "invalid choice: 'xml'"),
    ],
    ids=["missing", "value", "choice"],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments, words, capsys):
    """The usage, which is twenty lines for some commands, does not hide what is wrong."""
    with pytest.raises(SystemExit):
        main(arguments)
    said = capsys.readouterr().err
    assert (said.count("\n"), words in said) == (1, True)


@pytest.mark.parametrize(
    "command", [["plan"], ["explain"], ["export", "--dir", "out"]], ids=["plan", "explain", "export"]
)
def test_a_missing_claim_is_reported_with_the_examples_of_the_sample(command, capsys):
    """The message has options that can be copied."""
    assert f"--claim {EKS}/gpu-nic-pairs" in refused(capsys, *command, EKS)


def test_a_missing_claim_for_a_file_says_what_can_be_given(capsys):
    """A cluster that is no sample has no examples."""
    assert "give the file of a drawing" in refused(capsys, "plan", "cluster.json")


def test_an_unexpected_exception_is_one_sentence_and_status_2(tmp_path):
    """A defect shows no traceback unless it is asked for."""
    (tmp_path / "kubernetes").mkdir()
    (tmp_path / "kubernetes" / "__init__.py").write_text("raise RuntimeError('half installed')\n")
    (tmp_path / "config").write_text(
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n"
    )
    paths = os.pathsep.join((str(tmp_path), str(Path(dra_lab.__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": paths, "KUBECONFIG": str(tmp_path / "config")}
    code = "import sys; from dra_lab.cli import main; sys.exit(main(['plan', 'context:a', '--claim', 'a.yaml']))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "RuntimeError: half installed" in done.stderr
