"""A shell completes what the parser knows."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COMPLETED = {
    "dra-lab pl": {"plan"},
    "dra-lab plan sample:tw": {"sample:two-sockets"},
    "dra-lab plan con": {"context:"},
    "dra-lab plan sample:eks-p4d --claim sample:eks-p4d/f": {"sample:eks-p4d/five-pairs", "sample:eks-p4d/four-pairs"},
    "dra-lab plan sample:eks-p4d --rele": {"--release"},
    "dra-lab check cluster/ manifests/ -o s": {"sarif"},
    "dra-lab help selector-matches-n": {"selector-matches-nothing"},
    "dra-lab frobnicate ": set(),
}


@pytest.mark.parametrize(("line", "found"), COMPLETED.items(), ids=COMPLETED)
def test_a_line_is_completed_with_what_the_parser_knows(line, found, tmp_path):
    """Commands, options, choices, samples and their examples."""
    answer = tmp_path / "answer"
    shell = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_COMP_WORDBREAKS": " ", "COMP_LINE": line}
    shell |= {"COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    code = "import sys; from dra_lab.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code], env=os.environ | shell, cwd=tmp_path, check=False, timeout=60)
    words = answer.read_text().split() if answer.exists() else []
    assert {word for word in words if not word.startswith("-") or "--" in line} == found
