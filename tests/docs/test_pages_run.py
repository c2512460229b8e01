"""Tutorial and how-to pages: every command and every block of Python runs."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dra_lab.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "tutorial.md", DOCS / "teaching.md", *sorted((DOCS / "how-to").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == kind]


@by_page
def test_every_command_of_a_page_is_answered(page: Path, tmp_path, monkeypatch, capsys):
    """The commands run in their order, beside the files that the page shows; none ends with an error."""
    monkeypatch.chdir(tmp_path)
    for text in blocks(page, "yaml"):
        (tmp_path / text.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")
    commands = [shlex.split(line) for text in blocks(page, "sh") for line in text.splitlines()]
    assert [command for command in commands if main(command[1:]) == 2] == []


@by_page
def test_the_python_of_a_page_runs(page: Path, tmp_path):
    """The blocks of a page run one after the other."""
    code = "\n".join(blocks(page, "python"))
    environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
