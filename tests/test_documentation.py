"""Tutorial, concepts and how-to pages: every command and every block of Python runs, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from dra_lab.cli import main

DOCS = Path(__file__).parents[1] / "docs"
FOLDERS = [*sorted((DOCS / "how-to").glob("*.md")), *sorted((DOCS / "concepts").glob("*.md"))]
PAGES = [DOCS / "tutorial.md", DOCS / "teaching.md", *FOLDERS]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == kind]


def commands(page: Path) -> list[tuple[str, list[str]]]:
    """Return the commands of a page in their order, each with the lines of output that the page shows."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in text.splitlines() if kind in ("sh", "console") else ():
            if kind == "sh" or line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            elif line.strip() and line != "...":
                found[-1][1].append(line)
    return found


def not_printed(wanted: list[str], output: str) -> list[str]:
    """Return the lines that the output does not have in this order."""
    lines = iter(output.splitlines())
    return [line for line in wanted if not any(line == printed.rstrip() for printed in lines)]


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page shows: blocks that begin with their name."""
    for text in blocks(page, "yaml"):
        if text.startswith("# "):
            (folder / text.partition("\n")[0].removeprefix("# ")).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("page", [*PAGES, DOCS / "gangs.md"], ids=lambda path: path.stem)
def test_every_command_of_a_page_is_answered(page: Path, tmp_path, monkeypatch, capsys):
    """The commands run in their order, beside the files that the page shows; each prints what the page shows."""
    monkeypatch.chdir(tmp_path)
    write_files(page, tmp_path)
    wrong = []
    for command, shown in commands(page):
        status = main(shlex.split(command)[1:])
        missing = not_printed(shown, "".join(capsys.readouterr()))
        wrong += [(command, status, missing)] if status == 2 or missing else []
    assert wrong == []


@pytest.mark.long
@by_page
def test_the_python_of_a_page_runs(page: Path, tmp_path):
    """The blocks of a page run one after the other, beside the files that it shows."""
    write_files(page, tmp_path)
    code = "\n".join(blocks(page, "python"))
    environment = {**os.environ, "PYTHONPATH": str(DOCS.parent)}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
