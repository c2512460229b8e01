"""An exception that no command expects ends in a sentence, exit status 2, and a report in a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dra_lab import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """A command that needs the package `kubernetes`, where that is installed in a broken way."""
    tmp_path = tmp_path_factory.mktemp("failed")
    broken = tmp_path / "broken" / "kubernetes"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('half installed')\n")
    (tmp_path / "config").write_text(
        "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\n"
    )
    paths = os.pathsep.join((str(tmp_path / "broken"), str(ROOT)))
    environment = {**os.environ, "PYTHONPATH": paths, "KUBECONFIG": str(tmp_path / "config")}
    environment["XDG_STATE_HOME"] = str(tmp_path / "state")
    code = "import sys; from dra_lab.cli import main; sys.exit(main())"
    words = ["plan", "context:a", "--claim", "https://me:hunter2@host/?token=abc123"]
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def report_of(failed) -> Path:
    """The file that the message names."""
    return Path(re.search(r"(\S+)\s*$", failed.stderr)[1])


def test_an_unexpected_exception_is_one_sentence_and_status_2(failed):
    """No traceback is on the screen."""
    assert (failed.returncode, "Traceback" in failed.stderr) == (2, False)
    assert "RuntimeError: half installed" in failed.stderr


def test_the_report_has_what_a_developer_needs(failed):
    """Version, command line and traceback."""
    text = report_of(failed).read_text()
    assert text.startswith(f"dra-lab {__version__}, Python ")
    assert "command: dra-lab plan context:a" in text
    assert "Traceback" in text


def test_the_report_has_no_secret_of_the_command_line(failed):
    """Passwords in addresses and values after token= are left out."""
    text = report_of(failed).read_text()
    assert ("hunter2" in text, "abc123" in text) == (False, False)


def test_the_report_can_be_read_by_its_owner_only(failed):
    """It stands in the folder that XDG_STATE_HOME names."""
    file = report_of(failed)
    assert (file.stat().st_mode & 0o077, file.parent.name) == (0, "dra-lab")
